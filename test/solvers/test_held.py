"""Steps by rows that couple everything, beside a shifted factor."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from soft_twin.solvers.held import solve_held

SIZE, ROWS, SHIFT = 60, 3, 8.0


def saddle(lowest):
    """K with eigenvalues from `lowest` on, some of them negative, and rows along those."""
    random = np.random.default_rng(2)
    axes = np.linalg.qr(random.normal(size=(SIZE, SIZE)))[0]
    values = np.concatenate([lowest, np.geomspace(1.0, 1e5, SIZE - len(lowest))])
    rows = axes[:, :ROWS].T + 0.1 * random.normal(size=(ROWS, SIZE))
    return (axes * values) @ axes.T, rows, random.normal(size=(SIZE, 4))


def solved(K, rows, right, stiffness=1e3):
    factor = cho_factor(K + SHIFT * np.eye(SIZE))
    return solve_held(
        lambda columns: cho_solve(factor, columns), SHIFT, rows, cho_solve(factor, rows.T), stiffness, right
    )


def test_what_rows_hold_is_solved_as_if_they_were_in_the_matrix():
    K, rows, right = saddle([-6.0, -2.0])
    assert np.linalg.eigvalsh(K)[1] < 0.0 < np.linalg.eigvalsh(K + 1e3 * rows.T @ rows)[0]
    expected = np.linalg.solve(K + 1e3 * rows.T @ rows, right)
    errors = np.linalg.norm(solved(K, rows, right) - expected, axis=0) / np.linalg.norm(expected, axis=0)
    assert errors.max() < 1e-4


def test_a_right_side_of_nothing_has_a_solution_of_nothing():
    K, rows, right = saddle([-6.0, -2.0])
    right[:, 1] = 0.0
    found = solved(K, rows, right)
    assert not found[:, 1].any() and found[:, [0, 2, 3]].any(axis=0).all()


@pytest.mark.parametrize("lowest", [[-6.0, -5.0, -4.0, -3.0], [1.0, 1.0, 1.0, -2.0]])
def test_what_rows_do_not_hold_is_told(lowest):
    assert solved(*saddle(lowest)) is None
