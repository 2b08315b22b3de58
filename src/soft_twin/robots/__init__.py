"""Robots: descriptions read, twins and inverses built from them. A new kind is one module and one line in KINDS."""

from pathlib import Path

from soft_twin.robots import cable_tube, tensegrity
from soft_twin.robots.base import Robot
from soft_twin.robots.description import Section, find_description, read_yaml

KINDS = {
    "cable_tube": cable_tube.read,
    "tensegrity": tensegrity.read,
}


def load_robot(name_or_path: str | Path) -> Robot:
    """The robot of that name (a file in config/), or of a description's path.

    Raises:
        UsageError: there is no such robot or file.
        DescriptionError: the description is malformed; the message names file, key, value and what would be right.
    """
    path = find_description(name_or_path)
    content = Section(read_yaml(path), str(path))
    robot = content.section("robot")
    kind = robot.text("kind", among=KINDS)
    nodes = content.section("nodes").content if content.has("nodes") else {}
    return KINDS[kind](robot.text("name"), path, robot, {name: dict(values or {}) for name, values in nodes.items()})
