"""Threads and processes that must not be late, on hosts that are busy."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

NICENESS = -10  # of a process that is preferred: about ten times the share of an ordinary one
SESSION = Path("/proc/self/autogroup")  # where Linux shares processors among sessions first: "/autogroup-7 nice 0"
ATTEMPTS, ATTEMPT_PERIOD = 10, 0.11  # [s] Linux takes one a tenth of a second from those who are not root


def prefer_this_thread() -> bool:
    """Ask the system to run the calling thread before ordinary ones, as loops that drive motors need it.

    Returns whether it was granted; Linux asks for root, CAP_SYS_NICE, or an `rtprio` in /etc/security/limits.conf.
    Only for threads that sleep most of the time.
    """
    return _prefer(0)


def prefer_all_threads() -> bool:
    """Ask the same for every thread that this process has by now, which all should sleep most of the time.

    A thread that drives motors waits for whoever holds the interpreter, or a lock: where that one is an ordinary
    thread, and the host is busy, it waits for tenths of a second.

    Returns whether it was granted for all of them.
    """
    granted = [_prefer(thread) for thread in _threads()]
    return bool(granted) and all(granted)


def prefer_this_process() -> bool:
    """Ask the system to give this process more of a busy host than ordinary ones get, every thread that it has by now.

    For processes that have started: one that is still importing and compiling would halt all others for seconds.

    Linux shares processors among sessions first, where it has autogroups (`man sched`), and a process's niceness
    counts only within its own: so the session is asked for, too, and is preferred until `prefer_no_more`. Others in it
    stay ordinary beside this process.

    Returns whether it was granted; Linux asks for root, CAP_SYS_NICE, or a `nice` in /etc/security/limits.conf.
    """
    if not hasattr(os, "setpriority"):
        return False
    with contextlib.suppress(OSError):
        for thread in _threads() or [0]:  # Linux: a thread has its own, which those that it starts begin with
            with contextlib.suppress(ProcessLookupError):  # has just ended
                os.setpriority(os.PRIO_PROCESS, thread, min(NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))
        return _renice_session(lambda niceness: min(NICENESS, niceness))
    return False


def prefer_no_more() -> None:
    """For a process that ends: take back what `prefer_this_process` has asked for, and the session's part if no other
    process in it is preferred. Without it, all that is started in the same terminal later would be."""
    if not hasattr(os, "setpriority"):
        return
    with contextlib.suppress(OSError):
        for thread in _threads() or [0]:
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, thread, max(0, os.getpriority(os.PRIO_PROCESS, thread)))
        if not any(_is_preferred_here(process) for process in _numbers("/proc")):
            _renice_session(lambda niceness: 0 if niceness == NICENESS else niceness)


def _is_preferred_here(process: int) -> bool:
    """Whether a process is preferred, and of this one's session."""
    try:
        return os.getsid(process) == os.getsid(0) and os.getpriority(os.PRIO_PROCESS, process) <= NICENESS
    except OSError:  # has just ended
        return False


def _renice_session(change: Callable[[int], int]) -> bool:
    """Whether the niceness of this process's session among others is changed, or sessions share nothing.

    Raises:
        OSError: it may not be.
    """
    for _ in range(ATTEMPTS):
        try:
            session = SESSION.read_text(encoding="ascii").split()  # empty in the system's first one: it has no share
            if session and (wanted := change(niceness := int(session[-1]))) != niceness:
                SESSION.write_text(str(wanted), encoding="ascii")
        except FileNotFoundError:  # no autogroups
            return True
        except BlockingIOError:
            time.sleep(ATTEMPT_PERIOD)
        else:
            return True
    return False


def _threads() -> list[int]:
    """Every thread that this process has by now."""
    return _numbers("/proc/self/task")


def _numbers(folder: str) -> list[int]:
    """Ids of the processes or threads in a folder of Linux: elsewhere none are known."""
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    except OSError:
        return []


def _prefer(thread: int) -> bool:
    """Whether that thread, 0 for the calling one, was granted to run before ordinary ones."""
    if not hasattr(os, "sched_setscheduler"):
        return False
    try:
        os.sched_setscheduler(thread, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:  # not allowed, or the thread has just ended
        return False
    return True
