"""How a calibration by a release goes and ends; the search itself has tests of its own."""

from types import SimpleNamespace

import numpy as np
import pytest
from soft_twin_msgs.action import CalibrateRelease

from soft_twin.calibration.tuned import Tuned
from soft_twin.calibration.tuning_process import Found
from soft_twin.errors import InputError, RecordingError
from soft_twin_ros import calibration_actions
from soft_twin_ros.calibration_actions import CalibrationActions

VALUES = {"young_modulus": 0.7e6, "density": 1150.0, "mass_damping": 0.5, "stiffness_damping": 0.3}
FOUND = Found(Tuned(VALUES, dict.fromkeys(VALUES, 0.01), 2.0, [3.0, 2.0], 1.0, np.zeros((1, 3))), 4e-4)


class Search:
    """In place of a process: it says what it is told to."""

    begun: list = []

    def __init__(self, *arguments):
        self.arguments, self.stage, self.progress, self.says, self.stopped = arguments, "computing", 0.5, None, False
        self.begun.append(self)

    def look(self):
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    def stop(self):
        self.stopped = True


@pytest.fixture
def actions(monkeypatch):
    monkeypatch.setattr(calibration_actions, "TuningProcess", Search)
    monkeypatch.setattr(Search, "begun", [])
    result = object.__new__(CalibrationActions)  # without a node: nobody is told
    result.node = SimpleNamespace(robot=SimpleNamespace(path="slender.yaml"), get_namespace=lambda: "/left")
    result._process = result._found = None
    return result


@pytest.fixture
def goal(tmp_path):
    (tmp_path / "release.mcap").touch()
    return CalibrateRelease.Goal(recording=str(tmp_path / "release.mcap"))


def test_a_search_is_followed_to_its_end(actions, goal):
    actions.begin("calibrate", goal)
    assert Search.begun[0].arguments[2:] == ("left", 0.02, 8, False)
    assert actions.ending() is None
    feedback = actions.filled(CalibrateRelease.Feedback())
    assert (feedback.stage, feedback.progress) == ("computing", 0.5)
    Search.begun[0].says = FOUND
    success, message = actions.ending()
    assert success and "material.young_modulus: 700000" in message
    result = actions.filled(CalibrateRelease.Result())
    assert dict(zip(result.names, result.values, strict=True)) == VALUES
    assert result.distance == 4e-4 and list(result.uncertainties) == [0.01] * 4


def test_friction_is_looked_for_where_it_is_asked_for(actions, goal):
    goal.friction = True
    actions.begin("calibrate", goal)
    assert Search.begun[0].arguments[2:] == ("left", 0.02, 8, True)


def test_a_search_that_fails_says_why_and_leaves_nothing(actions, goal):
    actions.begin("calibrate", goal)
    Search.begun[0].says = RecordingError("no topic tip/pose")
    assert actions.ending() == (False, "no topic tip/pose")
    assert Search.begun[0].stopped and not actions.filled(CalibrateRelease.Result()).names


def test_a_cancelled_or_overtaken_search_computes_no_more(actions, goal):
    actions.begin("calibrate", goal)
    actions.begin("calibrate", goal)
    assert Search.begun[0].stopped and not Search.begun[1].stopped
    assert actions.cancel().startswith("cancelled")
    assert Search.begun[1].stopped


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"recording": "/nowhere.mcap"}, "no such file"),
        ({"recording": ""}, "no such file"),
        ({"step": -0.1}, "expected 0.0001 to 1 s"),
        ({"step": float("nan")}, "expected 0.0001 to 1 s"),
        ({"simulations": 10_000}, "at most 100"),
    ],
)
def test_a_goal_that_cannot_be_is_refused_and_stops_nothing(actions, goal, wrong, says):
    actions.begin("calibrate", goal)
    for name, value in wrong.items():
        setattr(goal, name, value)
    with pytest.raises(InputError, match=says):
        actions.begin("calibrate", goal)
    assert not Search.begun[0].stopped
