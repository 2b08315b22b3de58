"""Emulated motion capture: markers stick to their material, and are missed where too few cameras see them."""

import numpy as np
import pytest

from soft_twin.descriptions.learning import Markers
from soft_twin.emulation.motion_capture import capture, spread_markers
from soft_twin.errors import DescriptionError
from soft_twin.mesh.facets import facets
from soft_twin.mesh.generate.sweep import sweep_tube

RADIUS, LENGTH = 0.02, 0.1
AROUND = [[0.5, 0.0, 0.05], [-0.25, 0.433, 0.05], [-0.25, -0.433, 0.05]]


@pytest.fixture(scope="module")
def tube():
    mesh = sweep_tube(0.01, RADIUS, LENGTH, (1, 8, 4), "hex20r")
    found = facets(mesh, mesh.surface("outside"), 3)
    return found.weights @ mesh.nodes, found.triangles


@pytest.fixture(scope="module")
def places(tube):
    return spread_markers(*tube, 40, np.random.default_rng(1))


def test_markers_are_spread_over_the_whole_surface(tube, places):
    points, _ = tube
    x = places.at(points)
    assert x.shape == (40, 3)
    apart = np.linalg.norm(x[:, None] - x, axis=2) + np.eye(40)
    even = np.sqrt(2.0 * np.pi * RADIUS * LENGTH / 40)
    assert apart.min() > 0.6 * even
    assert np.linalg.norm(points[:, None] - x, axis=2).min(axis=1).max() < 1.2 * even


def test_markers_move_with_their_material(tube, places):
    points, triangles = tube
    turned = points @ np.array([[0.9, 0.1, 0.0], [0.0, 1.1, 0.2], [0.1, 0.0, 1.3]]) + 0.01
    markers = Markers(eyes=AROUND, views=1, noise=0.0, steepest_deg=90.0)
    seen = capture(turned, triangles, places, markers, np.random.default_rng(2))
    there = np.isfinite(seen).all(axis=1)
    assert there.sum() > 35
    moved = places.at(points) @ np.array([[0.9, 0.1, 0.0], [0.0, 1.1, 0.2], [0.1, 0.0, 1.3]]) + 0.01
    np.testing.assert_allclose(seen[there], moved[there], atol=1e-12)


def test_a_marker_on_the_far_side_is_missed(tube, places):
    points, triangles = tube
    angle = np.degrees(np.arctan2(*places.at(points)[:, 1::-1].T))
    one = Markers(eyes=AROUND[:1], views=1, noise=0.0, steepest_deg=70.0)
    there = np.isfinite(capture(points, triangles, places, one, np.random.default_rng(0))).all(axis=1)
    assert not there[np.abs(angle) > 72.0].any() and there[np.abs(angle) < 60.0].all()
    two = Markers(eyes=AROUND, views=2, noise=0.0, steepest_deg=70.0)
    there = np.isfinite(capture(points, triangles, places, two, np.random.default_rng(0))).all(axis=1)
    off = np.abs((angle[:, None] - np.array([0.0, 120.0, -120.0]) + 180.0) % 360.0 - 180.0)
    views = (off < 60.0).sum(axis=1), (off < 72.0).sum(axis=1)  # surely, and perhaps
    assert there[views[0] >= 2].all() and not there[views[1] < 2].any()


def test_what_stands_between_hides_a_marker(tube, places):
    points, triangles = tube
    wall = np.array([[0.1, -1.0, -1.0], [0.1, 1.0, -1.0], [0.1, 0.0, 2.0]])
    whole, both = np.vstack([points, wall]), np.vstack([triangles, len(points) + np.arange(3)])
    one = Markers(eyes=AROUND[:1], views=1, noise=0.0)
    assert np.isfinite(capture(points, triangles, places, one, np.random.default_rng(0))).any()
    assert not np.isfinite(capture(whole, both, places, one, np.random.default_rng(0))).any()


def test_noise_is_as_large_as_it_says(tube):
    points, triangles = tube
    many = spread_markers(points, triangles, 300, np.random.default_rng(3))
    markers = Markers(eyes=AROUND, views=1, noise=1e-3)
    seen = capture(points, triangles, many, markers, np.random.default_rng(4))
    off = (seen - many.at(points))[np.isfinite(seen).all(axis=1)]
    assert off.std() == pytest.approx(1e-3, rel=0.1) and np.abs(off.mean()) < 2e-4


def test_more_views_than_eyes_are_refused():
    with pytest.raises((ValueError, DescriptionError), match="4 views of 3 eyes"):
        Markers(eyes=AROUND, views=4)
