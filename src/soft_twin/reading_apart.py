"""Libraries of others in a process of their own, with bounded time and memory.

A broken file makes some of them loop for ever, fill the memory, exit, or crash; some cannot be interrupted, or change
the process that they are in. In a process of its own each of these is one line. A start costs 0.15 s.
"""

import contextlib
import json
import math
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from soft_twin.errors import SoftTwinError
from soft_twin.files import one_line

LARGEST_ANSWER = 300_000_000  # [bytes] of what is read
WAIT = 12.0  # times the processor time: so long on a machine that is busy with other things
_CHILD = Path(__file__).with_name("reading_child.py")
_SIMPLE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # readers multiply nothing


class ApartError(Exception):
    """What was called apart gave no answer; the reason in words."""


class EndlessError(ApartError):
    """It did not end in the time that it was given."""


def read_apart(reader: str, path: Path, what: str, error: type[SoftTwinError], seconds: float, memory: int) -> Any:
    """What a reader makes of a file.

    Args:
        reader: a function of one path, as "module:name"; what it returns is sent as a pickle.
        path: of the file.
        what: it should be, such as "mesh".
        error: is raised with a line that names path and reason.
        seconds, memory: of processor time, and of memory [bytes], that reading may take.
    """
    try:
        return call_apart(reader, (str(path),), seconds, memory)
    except EndlessError:
        reason = f"damaged or cut short, its reader did not end within {seconds:.2g} s"
        raise error(f"{what} '{path}' is not readable: {reason}") from None
    except ApartError as cause:
        raise error(f"{what} '{path}' is not readable: {cause}") from None


def call_apart(function: str, arguments: Sequence, seconds: float = math.inf, memory: float = math.inf) -> Any:
    """What a function returns, called in a process of its own; an interruption ends that, too.

    Args:
        function: "module:name"; what it returns is sent as a pickle.
        arguments: that it is called with: what JSON can tell.
        seconds, memory: of processor time, and of memory [bytes], that it may take.

    Raises:
        ApartError: it raised something, gave up, or was killed.
        EndlessError: it took longer.
    """
    request = [sys.path, *function.split(":"), arguments, memory, seconds, LARGEST_ANSWER]
    try:
        with _lifeline() as line:
            command = [sys.executable, "-I", str(_CHILD), json.dumps([*request, *line])]
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=line,
                env={**os.environ, **_SIMPLE}, timeout=WAIT * seconds if math.isfinite(seconds) else None, check=False,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise EndlessError from None
    except OSError as cause:
        raise ApartError(f"no process for it: {cause.strerror}") from cause
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        raise EndlessError
    if done.returncode or not done.stdout:
        raise ApartError(f"its process ended with status {done.returncode}")
    good, answer = pickle.loads(done.stdout)
    if not good:
        raise ApartError(one_line(answer))
    return answer


@contextlib.contextmanager
def _lifeline() -> Iterator[tuple[int, ...]]:
    """The descriptor of a pipe for a child, which ends with this block: an interruption may come while the child is
    being started, when nobody knows it yet who could end it. None where children inherit no descriptors."""
    if os.name != "posix":
        yield ()
        return
    line, held = os.pipe()
    try:
        yield (line,)
    finally:
        os.close(line)
        os.close(held)
