"""The comparison of gyroscope and accelerometer: its parameters reach the kernel under their own names."""

from dataclasses import fields

import numpy as np
import pytest

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.sensing import agreement_kernel as kernel
from soft_twin.sensing.agreement import Agreement, AgreementParameters

TILT_STD = np.radians(0.4)


def swinging(agreement, start, end, across):
    """(n,) whether the answer is believed on a base that swings about y, accelerated across "up" [m/s²]."""
    believed = []
    for time in np.arange(start, end, 0.01):
        angle, rate = 0.5 * np.sin(3.0 * time), 1.5 * np.cos(3.0 * time)
        up = np.array([-np.sin(angle), 0.0, np.cos(angle)])
        force = STANDARD_GRAVITY * up + np.array([0.0, across, 0.0])
        believed.append(agreement.update(0.01, np.array([0.0, rate, 0.0]), force, up, TILT_STD, 0.0))
    return believed


def drawn_away(agreement, speed):
    """(100,) whether the answer is believed while both it and the force leave what still rates say [rad/s].

    Before that the base has trembled for two seconds, and it goes on to.
    """
    believed = []
    for time in np.arange(0.0, 3.0, 0.01):
        angle = speed * max(time - 2.0, 0.0)
        up = np.array([np.sin(angle), 0.0, np.cos(angle)])
        force = STANDARD_GRAVITY * up + np.sin(60.0 * time) * np.array([0.3, 0.2, 0.8])
        rates = np.full(3, 1e-4 * np.sin(50.0 * time))
        believed.append(agreement.update(0.01, rates, force, up, TILT_STD, 0.0))
    return believed[200:]


def test_an_answer_that_a_shove_withdrew_is_back_before_the_motion_ends():
    agreement = Agreement()
    assert all(swinging(agreement, 0.0, 3.0, 0.0))
    assert not swinging(agreement, 3.0, 3.3, 6.0)[-1]
    believed = swinging(agreement, 3.3, 4.3, 0.6)  # 3.5°: more than what agrees, less than what is odd
    assert not any(believed[:30])
    assert all(believed[60:])


def test_an_answer_after_lost_time_waits_until_both_agree():
    agreement = Agreement()
    swinging(agreement, 0.0, 3.0, 0.0)
    agreement.withdraw()
    assert not any(swinging(agreement, 3.0, 4.0, 0.6))
    assert swinging(agreement, 4.0, 5.2, 0.0)[-1]


def test_an_answer_that_leaves_what_the_rates_say_is_not_believed():
    assert all(drawn_away(Agreement(), np.radians(0.3)))  # a bias that the filter does not know yet
    agreement = Agreement()
    believed = drawn_away(agreement, np.radians(2.0))
    assert believed[0] and not any(believed[80:])
    assert agreement.contradiction


def test_an_answer_that_was_found_anew_has_left_nothing():
    agreement = Agreement()
    believed = swinging(agreement, 0.0, 3.0, 0.0)
    agreement.found_anew()
    tilt = np.array([[np.cos(0.2), 0.0, np.sin(0.2)], [0.0, 1.0, 0.0], [-np.sin(0.2), 0.0, np.cos(0.2)]])
    up = tilt @ np.array([0.0, 0.0, 1.0])
    assert all(believed)
    agreement.update(0.01, np.zeros(3), STANDARD_GRAVITY * up, up, TILT_STD, 0.0)
    assert not agreement.contradiction


def test_every_place_of_the_kernel_is_one_parameter_s():
    names = [field.name for field in fields(AgreementParameters) if field.name != "astray_time"]
    places = [kernel.C_GRAVITY, *(getattr(kernel, f"C_{name.upper()}") for name in names)]
    assert sorted(places) == list(range(kernel.COEFFICIENTS))


def test_parameters_that_make_no_sense_are_named():
    with pytest.raises(InputError, match="hold = 0.0"):
        AgreementParameters(hold=0.0)
    with pytest.raises(InputError, match="base_odds = nan"):
        AgreementParameters(base_odds=float("nan"))
