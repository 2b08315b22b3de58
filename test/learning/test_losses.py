"""Losses and warp against numpy, by hand; networks before and after they are folded."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import equinox as eqx
import jax
import jax.numpy as jnp

from soft_twin.learning.left_out import simplest_alike
from soft_twin.learning.losses import Cloud, cloud_loss, marker_loss, nearest, squared_distances
from soft_twin.learning.networks import Perceptron
from soft_twin.learning.warp import incompatibility, warped

RANDOM = np.random.default_rng(0)


def arrays(*shapes):
    return [RANDOM.normal(size=shape).astype(np.float32) for shape in shapes]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_folded_network_says_what_the_trained_one_said_of_all_its_data():
    network = Perceptron([4, 16, 8, 3], jax.random.key(1))
    (x,) = arrays((50, 4))
    said, folded = eqx.filter_jit(lambda n, x: (n(x), n.folded(x)(x)))(network, x)
    np.testing.assert_allclose(said, folded, atol=1e-5)
    assert np.ptp(said, axis=0).min() > 0.1
    quiet = Perceptron([4, 16, 3], jax.random.key(1), quiet=True)
    np.testing.assert_array_equal(eqx.filter_jit(quiet)(x), 0.0)


def test_the_warp_is_equation_2():
    p, q, coefficients = arrays((7, 3), (5, 3), (9, 3))
    p, q, c, size = 50.0 * p, 50.0 * q, 3e-4, 200.0
    shift, A, beta = coefficients[0], np.eye(3) + coefficients[1:4].T / size, coefficients[4:]
    bells = np.exp(-c * ((p[:, None] - q) ** 2).sum(axis=2))
    expected = shift + p @ A.T + bells @ beta
    np.testing.assert_allclose(jax.jit(warped)(p, q, coefficients, c, size), expected, rtol=1e-5, atol=1e-4)
    moments = [beta.sum(axis=0), *(q.T @ beta)]
    np.testing.assert_allclose(incompatibility(q, coefficients), sum((m**2).sum() for m in moments), rtol=1e-4)


def test_the_chamfer_distance_is_that_of_a_tree():
    p, x, n, m = arrays((30, 3), (40, 3), (30, 3), (40, 3))
    there = (np.arange(40) < 33).astype(np.float32)
    confidence = RANDOM.uniform(size=30).astype(np.float32)
    cloud = Cloud(x, unit(m), there)
    near, sure, along = jax.jit(cloud_loss, static_argnums=4)(p, unit(n), confidence, cloud, 0.0)
    forth, back = cKDTree(x[:33]).query(p)[0] ** 2, cKDTree(p).query(x[:33])
    assert near == pytest.approx((confidence * forth).mean() + (back[0] ** 2).mean(), rel=1e-4)
    assert sure == pytest.approx(((1 - confidence) ** 2).mean(), rel=1e-5)
    assert along == pytest.approx(1.0 - (unit(m)[:33] * unit(n)[back[1]]).sum(axis=1).mean(), rel=1e-4)


def test_discs_stand_for_a_surface_and_points_for_themselves():
    away = np.array([[0.0, 0.0, 2.0], [3.0, 0.0, 2.0], [8.0, 0.0, 2.0]], np.float32)
    up = np.tile(np.array([0.0, 0.0, 1.0], np.float32), (3, 1))
    np.testing.assert_allclose(squared_distances(away, 0.0 * away, up, 0.0), [4.0, 13.0, 68.0])
    np.testing.assert_allclose(squared_distances(away, 0.0 * away, up, 5.0), [4.0, 4.0, 13.0], rtol=1e-6)


def test_markers_that_were_not_seen_do_not_count():
    p, x = arrays((6, 3), (6, 3))
    there = np.array([1, 1, 0, 1, 1, 1], np.float32)
    spoilt = x.copy()
    spoilt[2] = 1e6
    expected = ((p - x) ** 2).sum(axis=1)[there > 0].sum() / 6
    assert marker_loss(p, spoilt, there) == pytest.approx(expected, rel=1e-5)


def test_the_nearest_is_one_that_is_there():
    points = np.zeros((1, 3), np.float32)
    others = np.array([[1.0, 0, 0], [0.1, 0, 0]], np.float32)
    assert nearest(points, others)[0] == 1
    assert nearest(points, others, jnp.array([1.0, 0.0]))[0] == 0


def test_a_warp_is_trained_no_longer_than_frames_left_out_can_tell():
    """A gain that all frames share counts, one that is as uneven as frames are does not."""
    frames = np.random.default_rng(3).uniform(1.0, 5.0, 10)
    uneven = np.where(np.arange(10) % 2, 0.5, -0.6)
    assert simplest_alike({0: frames, 10: frames + uneven, 20: frames + 0.1}) == 0
    assert simplest_alike({0: frames, 10: frames - 0.3, 20: frames - 0.3 + 0.5 * uneven}) == 10
    assert simplest_alike({0: frames, 10: frames + 1.0, 20: frames - 0.05}) == 20
