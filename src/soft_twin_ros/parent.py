"""Processes that end when what has started them ends, however that happens: nodes of a launch or of a run.

Run as a program, it starts one of others, such as RViz, which would not know: `python parent.py PROGRAM ARGUMENT…`. It
imports nothing of this package then, so that it is there at once.
"""

import contextlib
import ctypes
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time

ENDS_WITH = "SOFT_TWIN_ENDS_WITH"  # environment variable: id of the process with which this one ends
ENDS_WITHIN = "SOFT_TWIN_ENDS_WITHIN"  # and within how long [s] it then does, or is killed
PATIENCE = 1.5  # [s] to bring what it owns into a safe state, where nothing else is said
TERM_PATIENCE = 0.4  # [s] for programs of others: less than a launch gives before it kills
ASKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
NOT_FOUND = 127  # exit status, as a shell's
PR_SET_PDEATHSIG = 1  # prctl(2): the signal that a process gets when what has started it ends


def end_with_parent() -> None:
    """Watch the parent, where the environment asks for it; until the node is there, end at once when asked to."""
    parent, patience = int(os.environ.pop(ENDS_WITH, 0)), float(os.environ.pop(ENDS_WITHIN, PATIENCE))
    if not parent or not hasattr(os, "pidfd_open"):
        return
    for number in ASKED:
        signal.signal(number, lambda *_: os._exit(0))  # a node that is still loading has nothing to make safe
    try:
        watched = os.pidfd_open(parent)
    except OSError:  # it has ended already
        os._exit(0)
    threading.Thread(target=_watch, args=(watched, patience), name="parent", daemon=True).start()


def accompanied() -> list[str]:
    """The words to put before a command of others, so that it ends with the process that ENDS_WITH names."""
    return [sys.executable, __file__]


def accompany(command: list[str]) -> int:
    """Run a program until it ends, or the process that ENDS_WITH names does; its exit status.

    It is told the signals that this process gets, in a process group of its own. What does not end when it is asked is
    killed with all that it has started; it is killed when this process is, too.
    """
    parent = int(os.environ.pop(ENDS_WITH, 0))
    asked = _signals()
    try:
        watched = [os.pidfd_open(parent)] if parent else []
        process = subprocess.Popen(command, start_new_session=True, preexec_fn=die_with_parent)
    except ProcessLookupError:  # the parent has ended already
        return 0
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND
    ended, deadline = os.pidfd_open(process.pid), math.inf
    while time.monotonic() < deadline:
        left = None if deadline == math.inf else max(deadline - time.monotonic(), 0.0)
        ready, _, _ = select.select([ended, asked, *watched], [], [], left)
        if ended in ready:
            break
        told = list(os.read(asked, 64)) if asked in ready else []
        if watched and watched[0] in ready:
            told, watched = [signal.SIGTERM], []
        for number in told:
            _tell(process, number)
        if signal.SIGTERM in told:
            deadline = min(deadline, time.monotonic() + TERM_PATIENCE)
    _tell(process, signal.SIGKILL)
    return process.wait()


def _signals() -> int:
    """A file descriptor that tells the numbers of the signals that this process gets, a byte each."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for number in ASKED:
        signal.signal(number, lambda *_: None)
    return reading


def _tell(process: subprocess.Popen, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def die_with_parent() -> None:
    """In a process that is about to become another program."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch(watched: int, patience: float) -> None:
    """Ask this process to end when the other has, and end it if it does not for so long [s]."""
    select.select([watched], [], [])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(patience)
    os.kill(os.getpid(), signal.SIGKILL)


def _program() -> int:
    """The program's exit status; 128 + n where a signal n has ended it, as a shell says it."""
    if not hasattr(os, "pidfd_open"):
        os.execvp(sys.argv[1], sys.argv[1:])
    status = accompany(sys.argv[1:])
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(_program())
