"""The meshes of a cable tube: those of its description by name, or anybody's.

Meshes that are swept follow the description by themselves. One that is read from a file was made for some length: for
another it is stretched along the axis, which no cell minds.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.descriptions.fem_mesh import MeshSource
from soft_twin.descriptions.long_form import mesh_source
from soft_twin.errors import MeshError, UsageError
from soft_twin.mesh.elements import element_named
from soft_twin.mesh.mesh import Mesh, check_unit, make_mesh
from soft_twin.robots.fem_meshes import build_mesh, read_source, with_surfaces

if TYPE_CHECKING:
    from soft_twin.descriptions.cable_tube import MeshChoice
    from soft_twin.robots.cable_tube import CableTube

LONGEST, SHORTEST = 2.0, 0.5  # times its length that a mesh is stretched to
ROUND = 0.05  # of the body's diameter that a mesh's may be off: chords of a circle


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
        return described_mesh(robot, choice if element is None else choice.model_copy(update={"element": element}))
    elif Path(mesh).suffix == "":
        raise UsageError(f"no mesh '{mesh}': there are {', '.join(body.meshes)}, or give the path of a mesh file")
    else:
        from soft_twin.mesh.files import read_mesh  # here, since loading meshio takes a fifth of a second

        found, name = read_mesh(Path(mesh), kind), str(mesh)
    check_unit(found, np.array([body.outer_diameter, body.outer_diameter, body.length]), name)
    return with_surfaces(found)


def described_mesh(robot: "CableTube", choice: "MeshChoice") -> Mesh:
    """A mesh of the description, as long as that says.

    Raises:
        MeshError: its file is missing, broken, or of a tube of another section or of quite another length.
    """
    body, folder = robot.body, robot.path.resolve().parent
    if choice.file is None:
        return build_mesh(MeshSource.model_validate(mesh_source(body, choice)), folder)
    mesh = read_source(choice.file, choice.element, folder)
    radii = np.hypot(*mesh.nodes[:, :2].T)
    found = np.array([2.0 * radii.min(), 2.0 * radii.max(), mesh.size[2]])
    wanted = np.array([body.lumen_diameter, body.outer_diameter, body.length])
    off = np.abs(found[:2] - wanted[:2]).max() > ROUND * body.outer_diameter
    if off or not SHORTEST <= body.length / found[2] <= LONGEST:
        check_unit(mesh, wanted[[1, 1, 2]], choice.file)
        lumen, outer, length = (f"{1e3 * value:.4g}" for value in found)
        raise MeshError(
            f"{choice.file}: a tube of {outer} mm, lumen {lumen} mm, length {length} mm; the description says "
            f"{1e3 * wanted[1]:.4g}, {1e3 * wanted[0]:.4g}, {1e3 * wanted[2]:.4g} mm: `soft-twin mesh {robot.path} "
            f"--out {robot.path.resolve().parent}` makes it anew"
        )
    return replace(mesh, nodes=mesh.nodes * [1.0, 1.0, body.length / found[2]])
