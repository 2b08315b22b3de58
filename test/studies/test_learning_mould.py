"""The study of moulds: what they look like, what is told of them, and the one that no pressure makes."""

from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.learning.simulations import learnable, surface_of
from soft_twin.studies.learning.mould import (
    CORRECTED,
    HEIGHTS,
    PLAIN,
    _box,
    _content,
    _deviation,
    _places,
    draw,
    moulded,
    table,
)


@pytest.fixture(scope="module")
def membrane():
    """Its undeformed surface, and its chambers' boxes."""
    robot, learning = learnable("membrane")
    twin = robot.build_twin()
    boxes = np.array([_box(twin.body.mesh, chamber.surface) for chamber in robot.description.chambers])
    return surface_of(twin, learning.surface), boxes


def test_moulds_stand_over_chambers_and_vanish_at_their_walls(membrane):
    surface, boxes = membrane
    np.testing.assert_allclose(boxes[:, 1] - boxes[:, 0], 0.096, atol=1e-9)
    heights = np.linspace(0.002, 0.018, 9)
    lift = moulded(surface, boxes, heights)[:, 2] - surface.points[:, 2]
    for (low, high), height in zip(boxes, heights, strict=True):
        middle = np.linalg.norm(surface.points[:, :2] - 0.5 * (low + high), axis=1).argmin()
        assert lift[middle] == pytest.approx(height)
        inside = ((surface.points[:, :2] > low) & (surface.points[:, :2] < high)).all(axis=1)
        assert lift[inside].max() == pytest.approx(height) and lift[inside].min() > 0.0
    between = ((surface.points[:, None, :2] <= boxes[:, 0]) | (surface.points[:, None, :2] >= boxes[:, 1])).any(axis=2)
    np.testing.assert_allclose(lift[between.all(axis=1)], 0.0, atol=1e-12)


def test_only_one_mould_goes_below_the_sheet(membrane):
    places = _places(membrane[1])
    assert places.min() == -1.0 and places.max() == 1.0
    below = {name for name, heights in HEIGHTS.items() if heights(places).min() < 0.0}
    assert below == {"dent"} and all(np.abs(heights(places)).max() <= 1.0 for heights in HEIGHTS.values())


def test_rows_are_distances_of_the_reality_from_the_mould(membrane, tmp_path):
    surface, boxes = membrane
    flat = moulded(surface, boxes, np.zeros(9))
    solution = SimpleNamespace(
        mean=0.0004, pressures=np.full(9, 500.0), active_limits=("cell_22 pressure min",), iterations=7, converged=True
    )
    found = {kind: {"flat": solution, "other": solution} for kind in (PLAIN, CORRECTED)}
    maps = {
        kind: {name: _deviation(flat + [0.0, 0.0, lift], flat, surface.triangles) for name in ("flat", "other")}
        for kind, lift in ((PLAIN, 0.002), (CORRECTED, 0.0005))
    }
    content = _content(maps, found)
    assert content[PLAIN]["flat"]["mean_mm"] == pytest.approx(2.0)
    assert content[CORRECTED]["other"]["largest_mm"] == pytest.approx(0.5)
    told = table(content)
    assert len(told.splitlines()) == 5 and "0.40" in told and "2.00" in told
    draw(tmp_path, maps, 320.0)
    assert np.ptp(matplotlib.image.imread(tmp_path / "deviations.png")) > 0.5
