"""Threads that must not be late, on hosts that are busy."""

import os


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
