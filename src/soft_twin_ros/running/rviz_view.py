"""What RViz shows of robots: the view of one, in rviz/, with the names of its namespace; of several, in one window."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from soft_twin.errors import UsageError
from soft_twin.resources import folder

WORLD = "world"  # the frame that robots share
MANAGER = "Visualization Manager"


def view_of(robots: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """RViz's configuration.

    Of one robot it stands on the robot's base. Several hang in `world` as their bases do, each robot's displays in a
    group of its own.

    Args:
        robots: name and namespace of each.

    Raises:
        UsageError: there is no view of one of them.
    """
    views = [_named(*robot) for robot in robots]
    if len(views) == 1:
        return views[0]
    view = max(views, key=_distance)
    manager = view[MANAGER]
    manager["Global Options"]["Fixed Frame"] = WORLD
    ground = [display for display in manager["Displays"] if display["Class"].endswith("/Grid")]
    groups = [_group(each, namespace) for each, (_, namespace) in zip(views, robots, strict=True)]
    return view | {MANAGER: manager | {"Displays": [*ground, *groups]}}


def write_view(robots: Sequence[tuple[str, str]], path: Path) -> Path:
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
