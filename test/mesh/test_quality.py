"""Quality of meshes whose shapes are known."""

import numpy as np
import pytest
from bodies import distorted_block

from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh, make_mesh
from soft_twin.mesh.quality import quality, scaled_jacobians


def single(element, nodes):
    return make_mesh(nodes, [np.arange(len(nodes))], element)


@pytest.mark.parametrize("name", ["tet4", "tet10"])
def test_a_regular_tetrahedron_is_perfect(name):
    regular = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)[[0, 2, 1, 3]]
    element = ELEMENTS[name]
    shape = np.column_stack([1.0 - element.nodes.sum(axis=1), element.nodes])
    assert scaled_jacobians(single(element, shape @ regular))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["hex8", "hex20", "hex20r"])
def test_a_box_is_perfect_and_a_sheared_one_is_its_angles_sine(name):
    box = ELEMENTS[name].nodes * [1.0, 2.0, 0.1]
    assert scaled_jacobians(single(ELEMENTS[name], box))[0] == pytest.approx(1.0)
    sheared = ELEMENTS[name].nodes @ np.array([[1.0, 0.0, 0.0], [np.sqrt(3.0), 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert scaled_jacobians(single(ELEMENTS[name], sheared))[0] == pytest.approx(0.5)


def test_a_broken_mesh_is_described():
    """One cell inverted, one flat, and a part that floats."""
    block = distorted_block("tet4")
    cells = np.vstack([block.cells, block.cells[:1] + len(block.nodes)])
    nodes = np.vstack([block.nodes, block.nodes + 10.0])
    cells[3] = cells[3][[0, 2, 1, 3]]
    report = quality(make_mesh(nodes, cells, block.element, groups={"a": [0, 1]}, check=False))
    assert report.inverted == 1
    assert report.worst_cell == 3
    assert report.pieces == (36, 4)
    assert report.histogram.sum() == len(cells) - 1
    assert "1 inverted" in report.table() and "a (2)" in report.table()
    flat = block.nodes * [1.0, 1.0, 1e-10]
    assert quality(Mesh(flat, block.cells, block.element)).slivers == len(block.cells)


@pytest.mark.parametrize("element", ["hex8", "hex20r", "tet4"])
def test_voxels_that_share_an_edge_only_are_told_as_a_hinge(element):
    grid = np.zeros((2, 2, 2), bool)
    grid[0, 0], grid[1, 1] = True, True
    report = quality(voxel_mesh(grid, 1.0, element))
    assert (len(report.pieces), report.hinges) == (1, 1)
    assert "1 more where cells share an edge" in report.table()
    assert quality(voxel_mesh(np.ones((2, 2, 2), bool), 1.0, element)).hinges == 0
