import importlib
import os
import time
from collections import defaultdict

import pytest

from soft_twin import load_robot
from soft_twin.graph import Devices, graph
from soft_twin.processes import Processes, environment

PATIENCE = 60.0  # [s] of a busy machine that compiles kernels for the first time


class Listener:
    """Everything that a robot's nodes say, over real DDS."""

    TOPICS = {
        "gravity": "geometry_msgs.msg.Vector3Stamped",
        "imu/data_raw": "sensor_msgs.msg.Imu",
        "cables/command": "sensor_msgs.msg.JointState",
        "cables/state": "sensor_msgs.msg.JointState",
        "solver/status": "soft_twin_msgs.msg.SolverStatus",
    }

    def __init__(self, namespace):
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray

        self.node = rclpy.create_node("listener", namespace=namespace)
        self.heard = defaultdict(list)
        self.health = {}
        for topic, kind in self.TOPICS.items():
            package, name = kind.rsplit(".", 1)
            kind = getattr(importlib.import_module(package), name)
            self.node.create_subscription(kind, topic, self.heard[topic].append, 200)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._note_health, 50)

    def _note_health(self, message):
        for status in message.status:
            self.health[status.name.split("/")[-1]] = status

    def says(self, name, text):
        """Whether a node's health says this."""
        return name in self.health and text in self.health[name].message

    def spin(self, seconds):
        import rclpy

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.01)

    def wait_for(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, {name: status.message for name, status in self.health.items()}
            self.spin(0.02)

    def call(self, kind, name, request):
        client = self.node.create_client(kind, name)
        self.wait_for(client.service_is_ready)
        answer = client.call_async(request)
        self.wait_for(answer.done)
        return answer.result()


@pytest.fixture(scope="session", autouse=True)
def ros(tmp_path_factory):
    import rclpy

    if not rclpy.ok():  # the other folder of ROS tests does this, too
        os.environ.update(environment(tmp_path_factory.mktemp("ros_log")))
        rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture(scope="session")
def listener_class():
    return Listener


@pytest.fixture(scope="session")
def slender():
    return load_robot("slender")


@pytest.fixture
def listener(slender):
    result = Listener(slender.name)
    yield result
    result.node.destroy_node()


@pytest.fixture
def start(slender, tmp_path):
    """Starts nodes of the slender robot on these devices."""
    processes = Processes(tmp_path, os.environ)

    def start(*names, imu="", can=""):
        for node in graph(slender, devices=Devices(imu, can)):
            if node.name in names:
                processes.start(node)

    yield start
    processes.stop()
