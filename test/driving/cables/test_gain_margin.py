import re
from dataclasses import replace

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.driving.cables.cable_control import DriverParameters
from soft_twin.driving.cables.gain_margin import LEAST_MARGIN, check_gains, modulus_margin
from soft_twin.driving.cables.winch_control import ControlGains
from soft_twin.emulation.c610 import MotorParameters
from soft_twin.errors import InputError

from ..simulated import SimulatedWinches

GAINS = ControlGains()
DRUM, TORQUE_CONSTANT = 0.0065, 0.18
SLUGGISH = (15.0, 8.0)  # the lowest that the node allows
EDGES = [SLUGGISH, (75.0, 10.0), (30.0, 35.0)]  # of what is safe


def _motor(friction, inertia=4e-4):
    """A motor that needs so many amperes for each metre per second."""
    return MotorParameters(inertia=inertia, lag=inertia / (friction * DRUM * TORQUE_CONSTANT))


def _winches(gains, motor, drive=None):
    winches = SimulatedWinches(DriverParameters(gains=GAINS.tuned(*gains)), motor=motor, drive=drive)
    winches.home()
    winches.control.enable()
    return winches


def test_a_loop_without_integrals_has_the_margin_of_its_circle():
    """k_v / (m s + b) without delay is a half circle from k_v / b to 0 below the axis: −1 is nearest to its end."""
    gains = replace(GAINS, position=0.0, integral=0.0, delay=0.0)
    assert modulus_margin(gains, 17.1, 0.342) == pytest.approx(1.0, abs=2e-3)


def test_a_delay_that_turns_the_crossing_by_what_is_left_of_half_a_turn_makes_the_loop_swing():
    rate, friction, inertia = 25.0, 5.0, 0.342
    crossover = np.sqrt(rate**2 - friction**2) / inertia
    delay = (np.pi - np.arctan(crossover * inertia / friction)) / crossover
    for share, swings in ((0.97, False), (1.03, True)):
        gains = replace(GAINS, position=0.0, integral=0.0, delay=share * delay)
        assert (modulus_margin(gains, friction, inertia) == 0.0) == swings


@pytest.mark.parametrize("gains", [(60.0, 25.0), (20.0, 12.0), (75.0, 15.0)])
def test_gains_that_are_as_far_from_swinging_as_the_defaults_are_allowed(gains):
    check_gains(GAINS.tuned(*gains))


@pytest.mark.parametrize("gains", [(90.0, 25.0), (60.0, 35.0), (110.0, 12.0), (40.0, 50.0), (15.0, 60.0)])
def test_gains_that_are_nearer_are_refused_with_what_would_be_right(gains):
    with pytest.raises(InputError, match="position_gain = .* would swing, expected") as error:
        check_gains(GAINS.tuned(*gains))
    if right := re.search(r"at most (\S+) /s", str(error.value)):
        check_gains(GAINS.tuned(float(right[1]), gains[1]))
    else:
        assert gains[1] > 40.0


@pytest.mark.parametrize("gains", EDGES)
@pytest.mark.parametrize("motor", [(5.0, 3e-4), (35.0, 4.8e-4)])
def test_winches_of_allowed_gains_come_to_rest_where_they_are_told_to_be(gains, motor):
    check_gains(GAINS.tuned(*gains))
    winches = _winches(gains, _motor(*motor))
    for target in (0.008, -0.001):
        path = winches.run(1.2, np.full(6, target))
        assert winches.state.mode == "active", winches.state.faults
    assert np.abs(path[-50:] - target).max() < 0.25e-3


def test_gains_far_beyond_make_winches_of_little_friction_swing():
    path = _winches((180.0, 25.0), _motor(5.0)).run(1.5, np.full(6, 0.005))
    assert np.ptp(path[-100:, 0]) > 0.5e-3


@pytest.mark.parametrize("gains", [SLUGGISH])
def test_low_gains_pull_a_stiff_body_and_find_taut_cables_without_a_fault(gains):
    neck = load_robot("neck").winches
    winches = _winches(gains, None, neck)
    winches.spring = 300.0
    winches.run(1.2, np.full(3, 0.03))
    assert winches.state.mode == "active", winches.state.faults
    winches.control.relax()
    winches.run(0.5)
    winches.spring, winches.slack = 2000.0, winches.motors.displacements + 0.004
    winches.control.take_up_slack()
    while winches.state.mode == "homing":
        winches.tick()
    assert winches.state.mode in ("active", "hold"), winches.state.faults
    np.testing.assert_allclose(winches.motors.displacements, winches.slack, atol=1e-3)


def test_gains_can_be_changed_in_mid_move_and_no_current_jumps():
    winches = _winches((60.0, 25.0), None)
    winches.run(0.5, np.full(6, 0.001))
    winches.run(0.06, np.full(6, 0.006))
    before = np.array(list(winches.commanded.values()))
    winches.control.tune(GAINS.tuned(30.0, 12.5))
    winches.tick(np.full(6, 0.006))
    assert np.abs(np.array(list(winches.commanded.values())) - before).max() < 0.3
    path = winches.run(1.0, np.full(6, 0.006))
    np.testing.assert_allclose(path[-1], 0.006, atol=0.1e-3)


def test_gains_that_are_refused_change_nothing():
    winches = _winches((60.0, 25.0), None)
    with pytest.raises(InputError):
        winches.control.tune(GAINS.tuned(60.0, 60.0))
    assert winches.control.parameters.gains == GAINS
    assert min(modulus_margin(GAINS, 5.0, share * GAINS.inertia) for share in (0.75, 1.2)) >= LEAST_MARGIN
