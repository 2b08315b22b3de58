"""The ROS domain that this process is in."""

import os

from soft_twin.errors import UsageError
from soft_twin.files import one_line

MOST = 232  # beyond, ports would have numbers above 65535


def ros_domain() -> int:
    """The number of this process's domain; ROS itself says nothing, or not what is wrong, where it is none.

    Raises:
        UsageError: ROS_DOMAIN_ID is no number of a domain.
    """
    text = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not (text.isdecimal() and int(text) <= MOST):
        raise UsageError(f"ROS_DOMAIN_ID={one_line(text)}: expected a number from 0 to 101, {MOST} at the most")
    return int(text)
