"""What is said of a run that takes a shape: pressures, and whether chambers had come to rest by then."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from soft_twin.app import shape_run
from soft_twin.app.shape_run import Goal, shape_table, write_shape_report

NAMES, COMMAND, DT = ["left", "right"], np.array([6000.0, 8000.0]), 0.02


class Topic(dict):
    """Of a recording: times [ns], and values."""

    def __init__(self, times, **values):
        super().__init__(values)
        self.log_time, self.names = (1e9 * np.asarray(times)).astype(np.int64), NAMES


def report_of(monkeypatch, folder, time_constant, seconds=3.0):
    """Of chambers that fill to what is commanded, the second one faster by far."""
    times = np.arange(0.0, seconds, DT)
    filled = 1.0 - np.exp(-times[:, None] / np.array([time_constant, 0.05]))
    series = {
        "/two_rooms/run/phase": Topic([0.0, seconds], data=np.array(["with", "end"])),
        "/two_rooms/chambers/command": Topic(times, pressures=np.tile(COMMAND, (len(times), 1))),
        "/two_rooms/truth/chambers": Topic(times, pressures=COMMAND * filled),
    }
    monkeypatch.setattr(shape_run, "arrays", lambda path, names: {name: series[name] for name in names})
    robot = SimpleNamespace(name="two_rooms", chamber_names=NAMES)
    limits = SimpleNamespace(limits=np.array([[0.0, 9000.0]] * 2))
    goal = Goal(np.zeros((1, 3)), COMMAND, "fixed", False, lambda had: 1e-7 * np.abs(COMMAND - had), "a shape")
    report = write_shape_report(folder / "run.mcap", folder, robot, SimpleNamespace(shapes=limits), goal)
    assert json.loads((folder / "report.json").read_text()) == report
    return report


def test_chambers_that_still_fill_are_no_error_of_their_valves(monkeypatch, tmp_path):
    report = report_of(monkeypatch, tmp_path, 1.3)
    slope = COMMAND[0] / 1.3 * np.exp(-2.5 / 1.3)
    assert report["still_moving_Pa_per_s"] == {"left": pytest.approx(slope, rel=0.05)}
    told = shape_table(report)
    assert f"still moving when the run ended: left by +{report['still_moving_Pa_per_s']['left']:.0f} Pa/s" in told


def test_nothing_is_said_of_chambers_that_stand(monkeypatch, tmp_path):
    report = report_of(monkeypatch, tmp_path, 0.05)
    assert report["largest_error_Pa"]["had"] < 1.0 and "still_moving_Pa_per_s" not in report
    assert "still moving" not in shape_table(report)
