"""A description's file, found and read."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from soft_twin.descriptions.mistakes import named
from soft_twin.descriptions.part import Part
from soft_twin.descriptions.robot import Description
from soft_twin.descriptions.yaml_file import YamlMapping, read_yaml
from soft_twin.errors import DescriptionError, SoftTwinError, UsageError

P = TypeVar("P", bound=Part)


def read_description(path: Path) -> Description:
    """The description in a file.

    Raises:
        UsageError: there is no such file.
        DescriptionError: it is malformed; one line with file, line, key, value and what would be right.
    """
    return read_part(path, Description, "robot description", UsageError)


def read_part(path: Path, kind: type[P], what: str, missing: type[SoftTwinError] = DescriptionError) -> P:
    """A YAML file as one part.

    Args:
        path: of the file.
        kind: of the part.
        what: the file is, in words.
        missing: error of a file that is not there.

    Raises:
        DescriptionError: it is malformed.
    """
    return part_of(read_yaml(path, what, missing), kind, str(path))


def part_of(content: YamlMapping, kind: type[P], where: str) -> P:
    """What was read from a file as one part.

    Args:
        content: of the file.
        kind: of the part.
        where: it is from, which begins messages.

    Raises:
        DescriptionError: it is malformed.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise named(error, content, where) from error
