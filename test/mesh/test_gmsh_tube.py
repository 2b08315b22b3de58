"""Meshing by Gmsh leaves the process as it was."""

import subprocess
import sys

import pytest

WRITES_TO_A_CLOSED_PIPE = """
import os
from threading import Thread
from soft_twin.mesh.generate.gmsh_tube import tube_tetrahedra

meshed = []
work = lambda: meshed.append(tube_tetrahedra(0.002, 0.005, 0.02, 0.005))
if {in_thread}:
    thread = Thread(target=work)
    thread.start()
    thread.join()
else:
    work()
reading, writing = os.pipe()
os.close(reading)
try:
    os.write(writing, b"x")
except BrokenPipeError:
    print(len(meshed), "mesh, and still there")
"""


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_closed_pipe_is_an_error_after_meshing_too_and_not_the_end(in_thread):
    pytest.importorskip("gmsh", exc_type=ImportError)
    program = WRITES_TO_A_CLOSED_PIPE.format(in_thread=in_thread)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1 mesh, and still there\n"), done.stderr
