"""From a cable-driven tube to its mesh, body, cables, model and twins."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.resources import folder

if TYPE_CHECKING:
    from soft_twin.mechanics.body import Body
    from soft_twin.mechanics.model import Model
    from soft_twin.mesh.mesh import Mesh
    from soft_twin.robots.cable_tube import CableTube
    from soft_twin.twins.base import Twin
    from soft_twin.twins.rod import RodDynamics


def build_cable_tube_twin(robot: "CableTube", backend: str, mesh, element: str | None, material: str | None) -> "Twin":
    """A twin of a cable-driven tube; see `CableTube.build_twin`."""
    builders = {"fem": _build_fem, "rod": _build_rod}
    if backend not in builders:
        raise UsageError(f"no twin '{backend}': there are {', '.join(builders)}")
    return builders[backend](robot, mesh, element, material)


def build_rod_dynamics(robot: "CableTube", dt: float, backend: str, **choices) -> "RodDynamics":
    """A cable-driven tube in motion, as a rod; see `CableTube.build_dynamics`."""
    from soft_twin.twins.rod import RodDynamics

    if backend != "rod":
        raise UsageError(f"no dynamics '{backend}': there are fem, rod")
    damping = robot.damping.rayleigh_mass, robot.damping.rayleigh_stiffness
    return RodDynamics(robot.build_twin(backend, **choices), dt, *damping)


def build_cable_tube_body(
    robot: "CableTube", mesh=None, element=None, material=None, scale_e=1.0, scale_rho=1.0
) -> "Body":
    """The finite element body of a cable-driven tube, clamped at its base; E and ρ scaled for an emulated robot."""
    from soft_twin.mechanics.body import Body, Material
    from soft_twin.mechanics.materials import energy_named

    description = robot.body.material
    law = energy_named(material or description.model, scale_e * description.young_modulus, description.poisson_ratio)
    tube = robot_mesh(robot, mesh, element)
    material = Material(law, scale_rho * description.density)
    return Body(tube, material, tube.nodes[:, 2] < 1e-6 * robot.body.length)


def robot_mesh(robot: "CableTube", mesh=None, element: str | None = None) -> "Mesh":
    """A mesh by its name in the description, by a file's path, or from (nodes, cells); the description's by default.

    Raises:
        UsageError: no such mesh or element.
        MeshError: missing, broken, or of another size than the description says.
    """
    from soft_twin.mesh.elements import element_named
    from soft_twin.mesh.files import read_mesh
    from soft_twin.mesh.mesh import check_unit, make_mesh

    body = robot.body
    if isinstance(mesh, tuple):
        result, name = make_mesh(*mesh, element_named(element or body.meshes[body.mesh].element)), "mesh"
    else:
        if mesh is None:
            fitting = [key for key, value in body.meshes.items() if element in (None, value.element)]
            mesh = body.mesh if body.mesh in fitting else next(iter(fitting), body.mesh)
        choice = body.meshes.get(str(mesh))
        if choice is None and Path(mesh).suffix == "":
            raise UsageError(f"no mesh '{mesh}': there are {', '.join(body.meshes)}, or give the path of a mesh file")
        path = Path(mesh) if choice is None else folder("meshes") / choice.file
        default = body.meshes[body.mesh].element if choice is None else choice.element
        result, name = read_mesh(path, element_named(element or default)), str(path)
    check_unit(result, np.array([body.outer_diameter, body.outer_diameter, body.length]), name)
    return result


def build_cables(robot: "CableTube", mesh: "Mesh"):
    """The robot's cables threaded through a mesh of its body."""
    from soft_twin.mechanics.cables import Cables

    starts = np.array([[*cable.position, 0.0] for cable in robot.cables])
    ends = np.array([[*cable.position, cable.length] for cable in robot.cables])
    return Cables(mesh, starts, ends)


def _build_fem(robot: "CableTube", mesh, element, material) -> "Twin":
    from soft_twin.twins.finite_element import FemTwin

    return FemTwin(build_cable_tube_model(robot, mesh, element, material), robot.body.length)


def build_cable_tube_model(
    robot: "CableTube", mesh=None, element=None, material=None, friction: float = 0.0, **scales: float
) -> "Model":
    """The mechanics of a cable-driven tube: its body, weight and cables, with the cables' friction; scales as in
    `build_cable_tube_body`."""
    from soft_twin.mechanics.actuators.cables import CableActuators
    from soft_twin.mechanics.loads.loads import Gravity
    from soft_twin.mechanics.model import Model

    body = build_cable_tube_body(robot, mesh, element, material, **scales)
    cables = CableActuators(build_cables(robot, body.mesh), robot.cable_stiffness, robot.cable_names, friction)
    return Model(body, [Gravity()], actuators=[cables])


def _build_rod(robot: "CableTube", mesh, element, material) -> "Twin":
    """A rod has the tube's section; meshes, elements and laws are not for it."""
    from soft_twin.twins.rod import RodTwin, Section

    given = [
        name for name, value in (("mesh", mesh), ("element", element), ("material", material)) if value is not None
    ]
    if given:
        raise UsageError(f"a rod twin takes no {' and no '.join(given)}: they are for backend 'fem'")
    body, law = robot.body, robot.body.material
    radii = 0.5 * body.outer_diameter, 0.5 * body.lumen_diameter
    return RodTwin(
        Section.of_tube(*radii, law.young_modulus, law.poisson_ratio, law.density),
        body.segment_lengths,
        np.array([cable.position for cable in robot.cables]),
        np.array([cable.length for cable in robot.cables]),
        robot.cable_stiffness,
    )
