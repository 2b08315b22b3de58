"""Programs of others end with what has started them, with all that they have started themselves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from soft_twin_ros.parent import ENDS_WITH, NOT_FOUND, accompanied

PATIENCE = 20.0  # [s] of a busy machine
# A program that starts another one, says who they are, and takes signals as it is told.
PROGRAM = """
import os, signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, {handler})
other = subprocess.Popen(["sleep", "60"])
print(os.getpid(), other.pid, flush=True)
while True:  # a signal that comes just before a sleep is heard after it
    time.sleep(0.1)
"""
POLITE, DEAF = "lambda number, _: sys.exit(number)", "signal.SIG_IGN"
PARENT = "import time; print(flush=True); time.sleep(60)"


def has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def start():
    """Starts a program of others beside a parent of its own; gives both and the ids of what runs."""
    started = []

    def start(handler):
        parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
        started.append(parent)
        parent.stdout.readline()
        words = [*accompanied(), sys.executable, "-c", PROGRAM.format(handler=handler)]
        environment = os.environ | {ENDS_WITH: str(parent.pid)}
        process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, text=True)
        started.append(process)
        return parent, process, [int(word) for word in process.stdout.readline().split()]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("handler", [POLITE, DEAF])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_when_its_parent_is_killed(start, handler, number):
    parent, process, pids = start(handler)
    parent.send_signal(number)
    parent.wait()
    wait_for(lambda: all(map(has_ended, pids)))
    process.wait(PATIENCE)


def test_it_is_told_the_signals_and_tells_its_status(start):
    _, process, pids = start(POLITE)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == signal.SIGINT
    wait_for(lambda: all(map(has_ended, pids)))


def test_who_does_not_listen_is_killed(start):
    _, process, pids = start(DEAF)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 128 + signal.SIGKILL
    wait_for(lambda: all(map(has_ended, pids)))


def test_it_is_killed_with_what_accompanies_it(start):
    _, process, pids = start(DEAF)
    process.kill()
    wait_for(lambda: has_ended(pids[0]))
    os.kill(pids[1], signal.SIGKILL)  # of which only the program itself could know


def test_a_parent_that_has_ended_starts_nothing():
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    said = subprocess.run(
        [*accompanied(), "echo", "here"],
        env=os.environ | {ENDS_WITH: gone.stdout},
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (said.returncode, said.stdout) == (0, b"")


def test_a_program_that_is_not_there_is_told_in_one_line():
    said = subprocess.run([*accompanied(), "nowhere/agent"], capture_output=True, text=True, timeout=PATIENCE)
    assert (said.returncode, said.stderr) == (NOT_FOUND, "nowhere/agent: No such file or directory\n")
