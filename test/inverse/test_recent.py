"""What was measured lately, by when that was."""

import numpy as np
import pytest

from soft_twin.inverse.recent import Recent


@pytest.fixture
def recent():
    result = Recent()
    for tenths in range(20):
        result.add(0.1 * tenths, np.array([tenths, -tenths]), kept=1.0)
    return result


@pytest.mark.parametrize(("stamp", "value"), [(1.9, 19.0), (1.26, 12.6), (1.2, 12.0), (2.05, 19.0), (0.85, 9.0)])
def test_between_two_measurements_it_was_between_them_and_beside_all_as_the_next(recent, stamp, value):
    np.testing.assert_allclose(recent.at(stamp, within=0.2), [value, -value], rtol=1e-12)


@pytest.mark.parametrize("stamp", [2.5, 0.5])
def test_what_was_too_long_before_or_after_is_not_known(recent, stamp):
    assert recent.at(stamp, within=0.2) is None


def test_a_measurement_that_is_too_far_away_does_not_count_beside_a_near_one():
    recent = Recent()
    for stamp in (0.0, 1.0):
        recent.add(stamp, np.array([stamp]), kept=10.0)
    assert (recent.at(0.1, within=0.2), recent.at(0.9, within=0.2), recent.at(0.5, within=0.2)) == ([0.0], [1.0], None)


def test_what_is_later_than_the_newest_was_of_a_clock_that_has_been_set_back(recent):
    recent.add(1.5, np.array([99.0, 99.0]), kept=1.0)
    assert recent.at(1.9, within=0.2) is None
    assert recent.at(1.5, within=0.2)[0] == 99.0
    assert recent.at(1.4, within=0.2)[0] == pytest.approx(14.0)


def test_of_nothing_there_is_nothing():
    assert Recent().at(0.0, within=1.0) is None
