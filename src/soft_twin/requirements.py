"""Which of the packages that soft_twin stands on are missing, told in one line before anything looks for them."""

import importlib.util
import os
import re
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from soft_twin.errors import UsageError
from soft_twin.kernel_folder import VARIABLE, find_kernel_folder

MODULES = {
    "can": "python-can",
    "daqp": "daqp",
    "joblib": "joblib",
    "matplotlib": "matplotlib",
    "mcap": "mcap",
    "mcap_ros2": "mcap-ros2-support",
    "meshio": "meshio",
    "numba": "numba",
    "numpy": "numpy",
    "pydantic": "pydantic",
    "rosbags": "rosbags",
    "scipy": "scipy",
    "serial": "pyserial",
    "threadpoolctl": "threadpoolctl",
    "transforms3d": "transforms3d",
    "yaml": "pyyaml",
}
TOO_OLD = {"pydantic": "1.", "python-can": "3."}  # in distributions of today
BY_ROSDEP = {"matplotlib", "numpy", "pyserial", "pyyaml", "scipy", "transforms3d"}  # the others are in requirements.txt
if sys.version_info < (3, 12):
    BY_ROSDEP |= {"numba"}  # that of Noble does not know its Python
FOR_NUMPY_2 = {"scipy": (1, 13), "numba": (0, 60), "matplotlib": (3, 9)}  # the first that were built for it
OLD_DISTRIBUTIONS = ("dashing", "eloquent", "foxy", "galactic")
PIP = "pip install -r ros/requirements.txt into an environment that sees the system's (README, Start with ROS 2)"
ROSDEP = "rosdep install --from-paths src --ignore-src -y"


def check_requirements() -> None:
    """See that all packages are there, and fit each other, and that kernels can be kept.

    Raises:
        UsageError: some are missing, too old, or built for an older numpy; the ROS distribution is too old; or nothing
            can be written.
    """
    if (distribution := os.environ.get("ROS_DISTRO", "")) in OLD_DISTRIBUTIONS:
        raise UsageError(f"ROS 2 {distribution} is too old: Humble or newer is needed")
    absent = {package for module, package in MODULES.items() if importlib.util.find_spec(module) is None}
    old = {name for name, begin in TOO_OLD.items() if name not in absent and _version(name).startswith(begin)}
    told = sorted(absent) + [f"{name} newer than {_version(name)}" for name in sorted(old)]
    if told:
        remedies = [ROSDEP] * bool(absent & BY_ROSDEP) + [PIP] * bool((absent | old) - BY_ROSDEP)
        raise UsageError(f"Python packages are missing: {', '.join(told)}: {'; '.join(remedies)}")
    _check_numpy()
    if not find_kernel_folder():
        raise UsageError(f"no folder for compiled kernels can be written: set {VARIABLE} to one, and TMPDIR")


def _check_numpy() -> None:
    """See that numpy is the one that packages of this age were built for."""
    numpy = _version("numpy")
    if _numbers(numpy) < (2,):
        return
    for name, first in FOR_NUMPY_2.items():
        if () < _numbers(_version(name)) < first:
            found = f"{name} {_version(name)}"
            raise UsageError(f"numpy {numpy} does not fit {found}, which was built for numpy 1: pip install 'numpy<2'")


@cache
def _version(package: str) -> str:
    """Empty where nothing tells it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _numbers(text: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])
