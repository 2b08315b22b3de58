"""Two nodes of one name take each other's topics and services: the second one is refused."""

import os
import time
from collections.abc import Iterable
from typing import IO

from soft_twin.errors import UsageError
from soft_twin.private_folder import claim, private_folder
from soft_twin_ros.domain import ros_domain

PATIENCE = 3.0  # [s] for one that is just ending
LOOK_PERIOD = 0.1  # [s]


def claim_name(name: str) -> IO[bytes]:
    """A node's fully qualified name, for this ROS domain on this machine, until the file is closed or the process ends.

    Raises:
        UsageError: a node of that name runs, or see `ros_domain`.
    """
    return os.fdopen(_claimed(name, time.monotonic() + PATIENCE), "wb")


def refuse_taken(names: Iterable[str]) -> None:
    """See that no node has one of these names, before any of them is started; none is claimed.

    Raises:
        UsageError: as `claim_name` does.
    """
    deadline = time.monotonic() + PATIENCE
    for name in names:
        os.close(_claimed(name, deadline))


def _claimed(name: str, deadline: float) -> int:
    """A file descriptor that keeps the name."""
    domain = ros_domain()
    path = private_folder() / f"domain-{domain}{name.replace('/', '.')}.lock"
    while (lock := claim(path)) is None:
        if time.monotonic() > deadline:
            raise UsageError(
                f"a node {name} runs already in ROS domain {domain}: end it, or give this robot a namespace of its own "
                "(namespace:=NAME)"
            )
        time.sleep(LOOK_PERIOD)
    return lock
