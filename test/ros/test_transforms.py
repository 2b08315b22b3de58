"""Links on /tf and /tf_static as bytes, and what there is without tf2_msgs."""

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message

import soft_twin
from soft_twin.robots.links import BASE, Link
from soft_twin.robots.skeleton import build_skeleton
from soft_twin_ros import transforms
from soft_twin_ros.conversions import to_seconds
from soft_twin_ros.robot_frames import RobotFrames
from soft_twin_ros.transforms import WORLD, Transforms

TURN = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # x to y, y to z, z to x


class RecordingNode:
    """What a node is to its frames; what it publishes is kept."""

    def __init__(self, robot=None):
        self.robot, self.published, self.qos, self.lines, self.now = robot, {}, {}, [], 0.0
        self.parameters = SimpleNamespace(transform_rate=50.0)

    def create_publisher(self, kind, topic, qos):
        self.qos[topic] = qos
        return SimpleNamespace(publish=self.published.setdefault(topic, []).append)

    def get_logger(self):
        return SimpleNamespace(info=self.lines.append)

    def get_namespace(self):
        return "/left"

    def frame(self, name):
        return f"left/{name}"

    def steady_now(self):
        return self.now


@pytest.fixture
def finger():
    robot = soft_twin.load_robot("finger")
    model = robot.build_model()
    return robot, build_skeleton(robot, model), model.body.mesh.nodes


def by_child(message):
    return {each.child_frame_id: each for each in message.transforms}


def numbers(transform):
    place, turn = transform.transform.translation, transform.transform.rotation
    return [place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]


def test_moving_links_are_patched_into_one_message_no_oftener_than_asked_for():
    tf = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    node = RecordingNode()
    links = [Link("a", BASE, moves=True), Link("longer_name", "a", moves=True), Link("c", WORLD, moves=True)]
    moving = Transforms(node, links)
    assert moving.due
    places, turns = np.arange(9.0).reshape(3, 3), np.eye(4)[:3]
    moving.send(12.5, places, turns)
    node.now = 0.01
    assert not moving.due
    node.now = 0.02
    assert moving.due
    (data,) = node.published["/tf"]
    message = deserialize_message(data, tf.TFMessage)
    told = [(each.header.frame_id, each.child_frame_id) for each in message.transforms]
    assert told == [("left/base_link", "left/a"), ("left/a", "left/longer_name"), ("world", "left/c")]
    assert [to_seconds(each.header.stamp) for each in message.transforms] == [12.5] * 3
    assert [numbers(each) for each in message.transforms] == np.hstack([places, turns]).tolist()


def test_a_robots_frames_are_told_with_its_urdf_and_those_that_stay_once_for_all(finger):
    tf = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    robot, skeleton, nodes = finger
    node = RecordingNode(robot)
    frames = RobotFrames(node, skeleton, [Link(BASE, WORLD, rotation=TURN)])
    (fixed,) = node.published["/tf_static"]
    assert node.qos["/tf_static"].durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert numbers(by_child(fixed)["left/base_link"]) == pytest.approx([0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5])
    frames.send(1.0, nodes + [0.0, 0.001, 0.0], np.array([0.002, 0.003, 1e-6]))
    moving = by_child(deserialize_message(node.published["/tf"][0], tf.TFMessage))
    assert numbers(moving["left/left_mark"])[:3] == [0.0, 0.0, -0.002]
    assert numbers(moving["left/nail_plate"]) == pytest.approx([0.0, 0.001, 0.080, 0.0, 0.0, 0.0, 1.0])
    root = ElementTree.fromstring(node.published["robot_description"][0].data)
    links = {f"left/{link.get('name')}" for link in root.findall("link")}
    assert {*moving, *by_child(fixed)} == links


def test_without_tf2_msgs_there_is_the_urdf_and_one_line_that_says_so(finger, monkeypatch):
    monkeypatch.setattr(transforms, "TFMessage", None)
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    robot, skeleton, nodes = finger
    node = RecordingNode(robot)
    frames = RobotFrames(node, skeleton)
    frames.send(1.0, nodes)
    assert node.lines == ["tf2_msgs is not installed: no transforms on /tf (apt install ros-jazzy-tf2-msgs)"]
    assert list(node.published) == ["robot_description"]
    assert "/left/cables/command" in node.published["robot_description"][0].data
