"""The study of predictions: its errors, rows and pictures, of surfaces that are a known distance away."""

import json
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.errors import InputError
from soft_twin.learning.samples import Inflation
from soft_twin.learning.simulations import learnable
from soft_twin.studies.learning import prediction
from soft_twin.studies.learning.prediction import _content, draw, errors_of, frame_cases, table

PLAIN, BEST = "simulated (N_fk)", "corrected"


class Lifted:
    """Predicts a flat sheet of 200 mm so many metres above where it is; a millimetre more where it is told how long
    pressures stood, for each second."""

    def __init__(self, simulated, corrected, reference=None):
        self._lifts, self.inputs = (simulated, corrected), SimpleNamespace(reference=reference)
        mean = np.zeros((4, 4, 3))
        mean[0, :, 2] = 300.0 * (simulated > 0.01)  # [mm]: not flat, drawn in space
        self.shapes = SimpleNamespace(mean=mean, size=200.0)

    def simulated(self, pressures, uv):
        return np.column_stack([0.19 * (uv - 0.5), np.full(len(uv), self._lifts[0])])

    def __call__(self, pressures, uv, held=None):
        return np.column_stack([0.19 * (uv - 0.5), np.full(len(uv), self._lifts[1] + 1e-3 * (held or 0.0))])


def frames():
    """Three times a sheet of 200 mm in two triangles."""
    points = np.array([[-0.1, -0.1, 0.0], [0.1, -0.1, 0.0], [0.1, 0.1, 0.0], [-0.1, 0.1, 0.0]])
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    return 3 * [{"points": points, "triangles": triangles, "pressures": np.zeros(2), "held": np.float64(5.0)}]


def test_errors_are_distances_to_the_true_surface_and_rows_their_changes():
    worse, better = Lifted(0.002, 0.0005), Lifted(0.002, 0.0007)
    rows = {
        PLAIN: np.array([errors_of(worse, frames(), False)]),
        BEST: np.array([errors_of(each, frames(), True) for each in (worse, better)]),
    }
    np.testing.assert_allclose(rows[PLAIN], 2.0, atol=1e-6)
    np.testing.assert_allclose(errors_of(Lifted(0.002, 0.0005, 40.0), frames(), True), 5.5, atol=1e-6)
    simulations = SimpleNamespace(points=np.zeros((12, 1, 3)), failed={3: "why"}, by_volume=np.array([True, False]))
    simulations.seconds = 0.5
    content = _content(rows, 0.4, {"shapes": 7.0}, simulations, "description", "data") | {"described": 1000}
    row = content["rows"][BEST]
    assert row["mean_mm"] == pytest.approx(0.6) and row["spread_mm"] == pytest.approx(0.1)
    assert row["mean_change"] == pytest.approx(-0.7) and row["largest_change"] == pytest.approx(-0.7)
    told = table(content)
    assert "one simulation: 0.50 s, of all: 6 s" in told and "-70 %" in told and "2 ± 0.10" in told
    assert "12 simulations of the 1000 that the description asks for (1 by volume, 1 failed)" in told


def test_what_the_first_seed_comes_to_is_kept_where_the_others_are_interrupted(tmp_path, monkeypatch):
    robot, learning = SimpleNamespace(name="sheet"), SimpleNamespace(frames=0, markers=None, simulations=12)
    simulations = SimpleNamespace(points=np.zeros((12, 1, 3)), failed={}, by_volume=np.zeros(2, bool), seconds=0.5)
    shapes = SimpleNamespace(inflation=None)

    def interrupted(*_):
        raise KeyboardInterrupt

    doubles = {
        "of_simulations": lambda *_: (robot, learning),
        "learnable": lambda _: (robot, learning),
        "learned_shapes": lambda *_: (simulations, shapes, 0.4, 7.0),
        "scanned": lambda *_: frames(),
        "recorded": lambda *_: SimpleNamespace(digest="data"),
        "_trained": lambda *_: ({BEST: Lifted(0.002, 0.0005)}, {"warp": 3.0}),
        "description_hash": lambda _: "description",
        "save": lambda *_: None,
        "by_other_seeds": interrupted,
    }
    for name, double in doubles.items():
        monkeypatch.setattr(prediction, name, double)
    with pytest.raises(KeyboardInterrupt):
        prediction.predict("sheet", tmp_path)
    kept = json.loads((tmp_path / "table.json").read_text())
    assert kept["rows"][BEST]["mean_mm"] == pytest.approx(0.5) and kept["rows"][BEST]["seeds"] == 1
    monkeypatch.setattr(prediction, "by_other_seeds", lambda *_: 2 * [{"errors": np.full((3, 2), 0.8)}])
    assert "-65 %" in prediction.predict("sheet", tmp_path)
    assert json.loads((tmp_path / "table.json").read_text())["rows"][BEST]["seeds"] == 3


@pytest.mark.parametrize("lift", [0.002, 0.02])
def test_pictures_show_flat_surfaces_from_above_and_others_in_space(lift, tmp_path):
    draw(tmp_path, Lifted(lift, 0.0005), frames())
    for name in ("shapes.png", "histograms.png"):
        assert np.ptp(matplotlib.image.imread(tmp_path / name)) > 0.5


@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_map_is_empty_where_there_are_few_frames(count, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(prediction, "write_picture", lambda path, figure, **_: drawn.append(figure))
    draw(tmp_path, Lifted(0.002, 0.0005), frames()[:count])
    *maps, _ = drawn[0].axes  # the last is the colour bar's
    assert len(maps) == 2 * count and all(each.collections for each in maps)


def test_axes_in_space_are_all_named_and_alike(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(prediction, "write_picture", lambda path, figure, **_: drawn.append(figure))
    draw(tmp_path, Lifted(0.02, 0.0005), frames())
    *plots, _ = drawn[0].axes
    for plot in plots:
        assert [plot.get_xlabel(), plot.get_ylabel(), plot.get_zlabel()] == ["x [mm]", "y [mm]", "z [mm]"]
        sides = [np.ptp(limits) for limits in (plot.get_xlim(), plot.get_ylim(), plot.get_zlim())]
        np.testing.assert_allclose(plot._box_aspect / plot._box_aspect[0], np.array(sides) / sides[0])


def test_too_few_simulations_are_refused_before_anything_is_computed(tmp_path):
    with pytest.raises(InputError, match="12 simulations are too few for 9 pressures"):
        prediction.predict("membrane", tmp_path, 12)
    assert not list(tmp_path.iterdir())


def test_frames_stay_what_they_are_whatever_is_learned_from_them():
    robot, learning = learnable("membrane")
    pressures = np.linspace(0.0, 4000.0, 3)
    inflation = Inflation(*2 * [np.tile(pressures[:, None], 9)])
    first, more = (frame_cases(robot, learning, inflation, 50), frame_cases(robot, learning, inflation, 8, 50, 3))
    assert [case[0] for case in first + more] == list(range(58))
    assert all((case[2:] >= 0.0).all() and (case[2:] <= 4000.0).all() for case in first + more)
    assert not np.allclose(first[0][2:], more[0][2:])
