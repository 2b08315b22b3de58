"""A node that is interrupted while it starts ends at once and without a word, whatever it is at."""

import signal
import subprocess
import sys

import pytest

NODE = """
import ctypes, time
from soft_twin_ros.node import run

@ctypes.CFUNCTYPE(None)
def called_from_c():  # as LLVM calls numba while it compiles; ctypes ignores whatever is raised here
    print("in a callback", flush=True)
    wait()

def wait():
    for _ in range(6000):  # a signal that comes just before a sleep is heard after it
        time.sleep(0.1)

class Starting:
    def __init__(self):
        called_from_c()
        wait()

run(Starting)
"""
SAYING = """
import io, os, signal, sys, time
from soft_twin_ros.node import run

class Out(io.RawIOBase):
    def writable(self):
        return True

    def write(self, data):
        os.kill(os.getpid(), signal.SIGINT)  # which comes while the stream is locked
        return os.write(1, data)

class Starting:
    def __init__(self):
        try:
            print("here", file=sys.stdout, flush=True)
        except RuntimeError:  # which code of others would take
            pass
        time.sleep(600)

sys.stdout = io.TextIOWrapper(io.BufferedWriter(Out()))
run(Starting)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_node_ends_although_code_of_others_takes_exceptions(number):
    with subprocess.Popen(
        [sys.executable, "-c", NODE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "in a callback\n"
            process.send_signal(number)
            _, complaints = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, complaints) == (0, "")


def test_a_node_ends_although_it_is_just_saying_something():
    said = subprocess.run([sys.executable, "-c", SAYING], capture_output=True, text=True, timeout=60)
    assert (said.returncode, said.stderr) == (0, "")
