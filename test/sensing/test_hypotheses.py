"""The bank of hypotheses: a healthy gyroscope is believed, a wrong one is found by what the force says."""

from dataclasses import fields
from itertools import permutations, product

import numpy as np
import pytest

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.emulation.base_motion import inclinations
from soft_twin.errors import InputError
from soft_twin.sensing import hypotheses_kernel as kernel
from soft_twin.sensing.ekf import OrientationEkf
from soft_twin.sensing.hypotheses import Hypotheses, HypothesesParameters, usual_mistakes, usual_scales
from soft_twin.sensing.rotations import rotation_matrix
from soft_twin.sensing.samples import ImuSample

DT = 0.01
TURNS = inclinations([60.0, -60.0], 1.0, 0.5)


def swing(matrix=None, bias=(0.0, 0.0, 0.0), duration=TURNS.duration, start=0.0):
    """(n,) probabilities of "far off" behind the EKF, for turns of the base that a gyroscope tells of wrongly."""
    rng, ekf, bank, answer = np.random.default_rng(1), OrientationEkf(), Hypotheses(), []
    for time in DT * np.arange(1, round(duration / DT)):
        rates, force = TURNS.angular_velocity(time), TURNS.specific_force(time) + 0.03 * rng.standard_normal(3)
        told = rates if matrix is None or time < start else matrix @ rates
        told = told + np.array(bias) * (time >= start) + 2e-3 * rng.standard_normal(3)
        ekf.update(ImuSample(time, told, force, 30.0))
        up = rotation_matrix(ekf.quaternion_wxyz)[2]
        answer.append(bank.update(DT, told - ekf.gyroscope_bias, force, up, 0.0))
    return np.array(answer), bank


def test_a_healthy_gyroscope_is_believed():
    far, bank = swing()
    assert far[0] < 0.05 and far[100:].max() < 0.002
    assert bank.probabilities["healthy"] > 0.98


TURNED_ABOUT = TURNS.angular_velocity(0.5)
SEEN = [one for one in usual_mistakes() if not np.allclose(one @ TURNED_ABOUT, TURNED_ABOUT)]


@pytest.mark.parametrize("mistake", SEEN, ids=lambda one: str(one.tolist()))
def test_usual_mistakes_about_the_axis_that_is_turned_about_are_found(mistake):
    assert swing(mistake)[0].max() > 0.9


def test_a_bias_that_begins_is_found():
    assert swing(bias=np.radians([12.0, 5.0, -4.0]), start=0.3)[0].max() > 0.9


@pytest.mark.parametrize("scale", usual_scales(), ids=lambda one: f"{one[0, 0]}")
def test_usual_scales_are_found(scale):
    assert swing(np.linalg.inv(scale))[0].max() > 0.9


def test_a_jump_of_the_rate_makes_a_fault_likelier():
    found = []
    for odds in (1.0, HypothesesParameters().jump_odds):
        bank, up = Hypotheses(HypothesesParameters(jump_odds=odds)), np.array([0.0, 0.0, 1.0])
        for i in range(200):
            rates = np.array([0.0, 0.02 * np.sin(0.05 * i) + 0.2 * (i >= 100), 0.0])
            bank.update(DT, rates, STANDARD_GRAVITY * up, up, 0.0)
            if i == 100:
                found.append(bank.probabilities["biased"])
    assert found[0] < 0.001
    assert 0.01 < found[1] < 0.2


def test_a_gyroscope_that_goes_on_to_tell_of_turns_has_not_fallen_silent():
    """The rate jumps to another one, or to nothing."""
    unseen = []
    for after in (0.4, 0.0):
        bank = Hypotheses()
        for i in range(200):
            rates = np.array([0.0, 0.8 if i < 150 else after, 0.0])
            turned = np.array([-np.sin(0.008 * i), 0.0, np.cos(0.008 * i)])
            bank.update(DT, rates, STANDARD_GRAVITY * turned, turned, 0.0)
            if i == 150:
                unseen.append(bank.probabilities["unseen"])
    assert unseen[0] < 0.001
    assert unseen[1] > 0.03


