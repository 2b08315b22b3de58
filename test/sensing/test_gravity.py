"""Gravity from one IMU: right when all is well, and every failure detected, named and survived."""

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.emulation.base_motion import inclinations
from soft_twin.emulation.imu import EmulatedImu
from soft_twin.errors import InputError, UsageError
from soft_twin.sensing import ekf_kernel
from soft_twin.sensing.broad import read_broad
from soft_twin.sensing.calibration import ImuCalibration
from soft_twin.sensing.ekf import OrientationEkf
from soft_twin.sensing.evaluation import inclination_errors, rms
from soft_twin.sensing.gravity import GravityEstimator, GravityParameters
from soft_twin.sensing.sample_check import SampleCheckParameters
from soft_twin.sensing.samples import ImuSample

DT = 0.01
BROAD = Path(os.environ.get("SOFT_TWIN_DATA", Path(__file__).parents[3] / "shared" / "data")) / "broad"
needs_broad = pytest.mark.skipif(not BROAD.is_dir(), reason=f"no BROAD recordings at {BROAD}")
STATE_AT = math.radians(30.0)


def feed(estimator, samples):
    return [estimator.update(sample) for sample in samples]


def angle_to(estimate, gravity):
    """Angle between the estimate's gravity and `gravity` [°]."""
    cosine = estimate.gravity_in_base @ gravity / (np.linalg.norm(gravity) * np.linalg.norm(estimate.gravity_in_base))
    return math.degrees(math.acos(min(cosine, 1.0)))


def still_gravity(tilt):
    return -9.81 * np.array([0.0, math.sin(tilt), math.cos(tilt)])


def has(estimates, words):
    return any(words in fault for estimate in estimates for fault in estimate.faults)


@pytest.mark.parametrize(
    "convert",
    [
        lambda t, w, f: (np.float32(t), w.tolist(), tuple(f), 25),
        lambda t, w, f: (np.array(t), w.astype(np.float32), f.astype(">f8"), np.float64(25.0)),
        lambda t, w, f: (t, np.column_stack([w, w])[:, 0], np.column_stack([f, f])[:, 1], 25.0),
    ],
)
def test_samples_of_other_numbers_are_the_same_to_the_filter_and_compile_nothing_more(convert):
    rng, plain, other = np.random.default_rng(3), OrientationEkf(), OrientationEkf()
    compiled = None
    for count in range(4):
        rates, force = rng.normal(size=3).astype(np.float32), rng.normal(size=3).astype(np.float32) + [0.0, 0.0, 10.0]
        sample = (0.25 * count, rates.astype(float), force.astype(float), 25.0)
        plain.update(ImuSample(*sample))
        compiled = compiled or len(ekf_kernel.update.signatures)
        other.update(ImuSample(*convert(*sample[:3])))
    assert other.quaternion_wxyz == pytest.approx(plain.quaternion_wxyz, abs=1e-6)
    assert len(ekf_kernel.update.signatures) == max(compiled, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": "now"}, r"time of an IMU's sample: expected a number \[s\], found 'now'"),
        ({"temperature": None}, r"temperature of an IMU's sample: expected a number \[°C\], found None"),
        ({"angular_velocity": [0.0, 0.0]}, r"angular_velocity .*: expected 3 numbers, found an array of shape \(2,\)"),
        ({"specific_force": "up"}, "specific_force of an IMU's sample: expected 3 numbers, found 'up'"),
    ],
)
def test_what_is_no_sample_is_told(change, message):
    with pytest.raises(InputError, match=message):
        replace(ImuSample(0.0, np.zeros(3), np.array([0.0, 0.0, 9.81]), math.nan), **change)


@pytest.fixture
def estimator():
    return GravityEstimator(np.eye(3))


@pytest.mark.parametrize("name", ["ekf", "vqf"])
def test_gravity_follows_the_base_through_the_papers_inclinations(name, emulated_samples):
    if name == "vqf":
        pytest.importorskip("vqf")
    motion = inclinations([135.0, 90.0, 45.0, 0.0, -45.0], 2.0, 1.0)
    estimates = feed(GravityEstimator(np.eye(3), estimator=name), emulated_samples(motion, motion.duration))
    errors = [angle_to(e, -motion.specific_force(e.time)) for e in estimates[100:]]
    assert max(errors) < 1.0
    assert all(e.valid for e in estimates[100:])
    assert not has(estimates, "")


