"""Gravity looked ahead: as it will be in a base that turns evenly; less a lasting acceleration."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.errors import InputError
from soft_twin.sensing.gravity_ahead import GravityAhead, ahead_of

DOWN = np.array([0.0, 0.0, -9.81])
RATES = np.array([0.7, -1.1, 0.4])  # [rad/s] in base_link


def gravity_at(t):
    return Rotation.from_rotvec(t * RATES).inv().apply(DOWN)


def test_in_an_even_turn_it_is_where_gravity_will_be():
    felt = GravityAhead(lead=0.08).update(1.0, gravity_at(1.0), RATES, -gravity_at(1.0))
    np.testing.assert_allclose(felt, gravity_at(1.08), atol=1e-12)
    np.testing.assert_array_equal(GravityAhead().update(1.0, gravity_at(1.0), RATES, -DOWN), gravity_at(1.0))


def test_a_lasting_acceleration_is_felt_and_a_jerk_is_not():
    carried, ahead = np.array([2.0, 0.0, 0.5]), GravityAhead(smoothing=0.2)
    felt = [ahead.update(0.01 * i, DOWN, np.zeros(3), carried - DOWN) for i in range(200)]
    np.testing.assert_allclose(felt[2], DOWN, atol=0.25)
    np.testing.assert_allclose(felt[20], DOWN - carried * (1.0 - np.exp(-1.0)), atol=0.01)
    np.testing.assert_allclose(felt[-1], DOWN - carried, atol=1e-3)
    ahead.reset()
    np.testing.assert_allclose(ahead.update(5.0, DOWN, np.zeros(3), carried - DOWN), DOWN)


@pytest.mark.parametrize("lead, smoothing", [(-0.1, 1.0), (0.6, 1.0), (np.nan, 1.0), (0.0, 0.0)])
def test_settings_that_make_no_sense_are_refused(lead, smoothing):
    with pytest.raises(InputError):
        GravityAhead(lead, smoothing)


def test_what_is_no_number_is_refused():
    with pytest.raises(InputError, match="rates"):
        GravityAhead(0.1).update(0.0, DOWN, np.array([np.nan, 0.0, 0.0]), -DOWN)


def test_the_newest_sample_before_gravity_counts_whichever_have_come_and_without_one_gravity_is_as_measured():
    ahead, gravity = GravityAhead(lead=0.08), gravity_at(1.0)
    np.testing.assert_array_equal(ahead.look(1.0, gravity), gravity)
    ahead.note(0.98, 0.0 * RATES, -gravity)
    ahead.note(0.99, RATES, -gravity)
    np.testing.assert_allclose(ahead.look(1.0, gravity), gravity_at(1.08), atol=1e-12)
    ahead.note(1.0, -RATES, -gravity)  # that of the same sample may come before or after it
    np.testing.assert_allclose(ahead.look(1.0, gravity), gravity_at(1.08), atol=1e-12)
    np.testing.assert_array_equal(ahead.look(1.2, gravity), gravity)  # all are too old
    ahead.note(1.19, np.full(3, np.nan), -gravity)
    np.testing.assert_array_equal(ahead.look(1.2, gravity), gravity)
    assert ahead_of(0.0, 0.0).looks is False and ahead_of(0.0, 0.3).looks and ahead_of(0.1, 0.0).smoothing == np.inf
