"""From the description of a body of finite elements to its body, actuators, contacts, model and frames."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from soft_twin.errors import DescriptionError, SoftTwinError
from soft_twin.mechanics.actuators.base import Actuators
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.actuators.muscles import Muscles
from soft_twin.mechanics.body import Body, Material, nodes_of
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import Constraint, Contact, RigidPlate
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.loads.pressure import Pressure
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.materials.fibres import Fibres
from soft_twin.mechanics.model import Model
from soft_twin.mesh.mesh import Mesh
from soft_twin.robots.fem_meshes import build_mesh
from soft_twin.robots.fibres import fibre_directions
from soft_twin.robots.obstacles import build_obstacle
from soft_twin.twins.frames import Frame, NodesFrame, PointFrame

if TYPE_CHECKING:
    from soft_twin.descriptions import fem_robot as descriptions
    from soft_twin.robots.fem_robot import FemRobot

T = TypeVar("T")


class FemBuilder:
    """Builds the parts of one robot; what cannot be built is told with its place in the robot's file."""

    def __init__(self, robot: "FemRobot", scale_e: float = 1.0, scale_rho: float = 1.0):
        """`scale_e`, `scale_rho`: of the body's moduli and densities, for an emulated robot."""
        self.robot, self.description = robot, robot.description
        self._scale_e, self._scale_rho = scale_e, scale_rho

    def model(self, friction: bool = False) -> Model:
        """Body, plates, weight, actuators and contacts; `friction`: with that of cables and obstacles."""
        body = self.body()
        constraints: list[Constraint] = [
            RigidPlate(self._nodes(body, plate.nodes, "body", "plates", i, "nodes"))
            for i, plate in enumerate(self.description.body.plates)
        ]
        constraints += [
            self._at(lambda each=each: _contact(body, each, friction), "obstacles", i)
            for i, each in enumerate(self.description.obstacles)
        ]
        actuators = self._actuators(body, self.robot.emulated.cable_friction if friction else 0.0)
        return self._at(lambda: Model(body, [Gravity()], constraints, actuators=actuators), "body")

    def body(self) -> Body:
        """The body, with what hangs on its plates."""
        mesh, parts = self._at(self._mesh, "body", "mesh"), self.description.body
        materials = [
            self._at(lambda part=part: self._material(part), "body", "materials", i)
            for i, part in enumerate(parts.materials)
        ]
        materials += self._fibres(mesh)
        for key in ("materials", "fibres"):
            for i, part in enumerate(getattr(parts, key)):
                if part.volume is not None:
                    self._at(lambda part=part: mesh.volume(part.volume), "body", key, i, "volume")
        body = self._at(lambda: Body(mesh, materials, parts.clamped), "body", "clamped")
        for i, plate in enumerate(parts.plates):
            if plate.mass > 0.0:
                keys = "body", "plates", i, "nodes"
                self._at(lambda plate=plate: body.attach_mass(plate.nodes, plate.mass), *keys)
        return body

    def frames(self, body: Body) -> dict[str, Frame]:
        """The named places."""
        return {
            name: self._at(lambda frame=frame: self._frame(body, frame), "frames", name, frame.way)
            for name, frame in self.description.frames.items()
        }

    def _mesh(self) -> Mesh:
        return build_mesh(self.description.body.mesh, self.robot.path.resolve().parent)

    def _frame(self, body: Body, frame: "descriptions.NamedFrame") -> Frame:
        if frame.point is not None:
            return PointFrame(body.mesh, frame.point)
        plates = {plate.name: plate.nodes for plate in self.description.body.plates}
        name = frame.nodes if frame.plate is None else plates[frame.plate]
        return NodesFrame(nodes_of(body, name, name), body.mesh.nodes)

    def _material(self, part: "descriptions.VolumeMaterial") -> Material:
        law = energy_named(part.model, self._scale_e * part.young_modulus, part.poisson_ratio)
        return Material(law, self._scale_rho * part.density, part.volume)

    def _fibres(self, mesh: Mesh) -> list[Material]:
        """As materials beside the others, without a mass of their own."""
        made = []
        for part in self.description.body.fibres:
            families = fibre_directions(mesh, part)
            stiffness = self._scale_e * part.modulus / len(families)
            made += [Material(Fibres(stiffness, family), 0.0, part.volume) for family in families]
        return made

    def _actuators(self, body: Body, friction: float) -> list[Actuators]:
        parts: list[Actuators] = []
        for i, cable in enumerate(self.description.cables):
            made = self._at(lambda cable=cable: _cable(body, cable), "cables", i)
            parts.append(CableActuators(made, cable.stiffness, [cable.name], friction))
        chambers = self.description.chambers
        for i, chamber in enumerate(chambers):
            self._at(lambda chamber=chamber: Pressure(chamber.surface).attach(body), "chambers", i, "surface")
        if chambers:
            parts.append(Chambers([chamber.surface for chamber in chambers], self.robot.chamber_names))
        if self.description.muscles:
            muscles = enumerate(self.description.muscles)
            bundles = [
                self._at(lambda each=each: _bundle(body.mesh, each), "muscles", i, "volume") for i, each in muscles
            ]
            parts.append(Muscles(Cables.bundles(body.mesh, bundles), self.robot.muscle_names))
        return parts

    def _nodes(self, body: Body, name: str, *keys: str | int) -> np.ndarray:
        return self._at(lambda: nodes_of(body, name, name), *keys)

    def _at(self, make: Callable[[], T], *keys: str | int) -> T:
        """What `make` makes; what goes wrong is told with the place in the description."""
        try:
            return make()
        except DescriptionError:
            raise
        except SoftTwinError as error:
            raise self.robot.mistake(str(error), *keys) from error


def _cable(body: Body, cable: "descriptions.FemCable") -> Cables:
    if cable.points:
        return Cables.through(body.mesh, [cable.points])
    if cable.guides:
        return Cables.guided(body.mesh, cable.start, [(guide.point, guide.nodes) for guide in cable.guides])
    if cable.nodes is None:
        return Cables(body.mesh, np.array([cable.start]), np.array([cable.end]))
    return Cables.outside(body.mesh, [cable.start], cable.nodes, [cable.end])


def _bundle(mesh: Mesh, muscle: "descriptions.Muscle") -> list[tuple[np.ndarray, np.ndarray]]:
    """Cells and directions of each of a muscle's families of fibres."""
    cells = np.arange(len(mesh.cells)) if muscle.volume is None else mesh.volume(muscle.volume)
    return [(cells, family[cells]) for family in fibre_directions(mesh, muscle)]


def _contact(body: Body, obstacle: "descriptions.Obstacle", friction: bool) -> Contact:
    nodes = None if obstacle.nodes is None else nodes_of(body, obstacle.nodes, obstacle.name)
    return Contact(build_obstacle(obstacle), nodes, obstacle.friction if friction else 0.0)
