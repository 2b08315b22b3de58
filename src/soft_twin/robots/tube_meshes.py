"""The meshes of a cable tube: those of its description by name, or anybody's."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.descriptions.fem_mesh import MeshSource
from soft_twin.descriptions.long_form import mesh_source
from soft_twin.errors import UsageError
from soft_twin.mesh.elements import element_named
from soft_twin.mesh.files import read_mesh
from soft_twin.mesh.mesh import Mesh, check_unit, make_mesh
from soft_twin.robots.fem_meshes import build_mesh, with_surfaces

if TYPE_CHECKING:
    from soft_twin.robots.cable_tube import CableTube


def tube_mesh(robot: "CableTube", mesh, element: str | None) -> Mesh:
    """See `CableTube.build_mesh`."""
    body = robot.body
    if mesh is None:
        fitting = [name for name, choice in body.meshes.items() if element in (None, choice.element)]
        mesh = body.mesh if body.mesh in fitting else next(iter(fitting), body.mesh)
    kind = element_named(element or body.meshes[body.mesh].element)
    if isinstance(mesh, tuple):
        found, name = make_mesh(*mesh, kind), "mesh"
    elif str(mesh) in body.meshes:
        choice = body.meshes[str(mesh)]
        chosen = choice if element is None else choice.model_copy(update={"element": element})
        return build_mesh(MeshSource.model_validate(mesh_source(body, chosen)), robot.path.resolve().parent)
    elif Path(mesh).suffix == "":
        raise UsageError(f"no mesh '{mesh}': there are {', '.join(body.meshes)}, or give the path of a mesh file")
    else:
        found, name = read_mesh(Path(mesh), kind), str(mesh)
    check_unit(found, np.array([body.outer_diameter, body.outer_diameter, body.length]), name)
    return with_surfaces(found)