def test_gravity_is_always_981_and_the_quaternion_agrees_with_it(estimator, still_samples):
    estimate = feed(estimator, still_samples(1.0, STATE_AT))[-1]
    assert np.linalg.norm(estimate.gravity_in_base) == pytest.approx(9.81, abs=1e-12)
    base_to_world = Rotation.from_quat(np.roll(estimate.quaternion_wxyz, -1))
    np.testing.assert_allclose(base_to_world.inv().apply([0, 0, -9.81]), estimate.gravity_in_base, atol=1e-9)


def test_mounting_turns_the_boards_gravity_into_the_bases(still_samples):
    mounting = Rotation.from_euler("xyz", [0.4, -1.0, 2.5]).as_matrix()
    estimate = feed(GravityEstimator(mounting), still_samples(1.0, STATE_AT))[-1]
    assert angle_to(estimate, mounting @ still_gravity(STATE_AT)) < 0.1
    base_to_world = Rotation.from_quat(np.roll(estimate.quaternion_wxyz, -1))
    np.testing.assert_allclose(base_to_world.inv().apply([0, 0, -9.81]), estimate.gravity_in_base, atol=1e-9)


def test_calibration_corrects_the_samples(still_samples):
    offset = np.array([0.3, -0.2, 0.1])
    samples = [replace(s, specific_force=1.02 * s.specific_force + offset) for s in still_samples(1.0, STATE_AT)]
    matrix = tuple(map(tuple, np.eye(3) / 1.02))
    calibration = ImuCalibration(accelerometer_matrix=matrix, accelerometer_offset=tuple(offset))
    plain = feed(GravityEstimator(np.eye(3)), samples)[-1]
    corrected = feed(GravityEstimator(np.eye(3), GravityParameters(calibration=calibration)), samples)[-1]
    assert angle_to(plain, still_gravity(STATE_AT)) > 1.0
    assert angle_to(corrected, still_gravity(STATE_AT)) < 0.1


def test_heater_brings_the_chip_to_a_steady_temperature_and_confidence_rises():
    imu, duty, estimates = EmulatedImu(seed=2), 0.0, []
    estimator = GravityEstimator(np.eye(3))
    for i in range(4000):
        estimate = estimator.update(imu.sample(DT * i, np.zeros(3), np.array([0, 0, 9.81]), 20.0, duty, DT))
        duty = estimate.heater_duty
        estimates.append(estimate)
    states = [e.temperature_state for e in estimates]
    assert [states[0], states[500], states[-1]] == ["cold", "heating", "steady"]
    became_steady = states.index("steady")
    before, after = estimates[became_steady - 1], estimates[became_steady]
    assert np.diag(before.orientation_covariance)[0] > 3.5 * np.diag(after.orientation_covariance)[0]


def test_an_estimator_that_takes_over_holds_the_temperature_that_was_held():
    chip, estimator = EmulatedImu(seed=1), GravityEstimator(np.eye(3))
    duty = 0.0
    for k in range(9000):
        if k == 6000:
            before, held = chip.temperature, estimator.heater.state
            estimator = GravityEstimator(np.eye(3), heater=estimator.heater)
        sample = chip.sample(0.01 * k, np.zeros(3), np.array([0.0, 0.0, 9.81]), 25.0, duty, 0.01)
        duty = estimator.update(sample).heater_duty
    assert held == estimator.heater.state == "steady"
    assert chip.temperature == pytest.approx(before, abs=0.3)


def test_a_board_without_heater_is_left_alone(still_samples):
    estimates = feed(GravityEstimator(np.eye(3), GravityParameters(heated=False)), still_samples(1.0))
    assert {e.temperature_state for e in estimates} == {"off"}
    assert {e.heater_duty for e in estimates} == {0.0}


def test_reset_starts_over(estimator, still_samples):
    feed(estimator, still_samples(1.0, STATE_AT))
    estimator.reset()
    assert angle_to(feed(estimator, still_samples(0.5))[-1], still_gravity(0.0)) < 0.5


def test_nothing_is_valid_before_the_first_usable_sample(estimator, still_samples):
    [sample] = still_samples(DT)
    estimate = estimator.update(replace(sample, specific_force=np.full(3, math.nan)))
    assert not estimate.valid
    assert np.isnan(estimate.gravity_in_base).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e38])
@pytest.mark.parametrize("sensor", ["angular_velocity", "specific_force"])
def test_of_a_bad_sample_nothing_is_handed_on(sensor, value, estimator, still_samples):
    *before, last = still_samples(1.0)
    feed(estimator, before)
    estimate = estimator.update(replace(last, **{sensor: np.array([0.0, value, 1.0])}))
    assert not estimate.valid and estimate.faults
    assert np.isnan(estimate.angular_velocity).all() and np.isnan(estimate.specific_force).all()
    assert np.isfinite(estimate.gravity_in_base).all()


