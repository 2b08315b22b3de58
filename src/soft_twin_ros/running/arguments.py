"""The arguments of the launch files: one set for all of them, what they mean, and how wrong ones are refused."""

import difflib
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from soft_twin import load_robot
from soft_twin.checks import checked_vector
from soft_twin.descriptions.kinds_of_value import NAMESPACE
from soft_twin.descriptions.shortened import shortened
from soft_twin.descriptions.yaml_file import parse, read_document
from soft_twin.errors import DescriptionError, InputError, UsageError
from soft_twin.files import checked_file, is_missing, one_line
from soft_twin.robots.base import Robot
from soft_twin_ros.running.graph import Devices, NodeSpec, devices_of, graph

NONE = "none"  # instead of a device that this robot does without
TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file.

    Attributes:
        default: where nothing is said.
        description: one line.
        aliases: other names of it.
    """

    default: str
    description: str
    aliases: tuple[str, ...] = ()


SHARED = {
    "use_sim_time": Argument("false", "true: the nodes' time is that of the topic /clock"),
    "params_file": Argument("", "YAML file of ROS parameters of the nodes, over those of the description"),
    "respawn": Argument("false", "true: a node that ends is started again; false: its end ends the launch"),
    "rviz": Argument("false", "true: RViz with the robot's picture"),
    "view": Argument("false", "true: Foxglove's bridge, for its application or a browser, on port 8765"),
    "aggregator": Argument("false", "true: diagnostic_aggregator, with launch/diagnostics.yaml, for all robots"),
}
OF_EACH_ROBOT = {
    "emulated": Argument("", "true: an emulated robot; false: a real one; default: emulated where no device is named"),
    "managed": Argument("false", "true: the node `bringup` configures and activates the others, one after the other"),
    "recording": Argument("", "folder of a bag, or an .mcap file, that everything is recorded to; default: none"),
}
OF_A_ROBOT = {
    "robot": Argument("", "name of a robot in config/, or path of its description"),
    "namespace": Argument("", "of the nodes; default: the robot's name"),
    "imu": Argument("", "serial device of the IMU board in its base; a micro-ROS board publishes by itself"),
    "can": Argument("", "serial device of its CAN adapter, or network interface of socketcan; none: without motors"),
    "valves": Argument("", "serial device of its valves' board, or host:port of a Modbus terminal; none: without them"),
    "plate_imu": Argument("", "serial device of the IMU board on its plate"),
    "weights": Argument("", "file that `soft-twin train` wrote: the node shape_to_pressures takes shapes, by it"),
    "scanner": Argument("false", "true: an emulated scanner, and motion capture, see an emulated robot's surface"),
    "device_folder": Argument("", "where an emulated robot puts its devices; default: one for its namespace"),
    "place_in_world": Argument("", "where its base is in the frame world, as [x, y, z] in metres; default: the origin"),
} | OF_EACH_ROBOT
LISTS = ("place_in_world",)  # of these, the arguments that are lists
ORIGIN = (0.0, 0.0, 0.0)
PLACED = ("imu_to_gravity", "struts_to_shape")  # the nodes that tell where a base is, by their parameter of that name


@dataclass(frozen=True)
class Shared:
    """What holds for all nodes of a launch; see SHARED."""

    use_sim_time: bool
    params_file: str
    respawn: bool
    rviz: bool
    view: bool
    aggregator: bool

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Shared":
        """From the arguments' values.

        Raises:
            UsageError: one of them is neither true nor false, or the file is missing.
        """
        file = values["params_file"]
        if file and is_missing(file):
            raise UsageError(f"params_file:={one_line(file)}: there is no such file")
        if file:
            checked_file(file, "params_file", sys.maxsize, UsageError)
        flags = {
            field.name: flag(field.name, values.get(field.name, "false")) for field in fields(cls) if field.type is bool
        }
        return cls(params_file=file, **flags)


@dataclass(frozen=True)
class RobotRequest:
    """A robot that shall be launched.

    Attributes:
        robot: its description.
        namespace: of its nodes.
        specs: its nodes.
        emulated: whether its devices are.
        place: (3,) where its base is in the world, as its nodes are told [m].
    """

    robot: Robot
    namespace: str
    specs: list[NodeSpec]
    emulated: bool
    place: tuple[float, ...]

    @classmethod
    def of(cls, values: Mapping[str, str], within: str = "") -> "RobotRequest":
        """From the values of the arguments OF_A_ROBOT.

        Args:
            values: by name.
            within: see `full_namespace`.

        Raises:
            UsageError: a value that cannot be, values that contradict each other, or one device for two drivers.
            DescriptionError, InputError: the description is wrong.
        """
        robot = load_robot(values["robot"])
        namespace = full_namespace(values["namespace"] or robot.name, within)
        if not namespace:
            raise UsageError(f"namespace:={values['namespace']}: a robot's nodes need one that is not the root")
        devices = _devices(values, robot)
        emulation = {"device_folder": values["device_folder"]} if values["device_folder"] else {}
        managed, scanner = (flag(name, values[name]) for name in ("managed", "scanner"))
        own, recording = {"weights": values["weights"], "scanner": scanner}, values["recording"] or None
        specs = graph(robot, devices, emulation, recording, namespace, managed, **own)
        _refuse_shared_devices(specs)
        if said := values["place_in_world"]:
            place = {"place_in_world": numbers("place_in_world", said, 3, "m")}
            specs = [
                replace(spec, parameters=spec.parameters | place) if spec.name in PLACED else spec for spec in specs
            ]
        return cls(robot, namespace, specs, devices is None, _place_of(robot, specs))


def checked_namespace(text: str) -> str:
    """A namespace without slashes at its ends; empty where none is said.

    Raises:
        UsageError: it is none.
    """
    namespace = text.strip("/")
    if namespace and not NAMESPACE.fullmatch(namespace):
        raise UsageError(
            f"namespace:={one_line(namespace)}: expected letters, digits and _, with / between names, none beginning "
            "with a digit"
        )
    return namespace


def full_namespace(text: str, within: str) -> str:
    """A namespace without slashes at its ends, as ROS makes it of one that is said.

    Args:
        text: what is said; where it begins with a slash, it is all of it.
        within: what a launch file that includes ours has put its nodes into (PushRosNamespace); empty: nothing.

    Raises:
        UsageError: it is none.
    """
    outer = "" if text.startswith("/") else within.strip("/")
    return "/".join(part for part in (outer, checked_namespace(text)) if part)


def _place_of(robot: Robot, specs: Iterable[NodeSpec]) -> tuple[float, ...]:
    """(3,) where its base is, as the node is told that tells it [m].

    Raises:
        InputError: the description says something else.
    """
    (node,) = (spec for spec in specs if spec.name in PLACED)
    said = node.parameters.get("place_in_world", ORIGIN)
    return tuple(checked_vector(said, 3, f"{robot.path}: nodes.{node.name}.place_in_world").tolist())


def _devices(values: Mapping[str, str], robot: Robot) -> Devices | None:
    """Of the real robot; None: it is emulated.

    Raises:
        UsageError: what is said contradicts itself, or is not what the robot has.
        DescriptionError: an actuator has no drive.
    """
    named = {name: values[name] for name in ("imu", "can", "valves", "plate_imu") if values[name]}
    emulated = flag("emulated", values["emulated"]) if values["emulated"] else not named
    if emulated and named:
        name, device = next(iter(named.items()))
        raise UsageError(f"{name}:={one_line(device)} and emulated:=true: leave one of them out")
    if emulated:
        return None
    if values["device_folder"]:
        raise UsageError(f"device_folder:={one_line(values['device_folder'])}: a real robot has none, leave it out")
    _check_devices(named, robot)
    return Devices(**{name: device for name, device in named.items() if device != NONE})


def _check_devices(named: Mapping[str, str], robot: Robot) -> None:
    """See that a real robot's devices are those that it has, and that none is forgotten."""
    there = devices_of(robot)
    for name, device in named.items():
        if name not in there:
            raise UsageError(f"{name}:={one_line(device)}: '{robot.name}' has no such device, only {', '.join(there)}")
    for name, driven in there.items():
        if driven and name not in named:
            first = next((f"{each}:={one_line(device)}" for each, device in named.items()), "emulated:=false")
            raise UsageError(
                f"{name}:= is missing: with {first} the robot is a real one; say the device of its {driven}, or "
                f"{name}:={NONE} to do without them"
            )


