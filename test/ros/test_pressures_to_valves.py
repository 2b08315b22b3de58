"""The node in a process of its own, on an emulated OpenPneu in another."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from soft_twin_msgs.msg import Pressures
from std_msgs.msg import Bool, Header
from std_srvs.srv import SetBool, Trigger

from soft_twin_ros.conversions import pressures_message
from soft_twin_ros.pressures_to_valves import address_of
from soft_twin_ros.qos import COMMAND, LATCHED, SENSOR

CHAMBERS = ("left", "right")


@pytest.fixture
def emulated(tmp_path):
    link = tmp_path / "openpneu"
    command = [sys.executable, "-m", "soft_twin.app.cli", "emulate", "openpneu", "--link", str(link)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    yield process, link
    process.kill()
    process.wait()


@pytest.fixture
def node(emulated):
    parameters = {"device": str(emulated[1]), "chambers": list(CHAMBERS), "vent_rate": 500e3, "reopen_period": 0.1}
    command = [sys.executable, "-m", "soft_twin_ros.pressures_to_valves", "--ros-args", "-r", "__ns:=/test_valves"]
    for key, value in parameters.items():
        command += ["-p", f"{key}:={json.dumps(value)}"]
    process = subprocess.Popen(command)
    yield process
    process.terminate()
    process.wait(15.0)


class Client:
    """Talks to the node under test."""

    def __init__(self):
        self.node = rclpy.create_node("client", namespace="/test_valves")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._commands = self.node.create_publisher(Pressures, "chambers/command", COMMAND)
        self._joint_commands = self.node.create_publisher(JointState, "chambers/joint_command", COMMAND)
        self.state = self.stopped = self.joints = None
        self.node.create_subscription(Pressures, "chambers/state", self._take, SENSOR)
        self.node.create_subscription(Bool, "stopped", self._take_stopped, LATCHED)

        self.node.create_subscription(JointState, "chambers/joint_state", self._take_joints, SENSOR)

    def _take_joints(self, message):
        self.joints = message

    def _take(self, message):
        self.state = message

    def _take_stopped(self, message):
        self.stopped = message.data

    def command(self, pressures):
        seconds = self.node.get_clock().now().nanoseconds * 1e-9
        self._commands.publish(pressures_message(seconds, CHAMBERS, pressures))

    def command_joints(self, pressures):
        """As a system of ros2_control writes joints that have an effort interface alone: without positions."""
        stamp = self.node.get_clock().now().to_msg()
        self._joint_commands.publish(JointState(header=Header(stamp=stamp), name=CHAMBERS, effort=pressures))

    def until(self, condition, timeout=30.0, every=None):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if every:
                every()
            self._executor.spin_once(timeout_sec=0.02)
            if condition():
                return True
        return False

    def call(self, kind, name, request):
        client = self.node.create_client(kind, name)
        assert self.until(client.service_is_ready)
        future = client.call_async(request)
        assert self.until(future.done)
        return future.result()


@pytest.fixture
def client():
    client = Client()
    yield client
    client.node.destroy_node()


def test_a_chambers_life(emulated, node, client):
    assert client.until(lambda: client.state is not None and np.isfinite(client.state.pressures).all())
    assert tuple(client.state.names) == CHAMBERS
    state = client.call(GetState, "pressures_to_valves/get_state", GetState.Request()).current_state
    assert state.id == State.PRIMARY_STATE_ACTIVE

    assert client.call(SetBool, "enable", SetBool.Request(data=True)).success
    reached = lambda: np.allclose(client.state.pressures, [30e3, 60e3], atol=2e3)  # noqa: E731
    assert client.until(reached, every=lambda: client.command([30e3, 60e3]))

    reached = lambda: np.allclose(client.joints.effort, [20e3, 10e3], atol=2e3)  # noqa: E731
    assert client.until(reached, every=lambda: client.command_joints([20e3, 10e3]))
    assert tuple(client.joints.name) == CHAMBERS and len(client.joints.position) == len(CHAMBERS)

    answer = client.call(SetBool, "enable", SetBool.Request(data=False))
    assert answer.success and "left has " in answer.message
    assert client.call(Trigger, "stop", Trigger.Request()).success
    assert client.until(lambda: client.stopped is True)
    assert not client.call(SetBool, "enable", SetBool.Request(data=True)).success
    assert client.until(lambda: np.max(client.state.pressures) < 3e3)
    assert client.call(Trigger, "clear_stop", Trigger.Request()).success
    assert client.until(lambda: client.stopped is False)

    def state():
        return client.call(GetState, "pressures_to_valves/get_state", GetState.Request()).current_state.id

    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return client.call(ChangeState, "pressures_to_valves/change_state", request).success

    assert change(Transition.TRANSITION_DEACTIVATE) and change(Transition.TRANSITION_CLEANUP)
    assert {state() for _ in range(10)} == {State.PRIMARY_STATE_UNCONFIGURED}  # it looks for its device no more
    assert change(Transition.TRANSITION_CONFIGURE) and change(Transition.TRANSITION_ACTIVATE)

    emulated[0].kill()
    assert client.until(lambda: state() == State.PRIMARY_STATE_UNCONFIGURED)
    assert not client.call(SetBool, "enable", SetBool.Request(data=True)).success
    assert node.poll() is None


def test_a_command_in_a_wrong_unit_and_two_who_command_by_turns_are_told(emulated, node, client):
    health = []
    client.node.create_subscription(DiagnosticArray, "/diagnostics", lambda m: health.append(m.status[0]), SENSOR)
    assert client.until(lambda: client.state is not None and np.isfinite(client.state.pressures).all())
    assert client.call(SetBool, "enable", SetBool.Request(data=True)).success

    def told(words):
        return lambda: health and health[-1].level == DiagnosticStatus.WARN and words in health[-1].message

    def well():
        return health[-1].level == DiagnosticStatus.OK

    assert client.until(told("left goes to 80000 pascals"), every=lambda: client.command([1e6, 30e3]))
    assert client.until(well, every=lambda: client.command([20e3, 30e3]))

    def to_and_fro():
        client.command([20e3, 30e3])
        client.command_joints([30e3, 20e3])

    seen = len(health)
    assert client.until(lambda: len(health) > seen + 2, every=to_and_fro)
    assert not any("may come from" in each.message for each in health)

    other = rclpy.create_node("other", namespace="/test_valves")
    commands = other.create_publisher(Pressures, "chambers/command", COMMAND)

    def by_turns():
        client.command([20e3, 30e3])
        commands.publish(pressures_message(other.get_clock().now().nanoseconds * 1e-9, CHAMBERS, [30e3, 20e3]))

    assert client.until(told("may come from /test_valves/client and /test_valves/other"), every=by_turns)
    other.destroy_node()
    assert client.until(well, every=lambda: client.command([20e3, 30e3]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"backend": "modbuss"}, "no valve backend 'modbuss': there are openpneu, dac_board, modbus"),
        ({"chambers": ("left", "left")}, "chambers ['left', 'left']: two of one name"),
        ({"chambers": ("left", "")}, "chambers ['left', '']: one has no name"),
        ({"lowest": 9e4}, "the lower is not below the upper"),
    ],
)
def test_parameters_that_no_device_could_mend_end_the_node_at_its_start(parameters, message):
    words = [word for name, value in parameters.items() for word in ("-p", f"{name}:={json.dumps(value)}")]
    command = [sys.executable, "-m", "soft_twin_ros.pressures_to_valves", "--ros-args", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60.0)
    (told,) = done.stderr.splitlines()
    assert done.returncode == 2 and message in told


@pytest.mark.parametrize(
    ("leads_to", "address"),
    [("127.0.0.1:502", "127.0.0.1:502"), ("ttyUSB0", None), ("ttyUSB7", None), ("/a/b:1", None)],
)
def test_a_link_stands_for_an_address_or_is_the_name_of_a_device(tmp_path, leads_to, address):
    (tmp_path / "ttyUSB0").touch()  # beside it, as udev's links have it; ttyUSB7 is unplugged
    link = tmp_path / "valves"
    os.symlink(leads_to, link)
    assert address_of(str(link)) == (address or str(link))
