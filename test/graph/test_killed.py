"""Nodes that are killed without warning: the motors let go, somebody says so, and a restart works."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from soft_twin.errors import RunError
from soft_twin_ros.conversions import joint_state
from soft_twin_ros.running.graph import Devices, graph
from soft_twin_ros.running.processes import Processes

WOUND = np.array([0.001, 0.0, 0.0, 0.0, 0.0, 0.0])  # [m]
WHY = ("no ", "home the cables")  # command or feedback; or rotors may have turned, on a busy machine


@pytest.fixture
def processes(tmp_path):
    result = Processes(tmp_path, os.environ)
    yield result
    result.stop()


@pytest.fixture
def nodes(slender, motors, board):
    return {node.name: node for node in graph(slender, devices=Devices(board.port.path, motors.bus.port.path))}


def _start_driver(processes, nodes, listener):
    processes.start(nodes["cables_to_motors"])
    listener.health.pop("cables_to_motors", None)
    listener.wait_for_motors()


def _kill(processes, name):
    processes._processes[name].kill()
    processes._processes[name].wait()


def _drives(motors):
    return not np.all(motors.bus.motors.limp)


def test_nobody_waits_for_a_killed_node_in_shared_memory(processes, nodes, listener):
    """Where nodes take messages through Fast DDS's ports in shared memory, a killed one halts those who send to it."""
    _start_driver(processes, nodes, listener)
    for pid in ("self", processes.ids["cables_to_motors"]):
        assert "fastdds_port" not in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")


def test_motors_let_go_when_their_driver_is_killed_and_obey_the_next(
    processes,
    nodes,
    motors,
    listener,
    slender,
):
    publisher = listener.node.create_publisher(JointState, "cables/command", 1)

    def command():
        publisher.publish(joint_state(time.time(), slender.cable_names, WOUND, np.zeros(6)))
        listener.spin(0.03)

    def wound():
        """Homed and enabled again if a busy machine has kept commands from the driver, or motors from being heard."""
        command()
        if not listener.says("cables_to_motors", "active"):
            listener.wait_for(listener.enable)
            for _ in range(10):  # until its health says so
                command()
        return _drives(motors) and abs(listener.heard["cables/state"][-1].position[0] - WOUND[0]) < 2e-4

    for killed in (True, False):
        _start_driver(processes, nodes, listener)
        listener.wait_for(listener.enable)
        listener.heard["cables/state"].clear()
        listener.wait_for(lambda: command() or listener.heard["cables/state"])
        listener.wait_for(wound)
        if killed:
            _kill(processes, "cables_to_motors")
            with pytest.raises(RunError, match="cables_to_motors ended with status -9"):
                processes.check()
            listener.wait_for(lambda: not _drives(motors))


def test_cables_relax_when_the_solver_is_killed_and_a_new_one_drives_them_again(processes, nodes, motors, listener):
    def driven():
        """Enabled again if a busy machine has kept the motors from being heard."""
        if not listener.says("cables_to_motors", "active"):
            listener.wait_for(listener.enable)
            listener.spin(0.3)
        return _drives(motors) and listener.says("cables_to_motors", "active")

    _start_driver(processes, nodes, listener)
    processes.start(nodes["imu_to_gravity"])
    for killed in (True, False):
        processes.start(nodes["gravity_to_cables"])
        listener.heard["cables/command"].clear()
        listener.wait_for(lambda: len(listener.heard["cables/command"]) > 20)
        listener.wait_for(driven)
        if killed:
            _kill(processes, "gravity_to_cables")
            with pytest.raises(RunError, match="gravity_to_cables ended with status -9"):
                processes.check()
            listener.wait_for(lambda: not listener.says("cables_to_motors", "active"))
            listener.wait_for(lambda: any(listener.says("cables_to_motors", what) for what in WHY))
            listener.wait_for(lambda: not _drives(motors))
