"""The node that holds a plate, between a base, a plate and cables that obey at once."""

import os
import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped, Vector3Stamped
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from soft_twin_msgs.action import MoveTo
from soft_twin_msgs.srv import SetTarget, SolveIk
from std_srvs.srv import SetBool, Trigger

from soft_twin import load_robot
from soft_twin.robots.alignment_file import read_alignment
from soft_twin.twins.constant_curvature import pitch_roll_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin_ros.conversions import joint_state, to_pose, vector_message
from soft_twin_ros.qos import COMMAND, SENSOR
from soft_twin_ros.running.graph import graph
from soft_twin_ros.running.processes import Processes

DOWN = np.array([0.0, 0.0, -9.81])
PERIOD = 0.02  # [s]
PULL = np.full(3, 2.0)  # [N]
STRETCH = 0.9  # the plate bends by so much less than constant curvature says


def tilt(pitch, roll):
    bend = bend_of(pitch, roll)
    return Rotation.from_rotvec([-bend[1], bend[0], 0.0]).as_matrix()


class Neck:
    """Cables that are where they were told to be at once, and a plate that bends by `STRETCH` of what chords say."""

    def __init__(self, listener, robot):
        self.node, self.names = listener.node, robot.cable_names
        self.chord = robot.build_twin("pcc_chord")
        self.told, self.base_speaks, self.plate_speaks = np.zeros(3), True, True
        self.askew = np.eye(3)  # how the plate's IMU is turned
        self._gravities = [
            self.node.create_publisher(Vector3Stamped, topic, SENSOR) for topic in ("gravity", "plate/gravity")
        ]
        self._cables = self.node.create_publisher(JointState, "cables/state", SENSOR)
        self.node.create_subscription(JointState, "cables/command", self._obey, COMMAND)
        self.node.create_timer(PERIOD, self._speak)

    def _obey(self, message):
        self.told = np.array(message.position)

    def _speak(self):
        bend = STRETCH * self.chord.bends_of(self.told)[0][0]
        turned = Rotation.from_rotvec([-bend[1], bend[0], 0.0]).as_matrix()
        self.tilt = np.degrees(pitch_roll_of(turned[:, 2]))
        now = time.time()
        if self.base_speaks:
            self._gravities[0].publish(vector_message(now, "neck/base_link", DOWN))
        if self.plate_speaks:
            self._gravities[1].publish(vector_message(now, "neck/plate_plate", self.askew.T @ turned.T @ DOWN))
        self._cables.publish(joint_state(now, self.names, self.told, PULL))


@pytest.fixture(scope="module")
def robot():
    return load_robot("neck")


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    result = Processes(tmp_path_factory.mktemp("log"), os.environ)
    yield result
    result.stop()


@pytest.fixture(scope="module")
def listener(listener_class, processes):
    result = listener_class("neck")
    yield result
    result.close()


@pytest.fixture(scope="module")
def neck(processes, listener, robot, tmp_path_factory):
    """The node runs, steered by chords."""
    spec = next(spec for spec in graph(robot) if spec.name == "pose_to_cables")
    result = Neck(listener, robot)
    result.alignment = tmp_path_factory.mktemp("alignment") / "alignment.yaml"
    own = {"model": "pcc_chord", "alignment": str(result.alignment)}
    spec = type(spec)(spec.executable, spec.name, spec.namespace, spec.parameters | own)
    processes.start(spec)
    listener.wait_for(lambda: listener.says("pose_to_cables", "closed loop"))
    return result


def set_parameter(listener, name, value):
    client = AsyncParameterClient(listener.node, "pose_to_cables")
    answer = client.set_parameters([Parameter(name, value=value)])
    listener.wait_for(answer.done)
    return answer.result().results[0]


def value(listener, key):
    return next((pair.value for pair in listener.health["pose_to_cables"].values if pair.key == key), "")


def test_the_plate_comes_to_where_it_should_be_though_its_model_is_wrong(neck, listener):
    listener.wait_for(lambda: np.hypot(*(neck.tilt - [22.2, 0.0])) < 0.1)
    listener.wait_for(lambda: listener.heard["solver/status"])
    status = listener.heard["solver/status"][-1]
    assert status.use_orientation and list(status.actuators) == neck.names


@pytest.mark.parametrize("pace", [{"speed": 0.25}, {"duration": 1.5}])
def test_a_motion_takes_its_time_and_tells_its_progress(neck, listener, pace):
    request = SetTarget.Request(use_orientation=True)
    request.target.pose = to_pose(np.zeros(3), np.eye(3))
    assert listener.call(SetTarget, "set_target", request).success
    listener.wait_for(lambda: np.hypot(*neck.tilt) < 0.6)
    client = ActionClient(listener.node, MoveTo, "move_to")
    listener.wait_for(client.server_is_ready)
    goal, told = MoveTo.Goal(use_orientation=True, **pace), []
    goal.target.pose = to_pose(np.zeros(3), tilt(*np.radians([10.0, -15.0])))
    sent = client.send_goal_async(goal, feedback_callback=lambda message: told.append(message.feedback.progress))
    listener.wait_for(sent.done)
    result = sent.result().get_result_async()
    listener.wait_for(result.done)
    assert result.result().result.success, result.result().result.message
    assert len(told) > 3 and np.all(np.diff(told) >= 0.0) and 0.0 < told[1] < 1.0
    np.testing.assert_allclose(neck.tilt, [10.0, -15.0], atol=0.6)


