"""Node parameters as dataclasses: each field is declared once, with description, unit and range."""

import dataclasses
import difflib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from soft_twin.descriptions.mistakes import mistake_at
from soft_twin.errors import DescriptionError, InputError, SoftTwinError

P = TypeVar("P")
OVERRIDES = "qos_overrides"  # of the quality of service of topics, see qos
OF_EVERY_NODE = ("use_sim_time", "start_type_description_service")  # ROS's own


def parameter(
    default: Any,
    description: str,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    settable: bool = False,
):
    """A field of a parameter dataclass.

    Args:
        default: its default value, which also fixes its type.
        description: one line for `ros2 param describe`.
        unit: appended to the description in brackets.
        low, high: what a number must lie between; both or none.
        settable: whether it can be set while the node runs.
    """
    text = f"{description} [{unit}]" if unit else description
    return dataclasses.field(
        default=default, metadata={"description": text, "range": (low, high), "settable": settable}
    )


def declare(node: Node, kind: type[P], adopt: Callable[[P, P], None] | None = None) -> P:
    """Declare every field of the dataclass `kind` on a node, and return the values it was started with.

    Args:
        adopt: takes old and new values when somebody sets parameters while the node runs; without, nobody can. A
            SoftTwinError of it refuses them.

    Raises:
        InputError: a value has the wrong type, or lies outside its range.
    """
    values = {}
    for field in dataclasses.fields(kind):
        try:
            value = node.declare_parameter(field.name, field.default, _descriptor(field)).value
        except InvalidParameterTypeException as error:
            wanted = f"{_TYPES[type(field.default)]}, such as {json.dumps(field.default)}"
            raise InputError(f"{field.name}: expected {wanted} ({field.metadata['description']})") from error
        except InvalidParameterValueException as error:
            low, high = field.metadata["range"]
            wanted = f"{low:g} to {high:g}"
            raise InputError(f"{field.name}: expected {wanted} ({field.metadata['description']})") from error
        values[field.name] = tuple(value) if isinstance(field.default, tuple) else value
    node.add_on_set_parameters_callback(_Setting(kind(**values), adopt))
    return kind(**values)


def refuse_wrong_types(parameters: Iterable[Parameter], kind: type) -> None:
    """Refuse values of another type than the fields of the dataclass `kind` have: ROS tells types by their numbers.

    Raises:
        InputError: with what would be right.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for each in parameters:
        field = fields.get(each.name)
        if field is None or each.type_ == Parameter.Type.from_parameter_value(_plain(field.default)):
            continue
        wanted = _TYPES[type(field.default)]
        if isinstance(field.default, float) and each.type_ == Parameter.Type.INTEGER:
            wanted = f"{float(each.value)}, with its point"
        raise InputError(f"{each.name} = {each.value!r}: expected {wanted} ({field.metadata['description']})")


def refusing_unreadable(kind: type, callback: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """rclpy's callback of a service that sets parameters, with values refused that rclpy cannot read.

    It raises, else, and ends the node.

    Args:
        kind: of the service, SetParameters or SetParametersAtomically.
        callback: rclpy's.
    """

    def answer(request: Any, response: Any) -> Any:
        try:
            for each in request.parameters:
                Parameter.from_parameter_msg(each)
        except (ValueError, TypeError) as error:
            refused = SetParametersResult(successful=False, reason=f"{each.name}: {error}")
            if kind is SetParametersAtomically:
                response.result = refused
            else:
                response.results = [refused] * len(request.parameters)
            return response
        return callback(request, response)

    return answer


def _plain(default: Any) -> Any:
    """A default as ROS has it."""
    return list(default) if isinstance(default, tuple) else default


_TYPES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number with a point",
    str: "text",
    tuple: "a list like its default",
}


class _Setting:
    """What happens when somebody sets parameters while the node runs; those that are none of `values` are rclpy's."""

    def __init__(self, values: Any, adopt: Callable[[Any, Any], None] | None):
        self._values, self._adopt = values, adopt
        self._fields = {field.name: field for field in dataclasses.fields(values)}

    def __call__(self, parameters: list[Parameter]) -> SetParametersResult:
        own = {each.name: each.value for each in parameters if each.name in self._fields}
        try:
            self._set(own)
        except SoftTwinError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _set(self, own: dict[str, Any]) -> None:
        for name, value in own.items():
            self._check(name, value)
        if own:
            new = dataclasses.replace(self._values, **own)
            self._adopt(self._values, new)
            self._values = new

    def _check(self, name: str, value: Any) -> None:
        """See that it may be set, and to this; ROS has seen to its type.

        Raises:
            InputError: with what would be right.
        """
        field = self._fields[name]
        if self._adopt is None or not field.metadata["settable"]:
            raise InputError(
                f"{name} is read when the node starts: end the node and start it with -p {name}:=VALUE, or set it in "
                "`nodes` of the robot's description"
            )
        low, high = field.metadata["range"]
        if low is not None and not low <= value <= high:  # true for NaN too
            raise InputError(f"{name} = {value}: expected {low:g} to {high:g} ({field.metadata['description']})")


def kind_of(node: type[Node]) -> type:
    """The dataclass of the parameters of a kind of node: `Parameters` of its module, or of that of what it derives
    from."""
    kinds = (getattr(sys.modules[each.__module__], "Parameters", None) for each in node.__mro__)
    return next(kind for kind in kinds if kind is not None)


def known_parameters(kind: type) -> list[str]:
    """Names of all parameters of a node of this dataclass, ROS's own among them."""
    return [*(field.name for field in dataclasses.fields(kind)), *OF_EVERY_NODE]


def unknown(name: str, known: list[str]) -> str:
    """What to say of a name that is none of these parameters, with the nearest right one; empty where it is one."""
    if name in known or name.partition(".")[0] == OVERRIDES:
        return ""
    near = difflib.get_close_matches(name, known, n=1)
    right = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}"
    return f"there is no parameter '{name}': {right}"


def said_on_command_line(words: Sequence[str], node: str) -> list[str]:
    """Names of the parameters that a command line sets of a node: `-p NAME:=VALUE`, or with `NODE:` before it."""
    said = [word.partition(":=")[0] for flag, word in pairwise(words) if flag in ("-p", "--param") and ":=" in word]
    return [name.rpartition(":")[2] for name in said if name.rpartition(":")[0] in ("", node)]


def refuse_unknown(given: Iterable[str], kind: type, where: str) -> None:
    """Refuse parameters that the node of this dataclass does not have: ROS ignores them.

    Args:
        given: names of parameters that somebody sets.
        kind: the dataclass of the node's parameters.
        where: they stand, for the message.

    Raises:
        DescriptionError: with the first of them and the nearest right one.
    """
    known = known_parameters(kind)
    for name in given:
        if wrong := unknown(name, known):
            raise DescriptionError(f"{where}: {wrong}")


def refuse_described(path: Path, node: str, given: Iterable[str], kind: type) -> None:
    """As `refuse_unknown`, of the parameters of a node in a robot's description: with the line of the mistake."""
    known = known_parameters(kind)
    for name in given:
        if wrong := unknown(name, known):
            raise mistake_at(path, ["nodes", node, name], wrong)


def _descriptor(field: dataclasses.Field) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(description=field.metadata["description"])
    if not field.metadata["settable"]:
        descriptor.additional_constraints = "read when the node starts"
    low, high = field.metadata["range"]
    if low is None:
        return descriptor
    if isinstance(field.default, float):
        descriptor.floating_point_range = [FloatingPointRange(from_value=float(low), to_value=float(high), step=0.0)]
    else:
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high), step=0)]
    return descriptor
