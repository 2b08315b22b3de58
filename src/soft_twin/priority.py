"""Threads and processes that must not be late, on hosts that are busy."""

import contextlib
import os

NICENESS = -10  # of a process that is preferred: about ten times the share of an ordinary one


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
    try:
        threads = [int(name) for name in os.listdir("/proc/self/task")]
    except OSError:  # not Linux
        return False
    granted = [_prefer(thread) for thread in threads]
    return all(granted)


def prefer_this_process() -> bool:
    """Ask the system to give this process more of a busy host than ordinary ones get.

    Returns whether it was granted; Linux asks for root, CAP_SYS_NICE, or a `nice` in /etc/security/limits.conf.
    """
    if not hasattr(os, "setpriority"):
        return False
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, min(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
        return True
    return False


def _prefer(thread: int) -> bool:
    """Whether that thread, 0 for the calling one, was granted to run before ordinary ones."""
    if not hasattr(os, "sched_setscheduler"):
        return False
    try:
        os.sched_setscheduler(thread, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:  # not allowed, or the thread has just ended
        return False
    return True