def test_a_motion_that_is_overtaken_says_how_far_its_own_target_is(neck, listener):
    client = ActionClient(listener.node, MoveTo, "move_to")
    listener.wait_for(client.server_is_ready)

    def sent(pitch, duration):
        goal = MoveTo.Goal(use_orientation=True, duration=duration)
        goal.target.pose = to_pose(np.zeros(3), tilt(np.radians(pitch), 0.0))
        answer = client.send_goal_async(goal)
        listener.wait_for(answer.done)
        return answer.result().get_result_async()

    first = sent(12.0, 60.0)
    listener.spin(0.3)
    apart = np.hypot(neck.tilt[0] - 12.0, neck.tilt[1])
    second = sent(-9.0, 1.0)
    listener.wait_for(first.done)
    result = first.result().result
    assert not result.success and "another target" in result.message
    assert np.degrees(result.orientation_error) == pytest.approx(apart, abs=1.0)
    listener.wait_for(second.done)
    assert second.result().result.success


def test_imus_are_aligned_on_a_straight_plate_and_a_file_keeps_it(neck, listener):
    neck.askew = Rotation.from_rotvec([0.02, 0.0, 0.0]).as_matrix()
    listener.wait_for(
        lambda: (
            not (refused := listener.call(Trigger, "align", Trigger.Request())).success and "bend" in refused.message
        )
    )
    request = SetTarget.Request(use_orientation=True)
    request.target.pose = to_pose(np.zeros(3), np.eye(3))
    assert listener.call(SetTarget, "set_target", request).success
    assert listener.call(Trigger, "tare", Trigger.Request()).success
    listener.wait_for(lambda: np.hypot(*neck.tilt) > 1.0)
    listener.wait_for(
        lambda: (answer := listener.call(Trigger, "align", Trigger.Request())).success and "1.1" in answer.message
    )
    listener.wait_for(lambda: np.hypot(*neck.tilt) < 0.3)  # two deviations of homing, which equal pulls are taken for
    listener.wait_for(lambda: value(listener, "alignment_deg").startswith("1.1"))
    assert np.degrees(read_alignment(neck.alignment).apart) == pytest.approx(np.degrees(0.02), rel=0.05)
    neck.askew = np.eye(3)


def test_a_motion_without_an_orientation_is_refused(neck, listener):
    client = ActionClient(listener.node, MoveTo, "move_to")
    listener.wait_for(client.server_is_ready)
    sent = client.send_goal_async(MoveTo.Goal(duration=1.0))
    listener.wait_for(sent.done)
    result = sent.result().get_result_async()
    listener.wait_for(result.done)
    assert not result.result().result.success
    assert "use_orientation" in result.result().result.message


@pytest.mark.parametrize("which", ["base", "plate"])
def test_without_one_imu_the_loop_is_open_and_says_so_and_the_model_steers(neck, listener, which):
    setattr(neck, f"{which}_speaks", False)
    listener.wait_for(lambda: listener.says("pose_to_cables", f"open loop: no gravity from the IMU of the {which}"))
    before = neck.told
    target = listener.node.create_publisher(PoseStamped, "target", COMMAND)
    listener.wait_for(lambda: target.get_subscription_count() > 0)
    target.publish(PoseStamped(pose=to_pose(np.zeros(3), tilt(0.2 if which == "base" else 0.1, 0.0))))
    listener.wait_for(lambda: np.abs(neck.told - before).max() > 1e-3)
    setattr(neck, f"{which}_speaks", True)
    listener.wait_for(lambda: listener.says("pose_to_cables", "closed loop"))


def test_without_both_nothing_is_commanded(neck, listener):
    neck.base_speaks = neck.plate_speaks = False
    listener.wait_for(lambda: listener.says("pose_to_cables", "no gravity from base and plate"))
    listener.spin(0.1)
    listener.heard["cables/command"].clear()
    listener.spin(0.5)
    assert not listener.heard["cables/command"]
    answer = listener.call(Trigger, "align", Trigger.Request())
    assert not answer.success and answer.message.startswith("no gravity from base and plate")
    neck.base_speaks = neck.plate_speaks = True
    listener.wait_for(lambda: listener.says("pose_to_cables", "closed loop"))


def test_the_model_is_changed_while_it_runs(neck, listener):
    assert not set_parameter(listener, "model", "guess").successful
    assert set_parameter(listener, "model", "fem").successful
    listener.wait_for(lambda: value(listener, "model") == "fem" and listener.says("pose_to_cables", "closed loop"))
    assert set_parameter(listener, "model", "pcc_chord").successful
    listener.wait_for(lambda: listener.says("pose_to_cables", "closed loop"))