def robots_of(text: str, of_each: Mapping[str, str] | None = None, within: str = "") -> list[RobotRequest]:
    """Robots from the argument `robots`.

    Args:
        text: YAML, or the path of a YAML file: a list of robots, each in the namespace of its name; or namespaces with
            a robot each, or with a mapping of the arguments OF_A_ROBOT.
        of_each: values of OF_EACH_ROBOT for those that do not say their own. A recording is one of each robot, with its
            namespace behind the name.
        within: see `full_namespace`.

    Raises:
        UsageError: not like that, or two robots have one namespace, one device or one recording.
        DescriptionError: a description is wrong.
    """
    requests = [_request(values, of_each or {}, within) for values in _listed(text)]
    remedy = "give each its own, such as robots:='{left: slender, right: slender}'"
    _refuse_twice("namespace", [request.namespace for request in requests], remedy)
    specs = [spec for request in requests for spec in request.specs]
    _refuse_shared_devices(specs)
    recordings = [spec.parameters["path"] for spec in specs if "path" in spec.parameters]
    _refuse_twice("recording", recordings, "give each robot its own")
    return requests


def _request(own: dict[str, str], of_each: Mapping[str, str], within: str) -> RobotRequest:
    """A robot's, with what is said for all of them where it says nothing itself."""
    said = {name: value for name, value in of_each.items() if value and name not in own}
    if "recording" in said:
        path, namespace = Path(said["recording"]), own.get("namespace") or load_robot(own.get("robot", "")).name
        said["recording"] = str(path.with_name(f"{path.stem}_{namespace.strip('/').replace('/', '_')}{path.suffix}"))
    return RobotRequest.of(complete(OF_A_ROBOT, said | own), within)


