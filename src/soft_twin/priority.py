"""Threads and processes that must not be late, on hosts that are busy."""

import contextlib
import os

NICENESS = -10  # of a process that is preferred: about ten times the share of an ordinary one


def prefer_this_thread() -> bool:
    """Ask the system to run the calling thread before ordinary ones, as loops that drive motors need it.

    Returns whether it was granted; Linux asks for root, CAP_SYS_NICE, or an `rtprio` in /etc/security/limits.conf.
    Only for threads that sleep most of the time.
    """
    if not hasattr(os, "sched_setscheduler"):
        return False
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        return False
    return True


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