@pytest.mark.parametrize("model", ["fem", "pcc_chord"])
@pytest.mark.parametrize(("angles", "reachable"), [((15.0, 10.0), True), ((79.0, 0.0), False)])
def test_an_orientation_is_solved_for_and_the_nearest_is_named_where_it_is_out_of_reach(
    neck, listener, angles, reachable, model
):
    assert set_parameter(listener, "model", model).successful
    request = SolveIk.Request(use_orientation=True)
    request.target.pose = to_pose(np.zeros(3), tilt(*np.radians(angles)))
    answer = listener.call(SolveIk, "solve_ik", request)
    assert answer.success and answer.reachable == reachable, answer.message
    assert len(answer.coordinates) == 3
    assert max(answer.coordinates) <= 0.055 and min(answer.coordinates) >= -0.045
    assert ("out of reach: the nearest is 5" in answer.message) == (not reachable)
    assert (answer.orientation_error < 1e-3) == reachable
    assert list(answer.active_limits) == ([] if reachable else ["cable_1 displacement max"])


def test_no_orientation_is_solved_for_a_gravity_from_before_the_base_fell_silent(neck, listener):
    neck.base_speaks = False
    listener.wait_for(lambda: listener.says("pose_to_cables", "open loop: no gravity from the IMU of the base"))
    request = SolveIk.Request(use_orientation=True)
    request.target.pose = to_pose(np.zeros(3), tilt(np.radians(15.0), 0.0))
    assert set_parameter(listener, "model", "pcc_chord").successful
    assert listener.call(SolveIk, "solve_ik", request).success  # kinematics know of no loads
    assert set_parameter(listener, "model", "fem").successful
    answer = listener.call(SolveIk, "solve_ik", request)
    assert not answer.success and answer.message == "no gravity is measured: give one in the request"
    request.gravity.z = -981.0
    answer = listener.call(SolveIk, "solve_ik", request)
    assert not answer.success and "expected 9.81 m/s²" in answer.message
    request.gravity.z = -9.81
    assert listener.call(SolveIk, "solve_ik", request).success
    neck.base_speaks = True
    request.gravity.z = 0.0
    listener.wait_for(lambda: listener.call(SolveIk, "solve_ik", request).success)
    assert set_parameter(listener, "model", "pcc_chord").successful
    listener.wait_for(lambda: listener.says("pose_to_cables", "closed loop"))


def test_a_target_out_of_reach_is_refused_with_the_nearest_or_the_nearest_is_held(neck, listener):
    beyond, words = SetTarget.Request(use_orientation=True), "pitch 75°, roll 0° is out of reach: the nearest is 56.9°"
    beyond.target.pose = to_pose(np.zeros(3), tilt(np.radians(75.0), 0.0))
    refused = listener.call(SetTarget, "set_target", beyond)
    assert not refused.success and words in refused.message
    target = listener.node.create_publisher(PoseStamped, "target", COMMAND)
    listener.wait_for(lambda: target.get_subscription_count() > 0)
    target.publish(beyond.target)
    listener.wait_for(lambda: listener.says("pose_to_cables", f"target refused, the last one is held: {words}"))
    within = SetTarget.Request(use_orientation=True)
    within.target.pose = to_pose(np.zeros(3), tilt(np.radians(10.0), 0.0))
    assert listener.call(SetTarget, "set_target", within).success
    listener.wait_for(lambda: listener.says("pose_to_cables", "closed loop") and not value(listener, "refusal"))
    assert set_parameter(listener, "go_to_nearest", True).successful
    gone = listener.call(SetTarget, "set_target", beyond)
    assert gone.success and "holding pitch 56.9°" in gone.message and words in gone.message
    listener.wait_for(lambda: listener.says("pose_to_cables", words))
    listener.heard["solver/status"].clear()
    listener.wait_for(lambda: listener.heard["solver/status"])
    assert not listener.heard["solver/status"][-1].reachable
    assert set_parameter(listener, "go_to_nearest", False).successful
    assert listener.call(SetTarget, "set_target", within).success
    listener.wait_for(lambda: np.hypot(*(neck.tilt - [10.0, 0.0])) < 1.5)  # an alignment of before is out of date


def test_cables_are_free_when_they_shall_be(neck, listener):
    assert listener.call(SetBool, "compensate", SetBool.Request(data=False)).success
    listener.wait_for(lambda: listener.says("pose_to_cables", "the cables are free"))
    listener.spin(0.1)
    listener.heard["cables/command"].clear()
    listener.spin(0.3)
    assert not listener.heard["cables/command"]
    assert listener.call(SetBool, "compensate", SetBool.Request(data=True)).success
    listener.wait_for(lambda: listener.heard["cables/command"])
    assert rclpy.ok()
