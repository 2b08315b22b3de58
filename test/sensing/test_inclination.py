"""Inclinations of struts: signs by finite differences, swings, and IMUs that are late, missing or broken."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.errors import InputError, UsageError
from soft_twin.sensing.evaluation import rms
from soft_twin.sensing.inclination import (
    ComplementaryInclination,
    StrutInclinations,
    StrutParameters,
    inclination,
    inclination_rate,
)
from soft_twin.sensing.samples import ImuSample

RATE = 80.0
X = np.array([1.0, 0.0, 0.0])
BIAS = np.radians([0.5, 0.5, 0.5])


def swing(duration, lever=0.3, bias=BIAS, seed=0):
    """Samples and true inclinations of a strut that swings ±20° about 40° at 0.5 Hz around its bottom node."""
    t = np.arange(round(duration * RATE)) / RATE
    phase = np.pi * t
    angle = math.radians(40.0) + math.radians(20.0) * np.sin(phase)
    rate = math.radians(20.0) * np.pi * np.cos(phase)
    acceleration = -math.radians(20.0) * np.pi**2 * np.sin(phase)
    zero = np.zeros_like(t)
    # The strut's axis is the sensor's x; it leans in the plane of x and z, turning about y.
    force = 9.81 * np.column_stack([np.cos(angle), zero, np.sin(angle)])
    force += lever * np.column_stack([-(rate**2), zero, -acceleration])
    rates = np.column_stack([zero, rate, zero]) + bias
    rng = np.random.default_rng(seed)
    rates += 1e-3 * rng.standard_normal(rates.shape)
    force += 0.02 * rng.standard_normal(force.shape)
    return [ImuSample(a, w, f, math.nan) for a, w, f in zip(t, rates, force, strict=True)], angle


def estimate(samples, estimator):
    struts = StrutInclinations(["s"], parameters=StrutParameters(estimator=estimator))
    angles = []
    for sample in samples:
        struts.update("s", sample)
        angles.append(struts.angles(sample.time)[0])
    return np.array(angles)


@pytest.mark.parametrize("degrees", [0.0, 1e-5, 30.0, 90.0, 150.0, 180.0])
def test_inclination_is_the_angle_to_up(degrees):
    up = Rotation.from_euler("xyz", [0.7, 0.0, 0.0]).apply(
        9.81 * np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0])
    )
    assert math.degrees(inclination(X, up)) == pytest.approx(degrees, abs=1e-9)


def test_rate_has_the_sign_of_the_motion():
    rng = np.random.default_rng(1)
    for _ in range(20):
        axis, up, rates = rng.standard_normal((3, 3))
        axis /= np.linalg.norm(axis)
        step = 1e-6
        ups = [Rotation.from_rotvec(sign * step * rates).inv().apply(up) for sign in (1.0, -1.0)]
        difference = (inclination(axis, ups[0]) - inclination(axis, ups[1])) / (2.0 * step)
        assert inclination_rate(axis, up, rates) == pytest.approx(difference, rel=1e-5, abs=1e-6)


def test_rate_about_x_is_the_papers_equation_with_its_sign_mended():
    _, ay, az = force = np.array([3.0, -5.0, 7.0])
    _, wy, wz = rates = np.array([0.2, 0.5, -0.4])
    assert inclination_rate(X, force, rates) == pytest.approx((az * wy - ay * wz) / math.hypot(ay, az))


def test_complementary_filter_is_equation_16():
    samples, _ = swing(0.05, bias=0.0)
    complementary = ComplementaryInclination(X, 0.5)
    complementary.update(samples[0])
    before = complementary.angle
    complementary.update(samples[1])
    k = 0.5 / (0.5 + 1.0 / RATE)
    s = samples[1]
    expected = k * (before + inclination_rate(X, s.specific_force, s.angular_velocity) / RATE)
    expected += (1.0 - k) * inclination(X, s.specific_force)
    assert complementary.angle == pytest.approx(expected, abs=1e-12)


def test_swinging_strut_is_followed_by_the_orientation_filter():
    samples, truth = swing(60.0)
    late = slice(round(10 * RATE), None)
    error = math.degrees(rms((estimate(samples, "ekf") - truth)[late]))
    assert error < 1.0
    assert error < math.degrees(rms((estimate(samples, "complementary") - truth)[late]))


def test_vqf_can_be_chosen():
    pytest.importorskip("vqf")
    samples, truth = swing(30.0)
    assert math.degrees(rms((estimate(samples, "vqf") - truth)[round(10 * RATE) :])) < 1.5


def test_quiet_strut_is_measured_by_both():
    samples, truth = swing(0.1, bias=0.0)
    still = [ImuSample(i / RATE, 1e-3 * s, np.array([5.0, 0.0, 8.44]) + 0.01 * s, math.nan)
             for i, s in enumerate(np.random.default_rng(2).standard_normal((400, 3)))]  # fmt: skip
    for estimator in ("ekf", "complementary"):
        assert estimate(still, estimator)[-1] == pytest.approx(math.atan2(8.44, 5.0), abs=2e-3)


def test_a_hundred_struts_each_in_its_own_time():
    samples, truth = swing(5.0, bias=0.0)
    names = [f"strut_{i}" for i in range(100)]
    struts = StrutInclinations(names)
    rng = np.random.default_rng(3)
    offsets = rng.uniform(0.0, 0.01, 100)
    for sample in samples[::4]:
        for name, offset in zip(names, offsets, strict=True):
            struts.update(
                name, ImuSample(sample.time + offset, sample.angular_velocity, sample.specific_force, math.nan)
            )
    angles = struts.angles(struts.newest())
    assert angles.shape == (100,)
    assert np.isfinite(angles).all()


def test_late_samples_are_carried_on_and_missing_struts_are_not_measured():
    samples, truth = swing(10.0)
    struts = StrutInclinations(["late", "missing", "gone"])
    for i, sample in enumerate(samples[:-4]):
        struts.update("late", sample)
        if i < 400:
            struts.update("gone", sample)
    angles = struts.angles(samples[-1].time)
    assert math.degrees(abs(angles[0] - truth[-1])) < 2.0
    held = struts.angles(samples[-5].time)[0]
    assert abs(angles[0] - truth[-1]) < abs(held - truth[-1])
    assert np.isnan(angles[1:]).all()


def through_the_vertical(middle, sideways, seed=4):
    """Samples, each with "up" 0.05 and 0.14 s after it, of a strut along z that swings ±30° about `middle` [rad].

    It leans in a plane that stays `sideways` beside the vertical [rad].
    """
    times, rng = np.arange(400, 1600) / 200.0, np.random.default_rng(seed)

    def pose(time):
        swing = middle + math.radians(30.0) * np.sin(np.pi * np.maximum(time - 3.0, 0.0))
        return Rotation.from_euler("yx", np.column_stack(np.broadcast_arrays(swing, sideways)))

    step = 1e-4
    rates = (pose(times - step).inv() * pose(times + step)).as_rotvec() / (2.0 * step)
    rates += 2e-3 * rng.standard_normal(rates.shape)
    forces = pose(times).inv().apply([0.0, 0.0, 9.81]) + 0.02 * rng.standard_normal(rates.shape)
    later = [np.arccos(pose(times + age).as_matrix()[:, 2, 2]) for age in (0.05, 0.14)]
    return [ImuSample(*row, math.nan) for row in zip(times, rates, forces, strict=True)], np.transpose(later)


@pytest.mark.parametrize("estimator", ["ekf", "complementary"])
@pytest.mark.parametrize("middle", [0.0, math.pi], ids=["up", "down"])
@pytest.mark.parametrize("sideways", [0.0, 0.1])
def test_a_strut_that_swings_through_the_vertical_is_carried_on_to_its_other_side(estimator, middle, sideways):
    samples, later = through_the_vertical(middle, sideways)
    struts = StrutInclinations(["s"], np.array([[0.0, 0.0, 1.0]]), StrutParameters(estimator=estimator))
    errors = []
    for sample, angles in zip(samples, later, strict=True):
        struts.update("s", sample)
        told = [struts.angles(sample.time + age)[0] for age in (0.05, 0.14)]
        errors.append(np.subtract(told, angles))
    assert np.degrees(np.abs(errors)[400:, 0]).max() < 1.0
    assert np.degrees(np.abs(errors)[400:, 1]).max() < 3.5


def test_a_broken_imu_is_named_and_leaves_the_others_alone():
    samples, _ = swing(3.0)
    struts = StrutInclinations(["good", "bad"])
    for sample in samples:
        struts.update("good", sample)
        struts.update("bad", ImuSample(sample.time, np.full(3, math.nan), sample.specific_force, math.nan))
    good, bad = struts.angles(samples[-1].time)
    assert math.isfinite(good)
    assert math.isnan(bad)
    assert list(struts.faults) == ["bad"]
    assert "not a number" in struts.faults["bad"][0]


def test_impossible_requests_are_refused():
    with pytest.raises(InputError, match="each name once"):
        StrutInclinations(["a", "a"])
    with pytest.raises(InputError, match="strut axes"):
        StrutInclinations(["a"], axes=np.array([[2.0, 0.0, 0.0]]))
    with pytest.raises(InputError, match="no strut 'b'"):
        StrutInclinations(["a"]).update("b", swing(0.05)[0][0])
    with pytest.raises(UsageError, match="ekf, vqf, complementary"):
        StrutInclinations(["a"], parameters=StrutParameters(estimator="kalman"))


@pytest.mark.parametrize("wrong", [np.diag([1.0, -1.0, -1.0]), np.zeros((3, 3))], ids=["signs", "dead"])
def test_an_imu_whose_sensors_contradict_each_other_is_not_believed_and_named(wrong):
    samples, _ = swing(4.0, lever=0.1)
    struts = StrutInclinations(["good", "bad"])
    believed = []
    for sample in samples:
        struts.update("good", sample)
        noise = 1e-4 * np.sin(np.arange(3.0) + 1e3 * sample.time)
        struts.update("bad", replace(sample, angular_velocity=wrong @ sample.angular_velocity + noise))
        believed.append(np.isfinite(struts.angles(sample.time)))
    good, bad = np.array(believed)[round(RATE) :].T
    assert good.all()
    assert not bad.any()
    assert list(struts.faults) == ["bad"]
    assert any(words in struts.faults["bad"][0] for words in ("contradict each other", "tilt uncertain"))
