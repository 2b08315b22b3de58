"""Friction that a winch's own motions tell, and what of it may be counted on."""

import numpy as np
import pytest

from soft_twin.driving.cables.friction import LEAST, SoftFriction

INERTIA, DT = 0.342, 0.004
EXPECTED = 17.1  # [A s/m] before anything has moved


def _moved(friction, rates):
    """What is known of a winch with this friction after it has moved at these rates [m/s], a tick each."""
    estimate = SoftFriction(1, EXPECTED, INERTIA)
    for before, rate in zip(rates, rates[1:], strict=False):
        acceleration = (rate - before) / DT
        current = np.array([friction * rate + INERTIA * acceleration])
        estimate.update(current, np.array([rate]), np.array([acceleration]), np.array([DT]))
    return estimate


def test_a_winch_that_has_not_moved_has_shown_hardly_any_friction():
    estimate = _moved(EXPECTED, np.zeros(50))
    assert (estimate.values[0], estimate.counted[0]) == (EXPECTED, LEAST)


@pytest.mark.parametrize("friction", [4.0, 12.0, 25.0])
def test_what_a_fast_motion_has_shown_counts(friction):
    estimate = _moved(friction, np.full(60, 0.05))
    assert estimate.values[0] == pytest.approx(friction, rel=0.02)
    assert estimate.counted[0] == pytest.approx(friction, rel=0.02)


@pytest.mark.parametrize("ticks", [2, 5, 10])
def test_on_its_way_no_more_is_counted_on_than_it_has(ticks):
    """Little of a friction that was expected to be four times as much."""
    estimate = _moved(4.0, np.linspace(0.0, 0.05, ticks))
    assert estimate.counted[0] < estimate.values[0]
    assert LEAST <= estimate.counted[0] < 9.0


def test_what_is_not_known_says_nothing():
    estimate = _moved(12.0, np.full(20, 0.05))
    known = estimate.values[0], estimate.counted[0]
    estimate.update(np.array([3.0]), np.array([0.05]), np.array([np.nan]), np.array([DT]))
    assert (estimate.values[0], estimate.counted[0]) == known
