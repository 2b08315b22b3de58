"""The solver follows a tip sensor, of a robot that is always aside of its twin, over real DDS."""

import time

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from sensor_msgs.msg import JointState

from soft_twin_ros.conversions import joint_state, pose_message

ASIDE = np.array([0.0, 0.002, 0.0])  # [m]
JUMP = np.array([0.015, 0.0, 0.0])  # [m] of the tracker, there or back


class Sensed:
    """A robot whose cables are where they are told to be, and whose tip is ASIDE of its twin's; its sensor."""

    def __init__(self, listener):
        self.listener, self.frame, self.seen, self.told = listener, "base_link", True, True
        self.displaced = np.zeros(3)
        self.twin_tip = np.full(3, np.nan)
        node = listener.node
        self._poses, self._states = (
            node.create_publisher(PoseStamped, "tip/pose", 10),
            node.create_publisher(JointState, "cables/state", 10),
        )
        node.create_subscription(PoseStamped, "twin/tip", self._answer, 10)
        node.create_subscription(JointState, "cables/command", self._follow, 10)

    def _follow(self, message):
        if self.told:
            self._states.publish(joint_state(time.time(), message.name, message.position, np.zeros(6)))

    def _answer(self, message):
        place = message.pose.position
        self.twin_tip = np.array([place.x, place.y, place.z])
        if self.seen:
            self._poses.publish(pose_message(time.time(), self.frame, self.twin_tip + ASIDE + self.displaced, None))


@pytest.fixture
def robot(start, board, listener):
    sensed = Sensed(listener)
    start("imu_to_gravity", "gravity_to_cables", imu=board.port.path)
    listener.wait_for(lambda: np.isfinite(sensed.twin_tip).all())
    return sensed


def follow(listener, yes):
    client = AsyncParameterClient(listener.node, "gravity_to_cables")
    listener.wait_for(client.services_are_ready)
    answer = client.set_parameters([Parameter("tip_feedback", value=yes)])
    listener.wait_for(answer.done)
    assert answer.result().results[0].successful


def jumps(robot, listener):
    """Whether it is told that the tracker has jumped; after a gap, as busy machines have them, a jump may be a motion,
    and is followed."""
    robot.displaced = JUMP - robot.displaced
    listener.spin(1.5)
    return listener.says("gravity_to_cables", "15 mm at once: is the tracker where it was?")


def test_what_the_robot_is_aside_of_its_twin_is_taken_off_the_target_while_it_is_seen(robot, listener):
    listener.wait_for(lambda: abs(robot.twin_tip[1]) < 5e-4)
    listener.spin(0.5)
    assert abs(robot.twin_tip[1]) < 5e-4  # nobody has asked for it
    follow(listener, True)
    listener.wait_for(lambda: abs(robot.twin_tip[1] + ASIDE[1]) < 2e-4)
    listener.wait_for(lambda: listener.says("gravity_to_cables", "compensating"))
    assert listener.heard["solver/status"][-1].target.position.y == 0.0
    listener.wait_for(lambda: jumps(robot, listener))
    listener.wait_for(lambda: abs(robot.twin_tip[1]) < 5e-4)
    robot.frame = "tracker"
    listener.wait_for(lambda: listener.says("gravity_to_cables", "tip/pose in frame 'tracker'"))
    robot.frame, robot.seen = "base_link", False
    listener.wait_for(lambda: listener.says("gravity_to_cables", "the tip's loop is open: no tip/pose"))
    robot.seen = True
    listener.spin(2.0)
    listener.wait_for(lambda: listener.says("gravity_to_cables", "15 mm at once: is the tracker where it was?"))
    assert abs(robot.twin_tip[1]) < 5e-4
    robot.displaced = JUMP - robot.displaced
    listener.wait_for(lambda: abs(robot.twin_tip[1] + ASIDE[1]) < 2e-4)
    robot.frame = "tracker"
    listener.wait_for(lambda: listener.says("gravity_to_cables", "tip/pose in frame 'tracker'"))
    listener.wait_for(lambda: abs(robot.twin_tip[1]) < 5e-4)
    robot.frame, robot.told = "base_link", False
    listener.wait_for(lambda: listener.says("gravity_to_cables", "without cables/state the actuators"))
    robot.told = True
    listener.wait_for(lambda: abs(robot.twin_tip[1] + ASIDE[1]) < 2e-4)
    robot.seen = False
    listener.wait_for(lambda: listener.says("gravity_to_cables", "the tip's loop is open: no tip/pose"))
    follow(listener, False)
    listener.wait_for(lambda: listener.says("gravity_to_cables", "compensating"))
    listener.wait_for(lambda: abs(robot.twin_tip[1]) < 5e-4)


def test_what_was_measured_long_ago_does_not_count_when_it_is_asked_for(robot, listener):
    listener.wait_for(lambda: abs(robot.twin_tip[1]) < 5e-4)
    robot.seen = False
    listener.spin(0.8)
    follow(listener, True)
    listener.wait_for(lambda: listener.says("gravity_to_cables", "the tip's loop is open"))
    assert abs(robot.twin_tip[1]) < 2e-4
