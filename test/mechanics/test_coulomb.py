"""Coulomb's law for the multipliers of a step, where rows repeat each other, too."""

import numpy as np
import pytest

from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.contact import coulomb
from soft_twin.mechanics.contact.coulomb import solve_coulomb

MU, POINTS = 0.7, 40


def program(copies=1, lift=0.0):
    """W, g and rows of points that are pressed and dragged in all directions, every one of them `copies` times; `lift`
    [m] opens them."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3 * POINTS, 80))
    g = np.concatenate([0.5 * rng.normal(size=POINTS) + lift, 0.25 * rng.normal(size=2 * POINTS)])
    points, p = np.tile(np.arange(POINTS), copies), copies * POINTS
    again = np.concatenate([points, POINTS + np.column_stack([2 * points, 2 * points + 1]).ravel()])
    W, g = (root @ root.T / 80.0)[np.ix_(again, again)], g[again]
    W[np.diag_indices_from(W)] += 1e-6
    upper = np.concatenate([np.full(p, np.inf), np.zeros(2 * p)])
    rows = Rows(np.arange(3 * p), g, None, np.where(upper > 0.0, 0.0, -upper), upper, np.zeros(3 * p))
    normals = np.concatenate([np.arange(p), np.repeat(np.arange(p), 2)])
    places, factors = np.where(np.arange(3 * p) < p, -1, normals), np.where(np.arange(3 * p) < p, 0.0, MU)
    return W, g, rows, places, factors


@pytest.mark.parametrize(
    ("copies", "rounds", "exact"),
    [(1, coulomb.ROUNDS, 1e-6), (3, coulomb.ROUNDS, 1e-6), (1, 0, 0.01), (1, 3, 1e-6), (3, 3, 1e-6)],
)
def test_every_point_pushes_sticks_or_slips_by_coulombs_law(copies, rounds, exact, monkeypatch):
    """By Newton's method, by programs alone, which cut the disc out by tangents, and by both."""
    monkeypatch.setattr(coulomb, "ROUNDS", rounds)
    W, g, rows, places, factors = program(copies)
    values = solve_coulomb(W, g, rows, places, factors, np.zeros(len(g)))
    u, p, near = g + W @ values, copies * POINTS, exact * np.abs(g).max()
    normal, opened = values[:p], u[:p]
    assert normal.min() >= 0.0 and opened.min() > -near
    assert np.abs(normal * opened).max() < near * normal.max()
    bound = MU * normal
    rubs, slips = values[p:].reshape(-1, 2), u[p:].reshape(-1, 2)
    lengths = np.linalg.norm(rubs, axis=1)
    assert (lengths <= bound + near).all()
    wanted = rubs - slips
    beyond = np.maximum(np.linalg.norm(wanted, axis=1) / np.maximum(bound, 1e-300), 1.0)
    assert rubs == pytest.approx(wanted / beyond[:, None], abs=near)
    pressed, sticks = normal > 1e-9, lengths < 0.999 * bound
    assert (pressed & sticks).sum() > 5 and (pressed & ~sticks).sum() > 5, "some stick, some slip"


@pytest.mark.parametrize("rounds", [coulomb.ROUNDS, 0])
def test_points_that_are_open_rub_with_nothing(rounds, monkeypatch):
    monkeypatch.setattr(coulomb, "ROUNDS", rounds)
    W, g, rows, places, factors = program(lift=10.0)
    for known in (np.zeros(len(g)), np.ones(len(g))):
        assert np.abs(solve_coulomb(W, g, rows, places, factors, known)).max() < 1e-9
