"""A motion's changes of rate are driven in full, whenever ticks come."""

import numpy as np
import pytest

from soft_twin.driving.cables.rate_changes import RateChanges

PERIOD = 0.004
NOWHERE, EVERYWHERE = np.array([False]), np.array([True])


def test_in_ticks_of_one_period_the_motions_own_acceleration_is_driven():
    changes = RateChanges(1, PERIOD)
    for acceleration in (1.0, -3.0, 0.0, 2.5):
        assert changes.update(np.array([acceleration]), PERIOD) == pytest.approx(acceleration)


@pytest.mark.parametrize("ticks", [[0.0001, 0.0039], [0.0027, 0.0053], [0.0005, 0.0005, 0.003], [0.0005] * 8])
def test_what_is_driven_until_the_next_tick_adds_up_to_the_change_of_the_rate(ticks):
    """The change of the rate comes in the first of these ticks, whatever time that takes."""
    changes, driven, change = RateChanges(1, PERIOD), 0.0, 0.0004
    pattern = ticks + [PERIOD] * 30
    for tick, until_next in zip(pattern, [*pattern[1:], PERIOD], strict=True):
        acceleration = change / tick if tick is pattern[0] and driven == 0.0 else 0.0
        driven += changes.update(np.array([acceleration]), tick)[0] * until_next
    assert driven == pytest.approx(change, rel=0.35)


def test_a_tick_that_is_late_drives_no_more_than_the_motion_accelerates_by():
    changes = RateChanges(1, PERIOD)
    assert changes.update(np.array([4.0]), 0.015) == pytest.approx(4.0)


def test_nothing_is_driven_any_more_where_a_motion_begins_anew():
    changes = RateChanges(1, PERIOD)
    changes.update(np.array([4.0]), 0.001)
    changes.restart(NOWHERE)
    assert changes.update(np.zeros(1), 0.001) > 0.0
    changes.restart(EVERYWHERE)
    assert changes.update(np.zeros(1), 0.001) == 0.0
