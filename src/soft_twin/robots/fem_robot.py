"""Any body of finite elements that cables, chambers or both move: one YAML file and, where it likes, one mesh."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from soft_twin.descriptions.drives import CableDrive, CableLimits, ImuPlace, Mismatch, ValveDrive, WoundCable
from soft_twin.errors import DescriptionError, SoftTwinError
from soft_twin.robots.base import DrivenRobot, build_dynamics, turned

if TYPE_CHECKING:
    from soft_twin.descriptions import fem_robot as descriptions
    from soft_twin.inverse.inverse import Inverse
    from soft_twin.inverse.limits import Limit
    from soft_twin.mechanics.actuators.base import Actuators
    from soft_twin.mechanics.body import Body
    from soft_twin.mechanics.model import Model
    from soft_twin.mesh.mesh import Mesh
    from soft_twin.solvers.time.integrators import BackwardEuler
    from soft_twin.twins.finite_element import FemTwin

T = TypeVar("T")


@dataclass(frozen=True)
class FemRobot(DrivenRobot):
    """See the module's docstring.

    Attributes:
        description: all that its file says.
    """

    description: "descriptions.FemRobot" = field(repr=False)

    @property
    def cable_names(self) -> list[str]:
        return [cable.name for cable in self.description.cables]

    @property
    def chamber_names(self) -> list[str]:
        return [chamber.name for chamber in self.description.chambers]

    @property
    def winches(self) -> CableDrive | None:
        """What drives its cables; None where it has none.

        Raises:
            DescriptionError: there are no winches, or a cable has no motor.
        """
        cables, winches = self.description.cables, self.description.winches
        if not cables:
            return None
        missing = next((i for i, cable in enumerate(cables) if winches is None or cable.motor_id is None), None)
        if missing is not None:
            key = "'winches' and its 'motor_id'" if winches is None else "its 'motor_id'"
            raise self.mistake(f"cable '{cables[missing].name}' has no drive: give {key}", "cables", missing)
        tension, displacement = _alike([cable.tension for cable in cables]), _alike([c.displacement for c in cables])
        limits = CableLimits(tension, displacement, winches.rate, winches.acceleration)
        wound = [
            WoundCable(name=c.name, motor_id=c.motor_id, direction=c.direction, scale=c.scale, offset=c.offset)
            for c in cables
        ]
        return CableDrive(tuple(wound), limits, winches.drum)

    @property
    def valves(self) -> ValveDrive | None:
        """What drives its chambers, all within the pressures that each of them may have; None where it has none.

        Raises:
            DescriptionError: there are no valves, or a chamber has no channel.
        """
        chambers, valves = self.description.chambers, self.description.valves
        if not chambers:
            return None
        missing = next((i for i, each in enumerate(chambers) if valves is None or each.channel is None), None)
        if missing is not None:
            key = "'valves' and its 'channel'" if valves is None else "its 'channel'"
            raise self.mistake(f"chamber '{chambers[missing].name}' has no drive: give {key}", "chambers", missing)
        low, high = np.array([chamber.pressure for chamber in chambers]).T
        channels = tuple(chamber.channel for chamber in chambers)
        return ValveDrive(
            chamber_names=tuple(self.chamber_names),
            channels=channels,
            lowest=float(low.max()),
            highest=float(high.min()),
            **dict(valves),
        )

    @property
    def imus(self) -> tuple[ImuPlace, ...]:
        """Where its IMUs sit."""
        return tuple(ImuPlace(imu.name, turned(imu.mounting_rpy_deg), imu.plate) for imu in self.description.imus)

    @property
    def obstacles(self) -> "tuple[descriptions.Obstacle, ...]":
        """Descriptions of what its body may press on."""
        return self.description.obstacles

    @property
    def emulated(self) -> Mismatch:
        """How the emulated robot differs from the twin."""
        return Mismatch(**dict(self.description.emulated))

    def mistake(self, message: str, *keys: str | int) -> DescriptionError:
        """A mistake in the robot's file, at these keys of the robot."""
        from soft_twin.descriptions.mistakes import mistake_at

        return mistake_at(self.path, ["robot", *keys], message)

    @property
    def target_tip(self) -> tuple[float, float, float]:
        """Default target (3,) of the frame `tip` in base_link [m]."""
        return self.description.target.tip

    def build_model(self) -> "Model":
        """Its mechanics: body, plates, weight, actuators.

        Raises:
            DescriptionError: names that the mesh has not, a chamber that is not closed, a cable through no cell.
            MeshError: the mesh's file is missing, broken, or of another size.
        """
        from soft_twin.mechanics.constraints import RigidPlate
        from soft_twin.mechanics.loads.loads import Gravity
        from soft_twin.mechanics.model import Model

        body = self._body(self._mesh())
        plates = [RigidPlate(self._nodes(body, plate.nodes, f"body.plates: {plate.name}")) for plate in self._plates]
        return self._at("body", lambda: Model(body, [Gravity()], plates, actuators=self._actuators(body)))

    def build_twin(self, **choices: Any) -> "FemTwin":
        """A twin of it; there is nothing to choose.

        Raises:
            DescriptionError, MeshError: see build_model.
        """
        from soft_twin.twins.finite_element import FemTwin
        from soft_twin.twins.frames import NodesFrame

        if choices:
            raise DescriptionError(f"{self.path}: a robot of kind 'fem' has no choice of {', '.join(choices)}")
        model = self.build_model()
        rest = model.body.mesh.nodes
        frames = {
            name: NodesFrame(self._nodes(model.body, frame.nodes, f"frames.{name}"), rest)
            for name, frame in self.description.frames.items()
        }
        return FemTwin(model, float(np.ptp(rest, axis=0).max()), frames)

    def build_dynamics(self, dt: float = 0.01) -> "BackwardEuler":
        """The robot in motion, from its undeformed shape, in steps of `dt` [s], with the description's damping; its
        cables and chambers work with `model.efforts`."""
        damping = self.description.body.damping
        return build_dynamics(self.build_model(), dt, damping.rayleigh_mass, damping.rayleigh_stiffness)

    def build_inverse(self, twin: "FemTwin | None" = None) -> "Inverse":
        """The solver that finds what cables and chambers shall do for goals on `twin`, or on one of its own."""
        from soft_twin.inverse.inverse import Inverse

        twin = self.build_twin() if twin is None else twin
        return Inverse(twin, self.limits(), self.actuator_names, posture=None)

    def limits(self) -> "list[Limit]":
        """Of tensions and pressures, of displacements and volumes."""
        from soft_twin.inverse.limits import CoordinateLimit, EffortLimit

        cables, chambers = self.description.cables, self.description.chambers
        tensions = [(max(cable.tension[0], cable.pretension), cable.tension[1]) for cable in cables]
        efforts = tensions + [chamber.pressure for chamber in chambers]
        coordinates = [cable.displacement for cable in cables] + [chamber.volume for chamber in chambers]
        return [EffortLimit(*np.array(efforts).T), CoordinateLimit(*np.array(coordinates).T)]

    @property
    def _plates(self) -> "tuple[descriptions.Plate, ...]":
        return self.description.body.plates

    def _mesh(self) -> "Mesh":
        from soft_twin.mesh.files import read_mesh
        from soft_twin.mesh.mesh import check_unit

        source = self.description.body.mesh
        if source.voxels is not None:
            return self._at("body.mesh.voxels", lambda: _voxels(source.voxels))
        path = self.path.resolve().parent / source.file
        mesh = read_mesh(path)
        check_unit(mesh, np.array(source.size), str(path))
        return mesh

    def _body(self, mesh: "Mesh") -> "Body":
        from soft_twin.mechanics.body import Body, Material
        from soft_twin.mechanics.materials import energy_named

        def made(part: "descriptions.VolumeMaterial") -> Material:
            law = energy_named(part.model, part.young_modulus, part.poisson_ratio)
            return Material(law, part.density, part.volume)

        parts = self.description.body
        materials = self._at("body.materials", lambda: [made(part) for part in parts.materials])
        body = self._at("body", lambda: Body(mesh, materials, parts.clamped))
        for plate in parts.plates:
            if plate.mass > 0.0:
                self._at(f"body.plates: {plate.name}", lambda plate=plate: body.attach_mass(plate.nodes, plate.mass))
        return body

    def _actuators(self, body: "Body") -> "list[Actuators]":
        from soft_twin.mechanics.actuators.cables import CableActuators
        from soft_twin.mechanics.actuators.chambers import Chambers
        from soft_twin.mechanics.loads.pressure import Pressure

        parts: list[Actuators] = []
        for cable in self.description.cables:
            made = self._at(f"cables: {cable.name}", lambda cable=cable: _cable(body, cable))
            parts.append(CableActuators(made, cable.stiffness, [cable.name]))
        chambers = self.description.chambers
        for chamber in chambers:
            self._at(f"chambers: {chamber.name}", lambda chamber=chamber: Pressure(chamber.surface).attach(body))
        if chambers:
            parts.append(Chambers([chamber.surface for chamber in chambers], self.chamber_names))
        return parts

    def _nodes(self, body: "Body", name: str, where: str) -> np.ndarray:
        from soft_twin.mechanics.body import nodes_of

        return self._at(where, lambda: nodes_of(body, name, name))

    def _at(self, where: str, make: Callable[[], T]) -> T:
        """What `make` makes; what goes wrong is told with the place in the description."""
        try:
            return make()
        except DescriptionError:
            raise
        except SoftTwinError as error:
            raise DescriptionError(f"{self.path}: robot.{where}: {error}") from error


