"""The current of a winch whose cable is not where its motion is."""

import numpy as np
import pytest

from soft_twin.driving.cables.winch_control import ControlGains, Wanted, WinchControl

RATE = 0.05  # [m/s] limit
GAINS = ControlGains()


def _current(rate, motion_rate, acceleration, behind, learned=GAINS.friction):
    """Of a cable at a rate [m/s] and a motion at another [m/s], with an acceleration [m/s²] and ahead by a way [m]."""
    control = WinchControl(1, 4.4, RATE, GAINS)
    wanted = Wanted(
        rates=np.array([motion_rate]),
        accelerations=np.array([acceleration]),
        displacements_then=np.array([behind]),
        rates_then=np.array([motion_rate]),
        friction=np.array([learned]),
        counted=np.array([learned]),
        trust=np.ones(1),
    )
    return float(control.update(wanted, np.zeros(1), np.array([rate]), np.full((2, 1), rate), 0.004)[0])


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("friction", [5.0, 9.0, 17.1, 25.0])
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.035, 0.05])
def test_a_cable_that_comes_free_behind_its_motion_is_not_driven_too_fast(sign, friction, rate):
    """It has its rate, and the motion's acceleration comes on top; 8 ms later the current can be taken back."""
    current = sign * _current(sign * rate, sign * 0.046, sign * 4.4, sign * 0.002)
    later = current / friction + (rate - current / friction) * np.exp(-friction / GAINS.inertia * 0.008)
    assert later <= 1.75 * RATE + 0.005


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.044])
def test_what_a_caught_robot_pulls_is_no_friction_that_a_current_may_count_on(rate):
    """While it was wound in, its pull was taken for friction, 35 A s/m; 1.4 A of that now drive the cable, too."""
    current = 1.4 + _current(rate, 0.042, 3.6, 0.002, learned=35.0)
    later = current / 16.4 + (rate - current / 16.4) * np.exp(-16.4 / GAINS.inertia * 0.008)
    assert later <= 1.75 * RATE + 0.005


@pytest.mark.parametrize("rate", np.linspace(0.0, RATE, 6))
def test_a_cable_that_is_where_its_motion_is_gets_all_that_the_motion_asks_for(rate):
    """Its feedback is 8 ms old, and so less by what the motion has gained since."""
    seen = max(rate - GAINS.delay * 4.0, 0.0)
    control = WinchControl(1, 4.4, RATE, GAINS)
    wanted = Wanted(
        *(np.array([value]) for value in (rate, 4.0 * (rate < RATE), 0.0, seen, GAINS.friction, GAINS.friction, 1.0))
    )
    asked = GAINS.friction * rate + GAINS.inertia * 4.0 * (rate < RATE)
    expected = np.array([[seen], [rate]])
    assert control.update(wanted, np.zeros(1), np.array([seen]), expected, 0.004)[0] == pytest.approx(asked, abs=0.01)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_cable_whose_feedback_stays_away_is_bounded_by_what_its_rate_must_be_by_now(sign):
    """Its last sample was at 0.017 m/s; turned back since, it goes at the limit of its rate the other way."""
    control, friction = WinchControl(1, 4.4, RATE, GAINS), 12.0
    wanted = Wanted(
        *(sign * np.array([value]) for value in (-RATE, 0.0, 0.0, -RATE)), *np.full((2, 1), friction), np.ones(1)
    )
    rates = sign * np.array([0.017]), sign * np.array([-RATE])
    expected = np.array([rates[1], rates[0]])
    current = float(control.update(wanted, np.zeros(1), rates[0], expected, 0.004)[0])
    later = current / friction + (rates[1][0] - current / friction) * np.exp(-friction / GAINS.inertia * 0.01)
    assert abs(later) <= 1.4 * RATE


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("soon", [0.02, 0.065, 0.08])
def test_what_the_newest_currents_have_yet_to_do_counts_before_any_feedback_shows_it(sign, soon):
    """It was turned back a moment ago: the feedback has it at rest."""
    control, friction = WinchControl(1, 4.4, RATE, GAINS), 5.0
    wanted = Wanted(
        *(sign * np.array([value]) for value in (RATE, 4.0, 0.001, RATE)), *np.full((2, 1), 17.1), np.ones(1)
    )
    current = float(control.update(wanted, np.zeros(1), np.zeros(1), sign * np.array([[0.0], [soon]]), 0.004)[0])
    later = current / friction + (sign * soon - current / friction) * np.exp(-friction / GAINS.inertia * 0.006)
    assert abs(later) <= 1.75 * RATE
