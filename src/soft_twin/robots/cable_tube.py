"""A soft tube of one or more segments, bent by cables that run inside its wall: the slender robot."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from transforms3d.euler import euler2mat

from soft_twin.errors import DescriptionError
from soft_twin.robots.base import Robot
from soft_twin.robots.description import Section

if TYPE_CHECKING:
    from soft_twin.inverse.controller import Controller
    from soft_twin.inverse.inverse import Inverse
    from soft_twin.inverse.limits import Limit
    from soft_twin.twin.base import Twin

TORQUE_CONSTANT = 0.18  # [N·m/A] at the output shaft of an M2006, behind its 36:1 gear (data sheet)
FASTEST_ROTOR = 18_000.0  # [turns/min] of an M2006 without load: 500 at its output shaft (data sheet)


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
        from soft_twin.twin import build_cable_tube_twin

        return build_cable_tube_twin(self, backend, mesh=mesh, element=element, material=material)

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


def read(name: str, path: Path, robot: Section, nodes: dict[str, Any]) -> CableTube:
    """A CableTube from the section `robot` of its description."""
    body = _read_body(robot.section("body"))
    cables = robot.section("cables")
    limits, winch = _read_limits(cables), _read_winch(robot.section("winches"))
    _check_drive(robot.where, limits, winch)
    rpy = robot.section("imu").numbers("mounting_rpy_deg", 3, -360.0, 360.0)
    return CableTube(
        name=name,
        path=path,
        nodes=nodes,
        body=body,
        cables=_read_cables(cables, body, limits),
        cable_limits=limits,
        cable_stiffness=cables.number("stiffness", 1.0),
        pretension=cables.number("pretension", *cables.interval("tension")),
        winch=winch,
        mounting=euler2mat(*np.radians(rpy), axes="sxyz"),
        target_tip=robot.section("target").numbers("tip", 3, -body.length, body.length),
        emulated=_read_mismatch(robot.section("emulated")),
    )


def _read_body(body: Section) -> Body:
    outer = body.number("outer_diameter", 1e-4, 1.0)
    meshes = {name: _read_mesh(body.section("meshes").section(name)) for name in body.section("meshes").content}
    material = body.section("material")
    damping = body.section("damping")
    return Body(
        segment_lengths=body.numbers("segment_lengths", None, 1e-3, 10.0),
        outer_diameter=outer,
        lumen_diameter=body.number("lumen_diameter", 0.0, 0.95 * outer),
        material=Material(
            model=material.text("model"),
            young_modulus=material.number("young_modulus"),
            poisson_ratio=material.number("poisson_ratio"),
            density=material.number("density"),
        ),
        damping=Damping(damping.number("rayleigh_mass", 0.0), damping.number("rayleigh_stiffness", 0.0)),
        mesh=body.text("mesh", among=meshes),
        meshes=meshes,
    )


def _read_mesh(mesh: Section) -> MeshChoice:
    divisions = tuple(int(count) for count in mesh.numbers("divisions", 3, 1, 1000)) if mesh.has("divisions") else None
    return MeshChoice(
        file=mesh.text("file"),
        element=mesh.text("element"),
        divisions=divisions,
        grading=mesh.number("grading", 0.2, 5.0) if mesh.has("grading") else 1.0,
        size=mesh.number("size", 1e-5, 1.0) if mesh.has("size") else None,
    )


def _read_cables(cables: Section, body: Body, limits: CableLimits) -> tuple[Cable, ...]:
    radius = cables.number("radius", 0.5 * body.lumen_diameter, 0.5 * body.outer_diameter)
    ends = np.cumsum(body.segment_lengths)
    result = []
    for item in cables.sections("list"):
        angle = math.radians(item.number("angle_deg", -360.0, 360.0))
        result.append(
            Cable(
                name=item.text("name"),
                position=(radius * math.cos(angle), radius * math.sin(angle)),
                length=float(ends[item.integer("segment", 1, len(ends)) - 1]),
                motor_id=item.integer("motor_id", 1, 8),
                direction=_read_direction(item) if item.has("direction") else 1,
                scale=item.number("scale", 0.5, 2.0) if item.has("scale") else 1.0,
                offset=item.number("offset", *limits.displacement) if item.has("offset") else 0.0,
            )
        )
    for what in ("name", "motor_id"):
        values = [getattr(cable, what) for cable in result]
        if len(set(values)) < len(values):
            raise DescriptionError(f"{cables.where}.list: two cables share one {what}: {values}")
    return tuple(result)


def _read_limits(cables: Section) -> CableLimits:
    limits = CableLimits(
        cables.interval("tension"),
        cables.interval("displacement"),
        cables.number("rate", 1e-4, 10.0),
        cables.number("acceleration", 1e-3, 1e3) if cables.has("acceleration") else CableLimits.acceleration,
    )
    if limits.tension[0] < 0.0:
        raise DescriptionError(f"{cables.where}.tension: {limits.tension[0]:g} N is negative, a cable never pushes")
    if not limits.displacement[0] <= 0.0 <= limits.displacement[1]:
        raise DescriptionError(f"{cables.where}.displacement: {limits.displacement} does not contain 0, the rest")
    return limits


def _read_winch(winches: Section) -> WinchDescription:
    return WinchDescription(
        winches.number("radius", 1e-4, 0.1),
        winches.number("gear_ratio", 1.0, 1000.0),
        _read_direction(winches),
        winches.number("current_limit", 0.0, 10.0),
        _read_growth(winches),
    )


def _read_direction(section: Section) -> int:
    direction = section.integer("direction", -1, 1)
    if direction == 0:
        raise DescriptionError(f"{section.where}.direction: expected 1 or -1, found 0")
    return direction


def _read_growth(winches: Section) -> float:
    """Of a drum's radius, from the cable's diameter t and the drum's width w: t² / (2 π w) [m/rad]."""
    if winches.has("cable_diameter") != winches.has("drum_width"):
        raise DescriptionError(f"{winches.where}: 'cable_diameter' and 'drum_width' are both needed, or none")
    if not winches.has("drum_width"):
        return 0.0
    diameter = winches.number("cable_diameter", 1e-5, 0.01)
    return diameter**2 / (2.0 * math.pi * winches.number("drum_width", diameter, 0.1))


def _check_drive(where: str, limits: CableLimits, winch: WinchDescription) -> None:
    """Limits that a winch's motor cannot keep together contradict each other."""
    pull = winch.current_limit * TORQUE_CONSTANT / winch.radius
    if pull < limits.tension[1]:
        raise DescriptionError(
            f"{where}: winches.current_limit {winch.current_limit:g} A pulls with {pull:.2g} N at most, less than "
            f"cables.tension allows, {limits.tension[1]:g} N"
        )
    speed = limits.rate * winch.gear_ratio / (2.0 * math.pi * winch.radius) * 60.0
    if speed > FASTEST_ROTOR:
        raise DescriptionError(
            f"{where}: cables.rate {limits.rate:g} m/s needs {speed:.0f} turns/min of the rotor, of which it has "
            f"{FASTEST_ROTOR:g}: lower it, or winches.gear_ratio"
        )


def _read_mismatch(emulated: Section) -> Mismatch:
    return Mismatch(
        emulated.number("young_modulus_scale", 0.1, 10.0),
        emulated.number("density_scale", 0.1, 10.0),
        emulated.number("cable_friction", 0.0, 2.0),
        emulated.number("motor_lag", 1e-4, 1.0),
    )
