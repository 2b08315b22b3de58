"""Pressures stand when none has changed for a while."""

import numpy as np
import pytest

from soft_twin_ros.running.standing import SPAN, STILL, Standing


@pytest.mark.parametrize("time_constant", [0.1, 1.3, 4.0])
def test_chambers_that_fill_slowly_are_waited_for(time_constant):
    """As they fill, e^(−t / τ) is left to go: over a span, no more than a share of it."""
    standing = Standing()
    for now in np.arange(0.0, 60.0, 0.02):
        standing.take(100.0 + now, [8000.0 * (1.0 - np.exp(-now / time_constant)), 0.0])
        if standing.over:
            break
    left = np.exp(-now / time_constant)
    expected = STILL / np.expm1(SPAN / time_constant)
    assert SPAN <= now < 30.0 and left == pytest.approx(expected, rel=0.3) if time_constant > 1.0 else left < STILL


def test_noise_is_no_change_and_nothing_heard_is_no_rest():
    standing, random = Standing(), np.random.default_rng(0)
    assert not standing.over
    for now in np.arange(0.0, 2.0, 0.02):
        standing.take(now, 8000.0 + random.normal(0.0, 5.0, 2))
        assert standing.over == (now >= SPAN)
    standing.take(2.0, [8000.0, 7000.0])
    assert not standing.over


def test_empty_chambers_stand():
    standing = Standing()
    for now in (0.0, 0.5, 1.0):
        standing.take(now, [0.0, 0.0])
    assert standing.over