def test_a_knock_that_both_sensors_feel_is_no_fault_that_begins():
    bank, up = Hypotheses(), np.array([0.0, 0.0, 1.0])
    for i in range(200):
        knock = float(i == 150)
        bank.update(DT, np.array([0.0, 0.3 * knock, 0.0]), (STANDARD_GRAVITY + 5.0 * knock) * up, up, 0.0)
    assert bank.probabilities["biased"] < 0.005


SIGNED_AXES = [
    np.diag(signs) @ np.eye(3)[list(order)]
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
]


@pytest.mark.parametrize("mistake", usual_mistakes(), ids=lambda one: str(one.tolist()))
def test_a_mistake_that_looks_the_same_may_be_the_accelerometer_s_as_well(mistake):
    seen = np.array([0.36, -0.48, 0.8])
    causes = [read.T @ seen for read in SIGNED_AXES if np.allclose(np.linalg.det(read) * read, mistake)]
    far = [kernel._angle(up, seen) > HypothesesParameters().far for up in [seen, *causes]]
    coefficients = np.zeros(kernel.COEFFICIENTS)
    coefficients[[kernel.C_NEAR, kernel.C_FAR]] = HypothesesParameters().near, HypothesesParameters().far
    told = kernel._farness_of_mistake(mistake, seen, seen, 0.0, coefficients)
    assert told == pytest.approx(np.mean(far))


def test_a_silent_gyroscope_is_found():
    assert swing(np.zeros((3, 3)))[0].max() > 0.9


def test_an_accelerometer_s_wrong_axes_look_like_a_mistake_of_the_gyroscope():
    rng = np.random.default_rng(0)
    up, rates = rng.standard_normal(3), rng.standard_normal(3)
    for read in (np.diag([1.0, -1.0, 1.0]), np.eye(3)[[1, 0, 2]], np.eye(3)[[2, 0, 1]]):
        seen = np.linalg.det(read) * read @ rates
        np.testing.assert_allclose(read @ np.cross(rates, up), np.cross(seen, read @ up), atol=1e-12)
        assert any(np.allclose(np.linalg.det(read) * read, one) for one in usual_mistakes())


@pytest.mark.parametrize("passed", [0.0, 0.4, 1.5])
def test_what_is_wrong_with_a_board_outlives_a_time_without_samples_but_for_repairs(passed):
    bank = swing(SEEN[0], duration=1.0)[1]
    before = bank.probabilities["mistaken"]
    assert before > 0.95
    bank.lose_tilt(0.5 * passed)
    bank.lose_tilt(0.5 * passed)
    up = np.array([0.0, 0.0, 1.0])
    bank.update(DT, np.zeros(3), STANDARD_GRAVITY * up, up, 0.0)
    kept, beforehand = np.exp(-HypothesesParameters().repair * passed), HypothesesParameters().mistaken
    assert bank.probabilities["mistaken"] == pytest.approx(kept * before + (1.0 - kept) * beforehand, abs=0.02)
    bank.reset()
    bank.update(DT, np.zeros(3), STANDARD_GRAVITY * up, up, 0.0)
    assert bank.probabilities["mistaken"] < 0.03


def test_probabilities_sum_to_one_and_are_not_known_before_a_sample():
    assert np.isnan(list(Hypotheses().probabilities.values())).all()
    assert sum(swing(duration=0.5)[1].probabilities.values()) == pytest.approx(1.0)


def test_reset_begins_anew():
    bank = swing(np.zeros((3, 3)))[1]
    bank.reset()
    up = np.array([0.0, 0.0, 1.0])
    assert bank.update(DT, np.zeros(3), 9.81 * up, up, 0.0) < 0.05


def test_every_place_of_the_kernel_is_one_parameter_s():
    names = [field.name for field in fields(HypothesesParameters)]
    places = [kernel.C_GRAVITY, *(getattr(kernel, f"C_{name.upper()}") for name in names)]
    assert sorted(places) == list(range(kernel.COEFFICIENTS))


def test_parameters_that_make_no_sense_are_named():
    with pytest.raises(InputError, match="hazard of the hypotheses = 0.0"):
        HypothesesParameters(hazard=0.0)
    with pytest.raises(InputError, match="near below far"):
        HypothesesParameters(near=0.2, far=0.1)