def damaged(samples, damage, start, end):
    """The samples with those between the two times run through `damage`, which may drop one by None."""
    changed = [damage(s) if start <= s.time < end else s for s in samples]
    return [s for s in changed if s is not None]


FAILURES = {
    "not a number": (lambda s: replace(s, angular_velocity=np.array([0.0, math.nan, 0.0])), 1.0, False),
    "stuck": (lambda s: replace(s, angular_velocity=np.ones(3), specific_force=np.array([0, 0, 9.81])), 1.0, False),
    "gyroscope saturated": (lambda s: replace(s, angular_velocity=np.array([0.0, 0.0, 40.0])), 0.2, True),
    "accelerometer saturated": (lambda s: replace(s, specific_force=s.specific_force + 240.0), 0.05, True),
    "free fall": (lambda s: replace(s, specific_force=0.002 * s.specific_force), 0.4, True),
    "gap": (lambda s: None, 1.0, True),
    "g instead of m/s²": (lambda s: replace(s, specific_force=s.specific_force / 9.81), 4.0, False),
    "stamp went back": (lambda s: replace(s, time=s.time - 5.0), 0.2, False),
    "stamp stands still at 4 s": (lambda s: replace(s, time=4.0), 0.2, False),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failure_is_named_and_survived(name, estimator, still_samples):
    damage, duration, goes_on = FAILURES[name]
    samples = damaged(still_samples(12.0, STATE_AT), damage, 4.0, 4.0 + duration)
    estimates = feed(estimator, samples)
    meanwhile = estimates[400 : 400 + round(duration / DT)]
    assert has(meanwhile, name)
    assert not has(estimates[:400], "")
    if not goes_on:
        assert not meanwhile[-1].valid
    recovered = [e for e in estimates if e.time >= 4.0 + duration + 2.0]
    assert all(e.valid and not e.faults for e in recovered)
    assert max(angle_to(e, still_gravity(STATE_AT)) for e in recovered) < 0.5
    after = [e for e in estimates if e.time >= 4.0 + duration and e.valid]
    assert all(
        math.radians(angle_to(e, still_gravity(STATE_AT))) < 3.0 * math.sqrt(np.trace(e.orientation_covariance[:2, :2]))
        for e in after
    )


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (lambda f: f / 9.81, "m/s², expected 9.8: g instead of m/s²?"),
        (lambda f: f - [0.0, 0.0, 9.81], "m/s², expected 9.8: is gravity taken off already?"),
        (lambda f: 0.8 * f, "m/s², expected 9.8: an axis of the accelerometer is wrong in scale"),
        (lambda f: 1.5 * f, "m/s², expected 9.8: an axis of the accelerometer is wrong in scale"),
        (lambda f: 100.0 * f, "impossible sample, beyond what the chip can say: "),
    ],
)
def test_a_force_that_is_wrong_from_the_start_has_one_cause_that_fits_its_size(read, told, estimator, still_samples):
    samples = [replace(s, specific_force=read(s.specific_force)) for s in still_samples(4.0)]
    estimates = feed(estimator, samples)
    assert not any(e.valid for e in estimates[50:])
    for estimate in estimates[50:]:
        assert [told in fault for fault in estimate.faults if "tilt uncertain" not in fault] == [True]
    impossible = [fault for e in estimates for fault in e.faults if "impossible" in fault]
    assert all(fault.endswith("cable and supply if it comes again, at its unit if it stays") for fault in impossible)


def test_a_gyroscope_s_large_offset_is_a_cause_that_is_told_and_a_calibration_of_it_helps(still_samples):
    offset = np.radians([2.0, -2.0, 2.0])
    samples = [replace(s, angular_velocity=s.angular_velocity + offset) for s in still_samples(10.0, STATE_AT)]
    plain = feed(GravityEstimator(np.eye(3)), samples)
    assert has(plain, "gyroscope's offset") and has(plain, "gyroscope_bias in the IMU's calibration file")
    parameters = GravityParameters(calibration=ImuCalibration(gyroscope_bias=tuple(offset)))
    calibrated = feed(GravityEstimator(np.eye(3), parameters), samples)
    assert all(e.valid for e in calibrated[100:])
    assert not has(calibrated, "")


