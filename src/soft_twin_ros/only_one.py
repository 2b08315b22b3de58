"""Two nodes of one name take each other's topics and services: the second one is refused."""

import os
import time
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
    domain = ros_domain()
    path = private_folder() / f"domain-{domain}{name.replace('/', '.')}.lock"
    deadline = time.monotonic() + PATIENCE
    while (lock := claim(path)) is None:
        if time.monotonic() > deadline:
            raise UsageError(
                f"a node {name} runs already in ROS domain {domain}: end it, or give this robot a namespace of its own "
                "(namespace:=NAME)"
            )
        time.sleep(LOOK_PERIOD)
    return os.fdopen(lock, "wb")