def _listed(text: str) -> list[dict[str, str]]:
    """The arguments of each robot."""
    try:
        if os.path.isfile(text):
            content = read_document(text, "list of robots", numbers=False)
        else:
            content = parse(text, "robots", numbers=False)
    except DescriptionError as error:
        raise UsageError(str(error)) from error
    if isinstance(content, str) and "," not in content and content.endswith((".yaml", ".yml")):
        raise UsageError(f"robots:={one_line(content)}: there is no such file")
    if isinstance(content, dict) and isinstance(content.get("robot"), dict) and "kind" in content["robot"]:
        one = one_line(text)
        raise UsageError(f"robots:={one} is one robot's description, no list of robots: say robots:='[{one}]'")
    names = [name.strip() for name in content.rstrip(", ").split(",")] if isinstance(content, str) else content
    if not isinstance(names, dict | list) or not names:
        raise UsageError(
            f"robots:={shortened(text)}: expected such as '{{left: slender, right: slender}}', or a file with that"
        )
    if isinstance(names, dict):
        return [_named(name, entry) for name, entry in names.items()]
    return [_values(entry, "an entry") for entry in names]


def _named(name: str, entry: Any) -> dict[str, str]:
    """The arguments of a robot in the namespace that stands before it.

    Raises:
        UsageError: it has another one, too, or is none.
    """
    values = _values(entry, f"'{name}'")
    if (own := values.setdefault("namespace", name)) != name:
        raise UsageError(
            f"robots: '{one_line(name)}' has the namespace '{one_line(own)}', too: the name before a robot is its "
            "namespace, leave one of them out"
        )
    return values


