"""Markers follow homogeneous deformations exactly, inside the body and in front of it."""

import numpy as np
import pytest

from soft_twin.calibration.distances import chamfer_distance, marker_error, nearest_distances
from soft_twin.calibration.markers import Markers
from soft_twin.mesh.generate.voxels import voxel_mesh

STRETCH = np.array([[1.05, 0.2, -0.1], [0.0, 0.9, 0.4], [0.3, 0.01, 1.2]])
PLACES = np.array([[0.5, 1.2, 1.9], [2.0, 2.0, 3.0], [1.0, -0.3, 1.0], [2.4, 2.3, 3.2], [0.7, 1.0, 3.5]])
OFFSETS = np.array([[0, 0, 0], [0, 0, 0], [0, -0.3, 0], [0.4, 0.3, 0.2], [0, 0, 0.5]])


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8", "hex20r"])
def test_markers_follow_homogeneous_deformations(element):
    mesh = voxel_mesh(np.ones((2, 2, 3), bool), 1.0, element)
    markers = Markers(mesh, PLACES)
    if element.startswith("hex"):
        assert np.abs(markers.offsets - OFFSETS).max() < 1e-12
    assert np.abs(markers.at(mesh.nodes) - PLACES).max() < 1e-12
    assert np.abs(markers.at(mesh.nodes @ STRETCH.T + 2.0) - PLACES @ STRETCH.T - 2.0).max() < 1e-12


def test_pulling_is_the_transpose_of_placing():
    mesh, rng = voxel_mesh(np.ones((2, 1, 1), bool), 1.0, "hex20r"), np.random.default_rng(2)
    markers = Markers(mesh, [[0.3, 1.4, 0.2], [1.9, 0.5, 0.5]])
    moved, pulled = rng.normal(size=mesh.nodes.shape), rng.normal(size=(2, 3))
    assert (markers.at(moved) * pulled).sum() == pytest.approx((moved * markers.pull(pulled)).sum())
    several = rng.normal(size=(*mesh.nodes.shape, 4))
    assert np.allclose(markers.at(several)[..., 1], markers.at(several[..., 1]))


def test_distances_are_those_of_the_formulas():
    found = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    measured = found + [0.0, 0.0, 2.0]
    assert marker_error(found, measured) == pytest.approx(2.0)
    assert chamfer_distance(found, measured) == pytest.approx(np.sqrt(4.0 + 4.0))
    assert nearest_distances(found, measured[:1]) == pytest.approx([2.0, np.sqrt(13.0)])
