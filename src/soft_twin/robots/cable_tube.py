"""A soft tube of one or more segments, bent by cables that run inside its wall: the slender robot."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_twin.descriptions.drives import CableDrive, CableLimits, ImuPlace, Mismatch, WinchDescription, WoundCable
from soft_twin.robots.base import DrivenRobot, turned

if TYPE_CHECKING:
    from soft_twin.descriptions import cable_tube as descriptions
    from soft_twin.inverse.inverse import Inverse
    from soft_twin.inverse.limits import Limit
    from soft_twin.mechanics.body import Body as FiniteElements
    from soft_twin.mechanics.model import Model
    from soft_twin.solvers.time.integrators import BackwardEuler
    from soft_twin.twins.base import Twin
    from soft_twin.twins.frames import Frame
    from soft_twin.twins.rod import RodDynamics

EMULATED_MESH = "plant"  # of the meshes, that of the emulated robot


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


@dataclass(frozen=True, kw_only=True)
class Cable(WoundCable):
    """A cable from the base to the end of a segment, parallel to the axis.

    Attributes:
        position: (2,) x and y of the cable in the cross section [m].
        length: from base to anchor, undeformed [m].
    """

    position: tuple[float, float]
    length: float


@dataclass(frozen=True)
class CableTube(DrivenRobot):
    """The slender robot (Lai et al. 2025): see the classes of its parts.

    Attributes:
        cable_stiffness: axial stiffness of a cable between winch and anchor [N/m].
        pretension: tension [N] that the controller keeps in every cable, so that the cables' lengths and not the
            uncertain stiffness and weight of the body decide on the shape.
        imus: the one in the base.
        target_tip: (3,) default tip target in base_link [m].
        emulated: how the emulated robot differs from the twin.
    """

    body: Body
    cables: tuple[Cable, ...]
    cable_limits: CableLimits
    cable_stiffness: float
    pretension: float
    winch: WinchDescription
    imus: tuple[ImuPlace, ...]
    target_tip: tuple[float, float, float]
    emulated: Mismatch

    @property
    def cable_names(self) -> list[str]:
        return [cable.name for cable in self.cables]

    @property
    def winches(self) -> CableDrive:
        """What drives its cables."""
        return CableDrive(self.cables, self.cable_limits, self.winch)

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

    def build_emulated_model(self, mesh: str | None = None) -> "Model":
        """The mechanics of the emulated robot: its own mesh, "plant" if there is one of that name, scaled modulus and
        density, cables that rub. `mesh`: another one by its name in the description."""
        from soft_twin.robots.cable_tube_models import build_cable_tube_model

        own = self.emulated
        name = mesh or (EMULATED_MESH if EMULATED_MESH in self.body.meshes else None)
        scales = {"scale_e": own.young_modulus_scale, "scale_rho": own.density_scale}
        return build_cable_tube_model(self, name, friction=own.cable_friction, **scales)

    @property
    def damping(self) -> Damping:
        return self.body.damping

    def build_frames(self, body: "FiniteElements") -> "dict[str, Frame]":
        from soft_twin.twins.frames import SectionFrame

        return {"tip": SectionFrame(self.body.length)}

    def build_dynamics(self, dt: float = 0.01, backend: str = "fem", **choices: Any) -> "BackwardEuler | RodDynamics":
        """The robot in motion, from its undeformed shape, in steps of `dt` [s], with the description's damping.

        Of finite elements, its cables pull with `model.efforts`; a rod is told in each step what they do. Backends and
        choices as in `build_twin`.
        """
        if backend == "fem":
            return super().build_dynamics(dt, **choices)
        from soft_twin.robots.cable_tube_models import build_rod_dynamics

        return build_rod_dynamics(self, dt, backend, **choices)

    def build_inverse(self, twin: "Twin | None" = None) -> "Inverse":
        """The solver that finds the cables' displacements for a tip target on `twin`, or on one of its own."""
        from soft_twin.inverse.inverse import Inverse

        return Inverse(self.build_twin() if twin is None else twin, self.limits(), self.cable_names)

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
        winch=description.winches.drum,
        imus=(ImuPlace("base", turned(description.imu.mounting_rpy_deg)),),
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
