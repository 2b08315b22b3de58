"""Interruptions of a terminal beside children that leave them to this process."""

import signal
import subprocess
import sys

import pytest

from soft_twin.interruptions import INTERRUPTIONS, interrupted_afterwards, left_to_this_process

CHILD = [sys.executable, "-c", "print('here', flush=True); input()"]


@pytest.mark.parametrize("number", INTERRUPTIONS)
def test_a_child_is_not_interrupted_and_others_are(number):
    with left_to_this_process():
        child = subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other = subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for process in (child, other):
        process.stdout.readline()
        process.send_signal(number)
        process.communicate(b"\n")
    assert child.returncode == 0 and other.returncode != 0


def test_this_process_is_interrupted_afterwards_even_where_the_start_failed():
    told = []
    before = signal.signal(signal.SIGINT, lambda *_: told.append("interrupted"))
    try:
        with pytest.raises(FileNotFoundError), left_to_this_process():
            signal.raise_signal(signal.SIGINT)
            assert told == []
            subprocess.Popen(["/nonexistent"])
        assert told == ["interrupted"]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_waits_for_the_end_of_a_block_even_where_it_fails(number):
    told = []
    before = signal.signal(number, lambda *_: told.append("interrupted"))
    try:
        with pytest.raises(ValueError, match="failed"), interrupted_afterwards():
            signal.raise_signal(number)
            signal.raise_signal(number)
            assert told == []
            raise ValueError("failed")
        assert told == ["interrupted"]
        signal.raise_signal(number)
        assert told == ["interrupted"] * 2
    finally:
        signal.signal(number, before)
