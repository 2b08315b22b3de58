"""A mass on a thread: a pendulum by its period, its pull, and what a moving base does to it."""

import numpy as np
import pytest

from soft_twin.emulation.hung_mass import BOUNCE, HungMass
from soft_twin.mechanics.moving_base import MovingBase

DOWN = np.array([0.0, 0.0, -9.81])
STILL = MovingBase(DOWN)
ORIGIN = np.zeros(3)
DT = 0.02  # [s]


def swung(mass, seconds, base=STILL):
    """Pulls (t, 3) [N] and places (t, 3) [m] of a mass below a point that stands still."""
    found = [(mass.step(DT, ORIGIN, ORIGIN, base), mass.place.copy()) for _ in range(round(seconds / DT))]
    return tuple(np.array(column) for column in zip(*found, strict=True))


@pytest.mark.parametrize("thread", [0.1, 0.3])
def test_it_swings_with_the_period_of_a_pendulum(thread):
    mass = HungMass(0.4, thread, ORIGIN, DOWN, swing=0.1)
    _, places = swung(mass, 6.0)
    aside = places @ places[0] - (places[:, 2] * places[0, 2])
    crossings = DT * np.flatnonzero((aside[:-1] > 0.0) & (aside[1:] <= 0.0))
    expected = 2.0 * np.pi * np.sqrt((thread + 9.81 / BOUNCE**2) / 9.81)
    assert np.diff(crossings).mean() == pytest.approx(expected, rel=0.02)


def test_it_pulls_by_its_weight_at_rest_and_by_more_below():
    still, _ = swung(HungMass(0.7, 0.2, ORIGIN, DOWN), 1.0)
    np.testing.assert_allclose(still[-1], 0.7 * DOWN, atol=1e-6)
    pulls, _ = swung(HungMass(0.7, 0.2, ORIGIN, DOWN, swing=0.5), 3.0)
    lowest = 0.7 * 9.81 * (3.0 - 2.0 * np.cos(0.5))  # with its energy all motion
    assert np.linalg.norm(pulls, axis=1).max() == pytest.approx(lowest, rel=0.05)
    np.testing.assert_allclose(pulls.mean(axis=0)[2], 0.7 * DOWN[2], rtol=0.02)


def test_a_loose_thread_pulls_at_nothing():
    mass = HungMass(0.5, 0.2, ORIGIN, DOWN)
    mass.place[:] = [0.0, 0.0, -0.1]
    np.testing.assert_array_equal(mass.step(0.01, ORIGIN, ORIGIN, STILL), np.zeros(3))
    assert mass.velocity[2] == pytest.approx(-0.0981, rel=0.01)


def test_on_a_base_that_turns_it_is_thrown_outwards():
    """At rest in the frame of a base that turns about z, at the angle whose tangent is ω² r / g."""
    spin = np.array([0.0, 0.0, 2.0])
    mass, anchor = HungMass(0.5, 0.2, ORIGIN, DOWN), np.array([0.5, 0.0, 0.0])
    mass.place = anchor + [0.0, 0.0, -0.2]
    for _ in range(250):
        mass.velocity *= 0.9
        mass.step(DT, anchor, anchor, MovingBase(DOWN, spin))
    away = mass.place - anchor
    assert away[0] / -away[2] == pytest.approx(4.0 * mass.place[0] / 9.81, rel=1e-3)
