"""Outputs that cannot take what a command prints."""

import os
import subprocess
import sys

import pytest


def _printed(words, **streams):
    return subprocess.run([sys.executable, "-m", "soft_twin.app.cli", *words], stderr=subprocess.PIPE, **streams)


@pytest.mark.parametrize("words", [["describe", "slender"], ["schema"], ["emulate", "imu", "--seconds", "0.1"]])
def test_an_output_without_room_is_one_line(words):
    with open("/dev/full", "wb") as full:
        done = _printed(words, stdout=full)
    assert (done.returncode, done.stderr) == (2, b"soft-twin: cannot write: No space left on device\n")


def test_characters_that_the_output_does_not_know_are_replaced():
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = _printed(["schema", "--reference"], stdout=subprocess.PIPE, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"?" in done.stdout
