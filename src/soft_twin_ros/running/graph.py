"""Which nodes make up which robot: read by launch files and by the command line alike."""

import difflib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soft_twin.descriptions.mistakes import mistake_at
from soft_twin.errors import DescriptionError, UsageError
from soft_twin.files import is_missing
from soft_twin.private_folder import private_folder
from soft_twin.robots.base import DrivenRobot, Robot
from soft_twin.robots.cable_tube import CableTube
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin_ros.domain import ros_domain
from soft_twin_ros.driver_names import CABLES, CHAMBERS, driver_prefixes

POSE = "pose_to_cables"
SHAPE = "shape_to_pressures"
SCANNER = "emulated_scanner"
OPTIONAL = {  # nodes that are not in every graph of their robot
    *("recorder", "emulated_robot", "cables_to_motors", "pressures_to_valves"),
    *(POSE, "plate_imu_to_gravity", SHAPE, SCANNER),
}
MANAGED = (  # nodes with a managed node's life cycle, in the order in which they are brought up
    *("imu_to_gravity", "plate_imu_to_gravity", "imus_to_inclinations", "cables_to_motors", "pressures_to_valves"),
    *("struts_to_shape", "gravity_to_cables", "gravity_to_actuators", POSE, SHAPE),
)
PROGRAMS = {"plate_imu_to_gravity": "imu_to_gravity"}  # of nodes that are not called as their program is
EMULATED = ("emulated_robot", "emulated_arm")  # nodes that stand in for a robot
EMULATED_START = 180.0  # [s] until an emulated robot has its devices, on a busy host that compiles
EMULATED_REOPEN = 0.1  # [s] between two looks for its devices, which take seconds to appear and cost little to look for
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
    """Where a robot's drivers find it: device paths of its IMU board, its CAN adapter, its valves' board and the IMU
    board on its plate.

    What is empty has no driver here: a micro-ROS board publishes by itself.
    """

    imu: str = ""
    can: str = ""
    valves: str = ""
    plate_imu: str = ""


def devices_of(robot: Robot) -> dict[str, str]:
    """The devices that a robot may have, by their names in `Devices`, and what they drive: empty where one is not
    needed, since a board may publish by itself, or a tensegrity arm's valves may be somebody else's.

    Raises:
        DescriptionError: an actuator has no drive.
    """
    if not isinstance(robot, DrivenRobot):
        return {"valves": ""}
    plate = {"plate_imu": ""} if POSE in robot.nodes else {}
    motors = {"can": "motors"} if robot.winches is not None else {}
    valves = {"valves": "valves"} if robot.valves is not None else {}
    return {"imu": "", **motors, **valves, **plate}


def emulated_devices(folder: str | Path) -> Devices:
    """The devices that an emulated robot puts into a folder."""
    return Devices(*(str(Path(folder) / name) for name in ("imu", "can", "valves", "plate_imu")))


def own_folder(robot_name: str, namespace: str) -> Path:
    """The folder of a robot in a namespace of this ROS domain, and this user's, where an emulated one keeps its devices
    when nothing else is said.

    Raises:
        UsageError: see `private_folder` and `ros_domain`.
    """
    return private_folder() / f"domain-{ros_domain()}" / namespace.strip("/") / robot_name


def graph(
    robot: Robot,
    devices: Devices | None = None,
    emulation: Mapping[str, Any] | None = None,
    recording: str | Path | None = None,
    namespace: str | None = None,
    managed: bool = False,
    solver: str = "",
    weights: str | Path = "",
    scanner: bool = False,
) -> list[NodeSpec]:
    """The nodes of a robot, in the order in which they are best started.

    Args:
        robot: its description; its `nodes` are the parameters that its nodes start with.
        devices: of the real robot; without, it is emulated.
        emulation: parameters of the emulated robot, over those of the description.
        recording: file that everything is recorded to; without, nothing is.
        namespace: of the nodes; the robot's name by default.
        managed: nodes do not configure and activate themselves: one more, `bringup`, does.
        solver: the node that says what the actuators shall do; default: `pose_to_cables` where the description has it
            among its nodes, else the one that holds the tip, see `solver_of`.
        weights: file that `soft-twin train` wrote: the solver is `shape_to_pressures`, which gives a surface its shape.
        scanner: an emulated scanner looks at the emulated robot's surface.

    Raises:
        UsageError: there is no graph for this kind of robot, weights are of no use to it, or it is real, or has no
            surface that is learned, and shall be seen by an emulated scanner.
        DescriptionError: the description has parameters for a node that the robot has not, or gravity is to be
            measured, and there is no IMU in the base.
        DeviceError: there are more cables than a bus has room for.
    """
    kind = type(robot)
    if kind not in GRAPHS:
        raise UsageError(f"no node graph for robots like '{robot.name}' ({kind.__name__})")
    namespace = (namespace or robot.name).strip("/")
    folder = str(own_folder(robot.name, namespace))
    solver = _shaping(robot, weights) if weights else solver or (POSE if POSE in robot.nodes else "")
    own = GRAPHS[kind](robot, devices, {"device_folder": folder} | dict(emulation or {}), recording, solver)
    if weights:
        own[SHAPE] = {"weights": str(Path(weights).resolve())}
    if scanner:
        _check_scanner(robot, devices)
        own[SCANNER] = {}
    _refuse_unknown(robot, [*own, *OPTIONAL, *([solver_of(robot)] if solver else [])])
    _check_devices(robot, own)
    if managed:
        own |= _brought_up(own)
    common = {"robot": _reference(robot)}
    return [
        NodeSpec(PROGRAMS.get(name, name), name, namespace, common | robot.nodes.get(name, {}) | parameters)
        for name, parameters in own.items()
    ]


