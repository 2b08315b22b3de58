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
    time.sleep(600)

class Starting:
    def __init__(self):
        called_from_c()
        time.sleep(600)

run(Starting)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
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
