import importlib
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict

import numpy as np
import pytest
from kernels_used import TELLING, used

from soft_twin import load_robot
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.motor_bus import MotorBus
from soft_twin.emulation.ports import PseudoTerminal
from soft_twin.sensing.imu_frames import encode_sample
from soft_twin.sensing.samples import ImuSample
from soft_twin_ros.calls import call
from soft_twin_ros.running.graph import Devices, graph
from soft_twin_ros.running.processes import Processes, environment

IMU_PERIOD = 0.01  # [s]
PATIENCE = 60.0  # [s] of a busy machine that compiles kernels for the first time


class Listener:
    """Everything that a robot's nodes say, over real DDS.

    It is closed before its nodes end: Fast DDS may wait for ever for a publisher that is destroyed in the moment when
    it misses a participant that ended without a word (its issue 6502).
    """

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

    def close(self):
        self.node.destroy_node()

    def _note_health(self, message):
        for status in message.status:
            self.health[status.name.split("/")[-1]] = status

    def says(self, name, text):
        """Whether a node's health says this."""
        return name in self.health and text in self.health[name].message

    def state(self, name):
        """The state that a node's health says."""
        return next(pair.value for pair in self.health[name].values if pair.key == "state")

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
        """The answer."""
        return call(self.node, kind, name, request, lambda done, patience, what: self.wait_for(done), PATIENCE)

    def wait_for_motors(self):
        """Until their driver says that they are limp, or has not heard them on a busy machine and wants them homed."""
        self.wait_for(lambda: any(self.says("cables_to_motors", what) for what in ("limp", "home the cables")))

    def enable(self):
        """Whether the motors are enabled, homed before; a busy machine may not hear them between the two."""
        from std_srvs.srv import SetBool, Trigger

        self.call(Trigger, "home", Trigger.Request())  # refused where they are active already
        return self.call(SetBool, "enable", SetBool.Request(data=True)).success


class Board:
    """An IMU board at rest that can fall silent or talk nonsense."""

    def __init__(self):
        self.port = PseudoTerminal()
        self.says = "rest"
        self._random = np.random.default_rng(0)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        start, sequence = time.monotonic(), 0
        while not self._closing.wait(IMU_PERIOD):
            now = time.monotonic() - start
            force = np.array([0.0, 0.0, 9.81]) + 0.02 * self._random.standard_normal(3)
            if self.says == "nonsense":
                force = np.full(3, np.nan)
            if self.says != "nothing":
                rates = 1e-3 * self._random.standard_normal(3)
                self.port.write(encode_sample(ImuSample(now, rates, force, 30.0), sequence))
            sequence += 1

    def close(self):
        self._closing.set()
        self._thread.join()
        self.port.close()


@pytest.fixture(scope="session")
def board_class():
    return Board


@pytest.fixture
def board():
    result = Board()
    yield result
    result.close()


class Motors:
    """Six motors without load on a CAN adapter that can be unplugged."""

    def __init__(self, robot):
        self.bus = MotorBus(EmulatedC610.of(robot))
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(np.zeros(len(robot.cable_names)),), daemon=True)
        self._thread.start()

    def _run(self, tensions):
        start, ticks = time.monotonic(), 0
        while not self._closing.wait(0.004):
            while start + 0.004 * ticks < time.monotonic():  # motors keep their own time
                self.bus.step(0.004, tensions)
                ticks += 1

    def unplug(self):
        self._closing.set()
        self._thread.join()
        self.bus.close()


@pytest.fixture(scope="session")
def motors_class():
    return Motors


@pytest.fixture
def motors(slender):
    result = Motors(slender)
    yield result
    result.unplug()


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
def start(slender, tmp_path):
    """Starts nodes of the slender robot on these devices."""
    processes = Processes(tmp_path, os.environ)

    def start(*names, imu="", can=""):
        for node in graph(slender, devices=Devices(imu, can)):
            if node.name in names:
                processes.start(node)

    yield start
    processes.stop()


@pytest.fixture
def listener(slender, start):
    result = Listener(slender.name)
    yield result
    result.close()


@pytest.fixture(scope="module")
def compiled():
    """What `soft-twin compile` compiles, or finds compiled."""
    words = [sys.executable, "-m", "soft_twin.app.cli", "compile"]
    done = subprocess.run(words, env=os.environ | TELLING, check=True, capture_output=True, text=True)
    assert "kernels" in done.stdout
    return used(done.stdout)
