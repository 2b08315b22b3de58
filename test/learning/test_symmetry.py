"""Turns and mirrors under which a twin is the same: found where they are, and nowhere else."""

import numpy as np

from soft_twin.learning.samples import inflation_shares
from soft_twin.learning.symmetry import symmetries

SHARES = 2.0 * inflation_shares(4, 40) - 1.0
TICKS = np.linspace(-0.05, 0.05, 11)
AT_REST = np.stack([*np.meshgrid(TICKS, TICKS, indexing="ij"), np.full((11, 11), 0.02)], axis=-1).reshape(-1, 3)
MIDDLES = 0.025 * np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])


def shapes(gains, drift=0.0, at_rest=AT_REST):
    """A square sheet with a bump over each of four chambers, which disturb each other, and a drift to +x."""
    bumps = np.exp(-((at_rest[:, None, :2] - MIDDLES - at_rest[:, :2].mean(axis=0)) ** 2).sum(axis=2) / 4e-4)
    heights = 0.01 * (SHARES + 1.0) * gains
    moved = np.zeros((len(SHARES), len(at_rest), 3))
    moved[..., 2] = heights @ bumps.T - 5.0 * (heights @ bumps.T) ** 2
    moved[..., 0] = drift * heights.sum(axis=1, keepdims=True)
    return at_rest + moved


def test_a_square_has_eight_of_them():
    found = symmetries(AT_REST, SHARES, shapes(np.ones(4)))
    assert len(found) == 7  # and the one that changes nothing
    assert {tuple(each.chambers) for each in found} >= {(1, 3, 0, 2), (3, 2, 1, 0), (1, 0, 3, 2)}


def test_they_are_found_off_the_origin():
    at_rest = AT_REST + [0.3, -0.2, 0.1]
    assert len(symmetries(at_rest, SHARES, shapes(np.ones(4), at_rest=at_rest))) == 7


def test_a_turned_simulation_is_the_one_under_turned_pressures():
    exact = shapes(np.ones(4))
    each = next(each for each in symmetries(AT_REST, SHARES, exact) if tuple(each.chambers) == (1, 3, 0, 2))
    first, second = (np.flatnonzero((row == SHARES).all(axis=1))[0] for row in ([1, -1, -1, -1], [-1, 1, -1, -1]))
    assert (each.inputs(SHARES[first]) == SHARES[second]).all()
    np.testing.assert_allclose(each.shapes(exact[first]), exact[second], atol=1e-12)


def test_what_is_alike_at_rest_but_moves_otherwise_has_none():
    assert symmetries(AT_REST, SHARES, shapes(np.array([1.0, 0.9, 0.8, 0.7]))) == []
    drifts = symmetries(AT_REST, SHARES, shapes(np.ones(4), drift=0.1))
    assert [tuple(each.chambers) for each in drifts] == [(2, 3, 0, 1)]  # the mirror that keeps x


def test_simulations_without_partners_say_nothing():
    inner = slice(16, None)  # no corners
    assert symmetries(AT_REST, SHARES[inner], shapes(np.ones(4))[inner]) == []
