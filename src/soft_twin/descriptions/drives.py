"""What drivers and emulated devices ask of a robot: winches of its cables, valves of its chambers, IMUs, mismatch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class WinchDescription:
    """Drum radius [m], rotor turns per drum turn, sign of the rotor's turning that winds in, current limit [A].

    `growth` is that of the radius while the cable is wound onto itself [m/rad], see driving.winch.
    """

    radius: float
    gear_ratio: float
    direction: int
    current_limit: float
    growth: float = 0.0


@dataclass(frozen=True)
class CableLimits:
    """What every cable must keep to: tension [N], displacement [m], its rate [m/s] and acceleration [m/s²].

    Where cables differ, limits of tensions and displacements are (c,) each.
    """

    tension: tuple[float | np.ndarray, float | np.ndarray]
    displacement: tuple[float | np.ndarray, float | np.ndarray]
    rate: float
    acceleration: float = 4.0


@dataclass(frozen=True, kw_only=True)
class WoundCable:
    """A cable on a winch.

    Attributes:
        name: unique name.
        motor_id: id of the motor that pulls it.
        direction: −1 where its motor turns, or its drum winds, the other way round than the winches do.
        scale: measured length of cable over that computed from the drum.
        offset: displacement at which the cable is when it is homed [m].
    """

    name: str
    motor_id: int
    direction: int = 1
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class CableDrive:
    """The winches of all of a robot's cables, in its order of them."""

    cables: Sequence[WoundCable]
    cable_limits: CableLimits
    winch: WinchDescription

    @property
    def cable_names(self) -> list[str]:
        return [cable.name for cable in self.cables]


@dataclass(frozen=True)
class ValveDrive:
    """The valves of all of a robot's chambers.

    Attributes:
        backend: kind of valves, see driving.valves.
        chamber_names: of the chambers, in the robot's order.
        channels: (c,) places of their valves on the device, counted from 0.
        lowest, highest: gauge pressures that chambers may have, one for all or (c,) [Pa].
        rate: highest rate of change [Pa/s].
        vent_rate: of venting [Pa/s].
        vented: gauge pressure of a relaxed chamber [Pa].
        acceleration: highest change of these rates [Pa/s²].
    """

    backend: str
    chamber_names: Sequence[str]
    channels: Sequence[int]
    lowest: float | Sequence[float]
    highest: float | Sequence[float]
    rate: float
    vent_rate: float
    vented: float
    acceleration: float

    @property
    def names_by_channel(self) -> list[str]:
        """Names of the chambers in the order of their valves."""
        return [name for _, name in sorted(zip(self.channels, self.chamber_names, strict=True))]

    @property
    def limits_by_channel(self) -> tuple[list[float], list[float]]:
        """Lowest and highest pressures of the chambers in the order of their valves [Pa]."""
        order = np.argsort(np.asarray(self.channels))
        low, high = (np.broadcast_to(each, len(order))[order].tolist() for each in (self.lowest, self.highest))
        return low, high


@dataclass(frozen=True)
class ImuPlace:
    """An IMU on a robot.

    Attributes:
        name: of its own.
        mounting: (3, 3) rotation from the board's frame to base_link, or to its plate's frame, which is base_link
            turned as the plate is turned.
        plate: name of the plate that carries it; None: the base.
    """

    name: str
    mounting: np.ndarray = field(repr=False)
    plate: str | None = None


@dataclass(frozen=True)
class Mismatch:
    """How the emulated robot differs from the twin: scales of E and ρ, capstan friction coefficient μ of the cables,
    time constants of a motor and of a valve's set point [s], change of pressure per difference across an open valve
    [1/s], share of its pressure that a chamber loses [1/s], time step of its body [s], what each winch has wound in at
    the start beyond what is just taut [m], None: nothing, and how fast a limp winch lets out its cable [m/s/N]."""

    young_modulus_scale: float
    density_scale: float
    cable_friction: float
    motor_lag: float
    valve_lag: float = 0.02
    fill_rate: float = 12.0
    leak: float = 0.02
    step: float = 0.02
    wound: tuple[float, ...] | None = None
    limp_mobility: float = 0.05
