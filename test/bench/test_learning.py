"""Rows of `bench learning` that experiments have left."""

import json
import runpy

import pytest

from soft_twin.errors import RecordingError
from soft_twin.resources import folder


@pytest.fixture(scope="module")
def stored():
    return runpy.run_path(str(folder("bench") / "learning.py"))["stored"]


def write(path, name, table):
    (path / name).mkdir()
    (path / name / "table.json").write_text(json.dumps(table))


def test_what_was_run_has_rows_and_what_was_not_has_none(stored, tmp_path):
    assert stored(tmp_path) == []
    row = {"mean_mm": 0.2, "mean_change": -0.75, "largest_change": -0.6, "spread_mm": 0.01, "seeds": 5}
    seconds = {"shapes": 60.0, "the inputs alone": 120.0, "corrected": 30.0, "the warp alone": 500.0}
    write(tmp_path, "membrane", {"rows": {"corrected": row}, "seconds": seconds, "simulations": 9, "simulation_s": 0.5})
    corrected, few, many = ({"frames": n, "mean_mm": mm} for n, mm in ((40, 0.2), (40, 1.6), (400, 1.0)))
    write(tmp_path, "direct", {"rows": {"corrected": corrected, "direct, 40 frames": few, "direct, 400 frames": many}})
    rows = [(0.0, 1.0), (0.2, 1.1), (0.2, 1.3), (0.4, 9.0)]
    scans = [{"name": "scans", "missing": share, "mean_mm": mm} for share, mm in rows]
    markers = [{"name": "markers", "missing": share, "mean_mm": mm} for share, mm in ((0.0, 2.0), (0.1, 1.9))]
    write(tmp_path, "missing", {"rows": scans + markers})
    trunk = {"a": {"mm": {"linear": 40.0, "quadratic": 60.0, "arcs": 30.0}}}
    trunk["b"] = {"mm": {"linear": 50.0, "quadratic": 40.0, "arcs": 20.0}}
    write(tmp_path, "real_tips", {"tensegrity_arm": {"mm": {"regression": 56.0}}, "trunk": trunk})
    shapes = {"half inflated": 3.0, "simulated (N_fk)": 0.8, "corrected": 0.2}
    write(tmp_path, "shape", {"rows": {key: {"mean_mm": mm} for key, mm in shapes.items()}})
    plans = {"simulated (N_fk)": ([-0.5, 2.0], 1, [1.0, 2.0]), "corrected": ([7.0, 9.0], 0, [0.5, 0.7])}
    keys = ("executed_mm", "hits", "seconds")
    rows = {name: dict(zip(keys, values, strict=True)) for name, values in plans.items()}
    write(tmp_path, "planning", {"rows": rows})
    write(tmp_path, "real_surfaces", [{"before": 4.0, "after": own} for own in (2.0, 3.0, 6.0)])
    figures = {each.key: each for each in stored(tmp_path)}
    assert {key: each.value for key, each in figures.items()} == pytest.approx(
        {
            "membrane.change": -75.0, "membrane.largest_change": -60.0, "membrane.mm": 0.2, "membrane.spread_mm": 0.01,
            "membrane.simulation_s": 0.5, "membrane.training_min": 3.5, "direct.ratio": 0.2, "missing.scans": 20.0,
            "missing.markers": -5.0, "real.tensegrity_mm": 56.0, "real.trunk_mm": 25.0, "shape.change": -75.0,
            "shape.mm": 0.2, "planning.hits": 0, "planning.least_mm": 7.0, "planning.plain_hits": 1,
            "planning.plan_s": 0.6, "real.surfaces": 1, "real.surfaces_change": -25.0,
        }
    )  # fmt: skip
    assert figures["real.trunk_mm"].reach == "<= 22"


@pytest.mark.parametrize("content", ["{", "[]", '{"rows": {}}'])
def test_a_broken_table_is_told(stored, tmp_path, content):
    (tmp_path / "membrane").mkdir()
    (tmp_path / "membrane" / "table.json").write_text(content)
    with pytest.raises(RecordingError, match=r"membrane/table\.json: not a table of `experiment learning/membrane`"):
        stored(tmp_path)
