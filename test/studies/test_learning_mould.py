"""The study of moulds: what they look like, what is told of them, and the one that no pressure makes."""

import json
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.learning.simulations import learnable, surface_of
from soft_twin.parallel import Workers, working_with
from soft_twin.studies.learning import mould
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


GAIN, RISE = 5e-6, 1.25  # [m/Pa] of chambers' middles as simulated; how much further the reality's go
KNOWN = {}


class Heights:
    """In place of the search: pressures that lift the chambers' middles as high as the target's, where air can."""

    def __init__(self, model, names):
        self._gain = model.gain

    def solve(self, target, placed):
        middles = 1e3 * KNOWN["boxes"].mean(axis=1)
        away = np.linalg.norm(target.points[:, None, :2] - middles, axis=2)
        wanted = 1e-3 * target.points[away.argmin(axis=0), 2] - KNOWN["surface"].points[:, 2].max()
        pressures = np.maximum(wanted, 0.0) / self._gain
        left = np.abs(wanted - self._gain * pressures).mean()
        return SimpleNamespace(mean=left, pressures=pressures, active_limits=(), iterations=1, converged=True)


def lifted(path, digest, case):
    """In place of the reality's shape, after seconds under pressures."""
    return {"points": moulded(KNOWN["surface"], KNOWN["boxes"], RISE * GAIN * case[1:])}


def test_a_whole_run_compares_the_reality_with_every_mould(membrane, tmp_path, monkeypatch):
    robot, learning = learnable("membrane")
    KNOWN["surface"], KNOWN["boxes"] = surface_of(robot.build_twin(), learning.surface, learning.parts), membrane[1]
    corrected = SimpleNamespace(gain=RISE * GAIN, shapes=SimpleNamespace(gain=GAIN, size=320.0))
    for name, double in (("learned", lambda *_: (corrected, [], [])), ("ShapeControl", Heights),
                         ("reached_shape", lifted)):  # fmt: skip
        monkeypatch.setattr(mould, name, double)
    with working_with(Workers(1)):
        told = mould.run(tmp_path, tmp_path).splitlines()
    content = json.loads((tmp_path / "table.json").read_text())
    for name in ("hill", "slope", "saddle"):
        assert content[CORRECTED][name]["mean_mm"] < 0.2 * content[PLAIN][name]["mean_mm"]
        assert content[CORRECTED][name]["predicted_mm"] < 0.01
    dent = content[CORRECTED]["dent"]
    assert dent["largest_mm"] == pytest.approx(9.0, abs=1.0), "air makes no dent of six tenths of 15 mm"
    assert dent["predicted_mm"] == pytest.approx(1.0, abs=0.1), "of one chamber of nine"
    assert len(told) == 1 + 2 * len(HEIGHTS) and len(list((tmp_path / "reached").glob("*.npz"))) == 8
    assert np.ptp(matplotlib.image.imread(tmp_path / "deviations.png")) > 0.5
