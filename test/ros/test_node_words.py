"""What a node's program says of itself, and of words that it has no use for."""

import subprocess
import sys

import pytest

from soft_twin_ros.cables_to_motors import CablesToMotors
from soft_twin_ros.gravity_to_cables import GravityToCables
from soft_twin_ros.node_words import take_words


@pytest.mark.parametrize("asked", ["-h", "--help"])
def test_help_tells_what_a_node_does_and_its_parameters(asked, capsys):
    with pytest.raises(SystemExit) as ended:
        take_words(["/somewhere/cables_to_motors", asked], CablesToMotors)
    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert told.startswith("usage: cables_to_motors") and "motor currents out over CAN" in told
    assert 'robot = "slender"' in told
    assert "state_rate = 100.0\n      rate of cables/state [Hz]; 1 to 500; can be set" in told


def test_a_node_that_derives_from_another_tells_that_ones_parameters(capsys):
    with pytest.raises(SystemExit):
        take_words(["gravity_to_cables", "-h"], GravityToCables)
    assert "picture_rate = " in capsys.readouterr().out


def test_words_of_ros_are_left_to_ros():
    take_words(["node", "--ros-args", "-r", "__ns:=/left", "-p", "robot:=slender", "--"], CablesToMotors)
    take_words(["node", "--ros-args", "--log-level", "debug", "--", "--ros-args", "-p", "a:=1"], CablesToMotors)


def test_words_behind_those_of_ros_are_not(capsys):
    with pytest.raises(SystemExit):
        take_words(["node", "--ros-args", "-p", "robot:=slender", "--", "-h"], CablesToMotors)
    assert capsys.readouterr().out.startswith("usage: node")


def test_other_words_are_refused_before_anything_starts():
    command = [sys.executable, "-m", "soft_twin_ros.cables_to_motors", "robot:=slender"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120.0)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "cables_to_motors: error: unrecognized arguments: robot:=slender"
