import os
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import RecordingError
from soft_twin.studies import tensegrity_arm

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))


@pytest.fixture(scope="module")
def recording():
    path = DATA / tensegrity_arm.FILE
    if not path.is_file():
        pytest.skip(f"no recording at {path}")
    return tensegrity_arm.read_recording(path)


def test_a_missing_recording_is_named(tmp_path):
    with pytest.raises(RecordingError, match="no recording"):
        tensegrity_arm.read_recording(tmp_path / "nothing.npz")


def test_a_recording_without_its_arrays_is_named(tmp_path):
    np.savez(tmp_path / "half.npz", obs=np.zeros((2, 30)), code=np.zeros((2, 5)))
    with pytest.raises(RecordingError, match="no array 'state_gt'"):
        tensegrity_arm.read_recording(tmp_path / "half.npz")


def test_struts_of_the_real_arm_lean_as_those_of_the_model(recording):
    inclinations = np.degrees(tensegrity_arm.measured_inclinations(recording))
    assert recording.numbers.tolist() == [1, 5, 9, 14, 18]
    assert np.median(inclinations[:, -1]) == pytest.approx(40.0, abs=5.0)
    assert np.all(np.median(inclinations, axis=0) > 20.0) and np.all(np.median(inclinations, axis=0) < 70.0)


def test_tips_are_moved_and_turned_onto_the_truth():
    random = np.random.default_rng(0)
    tips, yaw = random.normal(size=(20, 3)), 1.1
    turn = np.array([[np.cos(yaw), np.sin(yaw), 0.0], [-np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    truth = tips @ turn + [1.0, 2.0, 3.0]
    error, moved = tensegrity_arm.placed(tips, truth, np.arange(20) < 10)
    assert error < 1e-12
    assert moved == pytest.approx(truth)


def test_the_legend_of_the_picture_covers_neither_curves_nor_the_title(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(tensegrity_arm, "write_picture", lambda path, figure, **_: drawn.append(figure))
    times, tip = np.linspace(0.0, 4.0, 40), np.zeros((40, 3))
    seen, freed = "linear regression on the 5 inclinations", "twin, 15 struts freed, one pressure"
    rows = dict.fromkeys(("mean", seen, "pressures", freed), tip)
    tensegrity_arm._draw(tmp_path / "replay.png", times, tip, rows, times < 2.0)
    (figure,) = drawn
    figure.draw_without_rendering()
    legends = [*figure.legends, *(each.get_legend() for each in figure.axes if each.get_legend())]
    assert len(legends) == 1
    others = [*figure.axes, figure._suptitle, *(each.xaxis.label for each in figure.axes)]
    assert not any(legends[0].get_window_extent().overlaps(each.get_window_extent()) for each in others)
