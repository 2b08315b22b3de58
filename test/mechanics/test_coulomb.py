"""Coulomb's law for the multipliers of a step, where rows repeat each other, too."""

import numpy as np
import pytest

from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.contact import coulomb
from soft_twin.mechanics.contact.coulomb import solve_coulomb

MU, POINTS = 0.5, 30


def program(copies=1, lift=0.0):
    """W, g and rows of points that are pressed and dragged in all directions, every one of them `copies` times; `lift`
    [m] opens them."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3 * POINTS, 80))
    g = np.concatenate([0.5 * rng.normal(size=POINTS) + lift, 0.6 * rng.normal(size=2 * POINTS)])
    again = (np.arange(3)[:, None] * POINTS + np.tile(np.arange(POINTS), copies)).ravel()
    W, g, p = (root @ root.T / 80.0)[np.ix_(again, again)], g[again], copies * POINTS
    W[np.diag_indices_from(W)] += 1e-6
    upper = np.concatenate([np.full(p, np.inf), np.zeros(2 * p)])
    rows = Rows(np.arange(3 * p), g, None, np.where(upper > 0.0, 0.0, -upper), upper, np.zeros(3 * p))
    normals = np.tile(np.arange(p), 3)
    places, factors = np.where(np.arange(3 * p) < p, -1, normals), np.where(np.arange(3 * p) < p, 0.0, MU)
    return W, g, rows, places, factors


@pytest.mark.parametrize("rounds", [coulomb.ROUNDS, 0, 2])
@pytest.mark.parametrize("copies", [1, 3])
def test_every_point_pushes_sticks_or_slips_by_coulombs_law(copies, rounds, monkeypatch):
    """By Newton's method, by programs alone, and by both."""
    monkeypatch.setattr(coulomb, "ROUNDS", rounds)
    monkeypatch.setattr(coulomb, "PROGRAMS", 100)
    W, g, rows, places, factors = program(copies)
    values = solve_coulomb(W, g, rows, places, factors, np.zeros(len(g)))
    u, p, size = g + W @ values, copies * POINTS, np.abs(g).max()
    normal, opened = values[:p], u[:p]
    assert normal.min() >= 0.0 and opened.min() > -1e-7 * size
    assert np.abs(normal * opened).max() < 1e-7 * size * normal.max()
    bound = MU * np.tile(normal, 2)
    rubs, slips = values[p:], u[p:]
    assert (np.abs(rubs) <= bound * (1.0 + 1e-9) + 1e-15).all()
    wanted = np.clip(rubs - slips, -bound, bound)
    assert rubs == pytest.approx(wanted, abs=1e-6 * size)
    pressed = np.tile(normal, 2) > 1e-9
    sticks = np.abs(rubs) < 0.999 * bound
    assert (pressed & sticks).sum() > 5 and (pressed & ~sticks).sum() > 5, "some stick, some slip"


@pytest.mark.parametrize("rounds", [coulomb.ROUNDS, 0])
def test_points_that_are_open_rub_with_nothing(rounds, monkeypatch):
    monkeypatch.setattr(coulomb, "ROUNDS", rounds)
    W, g, rows, places, factors = program(lift=10.0)
    for known in (np.zeros(len(g)), np.ones(len(g))):
        assert np.abs(solve_coulomb(W, g, rows, places, factors, known)).max() < 1e-9
