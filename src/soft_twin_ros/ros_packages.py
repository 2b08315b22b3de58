"""Which of ROS's packages that the nodes stand on are missing, told in one line before anything looks for them."""

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from soft_twin.errors import UsageError
from soft_twin.requirements import ROSDEP

OURS = "soft_twin_msgs"
PACKAGES = (
    *("builtin_interfaces", "diagnostic_msgs", "geometry_msgs", "lifecycle_msgs", "rcl_interfaces", "rclpy"),
    *("sensor_msgs", OURS, "std_msgs", "std_srvs", "trajectory_msgs", "visualization_msgs"),
)
SOURCE = "source /opt/ros/DISTRIBUTION/setup.bash; without a ROS installation, `make` installs ROS as wheels"
BUILD = f"colcon build --packages-select {OURS}, then source install/setup.bash"


def check_ros() -> None:
    """See that all packages are there.

    Raises:
        UsageError: some are missing, with the remedy.
    """
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if not absent:
        return
    installed = [ROSDEP] * (absent != [OURS]) + [BUILD] * (OURS in absent)
    remedies = [SOURCE] if "rclpy" in absent else installed
    raise UsageError(f"ROS packages are missing: {', '.join(absent)}: {'; '.join(remedies)}")


def is_node(words: Sequence[str]) -> bool:
    """Whether a command line, without its Python, starts one of this package's modules: as a program, or by -m."""
    named = [word for word in words if not word.startswith("-")][:2]  # the first may belong to an option of Python's
    stems = {Path(word).name.removeprefix("soft_twin_ros.") for word in named}
    return not stems.isdisjoint(path.stem for path in Path(__file__).parent.glob("*.py"))


def remedy_for(package: str) -> str:
    """How a ROS package that can be done without is installed."""
    return f"apt install ros-{os.environ.get('ROS_DISTRO', 'DISTRIBUTION')}-{package.replace('_', '-')}"


def check_start() -> None:
    """Where this process is a node that starts: see that all packages are there.

    Raises:
        UsageError: some are missing, with the remedy.
    """
    if is_node(sys.orig_argv[1:]):
        check_ros()
