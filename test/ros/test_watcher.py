import time

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from soft_twin.errors import RunError
from soft_twin_ros.conversions import joint_state, pose_message
from soft_twin_ros.watcher import Watcher

TIP = np.array([0.01, 0.02, 0.1])
DELAY = 0.25  # [s]


class Calm:
    """Nobody interrupts."""

    def check(self):
        pass


@pytest.fixture
def watcher():
    result = Watcher({"left": ["solver"], "right": ["solver"]}, Calm())
    yield result
    result.destroy_node()


@pytest.fixture
def robot(watcher):
    """What stands for the robot in the namespace `right`; its service refuses."""
    node = rclpy.create_node("robot", namespace="right")
    node.create_service(SetBool, "enable", lambda request, response: refused(response))
    watcher.look(0.0)
    watcher._executor.add_node(node)
    yield node
    node.destroy_node()


def refused(response):
    response.success, response.message = False, "home the motors first"
    return response


def test_what_a_robot_says_is_known_of_it_alone(watcher, robot):
    kinds = {"/diagnostics": DiagnosticArray, "truth/tip": PoseStamped, "cables/command": JointState}
    publishers = {topic: robot.create_publisher(kind, topic, 1) for topic, kind in kinds.items()}
    status = DiagnosticStatus(
        name="right/solver", message="compensating", values=[KeyValue(key="state", value="ready")]
    )
    left, right = watcher.robots["left"], watcher.robots["right"]

    def told():
        publishers["/diagnostics"].publish(DiagnosticArray(status=[status]))
        publishers["truth/tip"].publish(pose_message(1.0, "right/base_link", TIP, None))
        publishers["cables/command"].publish(joint_state(time.time() - DELAY, ["cable"], np.zeros(1), np.zeros(1)))
        return right.tips and right.delays and not right.health.unready()

    watcher.wait_for(told, 20.0, lambda: "nothing is heard")
    np.testing.assert_allclose(right.tips[-1], TIP)
    assert min(right.delays) >= DELAY
    assert (left.tips, left.delays, left.health.unready()) == ([], [], {"solver": "is loading"})
    right.forget()
    assert (right.tips, right.delays) == ([], [])


def test_a_refusal_and_a_silence_are_told(watcher, robot):
    with pytest.raises(RunError, match="/right/enable: home the motors first"):
        watcher.ask("/right/enable", True)
    with pytest.raises(RunError, match="no dawn after 0 s"):
        watcher.wait_for(lambda: False, 0.0, lambda: "no dawn")
