"""A file of ROS parameters (`params_file`): what ROS would ignore in it is refused, with what would be right."""

import difflib
import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from soft_twin.descriptions.yaml_file import YamlMapping, read_yaml
from soft_twin.errors import SoftTwinError, UsageError
from soft_twin_ros.node import RobotNode
from soft_twin_ros.parameters import kind_of, known_parameters, unknown
from soft_twin_ros.running.graph import NodeSpec

PARAMETERS = "ros__parameters"
WILDCARDS = {"*": r"/\w+", "**": r"(/\w+)*"}  # as rcl reads them in the names of nodes


def check_parameter_file(path: str | Path, specs: Sequence[NodeSpec]) -> None:
    """See that every name in it is that of a node, and of a parameter of one of the nodes that its entry is for.

    Entries for nodes of others, whose names are unlike any of ours, are left alone, but not a file without any of ours.

    Raises:
        UsageError: with file, line, and the nearest right name.
    """
    try:
        content = read_yaml(path, "parameter file", UsageError)
    except SoftTwinError as error:
        raise UsageError(f"params_file:={error}") from error
    ours = {f"/{spec.namespace}/{spec.name}".replace("//", "/"): parameters_of(spec.executable) for spec in specs}
    found = False
    for name, line, parameters in _entries(content, "", path):
        file = f"params_file:={path}, line "
        matched = [known for node, known in ours.items() if _matches(name, node)]
        if matched:
            found = True
            _check_names(parameters, {each: None for known in matched for each in known}, file, name)
        elif near := _nearest_node(name, list(ours)):
            raise UsageError(f"{file}{line}: no node that is started is called '{name}': did you mean '{near}'?")
    if not found:
        raise UsageError(f"params_file:={path}: nothing is for a node that is started: there are {', '.join(ours)}")


def parameters_of(executable: str) -> list[str]:
    """The names of the parameters of a node, by its program."""
    module = importlib.import_module(f"soft_twin_ros.{executable}")
    (node,) = (
        each
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, RobotNode) and each.__module__ == module.__name__
    )
    return known_parameters(kind_of(node))


def _entries(content: YamlMapping, name: str, path: str | Path) -> Iterator[tuple[str, int, YamlMapping]]:
    """Name, line and parameters of each node; names may be cut into mappings at their slashes."""
    for key, value in content.items():
        line = content.lines[key]
        if not isinstance(value, YamlMapping):
            raise UsageError(f"params_file:={path}, line {line}: expected NODE: {{{PARAMETERS}: {{NAME: VALUE}}}}")
        if key == PARAMETERS:
            yield name or "/", content.line, value
        else:
            yield from _entries(value, f"{name}/{key.strip('/')}", path)


def _matches(pattern: str, node: str) -> bool:
    parts = pattern.strip("/").split("/")
    return re.fullmatch("".join(WILDCARDS.get(part, f"/{re.escape(part)}") for part in parts), node) is not None


def _nearest_node(pattern: str, nodes: list[str]) -> str:
    """The node with the nearest last name; empty where none is near."""
    by_name = {node.rpartition("/")[2]: node for node in reversed(nodes)}
    near = difflib.get_close_matches(pattern.rpartition("/")[2], by_name, n=1)
    return by_name[near[0]] if near else ""


def _check_names(parameters: YamlMapping, known: dict[str, Any], file: str, node: str) -> None:
    for name in parameters:
        if wrong := unknown(name, list(known)):
            raise UsageError(f"{file}{parameters.lines[name]}: {node}: {wrong}")
