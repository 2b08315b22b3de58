"""Small quadratic programs by the primal active set: against the conditions of an optimum."""

import numpy as np
import pytest

from soft_twin.linear_algebra.active_set import independent, settle

NO_ROWS = np.empty((0, 6)), np.empty(0), np.empty(0)


def program(seed: int):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3, 6))
    return rng, J.T @ J + 1e-3 * np.eye(6), J.T @ rng.normal(size=3)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("count", [0, 1, 3])
def test_it_ends_where_no_bound_pushes_the_wrong_way(seed, count):
    rng, H, f = program(seed)
    low, high = np.zeros(6), np.full(6, 0.4)
    x = np.where(rng.random(6) < 0.5, rng.choice([0.0, 0.4], 6), rng.uniform(0.0, 0.4, 6))  # often in a corner
    kept = np.linalg.qr(rng.normal(size=(6, 3)))[0].T[:count].copy()
    values = kept @ x
    assert settle(H, f, low, high, kept, *NO_ROWS, x)
    assert (x >= low).all() and (x <= high).all()
    np.testing.assert_allclose(kept @ x, values, atol=1e-12)
    free = (x > low) & (x < high)
    slope = H @ x + f
    pushes = np.linalg.lstsq(kept[:, free].T, -slope[free], rcond=None)[0] if free.any() else np.zeros(count)
    if free.sum() >= count:
        slope = slope + kept.T @ pushes
        np.testing.assert_allclose(slope[free], 0.0, atol=1e-10)
        assert (slope[x == low] >= -1e-10).all() and (slope[x == high] <= 1e-10).all()


def test_rows_beyond_their_bounds_are_left_to_others():
    _, H, f = program(1)
    x, wide = np.zeros(6), np.full(6, np.inf)
    assert settle(H, f, -wide, wide, np.empty((0, 6)), *NO_ROWS, x)
    A = np.array([x / (x @ x)])  # one at the solution
    for highest, expected in ((1.5, True), (0.5, False)):
        y = np.zeros(6)
        assert settle(H, f, -wide, wide, np.empty((0, 6)), A, np.array([-9.0]), np.array([highest]), y) is expected


def test_independent_rows_are_orthonormal_and_span_what_was_asked_for():
    rng = np.random.default_rng(5)
    kept = np.linalg.qr(rng.normal(size=(6, 2)))[0].T.copy()
    rows = rng.normal(size=(4, 2)) @ rng.normal(size=(2, 6))  # of rank 2
    found = independent(rows, kept, 1e-6)
    assert found.shape == (4, 6)
    np.testing.assert_array_equal(found[:2], kept)
    np.testing.assert_allclose(found @ found.T, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(rows @ found.T @ found, rows, atol=1e-12)
