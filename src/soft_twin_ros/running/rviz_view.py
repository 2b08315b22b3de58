"""What RViz shows of robots: the view of one, in rviz/, with the names of its namespace; of several, in one window."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from soft_twin.errors import UsageError
from soft_twin.resources import folder

WORLD = "world"  # the frame that robots share
MANAGER = "Visualization Manager"
FARTHER = 1.3  # times what robots are apart at most: half the picture's height is 0.41 of the distance


@dataclass(frozen=True)
class Shown:
    """A robot that is shown.

    Attributes:
        name, namespace: of it.
        place: (3,) where its base is in the world [m].
    """

    name: str
    namespace: str
    place: tuple[float, ...] = (0.0, 0.0, 0.0)


def view_of(robots: Sequence[Shown]) -> dict[str, Any]:
    """RViz's configuration.

    Of one robot it stands on the robot's base. Several hang in `world` as their bases do, each robot's displays in a
    group of its own; the camera looks at the middle of them from where all are in the picture.

    Raises:
        UsageError: there is no view of one of them.
    """
    views = [_named(robot.name, robot.namespace) for robot in robots]
    if len(views) == 1:
        return views[0]
    view = max(views, key=_distance)
    manager = view[MANAGER]
    manager["Global Options"]["Fixed Frame"] = WORLD
    _look_at(np.array([robot.place for robot in robots]), manager["Views"]["Current"])
    ground = [display for display in manager["Displays"] if display["Class"].endswith("/Grid")]
    groups = [_group(each, robot.namespace) for each, robot in zip(views, robots, strict=True)]
    return view | {MANAGER: manager | {"Displays": [*ground, *groups]}}


def _look_at(places: np.ndarray, camera: dict[str, Any]) -> None:
    """Move a camera that looks at the largest robot at the origin, such that robots at (r, 3) are in the picture."""
    low, high = places.min(axis=0), places.max(axis=0)
    focus = camera["Focal Point"]
    for axis, middle in zip("XYZ", 0.5 * (low + high), strict=True):
        focus[axis] = float(focus[axis] + middle)
    camera["Distance"] = float(camera["Distance"] + FARTHER * np.linalg.norm(high - low))


def write_view(robots: Sequence[Shown], path: Path) -> Path:
    """Write it for RViz; `path` again.

    Raises:
        UsageError: see `view_of`.
    """
    view = view_of(robots)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(view, sort_keys=False), encoding="utf-8")
    return path


def _named(name: str, namespace: str) -> dict[str, Any]:
    """The view of a robot: topics, frames, prefixes and filters begin with its name, for which its namespace is put."""
    source = folder("rviz") / f"{name}.rviz"
    if not source.is_file():
        raise UsageError(f"rviz:=true: there is no rviz/{name}.rviz: leave it out")
    text = source.read_text(encoding="utf-8")
    return yaml.safe_load(re.sub(rf"(?<=[ /|]){name}(?=/|$)", namespace, text, flags=re.MULTILINE))


def _group(view: dict[str, Any], namespace: str) -> dict[str, Any]:
    displays = [display for display in view[MANAGER]["Displays"] if not display["Class"].endswith("/Grid")]
    return {"Class": "rviz_common/Group", "Name": namespace, "Enabled": True, "Displays": displays}


def _distance(view: dict[str, Any]) -> float:
    """From which a robot is looked at [m]: the largest one needs most."""
    return view[MANAGER]["Views"]["Current"]["Distance"]