@needs_broad
def test_a_hands_fastest_shaking_is_no_fault():
    trial = read_broad(BROAD / "18_undisturbed_fast_translation_with_breaks_B.mat")
    rows = range(int(70 * trial.rate), int(90 * trial.rate))
    samples = [ImuSample(i / trial.rate, trial.angular_velocity[i], trial.specific_force[i], 30.0) for i in rows]
    assert np.linalg.norm(trial.specific_force[rows], axis=1).max() > 50.0
    estimates = feed(GravityEstimator(np.eye(3)), samples)
    assert {fault.split(":")[0] for e in estimates for fault in e.faults} <= {"free fall"}
    estimated = np.array([e.quaternion_wxyz for e in estimates])
    truth = trial.quaternion_wxyz[rows]
    seen = np.isfinite(truth).all(axis=1)
    seen[: int(5 * trial.rate)] = False
    assert np.degrees(rms(inclination_errors(estimated[seen], truth[seen]))) < 1.5


@pytest.mark.parametrize("duration", [0.2, 0.5])
def test_a_plate_that_its_cables_turn_fast_is_no_faulty_imu(duration):
    """It starts as fast as no hand does, and what it feels at its lever is across "up" alone."""
    lever, turn = np.array([0.0, 0.0, 0.1]), math.radians(25.0)
    imu, estimator, valid = EmulatedImu(seed=3), GravityEstimator(np.eye(3)), []
    for t in DT * np.arange(2400):
        begun, time = divmod(t, 6.0)
        s = min(max(time - 4.0, 0.0) / duration, 1.0)
        there, back = (
            (turn * begun, turn * (begun + 1.0)) if begun < 2 else (turn * (4.0 - begun), turn * (3.0 - begun))
        )
        angle = there + (back - there) * 0.5 * (1.0 - math.cos(math.pi * s))
        rate = (back - there) * 0.5 * math.pi / duration * math.sin(math.pi * s)
        change = (back - there) * 0.5 * (math.pi / duration) ** 2 * math.cos(math.pi * s) * (0.0 < s < 1.0)
        rates, changes = np.array([0.8 * rate, 0.6 * rate, 0.0]), np.array([0.8 * change, 0.6 * change, 0.0])
        up = Rotation.from_rotvec(angle * np.array([0.8, 0.6, 0.0])).inv().apply([0.0, 0.0, 9.81])
        felt = up + np.cross(changes, lever) + np.cross(rates, np.cross(rates, lever))
        valid.append(estimator.update(imu.sample(t, rates, felt, 25.0, 0.0, DT)).valid)
    assert np.mean(valid[200:]) == 1.0


def test_a_clock_that_is_set_back_is_named_and_becomes_the_new_time(estimator, still_samples):
    samples = still_samples(12.0, STATE_AT)
    back = [replace(s, time=s.time - 3600.0) if s.time >= 6.0 else s for s in samples]
    estimates = feed(estimator, back)
    assert has(estimates, "its clock was set back")
    assert not any(e.valid for e in estimates[600:620])
    late = estimates[900:]
    assert all(e.valid and not e.faults for e in late)
    assert max(angle_to(e, still_gravity(STATE_AT)) for e in late) < 0.5


def test_swapped_axes_are_named_when_the_base_turns(emulated_samples):
    motion = inclinations([135.0, 0.0, 135.0, 0.0], 1.5, 0.3)
    swapped = [
        replace(s, angular_velocity=s.angular_velocity[[1, 0, 2]]) for s in emulated_samples(motion, motion.duration)
    ]
    estimates = feed(GravityEstimator(np.eye(3)), swapped)
    assert has(estimates, "contradict each other")
    assert any(not e.valid for e in estimates)


@pytest.mark.parametrize("temperature", [-55.0, 140.0])
def test_temperature_out_of_range_is_named_and_gravity_goes_on(temperature, estimator, still_samples):
    estimates = feed(estimator, [replace(s, temperature=temperature) for s in still_samples(3.0, STATE_AT)])
    assert has(estimates, "temperature control: chip temperature")
    assert estimates[-1].temperature_state == "failed"
    assert estimates[-1].heater_duty == 0.0
    assert estimates[-1].valid
    assert angle_to(estimates[-1], still_gravity(STATE_AT)) < 0.5


def test_unknown_filters_and_impossible_mountings_are_refused():
    with pytest.raises(UsageError, match="ekf, vqf"):
        GravityEstimator(np.eye(3), estimator="madgwick")
    for matrix in (np.diag([1.0, 1.0, -1.0]), 2.0 * np.eye(3), np.eye(2), "upright", [[1.0], [1.0, 0.0]]):
        with pytest.raises(InputError, match="rotation"):
            GravityEstimator(matrix)


def test_limits_that_mean_nothing_are_refused():
    with pytest.raises(InputError, match="stuck_time"):
        SampleCheckParameters(stuck_time=0.0)
