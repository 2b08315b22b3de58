"""Triangles that enclose a body, and those that do not."""

import numpy as np
import pytest

from soft_twin.errors import MeshError
from soft_twin.mesh.closed_surface import check_closed
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import split_faces


def soup(points, triangles):
    """As STL files have them: each triangle has corners of its own, in single precision."""
    corners = points[triangles].astype(np.float32).astype(float).reshape(-1, 3)
    return corners, np.arange(len(corners)).reshape(-1, 3)


def block(occupied, shift=(0.0, 0.0, 0.0)):
    mesh = voxel_mesh(np.asarray(occupied), 0.01)
    return soup(mesh.nodes + shift, split_faces(np.vstack(list(mesh.surfaces.values()))))


def together(first, second):
    return np.vstack([first[0], second[0]]), np.vstack([first[1], second[1] + len(first[0])])


def hollow():
    occupied = np.ones((3, 3, 4))
    occupied[1, 1, 1:3] = 0.0
    return occupied


@pytest.mark.parametrize("occupied", [np.ones((2, 2, 3)), hollow()])
def test_blocks_with_hollows_and_without_are_closed(occupied):
    check_closed(*block(occupied, (0.03, -0.01, 0.0)))


def test_a_hole_is_named_by_its_place():
    points, triangles = block(np.ones((2, 2, 3)))
    with pytest.raises(MeshError, match=r"not closed: 3 edges .* near \(") as raised:
        check_closed(points, triangles[:-1])
    x, y, z = map(float, str(raised.value).split("near (")[1].split(")")[0].split(","))
    missing = points[triangles[-1]]
    assert (missing.min(axis=0) - 1e-6 <= [x, y, z]).all() and ([x, y, z] <= missing.max(axis=0) + 1e-6).all()


def test_triangles_that_are_there_twice_are_counted():
    points, triangles = block(np.ones((2, 2, 3)))
    with pytest.raises(MeshError, match="5 of its triangles are there twice"):
        check_closed(points, np.vstack([triangles, triangles[:5]]))


def test_bodies_beside_each_other_are_counted():
    with pytest.raises(MeshError, match="2 bodies beside each other"):
        check_closed(*together(block(np.ones((2, 2, 3))), block(np.ones((2, 2, 3)), (0.05, 0.0, 0.0))))


def test_no_triangles_are_no_body():
    with pytest.raises(MeshError, match="no triangles"):
        check_closed(np.zeros((0, 3)), np.zeros((0, 3), dtype=int))
