"""Entries of files of ROS parameters: which nodes they are for, and what ROS would ignore in them."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from soft_twin.descriptions.yaml_file import YamlMapping, read_yaml
from soft_twin.errors import SoftTwinError, UsageError
from soft_twin_ros.parameters import known_parameters, unknown

PARAMETERS = "ros__parameters"
WILDCARDS = {"*": r"/\w+", "**": r"(/\w+)*"}  # as rcl reads them in the names of nodes


def entries(content: YamlMapping, where: str, name: str = "") -> Iterator[tuple[str, int, YamlMapping]]:
    """Name, line and parameters of each entry below `name`; names may be cut into mappings at their slashes.

    Raises:
        UsageError: something in it is no entry; `where` says which file, before the line.
    """
    for key, value in content.items():
        line = content.lines[key]
        if not isinstance(value, YamlMapping):
            raise UsageError(f"{where}, line {line}: expected NODE: {{{PARAMETERS}: {{NAME: VALUE}}}}")
        if key == PARAMETERS:
            yield name or "/", content.line, value
        else:
            yield from entries(value, where, f"{name}/{key.strip('/')}")


def is_for(name: str, node: str) -> bool:
    """Whether an entry of this name is for a node, by its name with its namespace."""
    parts = name.strip("/").split("/")
    return re.fullmatch("".join(WILDCARDS.get(part, f"/{re.escape(part)}") for part in parts), node) is not None


def refuse_names(parameters: YamlMapping, known: list[str], where: str, name: str) -> None:
    """Refuse parameters of an entry that are none of these.

    Raises:
        UsageError: with the first of them, its line, and the nearest right one.
    """
    for each in parameters:
        if wrong := unknown(each, known):
            raise UsageError(f"{where}, line {parameters.lines[each]}: {name}: {wrong}")


def refuse_unknown_in_files(words: Sequence[str], node: str, kind: type) -> None:
    """As `parameters.refuse_unknown`, of the files that a command line names, in what is for this node alone: what is
    for every node may be another's. A file that ROS reads and this package does not is not judged.

    Args:
        words: the command line.
        node: its name with its namespace.
        kind: the dataclass of its parameters.

    Raises:
        UsageError: with file, line, and the nearest right name.
    """
    for path in (path for flag, path in pairwise(words) if flag == "--params-file"):
        where = f"--params-file {path}"
        try:
            found = list(entries(read_yaml(path, "parameter file", UsageError), where))
        except SoftTwinError:
            continue
        for name, _, parameters in found:
            if name.rpartition("/")[2] not in WILDCARDS and is_for(name, node):
                refuse_names(parameters, known_parameters(kind), where, name)
