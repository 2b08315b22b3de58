"""What is said of a node that has ended, and how it is mended."""

import signal

from soft_twin_ros.running.graph import NodeSpec

CANNOT_START = 2  # exit status of a node that has said in one line why
KILLED = "ended by {signal}: out of memory, or somebody has ended it"
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS)
FAULTY = "ended by {signal}: a fault in compiled code, of a library or a driver"
CRASHED = "a fault in its program, the lines above are its own"
NOT_RESPAWNED = "; respawn:=true starts such a node again"  # what a fault has ended may well work


def ending(spec: NodeSpec, status: int, respawned: bool) -> str:
    """One line about a node that has ended with this exit status, negative for a signal, though nobody asked for it.

    Args:
        respawned: nodes that end are started again.
    """
    node = f"/{spec.namespace}/{spec.name}".replace("//", "/")
    if status == CANNOT_START:
        then = ", and is not started again" if respawned else ""
        return f"{node} could not start{then}: mend what it says above, then launch again"
    if status == 0:
        return f"{node} has ended without an error" + (": it is started again" if respawned else ": so does the launch")
    killed = status < 0 and -status not in FAULTS
    why = CRASHED if status > 0 else (KILLED if killed else FAULTY).format(signal=_name(-status))
    remedy = "" if killed or respawned else NOT_RESPAWNED
    return f"{node} ended with status {status} ({why}{remedy})" + (": it is started again" if respawned else "")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
