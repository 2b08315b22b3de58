"""Small quadratic programs: bounds are kept, and what is within them balances, however small the numbers are."""

import numpy as np
import pytest

from soft_twin.linear_algebra.quadratic_programs import Bounds, solve_bounded_qp, solve_box_qp, solve_qp


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


@pytest.mark.parametrize("pull", [1.0, 1e3, 1e6])
def test_rows_give_way_to_no_pull_where_they_can_be_satisfied(pull):
    """The nearest to pull (1, 1) with x₁ + 2 x₂ ≤ 1 is where the line's normal meets it; x₁ + 2 x₂ ≤ −50 is nowhere."""
    H, f, low, high, row = np.eye(2), np.full(2, -pull), np.full(2, -10.0), np.full(2, 1e7), np.array([[1.0, 2.0]])
    nearest = np.clip(np.full(2, pull) - (3.0 * pull - 1.0) / 5.0 * row[0], low, high)
    nearest = nearest if nearest[1] > -10.0 else np.array([21.0, -10.0])
    for most, wanted in ((1.0, nearest), (-50.0, None)):
        limits = np.array([-np.inf]), np.array([most])
        bounds = Bounds(low, high, row, *limits)
        for x in (
            solve_qp(H, f, low, high, row, *limits),
            solve_bounded_qp(H, f, bounds, np.zeros(2), np.empty((0, 2))),
        ):
            if wanted is not None:
                np.testing.assert_allclose(x, wanted, rtol=1e-8, atol=1e-8)
            else:
                assert ((x >= low) & (x <= high)).all()
                assert row @ x > most


def test_newtons_and_pascals_are_found_beside_each_other():
    wanted = np.array([0.01, 4000.0])
    for give in (1e-11, 3e-13, 1e-16):  # of a chamber [m³/Pa], beside a cable's [m/N]
        H = np.diag([0.07, give])
        np.testing.assert_allclose(solve_box_qp(H, -(H @ wanted), np.array([0.0, -np.inf]), np.inf), wanted, rtol=1e-9)
