"""Managed nodes are silent until they are brought up, one after the other, and again when they have been taken down."""

import os
import signal

import pytest
from std_srvs.srv import Trigger

from soft_twin_ros.running.graph import Devices, graph
from soft_twin_ros.running.processes import Processes

HALT = 5.2  # [s]


@pytest.fixture
def start(slender, board, tmp_path):
    """Starts nodes of the managed slender robot without motors."""
    processes = Processes(tmp_path, os.environ)
    nodes = {node.name: node for node in graph(slender, Devices(board.port.path), managed=True)}
    led = ["imu_to_gravity", "gravity_to_cables"]

    def start(*names):
        for name in names:
            processes.start(nodes[name])

    nodes["bringup"].parameters["nodes"] = led
    start.processes = processes
    yield start
    processes.stop()


def test_nodes_are_brought_up_taken_down_and_brought_up_again(start, listener):
    start("imu_to_gravity", "gravity_to_cables")
    for name in ("imu_to_gravity", "gravity_to_cables"):
        listener.wait_for(lambda name=name: listener.says(name, "not active"))
    assert not listener.heard["gravity"]
    start("bringup")
    listener.wait_for(lambda: listener.says("bringup", "all nodes are active"))
    listener.wait_for(lambda: len(listener.heard["cables/command"]) > 5)
    assert listener.call(Trigger, "take_down", Trigger.Request()).success
    listener.wait_for(lambda: listener.says("bringup", "all nodes are unconfigured"))
    listener.wait_for(lambda: listener.says("gravity_to_cables", "not active"))
    assert listener.call(Trigger, "bring_up", Trigger.Request()).success
    listener.heard["cables/command"].clear()
    listener.wait_for(lambda: len(listener.heard["cables/command"]) > 5)


def test_a_node_that_was_killed_is_brought_up_again_when_it_is_there_again(start, listener):
    start("imu_to_gravity", "bringup", "gravity_to_cables")
    listener.wait_for(lambda: listener.says("bringup", "all nodes are active"))
    listener.wait_for(lambda: len(listener.heard["gravity"]) > 5)
    start.processes._processes["imu_to_gravity"].kill()
    start.processes._processes["imu_to_gravity"].wait()
    listener.wait_for(lambda: listener.says("bringup", "waiting for imu_to_gravity"))
    listener.heard["gravity"].clear()
    start("imu_to_gravity")
    listener.wait_for(lambda: listener.says("bringup", "all nodes are active"))
    listener.wait_for(lambda: len(listener.heard["gravity"]) > 5)


def test_a_node_that_its_machine_has_halted_is_led_again(start, listener):
    """By a lease of 5 s in Fast DDS's profile most of such halts made it deaf to `bringup` for good."""
    start("imu_to_gravity", "gravity_to_cables", "bringup")
    listener.wait_for(lambda: listener.says("bringup", "all nodes are active"))
    listener.wait_for(lambda: len(listener.heard["cables/command"]) > 5)
    halted = start.processes.ids["gravity_to_cables"]
    os.kill(halted, signal.SIGSTOP)
    listener.spin(HALT)
    os.kill(halted, signal.SIGCONT)
    assert listener.call(Trigger, "take_down", Trigger.Request()).success
    listener.wait_for(lambda: listener.says("bringup", "all nodes are unconfigured"))
