import numpy as np
import pytest

from soft_twin.driving.valves.first_look import AGREEING, PATIENCE, FirstLook

DT = 0.03


def _believed(measured):
    """What is begun from after measurements (k, n) of one driver's looks [Pa], and how many it took."""
    look = FirstLook(np.shape(measured)[1], rests_after=np.inf)
    for count, pressures in enumerate(measured, 1):
        found = look.update(pressures, DT)
        if found is not None:
            return found, count
    return None, len(measured)


def test_what_agrees_is_begun_from_by_its_lowest():
    found, count = _believed(np.array([[40e3, 10e3]] * 4 + [[38e3, 11e3]] * 20))
    np.testing.assert_array_equal(found, [38e3, 10e3])
    assert count == AGREEING


@pytest.mark.parametrize(("first", "last"), [(60e3, 20e3), (10e3, 60e3)])
def test_where_nothing_agrees_the_lowest_counts_in_the_end(first, last):
    """Of one that rises, too: a host that has died may have left a device that fills, and what is told is to fall from
    there at its rate."""
    measured = np.linspace(first, last, 30)[:, None] * [1.0, 0.0]
    found, count = _believed(measured)
    assert count * DT == pytest.approx(PATIENCE, abs=2 * DT)
    np.testing.assert_array_equal(found, [measured[:count, 0].min(), 0.0])


def test_a_chamber_that_is_silent_at_last_is_not_known():
    found, _ = _believed(np.array([[5e3, 5e3]] * 12 + [[5e3, np.nan]] * 12 + [[5e3, 5e3]])[5:])
    np.testing.assert_array_equal(np.isnan(found), [False, True])


def test_a_device_that_rests_by_itself_is_waited_for():
    look = FirstLook(1, rests_after=0.5)
    found = [look.update(np.array([30e3]), 0.1) for _ in range(8)]
    assert found[:5] == [None] * 5
    assert np.isnan(found[-1]).all()
