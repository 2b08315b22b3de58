"""The study of sizes and parts: what is tried, and its errors where they are known."""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import matplotlib.image

from soft_twin.studies.learning import ablations
from soft_twin.studies.learning.ablations import Variant, _recording, draw, table, variants

LEARNING = SimpleNamespace(warp_layers=2, warp_neurons=24, kernels=49)
PLAIN = Variant("warp", 2, 24, 49)


def rows():
    return [vars(each) | {"mean_mm": 0.1 * i, "largest_mm": 1.0, "seconds": 2.0} for i, each in enumerate(tried())]


def tried():
    return variants(LEARNING)


def test_everything_is_tried_once_and_beside_what_is_described():
    assert len(set(tried())) == len(tried())
    assert PLAIN in tried()
    for each in tried():
        if each.kind != "N_fk":
            changed = [name for name, value in vars(each).items() if value != vars(PLAIN)[name]]
            assert len(changed) <= 1


def test_scans_are_thinned_evenly():
    scan = np.column_stack([np.arange(1000.0), np.zeros((1000, 2))])
    frame = {"scan": scan, "normals": np.tile([0.0, 0.0, 1.0], (1000, 1)), "pressures": np.ones(3), "held": 5.0}
    thin, whole = (_recording([frame, frame], points).scans[0].points for points in (100, 0))
    assert (len(thin), len(whole)) == (100, 1000)
    assert np.ptp(np.diff(thin[:, 0])) <= 1.0 and thin[-1, 0] == 999.0


def test_an_interrupted_study_keeps_its_rows(tmp_path, monkeypatch):
    trained = []

    def errors(*_, count=None):
        if len(trained) == count:
            raise KeyboardInterrupt
        trained.append(None)
        return np.array([[float(len(trained)), 10.0]])

    simulations = SimpleNamespace(surface="skin", simulations=3, parts=1)
    known = (None, simulations, SimpleNamespace(shapes=SimpleNamespace(inflation=1.0)), [], None, (None, None))
    monkeypatch.setattr(ablations, "_known", lambda *_: known)
    monkeypatch.setattr(ablations, "learned", lambda *_: None)
    monkeypatch.setattr(ablations, "simulate_all", lambda *_: None)
    monkeypatch.setattr(ablations, "learn_shapes", lambda *_, **__: (None, None))
    monkeypatch.setattr(ablations, "shape_errors", errors)
    monkeypatch.setattr(ablations, "_warp_errors", partial(errors, count=14))
    with pytest.raises(KeyboardInterrupt):
        ablations.run(tmp_path, tmp_path)
    monkeypatch.setattr(ablations, "_warp_errors", errors)
    ablations.run(tmp_path, tmp_path)
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [row["mean_mm"] for row in rows] == list(range(1, len(rows) + 1))


def test_rows_and_pictures_have_every_variant(tmp_path):
    told = table(rows())
    assert len(told.splitlines()) == 1 + len(tried())
    assert "warp: 2 x 24 neurons, 49 kernels, not regularised" in told
    draw(tmp_path, rows(), PLAIN)
    assert np.ptp(matplotlib.image.imread(tmp_path / "ablations.png")) > 0.5
