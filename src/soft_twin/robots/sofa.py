"""From the description of a body of finite elements to SOFA's twin of it."""

from typing import TYPE_CHECKING

import numpy as np

from soft_twin.errors import SoftTwinError, UsageError
from soft_twin.mechanics.model import Model
from soft_twin.mesh.embedding import cut_lines
from soft_twin.mesh.mesh import Mesh, split_faces
from soft_twin.mesh.tetrahedra import linear_tetrahedra
from soft_twin.robots.fem_meshes import build_mesh
from soft_twin.robots.fem_models import FemBuilder
from soft_twin.twins.sofa.moving import SofaDynamicTwin
from soft_twin.twins.sofa.scene import SofaCable, SofaChamber, SofaScene, scene_of
from soft_twin.twins.sofa.twin import SofaTwin

if TYPE_CHECKING:
    from soft_twin.descriptions.fem_actuators import FemCable
    from soft_twin.robots.fem_robot import FemRobot


def build_sofa_twin(robot: "FemRobot", mesh: Mesh | None = None, law: str | None = None) -> SofaTwin:
    """SOFA's twin of a robot, in a process of its own.

    Args:
        mesh: of linear tetrahedra; without: what the description's `sofa` asks for.
        law: of the model beside it; SOFA's own is its corotational one, with the moduli of small strains.

    Raises:
        UsageError: SOFA cannot be had, or something of the robot has no place in its scene: it is named.
        DescriptionError: see FemRobot.build_model.
    """
    model, scene = build_sofa_scene(robot, mesh, law)
    return SofaTwin(model, scene, float(model.body.mesh.size.max()), robot.build_frames(model.body))


def build_sofa_dynamic_twin(
    robot: "FemRobot", dt: float, mesh: Mesh | None = None, material: str | None = None
) -> SofaDynamicTwin:
    """SOFA's body in motion, in a process of its own, with the description's damping; arguments as above.

    Raises:
        UsageError: as above; or the robot has rigid plates or chambers.
    """
    own = [name for name, there in (("rigid plates", robot.plate_names), ("chambers", robot.chamber_names)) if there]
    if own:
        raise UsageError(f"a SOFA body in motion has cables alone, '{robot.name}' has {' and '.join(own)}")
    model, scene = build_sofa_scene(robot, mesh, material or "corotational")
    damping = robot.damping.rayleigh_mass, robot.damping.rayleigh_stiffness
    return SofaDynamicTwin(model, scene, robot.build_frames(model.body), dt, *damping)


def build_sofa_scene(robot: "FemRobot", mesh: Mesh | None = None, law: str | None = None) -> tuple[Model, SofaScene]:
    """The model and the scene of such a twin; arguments and errors as there."""
    if robot.obstacles:
        raise UsageError(f"a SOFA twin touches nothing, '{robot.name}' has obstacles: its twin is of backend 'fem'")
    if robot.muscle_names:
        raise UsageError(f"a SOFA twin is moved by cables and chambers, '{robot.name}' has muscles")
    model = FemBuilder(robot, mesh=sofa_mesh(robot) if mesh is None else mesh, law=law).model()
    description, body = robot.description, model.body.mesh
    cables = [_cable(robot, model, cable) for cable in description.cables]
    chambers = [SofaChamber(split_faces(body.surface(chamber.surface))) for chamber in description.chambers]
    tip = np.flatnonzero(robot.build_frames(model.body)["tip"].weights(body))
    return model, scene_of(model, [*cables, *chambers], tip)


def sofa_mesh(robot: "FemRobot") -> Mesh:
    """The linear tetrahedra that a robot's description asks for.

    Raises:
        DescriptionError: its mesh cannot be had, or cannot be cut: the key is named.
    """
    asked = robot.description.sofa
    keys = ("body", "mesh") if asked.mesh is None else ("sofa", "mesh")
    try:
        mesh = build_mesh(asked.mesh or robot.description.body.mesh, robot.path.resolve().parent)
        return linear_tetrahedra(mesh, asked.pieces)
    except SoftTwinError as error:
        raise robot.mistake(f"as SOFA's linear tetrahedra: {error}", *keys) from error


def _cable(robot: "FemRobot", model: Model, cable: "FemCable") -> SofaCable:
    if not cable.carried:
        return SofaCable(_way(model.body.mesh, np.array(cable.points or (cable.start, cable.end))))
    plates = [plate.nodes for plate in robot.description.body.plates]
    if cable.guides or cable.nodes not in plates:
        raise UsageError(
            f"cable '{cable.name}' has no place in a SOFA scene: outside the body one runs straight to a rigid plate"
        )
    return SofaCable(np.array([cable.start, cable.end]), plates.index(cable.nodes))


def _way(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """(p, 3) where a way along straight lines between points passes from cell to cell."""
    starts, ends = points[:-1], points[1:]
    way = [points[:1]]
    for start, end, (_, cuts) in zip(starts, ends, cut_lines(mesh, starts, ends), strict=True):
        way.append(start + cuts[1:, None] * (end - start))
    return np.vstack(way)
