"""A node that ends on request is gone for others at once, not when DDS has waited for it."""

import os
import signal
import time
from types import SimpleNamespace

import pytest
import rclpy
import serial
from diagnostic_msgs.msg import DiagnosticArray

from soft_twin import load_robot
from soft_twin_ros import leaving
from soft_twin_ros.running.graph import graph
from soft_twin_ros.running.processes import Processes

PATIENCE = 120.0  # [s]
LEASE = 60.0  # [s] of config/fastdds.xml, for which DDS waits for whoever says nothing


@pytest.fixture
def processes(tmp_path):
    result = Processes(tmp_path, os.environ)
    yield result
    result.stop()


def wait(client, log, done):
    """How long it takes until something is so [s]; where it takes too long, what the node has logged is told."""
    start = time.monotonic()
    while not done():
        assert time.monotonic() < start + PATIENCE, (client.get_node_names(), log.read_text())
        rclpy.spin_once(client, timeout_sec=0.05)
    return time.monotonic() - start


def interrupt(process):
    """Ask it to end, as Ctrl-C does, and see that it does."""
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    "name", ["imu_to_gravity", "cables_to_motors", "emulated_robot", "gravity_to_cables", "recorder"]
)
def test_a_node_that_ends_is_gone(name, processes, tmp_path):
    nodes = {spec.name: spec for spec in graph(load_robot("slender"), recording=tmp_path / "run.mcap")}
    client, told = rclpy.create_node("client"), set()
    client.create_subscription(DiagnosticArray, "/diagnostics", lambda said: told.add(said.status[0].name), 10)
    before = client.count_publishers("/diagnostics")  # of other tests' nodes in this process
    try:
        processes.start(nodes[name])
        log = tmp_path / f"{name}.log"
        wait(client, log, lambda: any(each.endswith(name) for each in told))
        interrupt(processes._processes[name])
        assert wait(client, log, lambda: client.count_publishers("/diagnostics") <= before) < LEASE / 3.0
    finally:
        client.destroy_node()


@pytest.mark.parametrize("name", ["imu_to_gravity", "emulated_robot", "gravity_to_cables"])
def test_a_node_that_is_interrupted_while_it_is_made_is_gone(name, processes, tmp_path):
    (spec,) = (each for each in graph(load_robot("slender")) if each.name == name)
    client, log = rclpy.create_node("client"), tmp_path / f"{name}.log"
    before = client.count_publishers("/rosout")
    try:
        processes.start(spec)
        wait(client, log, lambda: client.count_publishers("/rosout") > before)
        interrupt(processes._processes[name])
        assert wait(client, log, lambda: client.count_publishers("/rosout") <= before) < LEASE / 3.0
    finally:
        client.destroy_node()


def test_others_hear_that_a_node_is_gone_while_its_process_is_there(monkeypatch):
    """Where both are heard at once, the node's name may stay in a graph for good."""
    context, looks = rclpy.Context(), []
    rclpy.init(context=context)
    other = rclpy.create_node("other", context=context)

    def until(done):
        deadline = time.monotonic() + PATIENCE
        while not done(other.get_node_names()):
            assert time.monotonic() < deadline, other.get_node_names()
            time.sleep(0.01)

    def look(duration):
        until(lambda names: "leaver" not in names)
        looks.append((duration, other.get_node_names()))

    try:
        leaver = rclpy.create_node("leaver")
        until(lambda names: "leaver" in names)
        with monkeypatch.context() as patch:
            patch.setattr(leaving, "time", SimpleNamespace(sleep=look))
            leaving.leave_graph(leaver)
        ((duration, names),) = looks
        assert duration == leaving.HEARD and leaving.NAME in names
        until(lambda names: leaving.NAME not in names)
    finally:
        other.destroy_node()
        context.shutdown()


def test_an_emulated_robot_is_unplugged_when_drivers_that_end_with_it_have_gone(processes, tmp_path):
    (spec,) = (
        each
        for each in graph(load_robot("slender"), emulation={"device_folder": str(tmp_path / "devices")})
        if each.name == "emulated_robot"
    )
    processes.start(spec)
    board, log, deadline = tmp_path / "devices" / "imu", tmp_path / "emulated_robot.log", time.monotonic() + PATIENCE
    while "base: rest" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)
    assert str(processes._processes["emulated_robot"].pid) in os.readlink(board)  # nobody's, once that has ended
    with serial.Serial(str(board), timeout=1.0) as port:
        assert port.read()
        process, asked = processes._processes["emulated_robot"], time.monotonic()
        process.send_signal(signal.SIGINT)
        with pytest.raises(serial.SerialException):
            while time.monotonic() < asked + PATIENCE:
                port.read()
        assert time.monotonic() - asked > leaving.HEARD
    assert process.wait(PATIENCE) == 0
    assert not board.is_symlink()
