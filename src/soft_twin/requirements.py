"""Which of the packages that soft_twin stands on are missing, told in one line before anything looks for them."""

import importlib.util
from importlib.metadata import version

from soft_twin.errors import UsageError

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
REMEDY = "pip install -r ros/requirements.txt into an environment that sees the system's (README, Start with ROS 2)"


def check_requirements() -> None:
    """See that all packages are there.

    Raises:
        UsageError: some are missing or too old.
    """
    absent = {package for module, package in MODULES.items() if importlib.util.find_spec(module) is None}
    old = {name for name, begin in TOO_OLD.items() if name not in absent and version(name).startswith(begin)}
    told = sorted(absent) + [f"{name} newer than {version(name)}" for name in sorted(old)]
    if told:
        raise UsageError(f"Python packages are missing: {', '.join(told)}: {REMEDY}")
