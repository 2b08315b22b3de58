"""A soft tube of one or more segments, bent by cables that run inside its wall: the slender robot."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from transforms3d.euler import euler2mat

from soft_twin.robots.base import Robot, build_dynamics

if TYPE_CHECKING:
    from soft_twin.descriptions import cable_tube as descriptions
    from soft_twin.inverse.controller import Controller
    from soft_twin.inverse.inverse import Inverse
    from soft_twin.inverse.limits import Limit
    from soft_twin.mechanics.model import Model
    from soft_twin.solvers.time.integrators import BackwardEuler
    from soft_twin.twins.base import Twin


@dataclass(frozen=True)
class Material:
    """An elastic material: the name of its law, E [Pa], ν, ρ [kg/m³]."""

    model: str
    young_modulus: float
    poisson_ratio: float
    density: float


@dataclass(frozen=True)
class Damping:
    """Rayleigh damping C = α M + β K: α [1/s], β [s]."""

    rayleigh_mass: float
    rayleigh_stiffness: float


@dataclass(frozen=True)
class MeshChoice:
    """A mesh of the body: its file in meshes/ and how it is made (`divisions` radial, around, along, and `grading`, see
    `sweep_tube`; or `size` [m])."""

    file: str
    element: str
    divisions: tuple[int, int, int] | None = None
    grading: float = 1.0
    size: float | None = None


@dataclass(frozen=True)
class Body:
    """The tube: lengths of its segments and diameters [m], material, and meshes by name."""

    segment_lengths: tuple[float, ...]
    outer_diameter: float
    lumen_diameter: float
    material: Material
    damping: Damping
    mesh: str
    meshes: dict[str, MeshChoice]

    @property
    def length(self) -> float:
        return sum(self.segment_lengths)


@dataclass(frozen=True)
class Cable:
    """A cable from the base to the end of a segment, parallel to the axis.

    Attributes:
        name: unique name.
        position: (2,) x and y of the cable in the cross section [m].
        length: from base to anchor, undeformed [m].
        motor_id: id of the motor that pulls it.
        direction: −1 where its motor turns, or its drum winds, the other way round than the winches do.
        scale: measured length of cable over that computed from the drum.
        offset: displacement at which the cable is when it is homed [m].
    """

    name: str
    position: tuple[float, float]
    length: float
    motor_id: int
    direction: int = 1
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class CableLimits:
    """What every cable must keep to: tension [N], displacement [m], its rate [m/s] and acceleration [m/s²]."""

    tension: tuple[float, float]
    displacement: tuple[float, float]
    rate: float
    acceleration: float = 4.0


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
class Mismatch:
    """How the emulated robot differs from the twin: scales of E and ρ, capstan friction coefficient μ of the
    cables, time constant of a motor [s]."""

    young_modulus_scale: float
    density_scale: float
    cable_friction: float
    motor_lag: float


@dataclass(frozen=True)
class CableTube(Robot):
    """The slender robot (Lai et al. 2025): see the classes of its parts.

    Attributes:
        mounting: (3, 3) rotation from the IMU board's frame to base_link.
        cable_stiffness: axial stiffness of a cable between winch and anchor [N/m].
        pretension: tension [N] that the controller keeps in every cable, so that the cables' lengths and not the
            uncertain stiffness and weight of the body decide on the shape.
        target_tip: (3,) default tip target in base_link [m].
    """

    body: Body
    cables: tuple[Cable, ...]
    cable_limits: CableLimits
    cable_stiffness: float
    pretension: float
    winch: WinchDescription
    mounting: np.ndarray = field(repr=False)
    target_tip: tuple[float, float, float]
    emulated: Mismatch

    @property
    def actuator_names(self) -> list[str]:
        """As in all arrays of efforts and coordinates."""
        return self.cable_names

    @property
    def cable_names(self) -> list[str]:
        return [cable.name for cable in self.cables]

    def build_twin(self, backend="fem", mesh=None, element=None, material=None) -> "Twin":
        """The robot's physical twin; what is not given comes from the description.

        Args:
            backend: name of a twin ("fem").
            mesh: name of one of the description's meshes, path of a mesh file, or (nodes (n, 3), cells (m, k)).
            element: name of an element, such as "tet4" or "hex20r".
            material: name of a material law, such as "corotational".

        Raises:
            UsageError, MeshError, MaterialError: see there.
        """
        from soft_twin.robots.cable_tube_models import build_cable_tube_twin

        return build_cable_tube_twin(self, backend, mesh=mesh, element=element, material=material)

    def build_model(self, mesh=None, element=None, material=None) -> "Model":
        """The robot's mechanics: body, weight and cables; choices as in `build_twin`."""
        from soft_twin.robots.cable_tube_models import build_cable_tube_model

        return build_cable_tube_model(self, mesh, element, material)

    def build_dynamics(self, dt: float = 0.01, **choices: Any) -> "BackwardEuler":
        """The robot in motion, from its undeformed shape, in steps of `dt` [s], with the description's damping; its
        cables pull with `model.efforts`. Choices as in `build_twin`."""
        damping = self.body.damping
        return build_dynamics(self.build_model(**choices), dt, damping.rayleigh_mass, damping.rayleigh_stiffness)

    def build_inverse(self, twin: "Twin | None" = None) -> "Inverse":
        """The solver that finds the cables' displacements for a tip target on `twin`, or on one of its own."""
        from soft_twin.inverse.inverse import Inverse

        return Inverse(self.build_twin() if twin is None else twin, self.limits(), self.cable_names)

    def build_controller(self, twin: "Twin | None" = None, reuse: bool = False) -> "Controller":
        """What the robot's control loop calls, tick by tick, on `twin` or on one of its own; see Controller."""
        from soft_twin.inverse.controller import Controller

        return Controller(self.build_inverse(twin), self.target_tip, reuse)

    def limits(self) -> "list[Limit]":
        """Of the cables' tensions, pretension included, and of their displacements."""
        from soft_twin.inverse.limits import CoordinateLimit, EffortLimit

        low, high = self.cable_limits.tension
        return [
            EffortLimit(max(low, self.pretension), high, "tension"),
            CoordinateLimit(*self.cable_limits.displacement, "displacement"),
        ]


