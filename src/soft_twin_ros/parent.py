"""Processes that end when what has started them ends, however that happens: nodes of a launch or of a run."""

import os
import select
import signal
import threading
import time

ENDS_WITH = "SOFT_TWIN_ENDS_WITH"  # environment variable: id of the process with which this one ends
PATIENCE = 1.5  # [s] to bring what it owns into a safe state


def end_with_parent() -> None:
    """Watch the parent, where the environment asks for it; until the node is there, end at once when asked to."""
    parent = int(os.environ.pop(ENDS_WITH, 0))
    if not parent or not hasattr(os, "pidfd_open"):
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))  # a node that is still loading has nothing to make safe
    try:
        watched = os.pidfd_open(parent)
    except OSError:  # it has ended already
        os._exit(0)
    threading.Thread(target=_watch, args=(watched,), name="parent", daemon=True).start()


def _watch(watched: int) -> None:
    """Ask this process to end when the other has, and end it if it does not."""
    select.select([watched], [], [])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os.kill(os.getpid(), signal.SIGKILL)
