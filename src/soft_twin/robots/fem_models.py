"""From the description of a body of finite elements to its body, actuators, contacts, model and frames."""

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from soft_twin.errors import DescriptionError, MeshError, SoftTwinError
from soft_twin.mechanics.actuators.base import Actuators
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.actuators.muscles import Muscles
from soft_twin.mechanics.body import Body, Material, nodes_of
from soft_twin.mechanics.cables import Cables, off_plane
from soft_twin.mechanics.constraints import Constraint, RigidPlate
from soft_twin.mechanics.contact import Contact, SelfContact
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.loads.pressure import Pressure
from soft_twin.mechanics.materials import RUBBERS, energy_named
from soft_twin.mechanics.materials.base import Energy
from soft_twin.mechanics.materials.fibres import Fibres
from soft_twin.mechanics.materials.muscle import Muscle
from soft_twin.mechanics.model import Model
from soft_twin.mesh.mesh import Mesh
from soft_twin.robots.fem_meshes import build_mesh
from soft_twin.robots.fibres import fibre_directions
from soft_twin.robots.obstacles import build_obstacle
from soft_twin.robots.volumes import refuse_bare
from soft_twin.twins.frames import Frame, NodesFrame, PointFrame, SectionFrame
from soft_twin.twins.heights import check_heights

if TYPE_CHECKING:
    from soft_twin.descriptions import fem_robot as descriptions
    from soft_twin.descriptions.fem_actuators import FemCable, Guide
    from soft_twin.robots.fem_robot import FemRobot

T = TypeVar("T")
DEEP = 0.2  # of a body's thickness that may stand in an obstacle at rest


