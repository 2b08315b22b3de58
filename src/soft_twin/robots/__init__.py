"""Robots: built from their descriptions, with twins and inverses. A new kind is one module and one line in KINDS."""

from pathlib import Path

from soft_twin.robots import cable_tube, fem_robot, tensegrity
from soft_twin.robots.base import Robot

KINDS = {
    "cable_tube": cable_tube.read,
    "fem": fem_robot.read,
    "tensegrity": tensegrity.read,
}


def load_robot(name_or_path: str | Path) -> Robot:
    """The robot of that name (a file in config/), or of a description's path.

    Raises:
        UsageError: there is no such robot or file.
        DescriptionError: it is malformed; the message names file, line, key, value and what would be right.
    """
    # Imported here: pydantic takes longer to import than the rest of what `import soft_twin` needs.
    from soft_twin.descriptions.find import find_description
    from soft_twin.descriptions.load import read_description

    path = find_description(name_or_path)
    description = read_description(path)
    return KINDS[description.robot.kind](description.robot, path, dict(description.nodes))
