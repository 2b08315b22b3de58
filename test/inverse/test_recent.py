"""What was measured lately, by when that was."""

import pytest

from soft_twin.inverse.recent import Recent


@pytest.fixture
def recent():
    result = Recent()
    for tenths in range(20):
        result.add(0.1 * tenths, tenths, kept=1.0)
    return result


@pytest.mark.parametrize(
    ("stamp", "value"), [(1.9, 19), (1.26, 13), (1.24, 12), (1.95, 19), (2.5, None), (0.87, 9), (0.5, None)]
)
def test_the_nearest_in_time_is_found_among_those_that_are_kept(recent, stamp, value):
    assert recent.at(stamp, within=0.2) == value


def test_what_is_later_than_the_newest_was_of_a_clock_that_has_been_set_back(recent):
    recent.add(1.5, "again", kept=1.0)
    assert (recent.at(1.9, within=0.2), recent.at(1.5, within=0.2), recent.at(1.4, within=0.2)) == (None, "again", 14)


def test_of_nothing_there_is_nothing():
    assert Recent().at(0.0, within=1.0) is None
