"""The solver's node in this process: gravity looked ahead by the rates that the base turns with."""

import subprocess
import sys
import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped, Vector3Stamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu, JointState
from soft_twin_msgs.srv import SetTarget

from soft_twin.errors import ConvergenceError
from soft_twin.inverse.targets import actuation_target
from soft_twin_ros.conversions import header, pose_message, to_vector, vector_message
from soft_twin_ros.gravity_to_actuators import UPRIGHT, GravityToActuators
from soft_twin_ros.node import OK, WARN

PATIENCE = 60.0  # [s]
STILL = np.zeros(3)  # rates [rad/s]


class Loop:
    """The node, and somebody who talks to it and listens."""

    def __init__(self):
        self.node, self._client = GravityToActuators(), rclpy.create_node("client")
        self.node.begin()
        self._executor, self._heard = SingleThreadedExecutor(), []
        for node in (self.node, self._client):
            self._executor.add_node(node)
        self._gravity = self._client.create_publisher(Vector3Stamped, "gravity", 10)
        self._imu = self._client.create_publisher(Imu, "imu/data", 10)
        self._target = self._client.create_publisher(PoseStamped, "target", 1)
        self._client.create_subscription(JointState, "cables/command", self._heard.append, 10)
        self.targets = []
        self._client.create_subscription(PoseStamped, "twin/target", self.targets.append, 10)

    def aim(self, place, frame):
        """A target of the tip on the topic."""
        end = time.monotonic() + PATIENCE
        while not self._target.get_subscription_count():
            assert time.monotonic() < end
            self._spin(0.02)
        self._target.publish(pose_message(time.time(), frame, np.array(place), None))

    def command(self, rates):
        """Displacements [mm] under upright gravity, of a base that says it turns with these rates."""
        before, end = len(self._heard), time.monotonic() + PATIENCE
        while len(self._heard) == before:
            assert time.monotonic() < end
            stamp = time.time()
            self._imu.publish(Imu(header=header(stamp, "base_link"), angular_velocity=to_vector(rates)))
            self._spin(0.02)
            self._gravity.publish(vector_message(stamp + 0.001, "base_link", UPRIGHT))
            self._spin(0.02)
        return 1e3 * np.array(self._heard[-1].position)

    def command_until(self, rates, done):
        """Command until it is as expected: on a busy machine rates come later than the gravity that they go with."""
        end = time.monotonic() + PATIENCE
        while not done(command := self.command(rates)):
            assert time.monotonic() < end, command

    def target(self, said):
        """The pose that the node tells it aims at, `said` so after this call."""
        self.targets.clear()
        self.command_until(STILL, lambda _: any(map(said, self.targets)))
        return self.targets[-1]

    def _spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.005)
            if self.node.has_work:
                self.node.work()

    def close(self):
        self.node.close()
        for node in (self._client, self.node):
            node.destroy_node()


@pytest.fixture
def loop():
    result = Loop()
    yield result
    result.close()


def test_gravity_is_looked_ahead_where_it_is_asked_for(loop):
    turning = [2.0, 0.0, 0.0]
    for _ in range(5):
        upright = loop.command(turning)
    assert np.ptp(upright[:3]) < 1e-3  # as measured, straight up
    (answer,) = loop.node.set_parameters([Parameter("lead", value=0.3)])
    assert answer.successful
    loop.command_until(turning, lambda ahead: np.ptp(ahead[:3]) > 0.2)  # tilted by 0.6 rad
    loop.command_until(np.zeros(3), lambda still: np.abs(still - upright).max() < 1e-3)


@pytest.mark.parametrize("place", [(0.0, 0.0, -0.05), (0.02, -0.01, -0.03)])
def test_a_target_behind_the_base_is_refused_and_the_loop_goes_on(loop, place):
    request = SetTarget.Request()
    request.target.header.frame_id = "base_link"
    request.target.pose.position.x, request.target.pose.position.y, request.target.pose.position.z = place
    before = loop.command([0.0, 0.0, 0.0])
    answer = loop.node._set_target(request, SetTarget.Response())
    assert not answer.success and "behind the base" in answer.message
    np.testing.assert_allclose(loop.command([0.0, 0.0, 0.0]), before, atol=0.5)


