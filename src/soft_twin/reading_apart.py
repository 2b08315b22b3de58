"""Readers of others in a process of their own, with bounded time and memory.

A broken file makes some of them loop for ever, fill the memory, exit, or crash. In a process of its own each of these
is one line. A start costs 0.15 s.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from soft_twin.errors import SoftTwinError
from soft_twin.files import one_line

LARGEST_ANSWER = 300_000_000  # [bytes] of what is read
WAIT = 12.0  # times the processor time: so long on a machine that is busy with other things
_CHILD = Path(__file__).with_name("reading_child.py")
_SIMPLE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # readers multiply nothing


def read_apart(reader: str, path: Path, what: str, error: type[SoftTwinError], seconds: float, memory: int) -> Any:
    """What a reader makes of a file.

    Args:
        reader: a function of one path, as "module:name"; what it returns is sent as a pickle.
        path: of the file.
        what: it should be, such as "mesh".
        error: is raised with a line that names path and reason.
        seconds, memory: of processor time, and of memory [bytes], that reading may take.
    """
    request = json.dumps([sys.path, *reader.split(":"), str(path), memory, seconds, LARGEST_ANSWER])
    command = [sys.executable, "-I", str(_CHILD), request]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, **_SIMPLE}, timeout=WAIT * seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _endless(path, what, seconds, error) from None
    except OSError as cause:
        raise error(f"cannot read the {what} '{path}': no process for it: {cause.strerror}") from cause
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        raise _endless(path, what, seconds, error)
    if done.returncode or not done.stdout:
        raise error(f"{what} '{path}' is not readable: its reader ended with status {done.returncode}")
    good, answer = pickle.loads(done.stdout)
    if not good:
        raise error(f"{what} '{path}' is not readable: {one_line(answer)}")
    return answer


def _endless(path: Path, what: str, seconds: float, error: type[SoftTwinError]) -> SoftTwinError:
    reason = f"damaged or cut short, its reader did not end within {seconds:.2g} s"
    return error(f"{what} '{path}' is not readable: {reason}")