def read(description: "descriptions.CableTube", path: Path, nodes: dict[str, Any]) -> CableTube:
    """A CableTube from its description."""
    cables = description.cables
    return CableTube(
        name=description.name,
        path=path,
        nodes=nodes,
        body=_body(description.body),
        cables=_cables(description),
        cable_limits=CableLimits(cables.tension, cables.displacement, cables.rate, cables.acceleration),
        cable_stiffness=cables.stiffness,
        pretension=cables.pretension,
        winch=_winch(description.winches),
        mounting=euler2mat(*np.radians(description.imu.mounting_rpy_deg), axes="sxyz"),
        target_tip=description.target.tip,
        emulated=Mismatch(**dict(description.emulated)),
    )


def _body(body: "descriptions.Body") -> Body:
    return Body(
        segment_lengths=body.segment_lengths,
        outer_diameter=body.outer_diameter,
        lumen_diameter=body.lumen_diameter,
        material=Material(**dict(body.material)),
        damping=Damping(**dict(body.damping)),
        mesh=body.mesh,
        meshes={name: MeshChoice(**dict(choice)) for name, choice in body.meshes.items()},
    )


def _cables(description: "descriptions.CableTube") -> tuple[Cable, ...]:
    radius = description.cables.radius
    ends = np.cumsum(description.body.segment_lengths)
    return tuple(_cable(item, radius, float(ends[item.segment - 1])) for item in description.cables.list)


def _cable(item: "descriptions.Cable", radius: float, length: float) -> Cable:
    angle = math.radians(item.angle_deg)
    return Cable(
        name=item.name,
        position=(radius * math.cos(angle), radius * math.sin(angle)),
        length=length,
        motor_id=item.motor_id,
        direction=item.direction,
        scale=item.scale,
        offset=item.offset,
    )


def _winch(winches: "descriptions.Winches") -> WinchDescription:
    return WinchDescription(
        winches.radius, winches.gear_ratio, winches.direction, winches.current_limit, winches.growth
    )