def _values(entry: Any, who: str) -> dict[str, str]:
    """The arguments of a robot; of what is no plain value the text may be endless.

    Raises:
        UsageError: there is such a value, or no robot.
    """
    values = entry if isinstance(entry, dict) else {"robot": entry}
    if values.get("robot") is None:
        raise UsageError(
            f"robots: {one_line(who)} has no robot: expected such as '{{left: slender}}', with a blank after ':', "
            "or '{left: {robot: slender, imu: …}}'"
        )
    for key, value in values.items():
        if not isinstance(key, str) or not (isinstance(value, (str, bool, int, float)) or _is_list(key, value)):
            raise UsageError(
                f"robots: expected a robot's name, or arguments with plain values, found {shortened({key: value})}"
            )
    return {key: _text(value) for key, value in values.items()}


def _is_list(key: str, value: Any) -> bool:
    """Whether it is a list of plain values, where one is to be."""
    return key in LISTS and isinstance(value, list) and all(isinstance(one, (str, int, float)) for one in value)


def _text(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _refuse_shared_devices(specs: Iterable[NodeSpec]) -> None:
    devices = [spec.parameters.get("device", "") for spec in specs]
    _refuse_twice("device", [device for device in devices if device], "two drivers cannot share it")


def _refuse_twice(what: str, names: list[str], remedy: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the {what} '{one_line(name)}' twice: {remedy}")


def complete(arguments: Mapping[str, Argument], given: Mapping[str, str]) -> dict[str, str]:
    """The value of each argument: as given by its name or another name of it, else its default.

    Raises:
        UsageError: an argument that is not there, or one by two of its names.
    """
    refuse_unknown(arguments, given)
    return {name: _value(name, argument, given) for name, argument in arguments.items()}


def refuse_unknown(arguments: Mapping[str, Argument], given: Iterable[str]) -> None:
    """Refuse what is no argument, nor another name of one: launch ignores it.

    Raises:
        UsageError: with the first of them and the nearest right one.
    """
    known = [*arguments, *(alias for argument in arguments.values() for alias in argument.aliases)]
    for name in given:
        if name in OF_A_ROBOT.keys() - {"robot"} and "robots" in arguments and name not in known:
            own = "x: slender" if name == "namespace" else f"left: {{robot: slender, {name}: …}}"
            raise UsageError(f"'{name}' is an argument of each robot: robots:='{{{own}}}'")
        if name in SHARED and arguments is OF_A_ROBOT:
            raise UsageError(f"'{name}' is an argument of all robots together: say {name}:=… beside robots:=…")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            right = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(arguments)}"
            raise UsageError(f"there is no argument '{one_line(name)}': {right}")


def _value(name: str, argument: Argument, given: Mapping[str, str]) -> str:
    said = {
        each: given[each] for each in (name, *argument.aliases) if given.get(each, argument.default) != argument.default
    }
    if len(set(said.values())) > 1:
        raise UsageError(f"{' and '.join(said)} are names of one argument: leave one of them out")
    return next(iter(said.values()), argument.default)


def flag(name: str, text: str) -> bool:
    """Whether an argument says true.

    Raises:
        UsageError: it says neither true nor false.
    """
    if text.lower() not in TRUE + FALSE:
        raise UsageError(f"{name}:={one_line(text)}: expected true or false")
    return text.lower() in TRUE


def numbers(name: str, text: str, count: int, unit: str) -> tuple[float, ...]:
    """The numbers that an argument says, as a list in YAML.

    Raises:
        UsageError: it says others, or none.
    """
    try:
        return tuple(checked_vector(parse(text, name), count, name).tolist())
    except (DescriptionError, InputError) as error:
        example = ", ".join(["0.5", *["0"] * (count - 1)])
        raise UsageError(
            f"{name}:={one_line(text)}: expected {count} numbers [{unit}], such as '[{example}]'"
        ) from error


def number(name: str, text: str, unit: str) -> float:
    """The number that an argument says.

    Raises:
        UsageError: it says none.
    """
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"{name}:={one_line(text)}: expected a number [{unit}]") from error
