"""struts_to_shape in a process of its own, over real DDS, fed from here."""

import math
import os

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from soft_twin_msgs.action import CalibrateStraight
from soft_twin_msgs.msg import Inclinations, Pressures
from std_srvs.srv import Trigger

from soft_twin import load_robot
from soft_twin_ros.conversions import header, to_array, to_seconds
from soft_twin_ros.errands import LOST
from soft_twin_ros.running.graph import Devices, graph
from soft_twin_ros.running.processes import Processes

STRUTS = [f"strut_{i}" for i in range(20)]
CYLINDERS = [f"cylinder_{k}" for k in range(40)]


class Boards:
    """The boards of a straight arm, which speak while the listener spins."""

    def __init__(self, arm, node):
        self.pressures = np.full(40, 600e3)
        self.truth = arm.forward(self.pressures)
        self.inclinations = self.truth.inclinations.copy()
        self.stamp, self.measures_pressures = 0.0, True
        self._inclinations = node.create_publisher(Inclinations, "struts/inclination", 10)
        self._pressures = node.create_publisher(Pressures, "chambers/state", 10)
        self.timer = node.create_timer(0.02, self._speak)

    def _speak(self):
        self.stamp += 0.02
        stamp = header(self.stamp, "")
        if self.measures_pressures:
            self._pressures.publish(Pressures(header=stamp, names=CYLINDERS, pressures=self.pressures.tolist()))
        self._inclinations.publish(Inclinations(header=stamp, names=STRUTS, angles=self.inclinations.tolist()))

    def distance(self, shape):
        """Largest distance of a node of a shape from the truth [m]."""
        points = np.array([to_array(point) for point in shape.points])
        return np.linalg.norm(points - self.truth.nodes, axis=1).max()


@pytest.fixture
def processes(tmp_path):
    result = Processes(tmp_path, os.environ)
    yield result
    result.stop()


@pytest.fixture
def talk(listener_class, processes):
    class ArmListener(listener_class):
        TOPICS = {"shape": "soft_twin_msgs.msg.Shape", "markers": "visualization_msgs.msg.MarkerArray"}

    result = ArmListener("tm40")
    yield result
    result.close()


@pytest.fixture
def boards(talk, processes):
    arm = load_robot("tm40")
    result = Boards(arm, talk.node)
    for node in graph(arm, devices=Devices("", "")):
        processes.start(node)
    talk.wait_for(lambda: talk.heard["shape"] and talk.says("struts_to_shape", "estimating"))
    return result


def test_shape_markers_faults_reset_and_calibration(talk, boards):
    shape = talk.heard["shape"][-1]
    assert shape.names[0] == "b0" and shape.names[-1] == "t19" and shape.header.frame_id == "tm40/base_link"
    assert 0.0 < shape.confidence <= 1.0 and boards.distance(talk.heard["shape"][-1]) < 1e-3
    assert 0.0 < to_seconds(shape.header.stamp) < boards.stamp + 1e-6
    talk.wait_for(lambda: talk.heard["markers"])
    assert [marker.ns for marker in talk.heard["markers"][-1].markers] == ["struts", "taut", "slack"]

    boards.inclinations[7] = math.nan
    talk.wait_for(lambda: talk.says("struts_to_shape", "strut 7: no inclination, the strut is freed"))
    assert boards.distance(talk.heard["shape"][-1]) < 1e-3
    boards.inclinations[:] = boards.truth.inclinations

    boards.inclinations[[2, 19]] = boards.inclinations[[19, 2]]
    talk.wait_for(lambda: talk.says("struts_to_shape", "struts 2 and 19: their inclinations are swapped"))
    boards.inclinations[:] = boards.truth.inclinations
    talk.wait_for(lambda: talk.says("struts_to_shape", "estimating"))
    assert talk.call(Trigger, "reset", Trigger.Request()).success

    calibrations = ActionClient(talk.node, CalibrateStraight, "calibrate")
    talk.wait_for(calibrations.server_is_ready)
    result = _result_of(talk, calibrations, boards.truth.length())
    assert result.success and len(result.names) == len(result.offsets) == 5
    assert np.abs(result.offsets).max() < 0.01
    refused = _result_of(talk, calibrations, 30.0, duration=600.0)  # before anything is averaged
    assert not refused.success and "length 30 m" in refused.message
    _is_cancelled_while_it_averages(talk, calibrations, boards.truth.length())


