import numpy as np
import pytest

import soft_twin
from soft_twin.inverse.following import LATE, NEAR_CABLE, Following


@pytest.fixture
def following(ringed_twin):
    return Following(soft_twin.load_robot("slender").build_inverse(ringed_twin))


def _ramp(following, speed):
    """Cables are told to wind in at a speed [m/s] for a second; what they are told at the end."""
    for time in np.arange(0.0, 1.0, 0.01):
        following.tell(time, np.full(6, speed * time))
    return np.full(6, speed * time)


def test_who_is_a_little_late_follows(following):
    told = _ramp(following, 0.02)
    assert following.laggards(told - 0.02 * 0.8 * LATE) == []
    assert following.laggards(told + 0.9 * NEAR_CABLE) == []


def test_who_stays_behind_or_is_not_known_is_named(following):
    told = _ramp(following, 0.02)
    behind, unknown = told.copy(), told.copy()
    behind[2] = 0.0
    unknown[4] = np.nan
    names = soft_twin.load_robot("slender").cable_names
    assert following.laggards(behind) == [names[2]]
    assert following.laggards(unknown) == [names[4]]


def test_who_was_told_nothing_follows(following):
    assert following.laggards(np.ones(6)) == []


def test_a_clock_that_goes_back_begins_anew(following):
    _ramp(following, 0.02)
    following.tell(-100.0, np.zeros(6))
    assert following.laggards(np.zeros(6)) == []
    assert len(following.laggards(np.full(6, 0.019))) == 6