class FemBuilder:
    """Builds the parts of one robot; what cannot be built is told with its place in the robot's file."""

    def __init__(
        self,
        robot: "FemRobot",
        emulated: bool = False,
        mesh: Mesh | None = None,
        law: str | Callable[[float, float], Energy] | None = None,
    ):
        """`emulated`: with all that the emulated robot differs by. `mesh`, `law`: instead of the description's; a law's
        name, or what makes it of E [Pa] and ν."""
        self.robot, self.description = robot, robot.description
        own = self.description.emulated
        self._emulated, self._chosen, self._law = emulated, mesh, law
        self._places: dict[tuple[str, tuple[float, ...]], int] = {}  # by plate's nodes and point: its node
        self._scale_e, self._scale_rho = (own.young_modulus_scale, own.density_scale) if emulated else (1.0, 1.0)

    def model(self) -> Model:
        """Body, plates, weight, actuators and contacts; the emulated robot's cables and obstacles rub."""
        body, friction = self.body(), self._emulated
        constraints: list[Constraint] = [RigidPlate(nodes) for nodes in self._plates(body)]
        constraints += [
            self._at(lambda each=each: _contact(body, each, friction), "obstacles", i)
            for i, each in enumerate(self.description.obstacles)
        ]
        if (own := self.description.self_contact) is not None:
            constraints.append(self._at(lambda: _self_contact(body, own), "self_contact"))
        actuators = self._actuators(body, self.description.emulated.cable_friction if friction else 0.0)
        return self._at(lambda: Model(body, [Gravity()], constraints, actuators=actuators), "body")

    def body(self) -> Body:
        """The body, with what hangs on its plates."""
        mesh, parts = self._with_places(self._mesh()), self.description.body
        materials = [
            self._at(lambda part=part: self._material(part), "body", "materials", i)
            for i, part in enumerate(parts.materials)
        ]
        materials += self._fibres(mesh)
        for key in ("materials", "fibres"):
            for i, part in enumerate(getattr(parts, key)):
                if part.volume is not None:
                    self._at(lambda part=part: mesh.volume(part.volume), "body", key, i, "volume")
        volumes = [part.volume for part in parts.materials]
        self._at(lambda: refuse_bare(mesh, volumes), "body", "materials")
        body = self._at(lambda: Body(mesh, materials, parts.clamped), "body", "clamped")
        for i, plate in enumerate(parts.plates):
            if plate.mass > 0.0:
                keys = "body", "plates", i, "nodes"
                self._at(lambda plate=plate: body.attach_mass(plate.nodes, plate.mass), *keys)
        return body

    def _plates(self, body: Body) -> list[np.ndarray]:
        """Nodes of each rigid plate, which no other plate has and nothing clamps."""
        taken = {f"what is clamped, '{self.description.body.clamped}'": np.flatnonzero(body.place < 0)}
        for i, plate in enumerate(self.description.body.plates):
            nodes = self._nodes(body, plate.nodes, "body", "plates", i, "nodes")
            for other, theirs in taken.items():
                if shared := np.isin(nodes, theirs).sum():
                    words = f"plate '{plate.name}' shares {shared} of its {len(nodes)} nodes with {other}"
                    raise self.robot.mistake(words, "body", "plates", i, "nodes")
            own = [index for (name, _), index in self._places.items() if name == plate.nodes]
            taken[f"plate '{plate.name}'"] = np.append(nodes, np.array(own, dtype=int))
        return list(taken.values())[1:]

    def frames(self, body: Body) -> dict[str, Frame]:
        """The named places."""
        return {
            name: self._at(lambda frame=frame: self._frame(body, frame), "frames", name, frame.way)
            for name, frame in self.description.frames.items()
        }

    def _mesh(self) -> Mesh:
        """The chosen one, the emulated robot's own, or the body's."""
        if self._chosen is not None:
            return self._chosen
        source, keys = self.description.body.mesh, ("body", "mesh")
        if self._emulated and self.description.emulated.mesh is not None:
            source, keys = self.description.emulated.mesh, ("emulated", "mesh")
        return self._at(lambda: build_mesh(source, self.robot.path.resolve().parent), *keys)

    def _with_places(self, mesh: Mesh) -> Mesh:
        """With what cables pull at off the plane of a rigid plate's nodes, which cannot carry it: as nodes of no cell
        that move with the plate."""
        plates = {plate.nodes for plate in self.description.body.plates}
        for i, cable in enumerate(self.description.cables):
            for guide in cable.carried:
                if guide.nodes in plates:
                    nodes = self._at(lambda name=guide.nodes: mesh.group(name), "cables", i)
                    if off_plane(mesh, nodes, np.array(guide.point)) > 0.0:
                        self._places.setdefault((guide.nodes, guide.point), len(mesh.nodes) + len(self._places))
        return replace(mesh, nodes=np.vstack([mesh.nodes, *(point for _, point in self._places)]))

    def _cable(self, body: Body, cable: "FemCable") -> Cables:
        """In tetrahedra, whose faces lie in no plane across a body, cables end at points of it, as SOFA's do."""
        caps = cable.cap and body.mesh.element.corners_per_face == 4
        if cable.points:
            return Cables.through(body.mesh, [cable.points], caps)
        carriers = [self._carrier(guide) for guide in cable.carried]
        if cable.guides:
            points = [guide.point for guide in cable.guides]
            return Cables.guided(body.mesh, cable.start, list(zip(points, carriers, strict=True)))
        if cable.nodes is None:
            return Cables(body.mesh, np.array([cable.start]), np.array([cable.end]), caps=caps)
        return Cables.outside(body.mesh, [cable.start], carriers[0], [cable.end])

    def _carrier(self, guide: "Guide") -> str | np.ndarray:
        place = self._places.get((guide.nodes, guide.point))
        return guide.nodes if place is None else np.array([place])

    def _frame(self, body: Body, frame: "descriptions.NamedFrame") -> Frame:
        if frame.point is not None:
            return PointFrame(body.mesh, frame.point)
        if frame.section is not None:
            return _section(body.mesh, frame.section)
        plates = {plate.name: plate.nodes for plate in self.description.body.plates}
        name = frame.nodes if frame.plate is None else plates[frame.plate]
        return NodesFrame(nodes_of(body, name, name), body.mesh.nodes)

    def _material(self, part: "descriptions.VolumeMaterial") -> Material:
        return Material(self._energy(part), self._scale_rho * part.density, part.volume)

    def _energy(self, part: "descriptions.VolumeMaterial") -> Energy:
        if self._law is None and part.is_rubber:
            return RUBBERS[part.model](**part.constants(self._scale_e))
        young_modulus, poisson_ratio = part.elasticity
        law, constants = self._law or part.model, (self._scale_e * young_modulus, poisson_ratio)
        return law(*constants) if callable(law) else energy_named(law, *constants)

    def _fibres(self, mesh: Mesh) -> list[Material]:
        """As materials beside the others, without a mass of their own."""
        made = []
        for part in self.description.body.fibres:
            families = fibre_directions(mesh, part)
            stiffness = self._scale_e * part.modulus / len(families)
            kind = Muscle if part.carry == "both" else Fibres  # one that is never active
            made += [Material(kind(stiffness, family), 0.0, part.volume) for family in families]
        return made

    def _actuators(self, body: Body, friction: float) -> list[Actuators]:
        parts: list[Actuators] = self._cables(body, friction)
        chambers = self.description.chambers
        for i, chamber in enumerate(chambers):
            self._at(lambda chamber=chamber: Pressure(chamber.surface).attach(body), "chambers", i, "surface")
        if chambers:
            parts.append(Chambers([chamber.surface for chamber in chambers], self.robot.chamber_names))
            self._at(lambda: parts[-1].attach(body), "chambers")  # as the model does: what is wrong is told here
        if self.description.muscles:
            muscles = enumerate(self.description.muscles)
            bundles = [
                self._at(lambda each=each: _bundle(body.mesh, each), "muscles", i, "volume") for i, each in muscles
            ]
            parts.append(Muscles(Cables.bundles(body.mesh, bundles), self.robot.muscle_names))
        return parts

    def _cables(self, body: Body, friction: float) -> list[Actuators]:
        """Cables one behind the other that are of one kind are computed together."""
        made = [
            (self._at(lambda cable=cable: self._cable(body, cable), "cables", i), cable)
            for i, cable in enumerate(self.description.cables)
        ]
        kinds = groupby(made, lambda each: (each[1].cap or each[0].nodes.shape[1], each[1].stiffness))
        alike = [list(group) for _, group in kinds]
        return [
            CableActuators(
                Cables.joined([cables for cables, _ in group]),
                group[0][1].stiffness,
                [cable.name for _, cable in group],
                friction,
            )
            for group in alike
        ]

    def _nodes(self, body: Body, name: str, *keys: str | int) -> np.ndarray:
        return self._at(lambda: nodes_of(body, name, name), *keys)

    def _at(self, make: Callable[[], T], *keys: str | int) -> T:
        """What `make` makes; what goes wrong is told with the place in the description."""
        try:
            return make()
        except DescriptionError:
            raise
        except SoftTwinError as error:
            if self._chosen is not None or self._law is not None:
                raise  # it need not be the description's mistake
            where = ", on the mesh of 'emulated'" if self._emulated and self.description.emulated.mesh else ""
            raise self.robot.mistake(f"{error}{where}", *keys) from error


