"""`soft-twin view`, as a person has it: a page while it runs, and one line where there is none."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing

import pytest
from filmed import marker, pose, tetrahedron, write

from soft_twin.app import run as run_command
from soft_twin.app.cli import main

pytest.importorskip("viser")

VIEW = [sys.executable, "-m", "soft_twin.app.cli", "view"]


def free_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


def is_served(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=10.0) as page:
            return b"<html" in page.read().lower()
    except urllib.error.URLError:
        return False


@pytest.fixture
def recording(tmp_path):
    said = [(0.1 * k, "/left/body", marker(tetrahedron(1e-3 * k))) for k in range(5)]
    return write(tmp_path / "bag", [*said, (0.45, "/left/twin/tip", pose((0.0, 0.0, 0.1)))])


def line_with(process, text):
    """What the process prints until a line has the text."""
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(process.wait())


def test_a_recording_is_shown_until_it_is_interrupted(recording):
    port = free_port()
    with subprocess.Popen([*VIEW, str(recording), "--port", str(port)], stdout=subprocess.PIPE, text=True) as process:
        line = line_with(process, "Ctrl-C")
        assert line == f"left, 0.5 s: http://127.0.0.1:{port} (Ctrl-C ends)\n"
        assert is_served(port)
        process.send_signal(signal.SIGINT)
        assert process.wait(30.0) == 130
    assert not is_served(port)


def test_what_cannot_be_shown_is_one_line(tmp_path, recording, capsys):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = str(server.getsockname()[1])
        assert main(["view", str(recording), "--port", port]) == 2
        assert main(["run", "slender", "--view", "--port", port, "--out", str(tmp_path / "out")]) == 2
        assert main(["view", str(tmp_path / "nothing.mcap"), "--port", port]) == 2  # before it reads for minutes
    assert main(["view", str(tmp_path / "nothing.mcap"), "--port", str(free_port())]) == 2
    assert main(["run", "slender", "--port", "8090"]) == 2
    assert main(["run", "slender", "--view", "--port", "0", "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err.splitlines()
    assert f"--port {port}: " in told[0] and told[0] == told[1] == told[2]
    assert "nothing.mcap" in told[3] and "--port 8090: of no use without --view, leave it out" in told[4]
    assert "--port 0: " in told[5]
    assert len(told) == 6 and not (tmp_path / "out").exists()


def test_without_packages_of_ros_what_runs_cannot_be_shown(monkeypatch, capsys):
    """As where a ROS installation is sourced, and this workspace is not."""
    monkeypatch.setattr("soft_twin_ros.ros_packages.PACKAGES", ("rclpy", "stranger_msgs"))
    assert main(["view", "--port", str(free_port())]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "stranger_msgs" in told and told.endswith("a recording is shown without ROS: say which")


def test_a_run_is_shown_while_it_runs(tmp_path):
    from soft_twin_ros.running.processes import environment

    port = free_port()
    with run_command._viewed(port, environment(tmp_path)):
        while not is_served(port):
            time.sleep(0.1)
    assert not is_served(port)


def test_who_shows_a_run_ends_with_it(tmp_path):
    """Whatever ends that."""
    from soft_twin_ros.parent import ENDS_WITH
    from soft_twin_ros.running.processes import environment

    with subprocess.Popen(["sleep", "300"]) as run:
        variables = environment(tmp_path) | {ENDS_WITH: str(run.pid)}
        command = [*VIEW, "--port", str(free_port())]
        with subprocess.Popen(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True) as process:
            line_with(process, "robots of ROS domain")
            run.kill()
            assert process.wait(30.0) == 0
