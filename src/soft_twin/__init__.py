"""soft_twin: real -> sim -> real for soft robots. This library runs without ROS."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 10):  # noqa: UP036 - before what an older one cannot read
    found = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"soft_twin: Python {found} is too old: 3.10 or newer is needed, as ROS 2 Humble has it")

from soft_twin.kernel_folder import find_kernel_folder

if TYPE_CHECKING:
    from soft_twin import learning
    from soft_twin.robots import load_robot

__all__ = ["learning", "load_robot"]
__version__ = "0.1.0"
find_kernel_folder()  # before a kernel is found


def __getattr__(name: str) -> Any:
    """`load_robot` and `learning` when they are asked for: what they stand on may be missing, which is told first."""
    if name == "load_robot":
        from soft_twin.robots import load_robot

        return load_robot
    if name == "learning":
        return importlib.import_module("soft_twin.learning")
    raise AttributeError(f"module 'soft_twin' has no attribute '{name}'")
