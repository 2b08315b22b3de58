"""A file of ROS parameters (`params_file`): what ROS would ignore in it is refused, with what would be right."""

import difflib
import importlib
import inspect
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from soft_twin.descriptions.yaml_file import read_yaml
from soft_twin.errors import SoftTwinError, UsageError
from soft_twin_ros.node import RobotNode
from soft_twin_ros.parameter_entries import entries, is_for, refuse_names
from soft_twin_ros.parameters import kind_of, known_parameters
from soft_twin_ros.running.graph import NodeSpec


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
    found, where = False, f"params_file:={path}"
    for name, line, parameters in entries(content, where):
        matched = [its for node, its in ours.items() if is_for(name, node)]
        if matched:
            found = True
            known = list(dict.fromkeys(chain(*matched)))
            refuse_names(parameters, known, where, name)
        elif near := _nearest_node(name, list(ours)):
            raise UsageError(
                f"{where}, line {line}: no node that is started is called '{name}': did you mean '{near}'?"
            )
    if not found:
        raise UsageError(f"{where}: nothing is for a node that is started: there are {', '.join(ours)}")


def parameters_of(executable: str) -> list[str]:
    """The names of the parameters of a node, by its program."""
    module = importlib.import_module(f"soft_twin_ros.{executable}")
    (node,) = (
        each
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, RobotNode) and each.__module__ == module.__name__
    )
    return known_parameters(kind_of(node))


def _nearest_node(pattern: str, nodes: list[str]) -> str:
    """The node with the nearest last name; empty where none is near."""
    by_name = {node.rpartition("/")[2]: node for node in reversed(nodes)}
    near = difflib.get_close_matches(pattern.rpartition("/")[2], by_name, n=1)
    return by_name[near[0]] if near else ""
