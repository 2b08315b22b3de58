"""The process that `reading_apart.py` starts. It imports nothing of this package, so that it starts quickly.

Arguments: a JSON list of the parent's import path, the reader's module and name, what it is called with, and
how much it may take: memory [bytes], processor time [s], bytes of its answer; and the descriptor of a pipe, if there
is one, with whose end nobody waits for it any more. The answer, on standard output, is a pickled pair: true and what
was read, or false and why it could not be.
"""

import contextlib
import importlib
import io
import json
import math
import os
import pickle
import sys
import threading
import traceback

try:
    import resource
except ImportError:  # not on Windows
    resource = None


class _GivenUpError(Exception):
    """A reader has ended the process."""


def main() -> None:
    """Read, answer, end."""
    path, module, name, arguments, memory, seconds, largest, *line = json.loads(sys.argv[1])
    if line:
        threading.Thread(target=_end_with, args=line, daemon=True).start()
    sys.path[:] = path
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # libraries in C talk, too
    read = getattr(importlib.import_module(module), name)
    if resource is not None:
        _limit(memory, seconds)
    with answer:
        answer.write(_pickled(read, arguments, largest))


def _end_with(line: int) -> None:
    os.read(line, 1)
    os._exit(1)


def _pickled(read, arguments: list, largest: int) -> bytes:
    try:
        done = pickle.dumps((True, _read(read, arguments)), protocol=5)
    except BaseException as error:  # readers of others raise anything on a broken file, and exit on some
        done = pickle.dumps((False, _reason(error)))
    return done if len(done) <= largest else pickle.dumps((False, f"it unpacks to {len(done)} bytes"))


def _read(read, arguments: list):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):  # readers talk
        try:
            return read(*arguments)
        except SystemExit:  # then their last words are the reason
            raise _GivenUpError(said.getvalue()) from None


def _reason(error: BaseException) -> str:
    """In the reader's own words where it meant to say something; what Python says of its mistakes says little."""
    if isinstance(error, MemoryError):
        return "it asks for more memory than a file may take"
    words = str(error).strip()
    if words and (type(error).__module__ != "builtins" or isinstance(error, OSError)):
        return words
    return f"damaged or cut short ({traceback.format_exception_only(type(error), error)[-1].strip()})"


def _limit(memory: float, seconds: float) -> None:
    with contextlib.suppress(OSError, ValueError):  # where the system has no such limits
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        if math.isfinite(seconds):
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used + seconds), resource.RLIM_INFINITY))
        with open("/proc/self/statm", encoding="ascii") as stream:
            now = int(stream.read().split()[0]) * resource.getpagesize()
        if math.isfinite(memory):
            resource.setrlimit(resource.RLIMIT_AS, (now + memory, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