def test_silent_boards_and_missing_inclinations_leave_a_stale_shape(talk, boards):
    boards.inclinations[:] = math.nan
    talk.wait_for(lambda: talk.says("struts_to_shape", "the last good shape is stale"))
    talk.wait_for(lambda: talk.heard["shape"][-1].confidence == 0.0)
    assert boards.distance(talk.heard["shape"][-1]) < 1e-3
    boards.inclinations[:] = boards.truth.inclinations
    talk.wait_for(lambda: talk.says("struts_to_shape", "estimating"))
    calibrations = ActionClient(talk.node, CalibrateStraight, "calibrate")
    talk.wait_for(calibrations.server_is_ready)
    averaging = _averaging(talk, calibrations, boards.truth.length())
    boards.timer.cancel()
    talk.wait_for(lambda: talk.says("struts_to_shape", "no inclinations: the last shape is stale"))
    result = averaging.get_result_async()
    talk.wait_for(result.done)
    assert result.result().status == GoalStatus.STATUS_ABORTED and "for 2 s" in result.result().result.message
    refused = _result_of(talk, calibrations, boards.truth.length())
    assert not refused.success and "nothing to calibrate from" in refused.message


def test_pressures_that_stop_coming_are_told_and_nothing_is_calibrated_by_the_last_ones(talk, boards):
    boards.measures_pressures = False
    talk.wait_for(lambda: talk.says("struts_to_shape", "no pressure, the last one is used"))
    count = len(talk.heard["shape"])
    talk.wait_for(lambda: len(talk.heard["shape"]) > count)
    shape = talk.heard["shape"][-1]
    assert shape.confidence > 0.0 and boards.distance(shape) < 1e-3
    calibrations = ActionClient(talk.node, CalibrateStraight, "calibrate")
    talk.wait_for(calibrations.server_is_ready)
    talk.spin(LOST + 0.5)
    refused = _result_of(talk, calibrations, boards.truth.length())
    assert not refused.success and "nothing to calibrate from" in refused.message
    boards.measures_pressures = True
    talk.wait_for(lambda: talk.says("struts_to_shape", "estimating"))
    assert _result_of(talk, calibrations, boards.truth.length()).success


def _averaging(talk, calibrations, length):
    """A calibration that has begun to average, for longer than anybody waits."""
    told = []
    goal = CalibrateStraight.Goal(length=length, duration=600.0)
    sent = calibrations.send_goal_async(goal, lambda message: told.append(message.feedback))
    talk.wait_for(lambda: any(feedback.progress > 0.0 for feedback in told))
    assert told[-1].stage == "averaging"
    return sent.result()


def _is_cancelled_while_it_averages(talk, calibrations, length):
    averaging = _averaging(talk, calibrations, length)
    busy = _result_of(talk, calibrations, length)
    assert not busy.success and "another calibration" in busy.message
    cancelled = averaging.cancel_goal_async()
    talk.wait_for(cancelled.done)
    result = averaging.get_result_async()
    talk.wait_for(result.done)
    assert result.result().status == GoalStatus.STATUS_CANCELED and "cancelled" in result.result().result.message


def _result_of(talk, calibrations, length, duration=0.2):
    sent = calibrations.send_goal_async(CalibrateStraight.Goal(length=length, duration=duration))
    talk.wait_for(sent.done)
    result = sent.result().get_result_async()
    talk.wait_for(result.done)
    return result.result().result
