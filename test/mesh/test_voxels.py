"""Voxel meshes: counts, volumes, names."""

import numpy as np
import pytest

from soft_twin.errors import MeshError
from soft_twin.mesh.generate.hollows import hollowed
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import jacobians
from soft_twin.mesh.selection import enclosed_volume


def hollow_box():
    """4 × 4 × 5 voxels with a hollow of 2 × 2 × 2 and a lid of another label."""
    grid = np.ones((4, 4, 5), int)
    grid[1:3, 1:3, 1:3] = 0
    grid[:, :, 4] = 2
    return grid


@pytest.mark.parametrize(("element", "nodes"), [("hex8", 149), ("hex20r", 508)])
def test_a_hollow_box(element, nodes):
    mesh = voxel_mesh(hollow_box(), 0.01, element, {1: "body", 2: "lid"})
    assert (len(mesh.cells), len(mesh.nodes)) == (72, nodes)
    assert (jacobians(mesh)[1] * mesh.element.weights).sum() == pytest.approx(72e-6)
    assert [len(mesh.volume(name)) for name in ("body", "lid")] == [56, 16]
    assert {name: len(faces) for name, faces in mesh.surfaces.items()} == {
        "base": 16, "tip": 16, "outside": 80, "chamber 1": 24,
    }  # fmt: skip
    assert enclosed_volume(mesh.nodes, mesh.surface("chamber 1")) == pytest.approx(-8e-6)
    np.testing.assert_allclose(mesh.size, [0.04, 0.04, 0.05])


@pytest.mark.parametrize("element", ["tet4", "tet10"])
def test_voxels_may_be_cut_into_tetrahedra(element):
    mesh = voxel_mesh(hollow_box(), 0.01, element, {2: "lid"})
    assert len(mesh.cells) == 6 * 72
    assert (jacobians(mesh)[1] * mesh.element.weights).sum() == pytest.approx(72e-6)
    assert len(mesh.volume("lid")) == 6 * 16
    assert {name: len(faces) for name, faces in mesh.surfaces.items()} == {
        "base": 32, "tip": 32, "outside": 160, "chamber 1": 48,
    }  # fmt: skip


def test_edges_may_differ():
    np.testing.assert_allclose(voxel_mesh(np.ones((2, 2, 2), bool), np.array([1.0, 2.0, 3.0])).size, [2.0, 4.0, 6.0])


def test_grids_that_make_no_body_are_refused():
    apart = np.zeros((3, 1, 1), bool)
    apart[[0, 2]] = True
    with pytest.raises(MeshError, match="2 parts"):
        voxel_mesh(apart, 1.0)
    with pytest.raises(MeshError, match="some occupied"):
        voxel_mesh(np.zeros((2, 2, 2), bool), 1.0)
    with pytest.raises(MeshError, match="no voxel has label 3 .'muscle'.: there are 1, 2"):
        voxel_mesh(hollow_box(), 1.0, labels={3: "muscle"})


def test_a_hollow_cannot_take_the_name_of_a_surface_of_the_block():
    mesh = voxel_mesh(np.ones((4, 4, 5), bool), 0.01)
    with pytest.raises(MeshError, match="'tip' is a surface of its own, as are base, tip, outside: call the"):
        hollowed(mesh, [("tip", np.arange(len(mesh.cells)) == 42)])
