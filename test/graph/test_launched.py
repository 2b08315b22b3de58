"""A launch as a process of its own, seen from outside: by ROS's own where it is, else by one of ours."""

import os
import signal
import time
from unittest.mock import Mock

import pytest

from soft_twin.errors import RunError
from soft_twin_ros.running import launched
from soft_twin_ros.running.launched import Launch, alive

PATIENCE = 60.0  # [s] of a busy machine that starts something
NOBODY = "{left: {robot: slender, imu: /nowhere, can: /nowhere/else}}"
NODES = {("left", name) for name in ("imu_to_gravity", "gravity_to_cables", "cables_to_motors")}


@pytest.fixture(params=["ros", "own"])
def launch(request, tmp_path, monkeypatch):
    missing = launched.missing_launch()
    if request.param == "ros" and missing:
        pytest.skip(f"`ros2 launch` cannot be: {missing}")
    if request.param == "own":
        monkeypatch.setattr(launched, "missing_launch", lambda: "left out by this test")
    started = Launch(NOBODY, tmp_path, os.environ)
    yield started
    started.stop()


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_no_launch_can_be_is_refused_with_a_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(launched, "Interruption", Mock)  # this process keeps its signals
    assert launched.main(str(tmp_path), "{left: sledner}") == 1
    assert "sledner" in capsys.readouterr().out


def test_nodes_are_known_by_their_names_and_end_with_a_launch_that_is_killed(launch):
    wait_for(lambda: launch.nodes.keys() == NODES)
    nodes = list(launch.nodes.values())
    assert set(nodes) | {launch.pid} <= set(launch.processes)
    launch.check()
    wait_for(lambda: any("/nowhere" in line for line in launch.error_lines()))
    wait_for(lambda: all(seconds > 0.1 for seconds in launch.processor_times("left").values()))
    launch.tell(signal.SIGKILL)
    wait_for(lambda: not alive([launch.pid, *nodes]))
    with pytest.raises(RunError, match="the launch ended with status"):
        launch.check()


def test_nothing_is_left_of_a_launch_that_is_stopped(launch):
    wait_for(lambda: launch.nodes.keys() == NODES)
    before = launch.processes
    launch.stop()
    assert not alive(before)
