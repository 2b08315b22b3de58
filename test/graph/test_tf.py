"""/tf and /tf_static over DDS: one tree of all links, from the world to the tip where the twin has it."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import interface_package
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.resources import folder
from soft_twin_ros.running.graph import Devices, graph
from soft_twin_ros.running.processes import Processes

PATIENCE = 60.0  # [s] of a busy machine
# One line of JSON: the newest links of /tf and /tf_static by child, with their parents, and the tips, by stamp.
LISTENER = """
import json, sys, time
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

def numbers(place, turn):
    return [place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]

def stamp(header):
    return header.stamp.sec * 10**9 + header.stamp.nanosec

def take(message, into):
    for each in message.transforms:
        pose = numbers(each.transform.translation, each.transform.rotation)
        into[each.child_frame_id] = [each.header.frame_id, stamp(each.header), *pose]

rclpy.init()
node = rclpy.create_node("tf_listener", namespace="slender")
moving, fixed, tips, whole = {}, {}, {}, []
def hear(message):
    take(message, moving)
    if "slender/tip_link" in {each.child_frame_id for each in message.transforms}:
        whole.append({name: link for name, link in moving.items()})
node.create_subscription(TFMessage, "/tf", hear, 10)
latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
node.create_subscription(TFMessage, "/tf_static", lambda message: take(message, fixed), latched)
def tip(message):
    place = message.pose.position
    tips[stamp(message.header)] = [place.x, place.y, place.z]
node.create_subscription(PoseStamped, "twin/tip", tip, 10)
end = time.monotonic() + float(sys.argv[1])
def done():
    return fixed and "slender/base_link" in moving and any(each["slender/tip_link"][1] in tips for each in whole)
while not done() and time.monotonic() < end:
    rclpy.spin_once(node, timeout_sec=0.1)
newest = [each for each in whole if each["slender/tip_link"][1] in tips]
print(json.dumps([newest[-1] if newest else moving, fixed, {str(key): value for key, value in tips.items()}]))
"""


@pytest.fixture(scope="module")
def with_tf2_msgs(tmp_path_factory):
    """An environment that has tf2_msgs: as it is installed, else its one message as it is on the wire."""
    if importlib.util.find_spec("tf2_msgs") is not None:
        return dict(os.environ)
    if not interface_package.can_build():
        pytest.skip("tf2_msgs is not installed, nor cmake and a compiler to build its message")
    messages = {"TFMessage": "geometry_msgs/TransformStamped[] transforms\n"}
    return interface_package.build(tmp_path_factory.mktemp("tf2_msgs"), "tf2_msgs", messages, "geometry_msgs")


def test_transforms_as_bytes(with_tf2_msgs):
    """The tests of the messages themselves, which are skipped where tf2_msgs is not installed."""
    tests = Path(__file__).parents[1] / "ros" / "test_transforms.py"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    done = subprocess.run(words, env=with_tf2_msgs, capture_output=True, text=True)
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout


def test_links_of_an_imu_and_a_twin_are_one_tree_from_the_world_to_the_tip(with_tf2_msgs, slender, board, tmp_path):
    processes = Processes(tmp_path, with_tf2_msgs)
    try:
        for node in graph(slender, devices=Devices(board.port.path)):
            processes.start(node)
        words = [sys.executable, "-c", LISTENER, str(PATIENCE)]
        heard = subprocess.run(words, env=with_tf2_msgs, capture_output=True, text=True, timeout=2.0 * PATIENCE)
    finally:
        processes.stop()
    assert heard.returncode == 0, heard.stderr
    moving, fixed, tips = json.loads(heard.stdout)
    links = {f"slender/{link.get('name')}" for link in ElementTree.parse(folder("urdf") / "slender.urdf").iter("link")}
    assert moving.keys() | fixed.keys() == links and not moving.keys() & fixed.keys()
    assert moving["slender/base_link"][0] == "world"

    parent, stamp, *_ = moving["slender/tip_link"]
    place, turn = np.zeros(3), Rotation.identity()
    name = "slender/tip_link"
    while name != "slender/base_link":
        parent, _, *pose = moving[name]
        rotation = Rotation.from_quat(pose[3:])
        place, turn = np.array(pose[:3]) + rotation.apply(place), rotation * turn
        name = parent
    np.testing.assert_allclose(place, tips[str(stamp)], atol=1e-9)
    upright = Rotation.from_quat(moving["slender/base_link"][5:])
    np.testing.assert_allclose(upright.apply([0.0, 0.0, 1.0]), [0.0, 0.0, 1.0], atol=0.02)  # as the board lies
