"""Who shows robots that run: what it hears of them on their topics."""

import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import Imu
from std_msgs.msg import String
from visualization_msgs.msg import Marker

from soft_twin_ros.body_marker import BodyMarker
from soft_twin_ros.conversions import pose_message
from soft_twin_ros.qos import LATCHED, NEWEST, SENSOR
from soft_twin_ros.viewer import Viewer

PATIENCE = 60.0  # [s]
CORNERS = np.array([[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.01, 0.0]])
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]])


class Robots:
    """Those who say how they look, and who listens."""

    def __init__(self, namespace=None):
        self.viewer, self._says = Viewer(namespace), rclpy.create_node("says")
        self._executor = SingleThreadedExecutor()
        for node in (self.viewer, self._says):
            self._executor.add_node(node)
        self._publishers = {}

    def fall_silent(self):
        for publisher in self._publishers.values():
            self._says.destroy_publisher(publisher)
        self._publishers = {}

    def say(self, topic, message, kind=None, profile=SENSOR):
        kind = kind or type(message)
        if topic not in self._publishers:
            self._publishers[topic] = self._says.create_publisher(kind, topic, profile)
        self._publishers[topic].publish(message)

    def until(self, seen, say):
        """Say it until it is seen."""
        end = time.monotonic() + PATIENCE
        while not seen(self.viewer.looks):
            assert time.monotonic() < end, self.viewer.looks
            say()
            self.viewer.look_for_topics()
            self._executor.spin_once(timeout_sec=0.01)

    def close(self):
        for node in (self.viewer, self._says):
            node.destroy_node()


@pytest.fixture
def robots():
    robots = Robots()
    yield robots
    robots.close()


def test_bodies_poses_and_phases_are_those_of_their_robots(robots):
    marker = BodyMarker("a/base_link", TRIANGLES)
    robots.say("/lab/a/run/phase", String(data="with"), profile=LATCHED)  # once, before anybody listens

    def say():
        robots.say("/lab/a/body", marker.frame(time.time(), CORNERS), Marker)
        robots.say("/lab/a/twin/tip", pose_message(time.time(), "a/base_link", np.array([0.0, 0.0, 0.1]), None))
        robots.say("/b/twin/tip", pose_message(time.time(), "b/base_link", np.array([0.0, 0.0, 0.7]), None))
        robots.say("/b/plate/imu/data", Imu())
        robots.say("/c/truth/tip", PoseStamped())

    robots.until(lambda looks: {"lab/a", "b"} <= set(looks) and looks["lab/a"].told and looks["b"].tip, say)
    robots.until(lambda looks: looks["lab/a"].body is not None and looks["lab/a"].tip, say)
    assert set(robots.viewer.looks) == {"lab/a", "b"}
    np.testing.assert_allclose(robots.viewer.looks["lab/a"].body, CORNERS[TRIANGLES.ravel()], rtol=1e-6)
    assert robots.viewer.looks["lab/a"].told == {"phase": "with"}
    assert robots.viewer.looks["b"].tip.position.tolist() == [0.0, 0.0, 0.7] and robots.viewer.looks["b"].body is None


def test_a_robot_that_dies_is_silent_and_one_that_begins_again_owes_nothing_to_the_one_before(robots):
    def say():
        robots.say("/a/run/phase", String(data="with"), profile=LATCHED)
        robots.say("/a/twin/tip", PoseStamped())

    def again():
        robots.say("/a/twin/tip", PoseStamped(), profile=NEWEST)

    def silence():
        robots.viewer.look_at_clock()
        return robots.viewer.looks["a"].silent

    robots.until(lambda looks: "a" in looks and looks["a"].tip is not None and looks["a"].told, say)
    assert silence() < PATIENCE
    robots.fall_silent()
    robots.until(lambda looks: silence() > 0.3, lambda: None)
    assert robots.viewer.looks["a"].told == {"phase": "with"} and robots.viewer.looks["a"].tip is not None
    robots.until(lambda looks: looks["a"].tip is not None and not looks["a"].told and silence() < 0.3, again)


def test_one_robot_can_be_chosen_and_one_that_is_no_use_disturbs_nobody():
    robots = Robots("/b")

    def say():
        robots.say("/a/twin/tip", PoseStamped())
        robots.say("/b/twin/tip", PoseStamped())
        robots.say("/b/imu/data", Imu(orientation_covariance=np.array([-1.0, *np.zeros(8)])))  # of no filter

    assert "no robot yet" in robots.viewer.missing()
    robots.until(lambda looks: "b" in looks and looks["b"].tip is not None, say)
    assert robots.viewer.missing() == ""
    rounds = iter(range(20))
    robots.until(lambda looks: next(rounds, None) is None, say)
    assert set(robots.viewer.looks) == {"b"} and robots.viewer.looks["b"].base is None
    robots.close()


def test_where_the_wanted_robot_is_not_there_it_is_said_who_is():
    robots = Robots("slnder")

    def say():
        robots.say("/lab/slender/twin/tip", PoseStamped())
        robots.say("/arm/twin/tip", PoseStamped())
        robots.say("/arm/plate/imu/data", Imu())

    robots.until(lambda looks: len(robots.viewer.there) == 2, say)
    assert robots.viewer.missing() == "nothing of 'slnder' yet; there are arm, lab/slender"
    robots.close()
