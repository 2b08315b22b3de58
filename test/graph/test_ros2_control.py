"""ros2_control itself over a robot's nodes, where it is installed: its controllers by the YAML of docs/ros.md, its
systems by the URDF that the nodes publish."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from soft_twin import load_robot
from soft_twin.robots.urdf import urdf
from soft_twin_ros.qos import LATCHED
from soft_twin_ros.running.graph import Devices, NodeSpec, graph
from soft_twin_ros.running.processes import Processes

PROGRAMS = Path("lib", "controller_manager")
SYSTEMS = ("topic_based_ros2_control", "joint_state_topic_hardware_interface")
CONTROLLERS = ("joint_state_broadcaster", "joint_trajectory_controller", "forward_command_controller")
DOCS = (Path(__file__).parents[2] / "docs" / "ros.md").read_text(encoding="utf-8")
CABLES = re.search(r"```yaml\n(/\*\*:\n  controller_manager:.*?)```", DOCS, re.DOTALL)[1]
CHAMBERS = """/**:
  controller_manager:
    ros__parameters:
      update_rate: 100
      pressures: {type: forward_command_controller/ForwardCommandController}
  pressures:
    ros__parameters: {joints: [JOINTS], interface_name: effort}
"""
PLACE = np.array([2.3e-3, 0.4e-3, 1.1e-3, 0.0, 3.7e-3, 0.9e-3])  # [m]
NEAR = 1e-4  # [m]
LOW, BEYOND = 17.3e3, 1e6  # [Pa]

pytestmark = pytest.mark.alone


def installed(package):
    """The prefix that ROS finds a package in; None where it finds none."""
    prefixes = [Path(each) for each in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if each]
    packages = Path("share", "ament_index", "resource_index", "packages")
    return next((each for each in prefixes if (each / packages / package).is_file()), None)


@pytest.fixture(scope="module")
def programs():
    """The folder of controller_manager's programs."""
    absent = [each for each in ("controller_manager", *CONTROLLERS) if installed(each) is None]
    absent += [] if any(map(installed, SYSTEMS)) else [SYSTEMS[0]]
    if absent:
        pytest.skip(f"ros2_control is not installed: ROS finds no {', '.join(absent)}")
    return installed("controller_manager") / PROGRAMS


class Manager:
    """A `ros2_control_node` in a robot's namespace."""

    def __init__(self, programs, namespace, parameters):
        self._programs, self._namespace = programs, f"/{namespace}"
        words = ["--ros-args", "-r", f"__ns:={self._namespace}", "--params-file", str(parameters)]
        self._process = subprocess.Popen([programs / "ros2_control_node", *words])

    def activate(self, *controllers):
        command = [
            sys.executable,
            self._programs / "spawner",
            *controllers,
            "-c",
            f"{self._namespace}/controller_manager",
        ]
        subprocess.run(command, check=True, timeout=120.0)

    def end(self, number):
        self._process.send_signal(number)
        self._process.wait(30.0)


@pytest.fixture
def manager(programs, tmp_path):
    """Starts a manager with these parameters."""
    started = []

    def start(namespace, parameters):
        path = tmp_path / "controllers.yaml"
        path.write_text(parameters, encoding="utf-8")
        started.append(Manager(programs, namespace, path))
        return started[-1]

    yield start
    for each in started:
        each.end(signal.SIGKILL)


@pytest.fixture
def winches(programs, slender, board, motors, listener_class, tmp_path):
    """Who listens to the nodes of the slender robot, whose motors and IMU are emulated without a body."""
    processes, listener = Processes(tmp_path / "log", os.environ), listener_class(slender.name)
    for node in graph(slender, devices=Devices(board.port.path, motors.bus.port.path)):
        processes.start(node)
    listener.wait_for_motors()
    listener.wait_for(lambda: listener.heard["solver/status"])
    assert listener.call(SetBool, "compensate", SetBool.Request(data=False)).success
    yield listener
    listener.close()
    processes.stop()


def test_controllers_move_the_winches_let_them_go_when_they_end_and_begin_where_they_are(
    winches, motors, manager, slender
):
    trajectories = winches.node.create_publisher(JointTrajectory, "cable_trajectory/joint_trajectory", 1)
    truth = motors.bus.motors
    running = manager(slender.name, CABLES)
    assert winches.call(Trigger, "home", Trigger.Request()).success
    running.activate("joint_state_broadcaster", "cable_trajectory")

    def at(place):
        """Where the motors are a second after they were sent to a place; zero is where they were homed last."""
        point = JointTrajectoryPoint(positions=place.tolist(), time_from_start=Duration(nanosec=300_000_000))
        trajectories.publish(JointTrajectory(joint_names=slender.cable_names, points=[point]))
        winches.spin(1.0)
        return truth.displacements.copy()

    def moved():
        """A busy machine may have kept motors or commands from being heard."""
        if winches.state("cables_to_motors") != "active":
            winches.enable()
        return np.abs(at(PLACE) - at(PLACE / 3.0) - PLACE * 2.0 / 3.0).max() < NEAR

    winches.wait_for(moved)
    assert winches.call(Trigger, "stop", Trigger.Request()).success
    winches.wait_for(lambda: not truth.currents.any())
    assert winches.call(Trigger, "clear_stop", Trigger.Request()).success

    running.end(signal.SIGKILL)
    winches.wait_for(lambda: winches.state("cables_to_motors") == "ready")
    before = truth.displacements.copy()
    running = manager(slender.name, CABLES)
    running.activate("cable_trajectory")
    assert winches.call(SetBool, "enable", SetBool.Request(data=True)).success
    winches.spin(1.0)
    assert winches.state("cables_to_motors") == "active"
    assert np.abs(truth.displacements - before).max() < NEAR

    running.end(signal.SIGKILL)
    winches.wait_for(lambda: winches.state("cables_to_motors") == "ready")
    assert not truth.currents.any()


@pytest.fixture
def air(programs, listener_class, tmp_path):
    """Who listens to the driver of the finger's chamber, and tells its URDF."""
    robot = load_robot("finger")

    class Listener(listener_class):
        TOPICS = {"chambers/joint_state": "sensor_msgs.msg.JointState"}

    link = tmp_path / "valves"
    words = [sys.executable, "-m", "soft_twin.app.cli", "emulate", robot.valves.backend, "--robot", robot.name]
    valves = subprocess.Popen([*words, "--link", str(link)], stdout=subprocess.PIPE, text=True)
    valves.stdout.readline()
    processes, listener = Processes(tmp_path / "log", os.environ), Listener("hand")
    own = {"robot": str(robot.path), "device": str(link), "services": ""}
    processes.start(NodeSpec("pressures_to_valves", "pressures_to_valves", "hand", own))
    told = listener.node.create_publisher(String, "robot_description", LATCHED)
    told.publish(String(data=urdf(robot, namespace="hand")))
    listener.wait_for(lambda: listener.heard["chambers/joint_state"] and "pressures_to_valves" in listener.health)
    yield listener
    listener.close()
    processes.stop()
    valves.kill()
    valves.wait()


def test_a_controller_fills_a_chamber_up_to_its_limit(air, manager):
    valves = load_robot("finger").valves
    highest = valves.limits_by_channel[1]
    commands = air.node.create_publisher(Float64MultiArray, "pressures/commands", 1)
    running = manager("hand", CHAMBERS.replace("JOINTS", ", ".join(valves.names_by_channel)))
    running.activate("pressures")

    def filled(wanted, right):
        def look():
            if air.state("pressures_to_valves") != "active":
                air.call(SetBool, "chambers/enable", SetBool.Request(data=True))
            commands.publish(Float64MultiArray(data=[wanted] * len(valves.names_by_channel)))
            air.spin(0.5)
            return np.allclose(air.heard["chambers/joint_state"][-1].effort, right, atol=1e3)

        return look

    air.wait_for(filled(LOW, LOW))
    air.wait_for(filled(BEYOND, highest))
    running.end(signal.SIGKILL)
    air.wait_for(lambda: air.state("pressures_to_valves") == "ready")
    air.wait_for(lambda: np.allclose(air.heard["chambers/joint_state"][-1].effort, valves.vented, atol=1e3))
