"""From a robot to the mechanics of the emulated one: another mesh perhaps, other parameters, cables that rub."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from soft_twin.errors import UsageError
from soft_twin.robots.base import Robot
from soft_twin.robots.cable_tube import CableTube
from soft_twin.robots.fem_robot import FemRobot

if TYPE_CHECKING:
    from soft_twin.mechanics.model import Model
    from soft_twin.twins.frames import Frame

TUBE_MESH = "plant"  # of a tube's meshes, where it has one of that name


@dataclass(frozen=True)
class EmulatedBody:
    """A model, its frames by name, of which one is "tip", and Rayleigh's damping: α [1/s], β [s]."""

    model: "Model"
    frames: "Mapping[str, Frame]"
    mass_damping: float
    stiffness_damping: float


def emulated_body(robot: Robot, mesh: str | None = None) -> EmulatedBody:
    """The emulated robot's body. `mesh`: of a tube's, by its name, if another one than "plant".

    Raises:
        UsageError: the robot has no body of finite elements.
    """
    if isinstance(robot, CableTube):
        return _tube(robot, mesh)
    if isinstance(robot, FemRobot):
        return _fem(robot)
    raise UsageError(f"robot '{robot.name}' has no body of finite elements to emulate")


def _tube(robot: CableTube, mesh: str | None) -> EmulatedBody:
    from soft_twin.robots.cable_tube_models import build_cable_tube_model
    from soft_twin.twins.frames import SectionFrame

    own, damping = robot.emulated, robot.body.damping
    scales = {"scale_e": own.young_modulus_scale, "scale_rho": own.density_scale}
    name = mesh or (TUBE_MESH if TUBE_MESH in robot.body.meshes else None)
    model = _rubbing(build_cable_tube_model(robot, name, **scales), own.cable_friction)
    frames = {"tip": SectionFrame(robot.body.length)}
    return EmulatedBody(model, frames, damping.rayleigh_mass, damping.rayleigh_stiffness)


def _fem(robot: FemRobot) -> EmulatedBody:
    from soft_twin.mechanics.body import nodes_of
    from soft_twin.twins.frames import NodesFrame

    damping = robot.description.body.damping
    model = robot.build_model()
    rest = model.body.mesh.nodes
    frames = {
        name: NodesFrame(nodes_of(model.body, frame.nodes, f"frames.{name}"), rest)
        for name, frame in robot.description.frames.items()
    }
    return EmulatedBody(model, frames, damping.rayleigh_mass, damping.rayleigh_stiffness)


def _rubbing(model: "Model", friction: float) -> "Model":
    """The model with cables that rub."""
    from soft_twin.mechanics.actuators.cables import CableActuators

    for part in model.actuators.parts:
        if isinstance(part, CableActuators):
            part.friction = friction
    return model