def _refuse_unknown(robot: Robot, known: list[str]) -> None:
    """Refuse parameters for a node that is not among those known.

    Raises:
        DescriptionError: with the first of them, its line, and the nearest right name.
    """
    for name in robot.nodes:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            right = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(sorted(known))}"
            raise mistake_at(robot.path, ["nodes", name], f"'{robot.name}' has no node '{name}': {right}")


def _check_devices(robot: Robot, nodes: Mapping[str, Any]) -> None:
    """See that these nodes have the devices without which they would end.

    Raises:
        DescriptionError: there is no IMU in the base.
        DeviceError: there are more cables than a bus has room for.
    """
    from soft_twin.driving.cables.cable_driver import require_room

    if "imu_to_gravity" in nodes:
        _ = robot.mounting
    if CABLES in nodes:
        require_room(len(robot.cable_names))


def _shaping(robot: Robot, weights: str | Path) -> str:
    """The solver that takes shapes.

    Raises:
        UsageError: the robot has no chambers, or there is no such file.
    """
    if not (isinstance(robot, DrivenRobot) and robot.chamber_names):
        raise UsageError(f"weights {weights}: '{robot.name}' has no chambers that give a surface its shape")
    if is_missing(weights):
        raise UsageError(f"weights {weights}: there is no such file; `soft-twin train {robot.name}` writes one")
    return SHAPE


def _check_scanner(robot: Robot, devices: Devices | None) -> None:
    """See that an emulated scanner has something to look at.

    Raises:
        UsageError: the robot is real, or has no surface that is learned.
    """
    from soft_twin.learning.simulations import learnable

    if devices is not None:
        raise UsageError(f"an emulated scanner sees nothing of a real robot such as '{robot.name}': leave it out")
    learnable(robot.path)


def _brought_up(nodes: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The managed ones among the nodes, which wait for it, and the node that brings them up."""
    names = [name for name in MANAGED if name in nodes]
    return {name: nodes[name] | {"autostart": False} for name in names} | {"bringup": {"nodes": names}}


def solver_of(robot: DrivenRobot) -> str:
    """The node that holds the tip, whatever gravity does: by its old name where there are cables alone."""
    return "gravity_to_actuators" if robot.chamber_names else "gravity_to_cables"


def _driven(
    robot: DrivenRobot, devices: Devices | None, emulation: dict[str, Any], recording: str | Path | None, solver: str
) -> dict[str, dict[str, Any]]:
    """A body that cables, chambers or both move: nodes by name with the parameters that are decided here."""
    nodes: dict[str, dict[str, Any]] = {}
    if recording is not None:
        nodes["recorder"] = {"path": str(recording)}
    emulated = devices is None
    if devices is None:
        devices = emulated_devices(emulation["device_folder"])
        nodes["emulated_robot"] = emulation
    there = {"appears_within": EMULATED_START, "reopen_period": EMULATED_REOPEN} if emulated else {}
    patience = {"stale_after": EMULATED_PATIENCE} if emulated else {}
    nodes["imu_to_gravity"] = there | robot.nodes.get("imu_to_gravity", {}) | {"device": devices.imu}
    solver = solver or solver_of(robot)
    nodes[solver] = {} if solver == SHAPE else patience | robot.nodes.get(solver, {})
    if solver == POSE:
        own = robot.nodes.get("plate_imu_to_gravity", {})
        nodes["plate_imu_to_gravity"] = there | own | _plate_imu(robot) | {"device": devices.plate_imu}
    for name, parameters in _drivers(robot, devices).items():
        nodes[name] = there | patience | robot.nodes.get(name, {}) | parameters
    return nodes


def _plate_imu(robot: DrivenRobot) -> dict[str, Any]:
    """Which IMU it is.

    Raises:
        DescriptionError: there is none.
    """
    if (place := robot.plate_imu) is None:
        raise DescriptionError(f"{robot.path}: nodes.{POSE}: no IMU of robot.imus is on the plate that 'tip' is")
    return {"imu": place.name}


def _drivers(robot: DrivenRobot, devices: Devices) -> dict[str, dict[str, Any]]:
    """Of its cables and its chambers that have a device; of a robot with both, their services have names of their own.

    Raises:
        DescriptionError: an actuator has no drive.
    """
    drives = {CABLES: (robot.winches, devices.can), CHAMBERS: (robot.valves, devices.valves)}
    prefixes = driver_prefixes(robot)
    return {
        name: {"device": device} | ({"services": prefixes[name]} if prefixes[name] else {})
        for name, (drive, device) in drives.items()
        if drive is not None and device
    }


def _tensegrity_arm(
    robot: Robot, devices: Devices | None, emulation: dict[str, Any], recording: str | Path | None, solver: str
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
