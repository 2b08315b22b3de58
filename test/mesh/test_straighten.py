"""Curved quadratic cells that fold, and what makes them valid."""

import numpy as np
import pytest
from bodies import distorted_block

from soft_twin.errors import MeshError
from soft_twin.mesh.generate.gmsh_tube import tube_tetrahedra
from soft_twin.mesh.mesh import Mesh, jacobians
from soft_twin.mesh.quality import quality
from soft_twin.mesh.straighten import LEAST, straightened


def folded_block():
    """A block of quadratic tetrahedra with one mid-side node pushed far along its edge."""
    mesh = distorted_block("tet10")
    nodes = mesh.nodes.copy()
    nodes[mesh.cells[0, 4]] += 0.4 * (nodes[mesh.cells[0, 1]] - nodes[mesh.cells[0, 0]])
    return Mesh(nodes, mesh.cells, mesh.element)


def test_only_the_folded_cells_nodes_move_and_no_corner():
    mesh = folded_block()
    assert quality(mesh).inverted > 0
    better = straightened(mesh)
    assert quality(better).inverted == 0
    points = np.vstack([mesh.element.nodes, mesh.element.points])
    straight = jacobians(distorted_block("tet10"), points)[1].min(axis=1)
    assert (jacobians(better, points)[1].min(axis=1) >= LEAST * straight - 1e-12).all()
    moved = np.flatnonzero(np.abs(better.nodes - mesh.nodes).max(axis=1) > 0.0)
    np.testing.assert_array_equal(moved, [mesh.cells[0, 4]])


def test_a_valid_mesh_stays_as_it_is():
    mesh = distorted_block("tet10")
    np.testing.assert_allclose(straightened(mesh).nodes, mesh.nodes, atol=1e-15)


def test_coarse_quadratic_tubes_are_valid_and_named():
    pytest.importorskip("gmsh", exc_type=ImportError)
    mesh = tube_tetrahedra(0.0018, 0.0045, 0.05, 0.004, order=2)
    report = quality(mesh)
    assert report.inverted == 0
    assert report.volume == pytest.approx(np.pi * (0.0045**2 - 0.0018**2) * 0.05, rel=0.03)
    assert sorted(mesh.surfaces) == ["base", "lumen", "outside", "tip"]
    np.testing.assert_allclose(mesh.nodes[mesh.group("tip")][:, 2], 0.05, atol=1e-9)


def test_linear_cells_have_nothing_to_straighten():
    with pytest.raises(MeshError, match="tet4 has no mid-side nodes"):
        straightened(distorted_block("tet4"))
