"""A name is one node's: a second one is refused, and a launch before it starts anything."""

import subprocess
import sys

import pytest

from soft_twin.errors import UsageError
from soft_twin_ros import only_one

HOLDS = """
import sys
from soft_twin_ros.only_one import claim_name
name = claim_name("/right/recorder")
print("claimed", flush=True)
sys.stdin.read()
"""
NAMES = ("/right/imu_to_gravity", "/right/recorder")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(only_one, "PATIENCE", 0.2)


def test_names_are_taken_while_their_node_runs_and_not_by_being_asked_for():
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "claimed\n"
        for _ in range(2):
            with pytest.raises(UsageError, match="a node /right/recorder runs already.*namespace:=NAME"):
                only_one.refuse_taken(NAMES)
        only_one.refuse_taken(NAMES[:1])
        process.stdin.close()
        process.wait()
    only_one.refuse_taken(NAMES)
    only_one.claim_name(NAMES[1]).close()


def test_a_node_that_is_just_ending_is_waited_for(monkeypatch):
    monkeypatch.setattr(only_one, "PATIENCE", 60.0)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "claimed\n"
        looks = []
        monkeypatch.setattr(only_one.time, "sleep", lambda _: (looks.append(1), process.stdin.close(), process.wait()))
        only_one.refuse_taken(NAMES)
    assert looks
