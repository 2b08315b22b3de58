"""Node parameters as dataclasses: each field is declared once, with description, unit and range."""

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from soft_twin.errors import DescriptionError

P = TypeVar("P")


def parameter(default: Any, description: str, unit: str = "", low: float | None = None, high: float | None = None):
    """A field of a parameter dataclass.

    Args:
        default: its default value, which also fixes its type.
        description: one line for `ros2 param describe`.
        unit: appended to the description in brackets.
        low, high: what a number must lie between; both or none.
    """
    text = f"{description} [{unit}]" if unit else description
    return dataclasses.field(default=default, metadata={"description": text, "range": (low, high)})


def declare(node: Node, kind: type[P]) -> P:
    """Declare every field of the dataclass `kind` on a node, read-only, and return the values it was started with.

    Raises:
        rclpy.exceptions.InvalidParameterTypeException, InvalidParameterValueException: a value has the wrong type or
            lies outside its range.
    """
    values = {}
    for field in dataclasses.fields(kind):
        value = node.declare_parameter(field.name, field.default, _descriptor(field)).value
        values[field.name] = tuple(value) if isinstance(field.default, tuple) else value
    return kind(**values)


def refuse_unknown(given: Mapping[str, Any], kind: type, where: str) -> None:
    """Refuse a description's parameters that the node of this dataclass does not have: ROS ignores them.

    Args:
        given: the description's parameters of the node.
        kind: the dataclass of the node's parameters.
        where: they stand, for the message.

    Raises:
        DescriptionError: with the first of them and the nearest right one.
    """
    known = [*(field.name for field in dataclasses.fields(kind)), "use_sim_time"]
    for name in given:
        if name not in known and not name.startswith("qos_overrides."):
            near = difflib.get_close_matches(name, known, n=1)
            right = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}"
            raise DescriptionError(f"{where}: there is no parameter '{name}': {right}")


def _descriptor(field: dataclasses.Field) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(description=field.metadata["description"], read_only=True)
    low, high = field.metadata["range"]
    if low is None:
        return descriptor
    if isinstance(field.default, float):
        descriptor.floating_point_range = [FloatingPointRange(from_value=float(low), to_value=float(high), step=0.0)]
    else:
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high), step=0)]
    return descriptor
