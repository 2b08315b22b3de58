"""The mesh of a body of finite elements: read from the file beside its description, or generated."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.mesh.files import read_mesh
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh, check_unit

if TYPE_CHECKING:
    from soft_twin.descriptions import fem_robot as descriptions
    from soft_twin.robots.fem_robot import FemRobot


def build_mesh(robot: "FemRobot") -> Mesh:
    """The mesh that a robot's description asks for.

    Raises:
        MeshError: its file is missing, broken, or of another size; or what it describes is no body.
    """
    source = robot.description.body.mesh
    if source.voxels is not None:
        return _voxels(source.voxels)
    path = robot.path.resolve().parent / source.file
    mesh = read_mesh(path)
    check_unit(mesh, np.array(source.size), str(path))
    return mesh


def _voxels(source: "descriptions.Voxels") -> Mesh:
    """The block, with the middle of its lowest face at the origin."""
    occupied = np.ones(source.cells, dtype=bool)
    for hollow in source.hollows:
        occupied[tuple(slice(low, high + 1) for low, high in zip(hollow.first, hollow.last, strict=True))] = False
    size = np.array(source.size)
    mesh = voxel_mesh(occupied, size / source.cells, source.element)
    return replace(mesh, nodes=mesh.nodes - [0.5 * size[0], 0.5 * size[1], 0.0])
