"""What `soft-twin train` says in the end of what is odd."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")

from soft_twin.app import train_report
from soft_twin.learning.pipeline import Errors
from soft_twin.learning.shape_errors import Between


def told(monkeypatch, off, between):
    """Of a sheet of 160 mm whose frames stay so far off [mm]."""
    monkeypatch.setattr(train_report, "pressure_limits", lambda robot: np.zeros((0, 2)))
    after = np.column_stack([np.full(12, off), np.full(12, 3.0 * off)])
    learned = SimpleNamespace(
        simulations=SimpleNamespace(points=np.zeros(4), seconds=0.1, by_volume=np.zeros(4, dtype=bool), failed={}),
        surrogate=0.1,
        between=between,
        unseen=None,
        seen=Errors(1.5 * after, after),
        odd=np.zeros(0, dtype=int),
        seconds={},
        correction=SimpleNamespace(shapes=SimpleNamespace(size=160.0)),
    )
    pipeline = SimpleNamespace(
        robot=SimpleNamespace(chamber_names=[]),
        learning=SimpleNamespace(parts=3),
        inflation=SimpleNamespace(limits=[]),
        recording=SimpleNamespace(markers=np.zeros((12, 3, 3))),
    )
    return train_report.told(learned, pipeline)


@pytest.mark.parametrize(("off", "said"), [(0.7, False), (5.4, True)])
def test_frames_that_all_stay_off_are_told(monkeypatch, off, said):
    _, odd = told(monkeypatch, off, Between(0.1, 0.3))
    expected = [f"the frames stay {off:.2f} mm off in the median, 3.4 % of the body: are they in base_link"] * said
    assert [line[: len(start)] for line, start in zip(odd, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("between", "said"), [(Between(0.3, 1.2), True), (Between(0.3, 0.7), False), (Between(0.15, 1.2), False)]
)
def test_what_is_between_the_points_of_wide_faces_is_told(monkeypatch, between, said):
    lines, odd = told(monkeypatch, 0.7, between)
    figures = f"within 0.10 mm in the mean at the mesh's points, {between.mean:.2f} mm between them "
    assert f"{figures}({between.largest:.1f} at most)" in lines[0]
    expected = ["more `parts` of `learning` than 3 teach what is there"] * said
    assert [line.partition("; ")[2] for line in odd] == expected