def test_where_the_tip_is_aimed_is_told_turned_as_the_twins_tip_or_as_asked(loop):
    def at(x):
        return lambda pose: abs(pose.pose.position.x - x) < 1e-12

    loop.aim((0.012, -0.003, 0.095), "base_link")
    loop.target(at(0.012))
    for _ in range(40):  # until the twin is at rest
        loop.command(STILL)
    pose = loop.target(at(0.012))
    assert pose.header.frame_id == "base_link" and (pose.pose.position.y, pose.pose.position.z) == (-0.003, 0.095)
    turn, tick = pose.pose.orientation, loop.node._tick
    axis = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(axis, tick.tip_direction, atol=1e-3)
    request = SetTarget.Request(use_orientation=True)
    request.target.header.frame_id = "base_link"
    request.target.pose.position.x, request.target.pose.position.z = 0.015, 0.096
    request.target.pose.orientation.y, request.target.pose.orientation.w = np.sin(0.15), np.cos(0.15)
    answer = loop.node._set_target(request, SetTarget.Response())
    assert answer.success, answer.message
    turn = loop.target(at(0.015)).pose.orientation
    np.testing.assert_allclose([turn.x, turn.y, turn.z, turn.w], [0.0, np.sin(0.15), 0.0, np.cos(0.15)], atol=1e-9)


def test_an_actuation_that_is_held_is_no_pose(loop):
    loop.command(STILL)
    controller = loop.node._controller
    controller.aim(actuation_target(controller.inverse, np.zeros(6)))
    for _ in range(3):
        loop.command(STILL)
    loop.targets.clear()
    end = time.monotonic() + 3.0 / loop.node.parameters.picture_rate
    while time.monotonic() < end:
        loop.command(STILL)
    assert loop.targets == []


def test_who_asks_an_inactive_node_is_told_so(loop, monkeypatch):
    request = SetTarget.Request()
    request.target.header.frame_id = "base_link"
    request.target.pose.position.z = 0.1
    assert loop.node._set_target(request, SetTarget.Response()).message.endswith("mm from now on")
    monkeypatch.setattr(loop.node, "active", False)
    assert loop.node._set_target(request, SetTarget.Response()).message.endswith("mm when the node is active")


@pytest.mark.parametrize(
    ("frame", "place", "why"),
    [("base_link", (np.nan, 0.0, 0.1), "is not finite"), ("base_link", (0.01, 0.0, -0.02), "behind the base"),
     ("odom", (0.01, 0.0, 0.09), "target in frame 'odom'")],
)  # fmt: skip
def test_a_target_on_the_topic_that_cannot_be_is_told_until_there_is_another(loop, frame, place, why):
    before = loop.command(STILL)
    loop.aim(place, frame)
    for _ in range(20):
        np.testing.assert_allclose(loop.command(STILL), before, atol=0.5)
    health = loop.node.health()
    assert health.message.startswith("target refused, the last one is held")
    assert health.level == WARN and why in health.message
    loop.command(STILL)
    assert why in loop.node.health().message  # whatever gravity says meanwhile
    loop.aim((0.005, 0.0, 0.098), "base_link")
    loop.command_until(STILL, lambda command: np.ptp(command[:3]) > 0.2)
    assert loop.node.health().level == OK


def test_what_is_held_is_published_with_every_sample_and_the_diagnostics_say_why(loop, monkeypatch):
    for _ in range(5):
        safe = loop.command([0.0, 0.0, 0.0])

    def died(gravity):
        raise ConvergenceError("SOFA has ended: 'segmentation fault'")

    monkeypatch.setattr(loop.node._controller.twin, "linearise", died)
    for _ in range(3):
        np.testing.assert_allclose(loop.command([0.0, 0.0, 0.0]), safe, atol=1e-2)
    health = loop.node.health()
    assert health.level == WARN and "SOFA has ended: 'segmentation fault'" in health.message
    monkeypatch.undo()
    for _ in range(40):
        loop.command([0.0, 0.0, 0.0])
    assert not loop.node._tick.holding and loop.node._tick.reason == ""


def test_mechanics_that_are_not_known_are_named():
    command = [sys.executable, "-m", "soft_twin_ros.gravity_to_actuators", "--ros-args", "-p", "twin:=mujoco"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 2 and "parameter twin: 'mujoco' is none of fem, sofa" in result.stderr


def test_the_tip_s_loop_is_as_fast_as_it_is_set_and_never_unsafe(loop):
    def set_to(bandwidth):
        (answer,) = loop.node.set_parameters([Parameter("tip_bandwidth", value=bandwidth)])
        return answer.successful

    feedback = loop.node._sensor._feedback
    assert set_to(1.0) and feedback.parameters.bandwidth == 1.0
    assert not set_to(8.0) and feedback.parameters.bandwidth == 1.0
