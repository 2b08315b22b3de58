"""Node parameters as dataclasses: each field is declared once, with description, unit and range."""

import dataclasses
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

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