def read(description: "descriptions.FemRobot", path: Path, nodes: dict[str, Any]) -> FemRobot:
    """A FemRobot from its description."""
    return FemRobot(name=description.name, path=path, nodes=nodes, description=description)


def _alike(limits: list[tuple[float, float]]) -> tuple:
    """Lower and upper limits: numbers where all are alike, else (c,)."""
    if len(set(limits)) == 1:
        return limits[0]
    low, high = np.array(limits).T
    return low, high


def _voxels(source: "descriptions.Voxels") -> "Mesh":
    """The block, with the middle of its lowest face at the origin."""
    from dataclasses import replace

    from soft_twin.mesh.generate.voxels import voxel_mesh

    occupied = np.ones(source.cells, dtype=bool)
    for hollow in source.hollows:
        occupied[tuple(slice(low, high + 1) for low, high in zip(hollow.first, hollow.last, strict=True))] = False
    size = np.array(source.size)
    mesh = voxel_mesh(occupied, size / source.cells, source.element)
    return replace(mesh, nodes=mesh.nodes - [0.5 * size[0], 0.5 * size[1], 0.0])


def _cable(body: "Body", cable: "descriptions.FemCable"):
    from soft_twin.mechanics.cables import Cables

    if cable.nodes is None:
        return Cables(body.mesh, np.array([cable.start]), np.array([cable.end]))
    return Cables.outside(body.mesh, [cable.start], cable.nodes, [cable.end])
