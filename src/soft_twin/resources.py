"""Where the files beside the code are: config, meshes, urdf, bench, …

They stand in the repository's root in a source checkout and in `share/soft_twin` of an installed package,
be it a ROS workspace or a plain Python environment.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from soft_twin.errors import UsageError

SHARE = Path("share") / "soft_twin"
MANIFESTS = ("package.xml", "ros/package.xml")  # in an installed package, in a checkout


def _roots() -> Iterator[Path]:
    yield Path(__file__).resolve().parents[2]
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if prefix:
            yield Path(prefix) / SHARE
    yield Path(sys.prefix) / SHARE


def folder(name: str) -> Path:
    """Path of the resource folder `name` (such as "config").

    Raises:
        UsageError: no such folder is installed.
    """
    for root in _roots():
        if (root / name).is_dir() and any((root / manifest).is_file() for manifest in MANIFESTS):
            return root / name
    raise UsageError(f"the folder '{name}' of soft_twin is not installed: install from a checkout or by colcon build")
