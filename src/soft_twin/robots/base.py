"""What every robot is to the rest of the package, whatever its kind."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from transforms3d.euler import euler2mat

from soft_twin.descriptions.drives import CableDrive, ImuPlace, Mismatch, ValveDrive
from soft_twin.errors import DescriptionError

if TYPE_CHECKING:
    from soft_twin.descriptions.body import Damping
    from soft_twin.driving.cables.cable_driver import CableDriver
    from soft_twin.driving.valves.valve_driver import ValveDriver
    from soft_twin.inverse.controller import Controller
    from soft_twin.inverse.inverse import Inverse
    from soft_twin.inverse.limits import Limit
    from soft_twin.mechanics.body import Body
    from soft_twin.mechanics.model import Model
    from soft_twin.solvers.time.integrators import BackwardEuler
    from soft_twin.twins.base import Twin
    from soft_twin.twins.dynamic import DynamicTwin
    from soft_twin.twins.frames import Frame


@dataclass(frozen=True)
class Robot(ABC):
    """A robot read from its description.

    Attributes:
        name: the robot's name, also the default ROS namespace.
        path: the description's file.
        nodes: parameters of the robot's ROS nodes, by node name.
    """

    name: str
    path: Path
    nodes: dict[str, dict[str, Any]] = field(repr=False)

    @abstractmethod
    def build_twin(self, **choices: Any) -> Any:
        """The robot's physical twin."""

    @property
    def winches(self) -> CableDrive | None:
        """What drives its cables; None where it has none.

        Raises:
            DescriptionError: it has cables without a drive.
        """
        return None

    @property
    def valves(self) -> ValveDrive | None:
        """What drives its chambers; None where it has none.

        Raises:
            DescriptionError: it has chambers without a drive.
        """
        return None

    def build_cable_driver(self, device: str, interface: str = "slcan", bitrate: int = 1_000_000) -> "CableDriver":
        """What drives its cables, on a CAN bus of its own: relaxed, with the zero still to be found.

        Args:
            device: serial device of an slcan adapter, or network interface of socketcan.
            interface: python-can's name of the CAN interface.
            bitrate: of the bus [bit/s].

        Raises:
            DescriptionError: it has no cables, or cables without a drive.
            DeviceError: the adapter is not there or in use, or the bus has no room for so many motors.
        """
        from soft_twin.driving.cables.cable_driver import open_cable_driver

        if (winches := self.winches) is None:
            raise DescriptionError(f"{self.path}: robot '{self.name}' has no cables that winches could wind")
        return open_cable_driver(winches, interface, device, bitrate)

    def build_valve_driver(self, device: str) -> "ValveDriver":
        """What drives its chambers, on a device of the kind that its description names: vented.

        Args:
            device: serial device, or host:port of a Modbus terminal.

        Raises:
            DescriptionError: it has no chambers, chambers without a drive, or limits that contradict each other.
            DeviceError: the device is not there, or does not answer.
        """
        from soft_twin.driving.valves.valve_driver import open_valve_driver

        if (valves := self.valves) is None:
            raise DescriptionError(f"{self.path}: robot '{self.name}' has no chambers that valves could fill")
        return open_valve_driver(valves, device)


class DrivenRobot(Robot):
    """A body that cables, chambers or both move: what control, drivers and an emulation ask of it.

    Attributes:
        imus: where its IMUs sit.
        target_tip: (3,) default tip target in base_link [m].
        emulated: how the emulated robot differs from the twin.
    """

    imus: Sequence[ImuPlace]
    target_tip: tuple[float, float, float]
    emulated: Mismatch

    @property
    def actuator_names(self) -> list[str]:
        """Cables first, then chambers, then muscles, as in all arrays of efforts and coordinates."""
        return [*self.cable_names, *self.chamber_names, *self.muscle_names]

    @property
    @abstractmethod
    def cable_names(self) -> list[str]:
        """Of its cables, none perhaps."""

    @property
    def chamber_names(self) -> list[str]:
        """Of its chambers, none perhaps."""
        return []

    @property
    def muscle_names(self) -> list[str]:
        """Of its muscles, none perhaps."""
        return []

    @property
    def plate_names(self) -> list[str]:
        """Of its body's rigid plates, none perhaps."""
        return []

    @property
    @abstractmethod
    def material_key(self) -> str:
        """Where in its description's `body` the first material stands."""

    @property
    def plate_imu(self) -> ImuPlace | None:
        """The IMU on the plate that is its tip; None: there is none."""
        return None

    @property
    def payload_carrier(self) -> str | None:
        """Nodes of the plate that is its tip, which a payload hangs on; None: its tip is no plate."""
        return None

    @property
    def obstacles(self) -> Sequence[Any]:
        """Descriptions of what its body may press on."""
        return ()

    @property
    def mounting(self) -> np.ndarray:
        """(3, 3) rotation from the frame of the board of its base's IMU to base_link.

        Raises:
            DescriptionError: there is no IMU in its base.
        """
        for imu in self.imus:
            if imu.plate is None:
                return imu.mounting
        raise DescriptionError(f"{self.path}: robot.imus: none is in the base, which gravity is measured in")

    @abstractmethod
    def build_model(self, **choices: Any) -> "Model":
        """Its mechanics: body, weight, actuators."""

    @abstractmethod
    def build_emulated_model(self) -> "Model":
        """The mechanics of the emulated robot: as `build_model`, with what its description says it differs by."""

    @property
    @abstractmethod
    def damping(self) -> "Damping":
        """Rayleigh damping of its body, `rayleigh_mass` [1/s] and `rayleigh_stiffness` [s]."""

    @abstractmethod
    def build_frames(self, body: "Body") -> "dict[str, Frame]":
        """Its named places on a body that was built of it, or on one of another mesh; one is "tip"."""

    def build_dynamics(self, dt: float = 0.01, **choices: Any) -> "BackwardEuler":
        """The robot in motion, from its undeformed shape, in steps of `dt` [s], with the description's damping; its
        actuators work with `model.efforts`. Choices as in `build_model`."""
        from soft_twin.solvers.time.integrators import BackwardEuler

        alpha, beta = self.damping.rayleigh_mass, self.damping.rayleigh_stiffness
        return BackwardEuler(self.build_model(**choices), dt, mass_damping=alpha, stiffness_damping=beta)

    def build_dynamic_twin(self, dt: float = 0.01, **choices: Any) -> "DynamicTwin":
        """The robot in motion with its winches and its base, at rest, upright, in steps of `dt` [s], with the
        description's damping. Choices as in `build_model`."""
        from soft_twin.twins.dynamic import DynamicTwin

        model = self.build_model(**choices)
        damping = self.damping.rayleigh_mass, self.damping.rayleigh_stiffness
        return DynamicTwin(model, self.build_frames(model.body), dt, *damping)

    @abstractmethod
    def limits(self) -> "list[Limit]":
        """Of its actuators' efforts and coordinates."""

    @abstractmethod
    def build_inverse(self, twin: "Twin | None" = None) -> "Inverse":
        """The solver that finds what the actuators shall do for goals on `twin`, or on one of its own."""

    def build_controller(self, twin: "Twin | None" = None, reuse: bool = False) -> "Controller":
        """What the robot's control loop calls, tick by tick, on `twin` or on one of its own; see Controller."""
        from soft_twin.inverse.controller import Controller

        return Controller(self.build_inverse(twin), self.target_tip, reuse)


def turned(rpy_deg: Sequence[float]) -> np.ndarray:
    """(3, 3) rotation by roll, pitch and yaw [°]."""
    return euler2mat(*np.radians(rpy_deg), axes="sxyz")
