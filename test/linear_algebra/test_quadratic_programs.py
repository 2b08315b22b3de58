"""Small quadratic programs: bounds are kept, and what is within them balances, however small the numbers are."""

import numpy as np
import pytest

from soft_twin.linear_algebra.quadratic_programs import solve_box_qp, solve_qp


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_box_programs_are_solved_exactly_at_any_size(size):
    rng = np.random.default_rng(8)
    root = rng.normal(size=(40, 40))
    H = root @ root.T + np.eye(40)
    f = size * rng.normal(size=40) * 10.0
    low, high = -0.1 * size * np.ones(40), 0.1 * size * np.ones(40)
    x = solve_box_qp(H, f, low, high)
    slope = H @ x + f
    assert ((x >= low) & (x <= high)).all()
    assert 0 < (np.abs(x) < 0.0999 * size).sum() < 40
    wanted = np.clip(x - slope / np.trace(H) * 40, low, high)
    assert np.abs(x - wanted).max() < 1e-9


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e-12])
def test_what_rows_bound_is_no_matter_of_their_unit(unit):
    rng = np.random.default_rng(3)
    root, f, row = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=(1, 4))
    H, low, high = root @ root.T + np.eye(4), np.full(4, -5.0), np.full(4, 5.0)
    free = solve_box_qp(H, f, low, high)
    most = row @ free - 0.3  # binds
    found = solve_qp(H, f, low, high, unit * row, np.array([-np.inf]), unit * most)
    assert row @ found == pytest.approx(most, abs=1e-6)
    towards = np.linalg.solve(H, row[0])
    np.testing.assert_allclose(found, free - 0.3 * towards / (row[0] @ towards), atol=1e-6)


def test_newtons_and_pascals_are_found_beside_each_other():
    wanted = np.array([0.01, 4000.0])
    for give in (1e-11, 3e-13, 1e-16):  # of a chamber [m³/Pa], beside a cable's [m/N]
        H = np.diag([0.07, give])
        np.testing.assert_allclose(solve_box_qp(H, -(H @ wanted), np.array([0.0, -np.inf]), np.inf), wanted, rtol=1e-9)