def _section(mesh: Mesh, z: float) -> SectionFrame:
    (*_, low), (*_, high) = mesh.bounds
    check_heights(z, (low, high))
    return SectionFrame(z)


def _bundle(mesh: Mesh, muscle: "descriptions.Muscle") -> list[tuple[np.ndarray, np.ndarray]]:
    """Cells and directions of each of a muscle's families of fibres."""
    cells = np.arange(len(mesh.cells)) if muscle.volume is None else mesh.volume(muscle.volume)
    return [(cells, family[cells]) for family in fibre_directions(mesh, muscle)]


def _self_contact(body: Body, description: "descriptions.FemSelfContact") -> SelfContact:
    contact = SelfContact(description.nodes, description.margin)
    contact.attach(body)  # as the model does: what is wrong with it is told here
    return contact


def _contact(body: Body, obstacle: "descriptions.Obstacle", friction: bool) -> Contact:
    nodes = None if obstacle.nodes is None else nodes_of(body, obstacle.nodes, obstacle.name)
    shape = build_obstacle(obstacle)
    depth = -float(shape.distance(body.mesh.nodes[body.mesh.body_nodes if nodes is None else nodes])[0].min())
    if depth > DEEP * body.mesh.size.min():
        raise MeshError(
            f"the undeformed body lies {1e3 * depth:.3g} mm deep in '{obstacle.name}': where does it stand, and which "
            "way out of it is the body?"
        )
    return Contact(shape, nodes, obstacle.friction if friction else 0.0)
