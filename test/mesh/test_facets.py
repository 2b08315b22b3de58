"""Triangles on surfaces of meshes: closed, outward, and as curved as the elements' faces."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from soft_twin.learning.flattening import boundary_loops
from soft_twin.mesh.facets import facets
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import split_faces

RADIUS, LENGTH = 0.02, 0.1


def areas(points, triangles):
    corners = points[triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return 0.5 * np.linalg.norm(across, axis=1), across, corners.mean(axis=1)


@pytest.mark.parametrize("element", ["hex8", "hex20r"])
def test_of_one_part_points_are_the_nodes(element):
    mesh = sweep_tube(0.01, RADIUS, LENGTH, (1, 6, 3), element)
    found = facets(mesh, mesh.surface("outside"))
    nodes = np.unique(mesh.surface("outside"))
    np.testing.assert_array_equal(found.weights @ mesh.nodes, mesh.nodes[nodes])
    np.testing.assert_array_equal(nodes[found.triangles], split_faces(mesh.surface("outside")))


def test_finer_parts_lie_on_the_curved_faces():
    mesh = sweep_tube(0.01, RADIUS, LENGTH, (1, 6, 3), "hex20r")
    found = facets(mesh, mesh.surface("outside"), 4)
    points = found.weights @ mesh.nodes
    assert points.shape == (24 * 13, 3) and found.triangles.shape == (2 * 24 * 12, 3)
    assert len(np.unique(points.round(9), axis=0)) == len(points)
    # a parabola through an arc of 60° and its middle: off the circle by less than r θ⁴ / 500
    np.testing.assert_allclose(np.hypot(*points[:, :2].T), RADIUS, atol=RADIUS * (np.pi / 3.0) ** 4 / 500.0)
    area, across, middles = areas(points, found.triangles)
    assert (np.einsum("ti,ti->t", across[:, :2], middles[:, :2]) > 0.0).all()
    polygon = 24 * 2.0 * RADIUS * np.sin(np.pi / 24) * LENGTH
    assert area.sum() == pytest.approx(polygon, rel=2e-3)
    assert [len(loop) for loop in boundary_loops(found.triangles)] == [24, 24]


def test_they_follow_the_element_when_it_is_deformed():
    mesh = sweep_tube(0.01, RADIUS, LENGTH, (1, 6, 3), "hex20r")
    found = facets(mesh, mesh.surface("outside"), 3)
    points = found.weights @ mesh.nodes
    turned = np.array([[1.1, 0.2, 0.0], [-0.1, 0.9, 0.3], [0.05, 0.0, 1.2]])
    np.testing.assert_allclose(found.weights @ (mesh.nodes @ turned + 0.01), points @ turned + 0.01, atol=1e-15)
    np.testing.assert_allclose(np.asarray(found.weights.sum(axis=1)).ravel(), 1.0, atol=1e-12)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_closed_surfaces_of_any_element_stay_closed(element):
    mesh = voxel_mesh(np.ones((2, 1, 1), int), 0.1, element)
    faces = np.vstack([mesh.surface(name) for name in ("base", "tip", "outside")])
    found = facets(mesh, faces, 3)
    points = found.weights @ mesh.nodes
    area, across, _ = areas(points, found.triangles)
    assert area.sum() == pytest.approx(0.1**2 * 10.0)
    np.testing.assert_allclose(across.sum(axis=0), 0.0, atol=1e-15)
    assert np.einsum("ti,ti->", across, points[found.triangles[:, 0]]) / 6.0 == pytest.approx(0.1**2 * 0.2)
    assert boundary_loops(found.triangles) == []


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8", "hex20r"])
def test_what_is_between_the_points_lies_on_the_elements_faces(element, parts):
    """Middles of triangles are among the points of faces that are cut six times as finely, however they are bent."""
    mesh = voxel_mesh(np.ones((2, 1, 1), int), 0.1, element)
    found, finer = (facets(mesh, mesh.surface("outside"), each) for each in (parts, 6 * parts))
    nodes = mesh.nodes + np.random.default_rng(parts).normal(0.0, 0.01, mesh.nodes.shape)
    between = found.between @ (found.weights @ nodes)
    assert between.shape == found.triangles.shape
    away, _ = cKDTree(finer.weights @ nodes).query(between)
    assert away.max() < 1e-12
    flat = (found.weights @ mesh.nodes)[found.triangles].mean(axis=1)
    np.testing.assert_allclose(found.between @ (found.weights @ mesh.nodes), flat, atol=1e-12)
