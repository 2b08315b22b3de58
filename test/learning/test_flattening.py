"""Surfaces onto the unit square: closed forms on squares and tubes, and what cannot be flattened is told."""

import numpy as np
import pytest

from soft_twin.errors import MeshError
from soft_twin.learning.flattening import boundary_loops, flattened, mean_value_weights, opened


def sheet(n=6, m=5, random=None):
    """A square of (n − 1) x (m − 1) cells, cut into triangles; inner points moved at random."""
    u, v = np.meshgrid(np.linspace(0.0, 1.0, n), np.linspace(0.0, 1.0, m), indexing="ij")
    points = np.column_stack([u.ravel(), v.ravel(), np.zeros(n * m)])
    if random is not None:
        inner = (np.abs(points[:, :2] - 0.5) < 0.49).all(axis=1)
        points[inner, :2] += random.uniform(-0.2, 0.2, (inner.sum(), 2)) / [n, m]
    corner = (np.arange(n - 1)[:, None] * m + np.arange(m - 1)).ravel()
    quads = np.column_stack([corner, corner + m, corner + m + 1, corner + 1])
    return points, np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def tube(around=12, along=7, radius=0.1, length=0.5):
    angle, z = np.meshgrid(2.0 * np.pi * np.arange(around) / around, np.linspace(0.0, length, along), indexing="ij")
    points = np.column_stack([radius * np.cos(angle.ravel()), radius * np.sin(angle.ravel()), z.ravel()])
    i, j = (each.ravel() for each in np.meshgrid(np.arange(around), np.arange(along - 1), indexing="ij"))
    a, b = i * along + j, (i + 1) % around * along + j
    return points, np.vstack([np.column_stack([a, b, b + 1]), np.column_stack([a, b + 1, a + 1])])


def test_weights_reproduce_points_of_a_plane():
    points, triangles = sheet(random=np.random.default_rng(0))
    weights = mean_value_weights(points, triangles)
    inner = (np.abs(points[:, :2] - 0.5) < 0.49).all(axis=1)
    mean = (weights @ points) / np.asarray(weights.sum(axis=1))
    assert (weights.data > 0.0).all()
    np.testing.assert_allclose(mean[inner], points[inner], atol=1e-14)


def test_a_square_is_its_own_parameters():
    points, triangles = sheet(random=np.random.default_rng(1))
    disc = opened(points, triangles)
    uv = flattened(points, disc)
    origin, along = uv[0], uv[1] - uv[0]  # the first corner may be any of the four
    turn = np.array([[along[1], -along[0]], [along[0], along[1]]]) / np.linalg.norm(along)
    expected = (points[:, :2] - 0.5) @ np.round(turn) + 0.5
    assert np.abs(origin - np.round(origin)).max() < 1e-12
    np.testing.assert_allclose(uv, expected, atol=1e-12)


def test_a_bent_square_is_flattened_without_turning_a_triangle_over():
    points, triangles = sheet(9, 9, np.random.default_rng(2))
    points[:, 2] = 0.5 * np.exp(-8.0 * ((points[:, :2] - 0.5) ** 2).sum(axis=1))
    uv = flattened(points, opened(points, triangles))
    a, b = uv[triangles[:, 1]] - uv[triangles[:, 0]], uv[triangles[:, 2]] - uv[triangles[:, 0]]
    assert (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).min() > 0.0
    assert uv.min() >= 0.0 and uv.max() <= 1.0


def test_a_tube_is_cut_along_its_shortest_side_and_becomes_a_square():
    points, triangles = tube()
    disc = opened(points, triangles)
    assert len(disc.source) == len(points) + 7  # the cut has its points twice
    uv = flattened(points, disc)
    around, along = (
        (uv[:, 0], uv[:, 1]) if abs(np.corrcoef(uv[:, 1], points[disc.source, 2])[0, 1]) > 0.99 else uv.T[::-1]
    )
    share = points[disc.source, 2] / 0.5
    assert min(np.abs(along - share).max(), np.abs(along - 1.0 + share).max()) < 1e-9
    twins = uv[len(points) :] - uv[disc.source[len(points) :]]
    np.testing.assert_allclose(np.abs(twins).max(axis=1), 1.0, atol=1e-12)
    assert len(np.unique(np.round(around, 9))) == 13


def test_what_cannot_be_flattened_is_told():
    points, triangles = sheet()
    sphere = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    with pytest.raises(MeshError, match="it is closed"):
        opened(np.vstack([np.zeros(3), np.eye(3)]), sphere)
    with pytest.raises(MeshError, match="2 parts"):
        opened(np.vstack([points, points + 2.0]), np.vstack([triangles, triangles + len(points)]))
    with pytest.raises(MeshError, match="turned over"):
        opened(points, np.vstack([triangles[:-1], triangles[-1:, ::-1]]))
    holes = np.delete(triangles, [5, 25, 14, 34], axis=0)  # two quads inside
    with pytest.raises(MeshError, match="3 boundaries"):
        opened(points, holes)
    with pytest.raises(MeshError, match="touches itself"):
        boundary_loops(np.array([[0, 1, 2], [2, 3, 4]]))
    flat = points.copy()
    flat[:, 1] = 0.0
    for none in (flat, 0.0 * points):
        with pytest.raises(MeshError, match="no length"), np.errstate(all="raise"):
            flattened(none, opened(points, triangles))
    folded = points.copy()
    folded[7] = folded[6]
    with pytest.raises(MeshError, match="without area"):
        flattened(folded, opened(points, triangles))
