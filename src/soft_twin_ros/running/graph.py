"""Which nodes make up which robot: read by launch files and by the command line alike."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soft_twin.errors import DescriptionError, UsageError
from soft_twin.private_folder import private_folder
from soft_twin.robots.base import DrivenRobot, Robot
from soft_twin.robots.cable_tube import CableTube
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.robots.tensegrity import TensegrityArm

OPTIONAL = {"recorder", "emulated_robot", "pressures_to_valves"}  # nodes that are not in every graph of their robot
EMULATED = ("emulated_robot", "emulated_arm")  # nodes that stand in for a robot
EMULATED_PATIENCE = 3.0  # [s] an emulated robot on a busy host tells of up to 2 s at once, in samples that are as old
DAC_RANGE = (0.1e6, 0.6e6)  # [Pa] of VEAB valves, see driving.dac_board


@dataclass(frozen=True)
class NodeSpec:
    """A node of a robot, in a process of its own.

    Attributes:
        executable: name of the node's program, a module of soft_twin_ros.
        name, namespace: of the node.
        parameters: what it is started with.
    """

    executable: str
    name: str
    namespace: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def command(self) -> list[str]:
        """The command line that starts the node with this Python, without `ros2 run`."""
        words = [sys.executable, "-m", f"soft_twin_ros.{self.executable}", "--ros-args"]
        words += ["-r", f"__ns:=/{self.namespace}", "-r", f"__node:={self.name}"]
        for key, value in self.parameters.items():
            words += ["-p", f"{key}:={json.dumps(value)}"]
        return words


@dataclass(frozen=True)
class Devices:
    """Where a robot's drivers find it: device paths of its IMU board, its CAN adapter and its valves' board.

    What is empty has no driver here: a micro-ROS board publishes by itself.
    """

    imu: str = ""
    can: str = ""
    valves: str = ""


def emulated_devices(folder: str | Path) -> Devices:
    """The devices that an emulated robot puts into a folder."""
    return Devices(*(str(Path(folder) / name) for name in ("imu", "can", "valves")))


def default_device_folder(robot_name: str) -> Path:
    """Where an emulated robot keeps its devices when nothing else is said: a folder of this user's.

    Raises:
        UsageError: see `private_folder`.
    """
    return private_folder() / robot_name


def graph(
    robot: Robot,
    devices: Devices | None = None,
    emulation: Mapping[str, Any] | None = None,
    recording: str | Path | None = None,
    namespace: str | None = None,
) -> list[NodeSpec]:
    """The nodes of a robot, in the order in which they are best started.

    Args:
        robot: its description; its `nodes` are the parameters that its nodes start with.
        devices: of the real robot; without, it is emulated.
        emulation: parameters of the emulated robot, over those of the description.
        recording: file that everything is recorded to; without, nothing is.
        namespace: of the nodes; the robot's name by default.

    Raises:
        UsageError: there is no graph for this kind of robot.
        DescriptionError: the description has parameters for a node that the robot has not.
    """
    kind = type(robot)
    if kind not in GRAPHS:
        raise UsageError(f"no node graph for robots like '{robot.name}' ({kind.__name__})")
    own = GRAPHS[kind](robot, devices, dict(emulation or {}), recording)
    unknown = set(robot.nodes) - set(own) - OPTIONAL
    if unknown:
        raise DescriptionError(f"{robot.path}: nodes: there is no {', '.join(sorted(unknown))}, only {', '.join(own)}")
    common = {"robot": _reference(robot)}
    return [
        NodeSpec(name, name, namespace or robot.name, common | robot.nodes.get(name, {}) | parameters)
        for name, parameters in own.items()
    ]


def solver_of(robot: DrivenRobot) -> str:
    """The node that compensates for gravity: by its old name where there are cables alone."""
    return "gravity_to_actuators" if robot.chamber_names else "gravity_to_cables"


def _driven(
    robot: DrivenRobot, devices: Devices | None, emulation: dict[str, Any], recording: str | Path | None
) -> dict[str, dict[str, Any]]:
    """A body that cables, chambers or both move: nodes by name with the parameters that are decided here."""
    nodes: dict[str, dict[str, Any]] = {}
    if recording is not None:
        nodes["recorder"] = {"path": str(recording)}
    patience = {"stale_after": EMULATED_PATIENCE} if devices is None else {}
    if devices is None:
        folder = emulation.setdefault("device_folder", str(default_device_folder(robot.name)))
        devices = emulated_devices(folder)
        nodes["emulated_robot"] = emulation
    nodes["imu_to_gravity"] = {"device": devices.imu}
    patient = {solver_of(robot): {}} | _drivers(robot, devices)
    return nodes | {name: patience | robot.nodes.get(name, {}) | own for name, own in patient.items()}


def _drivers(robot: DrivenRobot, devices: Devices) -> dict[str, dict[str, Any]]:
    """Of its cables and its chambers; where it has both, their services have names of their own.

    Raises:
        DescriptionError: an actuator has no drive.
    """
    drivers = {}
    if robot.winches is not None:
        drivers["cables_to_motors"] = {"device": devices.can, "services": "cables/"}
    if robot.valves is not None:
        drivers["pressures_to_valves"] = {"device": devices.valves, "services": "chambers/"}
    if len(drivers) == 1:
        for parameters in drivers.values():
            del parameters["services"]
    return drivers


def _tensegrity_arm(
    robot: Robot, devices: Devices | None, emulation: dict[str, Any], recording: str | Path | None
) -> dict[str, dict[str, Any]]:
    """A tensegrity arm: its sensors' boards publish on topics, so that a real one needs no device here."""
    nodes: dict[str, dict[str, Any]] = {}
    if recording is not None:
        nodes["recorder"] = {"path": str(recording)}
    if devices is None:
        nodes["emulated_arm"] = {name: value for name, value in emulation.items() if name != "device_folder"}
    else:
        nodes["imus_to_inclinations"] = {}
        if devices.valves:
            nodes["pressures_to_valves"] = _valves(robot) | {"device": devices.valves}
    nodes["struts_to_shape"] = {}
    return nodes


def _valves(arm: TensegrityArm) -> dict[str, Any]:
    """One 0…10 V valve for each cylinder, within what the arm and the valves can take."""
    (low, high), (lowest, highest) = arm.model.laws.pressure_range, DAC_RANGE
    return {
        "backend": "dac_board",
        "chambers": [f"cylinder_{k}" for k in range(arm.model.cylinder_count)],
        "lowest": max(low, lowest),
        "vented": max(low, lowest),
        "highest": min(high, highest),
    }


def _reference(robot: Robot) -> str:
    """How the robot's nodes find its description: always by its path, wherever they are started."""
    return str(robot.path.resolve())


GRAPHS: dict[type, Callable[..., dict[str, dict[str, Any]]]] = {
    CableTube: _driven,
    FemRobot: _driven,
    TensegrityArm: _tensegrity_arm,
}
