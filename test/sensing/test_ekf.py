"""The orientation filter: its Jacobian by finite differences, its covariance by Monte Carlo, recordings."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.errors import InputError
from soft_twin.sensing import ekf_kernel as kernel
from soft_twin.sensing.broad import read_broad
from soft_twin.sensing.ekf import EkfParameters, OrientationEkf
from soft_twin.sensing.evaluation import inclination_errors
from soft_twin.sensing.samples import ImuSample

DATA = Path(os.environ.get("SOFT_TWIN_DATA", Path(__file__).parents[3] / "shared" / "data"))
BROAD = DATA / "broad"
needs_broad = pytest.mark.skipif(not BROAD.is_dir(), reason=f"no BROAD recordings at {BROAD}")
RATE = 100.0


def rotation(quaternion_wxyz):
    return Rotation.from_quat(np.roll(quaternion_wxyz, -1, axis=-1))


def random_filter(seed):
    """A filter in a general state: turned, with bias, matrix error, velocity and position."""
    rng = np.random.default_rng(seed)
    ekf = OrientationEkf()
    ekf.update(ImuSample(0.0, np.zeros(3), np.array([0.0, 0.0, 9.81]), 25.0))
    ekf.state.nominal[:4] = np.roll(Rotation.random(None, rng).as_quat(), 1)
    ekf.state.nominal[4:] = 0.05 * rng.standard_normal(18)
    return ekf


def disturbed(nominal, error):
    """The nominal state moved by an error state."""
    moved = nominal.copy()
    moved[:4] = np.roll((Rotation.from_rotvec(error[:3]) * rotation(nominal[:4])).as_quat(), 1)
    moved[4:] += error[3:]
    return moved


def difference(after, before):
    """Error state (21,) between two nominal states."""
    turn = (rotation(after[:4]) * rotation(before[:4]).inv()).as_rotvec()
    return np.concatenate([turn, after[4:] - before[4:]])


def swing(duration, seed=0, amplitude=1.0, rate=RATE):
    """Rates, forces and truth (Rotation, sensor → world) of a sensor that turns about all axes where it is."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration * rate)) / rate
    frequencies, phases = rng.uniform(0.05, 0.3, 3), rng.uniform(0.0, 2.0 * np.pi, 3)
    truth = Rotation.from_euler("zyx", amplitude * np.sin(2.0 * np.pi * frequencies * t[:, None] + phases))
    rates = rate * (truth[:-1].inv() * truth[1:]).as_rotvec()
    return np.vstack([rates[:1], rates]), truth.inv().apply([0.0, 0.0, 9.81]), truth


@pytest.mark.parametrize("seed", range(3))
def test_transition_is_the_derivative_of_the_process(seed):
    rng = np.random.default_rng(seed)
    ekf, dt = random_filter(seed), 1e-4
    gyr, acc = rng.standard_normal((5, 3)), 9.81 * rng.standard_normal((5, 3))

    def run(nominal):
        x, pending = nominal.copy(), np.zeros(kernel.PENDING)
        for i in range(5):
            kernel.integrate(x, pending, ekf._coefficients, dt, gyr[i], acc[i])
        return x, pending

    end, pending = run(ekf.state.nominal)
    F = np.empty((21, 21))
    kernel.transition(pending, ekf._coefficients, F)
    step = 1e-6
    for k in range(21):
        error = step * np.eye(21)[k]
        plus, minus = (run(disturbed(ekf.state.nominal, sign * error))[0] for sign in (1.0, -1.0))
        derivative = (difference(plus, end) - difference(minus, end)) / (2.0 * step)
        np.testing.assert_allclose(derivative, F[:, k], atol=5e-6)


def test_covariance_step_is_the_transition_on_both_sides():
    rng = np.random.default_rng(1)
    noises = ("gyroscope_noise", "gyroscope_scale_noise", "accelerometer_noise", "accelerometer_scale_noise")
    ekf = OrientationEkf(EkfParameters(**dict.fromkeys(noises, 0.0), bias_walk=0.0, matrix_walk=0.0))
    root, pending = rng.standard_normal((21, 21)), rng.standard_normal(kernel.PENDING)
    C, F = root @ root.T, np.empty((21, 21))
    kernel.transition(pending, ekf._coefficients, F)
    expected = F @ C @ F.T
    kernel.propagate(C, pending, ekf._coefficients)
    np.testing.assert_allclose(C, expected, rtol=1e-12, atol=1e-9)


def test_covariance_grows_by_the_process_noise_of_its_time():
    p = EkfParameters(accelerometer_scale_noise=0.01)
    pending = np.zeros(kernel.PENDING)
    pending[[kernel.ELAPSED, kernel.RATE_SQUARED, kernel.EXCESS_SQUARED]] = duration, rate, excess = 0.05, 0.3, 2.0
    C = np.zeros((21, 21))
    kernel.propagate(C, pending, OrientationEkf(p)._coefficients)
    turn = duration * p.gyroscope_noise**2 + rate * p.gyroscope_scale_noise**2
    velocity = duration * p.accelerometer_noise**2 + excess * p.accelerometer_scale_noise**2
    parts = [turn, duration * p.bias_walk**2, duration * p.matrix_walk**2, velocity, 0.0]
    np.testing.assert_allclose(C, np.diag(np.repeat(parts, (3, 3, 9, 3, 3))), rtol=1e-12)


@pytest.mark.parametrize("ended", [True, False])
def test_the_bias_may_jump_where_rest_begins_or_ends_and_only_there(ended):
    p = EkfParameters(bias_walk=0.0, still_rate_std=1e6)
    ekf = OrientationEkf(p)
    s = ekf.state
    s.covariance[:] = 0.0
    s.rest[[kernel.REST_TIME, kernel.RESTED]] = (0.0, 1.0) if ended else (2.0, 0.0)
    s.rest[kernel.REST_FORCE + 2] = 9.81
    variances = []
    for _ in range(2):
        s.pending[kernel.ELAPSED] = p.interval
        kernel.step_covariance(s.nominal, s.covariance, s.pending, s.rest, s.monitor, ekf._coefficients)
        variances.append(s.covariance[kernel.EB + 2, kernel.EB + 2])
    np.testing.assert_allclose(variances, p.bias_jump**2, rtol=1e-3)


def test_correction_is_kalmans():
    rng = np.random.default_rng(2)
    x = random_filter(2).state.nominal
    root = 0.01 * rng.standard_normal((21, 21))
    C, before, start = root @ root.T, root @ root.T, x.copy()
    kernel.correct(x, C, kernel.EV + 1, 0.02, 1e-4)
    H = np.eye(21)[kernel.EV + 1 : kernel.EV + 2]
    gain = before @ H.T / (H @ before @ H.T + 1e-4)
    np.testing.assert_allclose(difference(x, start), 0.02 * gain[:, 0], atol=1e-12)
    np.testing.assert_allclose(C, before - gain @ H @ before, atol=1e-15)


def test_levelling_makes_the_force_point_up_and_keeps_the_heading_of_a_level_sensor():
    ekf = OrientationEkf()
    force = np.array([3.0, -2.0, 5.0])
    ekf.update(ImuSample(0.0, np.zeros(3), force, 25.0))
    np.testing.assert_allclose(
        rotation(ekf.quaternion_wxyz).apply(force / np.linalg.norm(force)), [0, 0, 1], atol=1e-12
    )
    upside_down = OrientationEkf()
    upside_down.update(ImuSample(0.0, np.zeros(3), np.array([0.0, 0.0, -9.81]), 25.0))
    np.testing.assert_allclose(rotation(upside_down.quaternion_wxyz).apply([0, 0, -1]), [0, 0, 1], atol=1e-12)


def test_streaming_and_batch_are_one_filter():
    gyr, acc, _ = swing(5.0)
    batch = OrientationEkf().update_batch(gyr, acc, 128.0)
    streaming = OrientationEkf()
    for i in range(len(gyr)):
        streaming.update(ImuSample(i / 128.0, gyr[i], acc[i], 25.0))
        np.testing.assert_array_equal(streaming.quaternion_wxyz, batch.quaternion_wxyz[i])
    np.testing.assert_array_equal(streaming.gyroscope_bias, batch.gyroscope_bias[-1])


def test_time_lost_in_a_shake_leaves_the_tilt_and_its_doubt():
    ekf = OrientationEkf()
    still = np.tile([0.0, 0.0, 9.81], (500, 1)) + 0.01 * np.random.default_rng(4).standard_normal((500, 3))
    ekf.update_batch(1e-3 * still[:, [1, 0, 1]], still, RATE)
    before = ekf.quaternion_wxyz
    ekf.relevel(0.3)
    ekf.update(ImuSample(50.0, np.zeros(3), np.array([40.0, 0.0, 0.0]), 25.0))
    np.testing.assert_array_equal(ekf.quaternion_wxyz, before)
    assert np.sqrt(ekf.covariance[0, 0]) >= 0.3


def test_without_errors_it_follows_the_truth():
    gyr, acc, truth = swing(60.0, rate=500.0)
    track = OrientationEkf().update_batch(gyr, acc, 500.0)
    errors = inclination_errors(track.quaternion_wxyz, np.roll(truth.as_quat(), 1, axis=1))
    assert np.degrees(errors.max()) < 0.1


def test_bias_is_found_at_rest_and_heading_stays():
    rng = np.random.default_rng(5)
    bias = np.radians([0.5, -0.3, 0.8])
    n = round(600.0 * RATE)
    gyr = bias + 2.4e-3 * rng.standard_normal((n, 3))
    acc = np.array([0.0, 4.0, 8.96]) + 0.02 * rng.standard_normal((n, 3))
    track = OrientationEkf().update_batch(gyr, acc, RATE)
    np.testing.assert_allclose(track.gyroscope_bias[-1], bias, atol=np.radians(0.01))
    turns = (rotation(track.quaternion_wxyz[400::100]) * rotation(track.quaternion_wxyz[400]).inv()).as_rotvec()
    assert np.degrees(np.abs(turns[:, 2]).max()) < 0.5


def test_a_bias_that_moves_when_the_board_moves_hardly_tilts_gravity():
    """Slow translations of real chips: 0.06 °/s that no rest has shown, for as long as the board is moved."""
    rng = np.random.default_rng(13)
    n, still = round(140.0 * RATE), round(20.0 * RATE)
    t = np.arange(n) / RATE
    moving = t >= 20.0
    gyr = 1e-3 * rng.standard_normal((n, 3)) + np.outer(moving, np.radians([0.06, -0.04, 0.0]))
    acc = np.array([0.0, 0.0, 9.81]) + 0.02 * rng.standard_normal((n, 3))
    for axis, frequency in enumerate((0.45, 0.6, 0.5)):
        acc[:, axis] += moving * 1.2 * np.sin(2.0 * np.pi * frequency * (t - 20.0))
    track = OrientationEkf().update_batch(gyr, acc, RATE)
    up = rotation(track.quaternion_wxyz).apply([0.0, 0.0, 1.0])
    tilt = np.degrees(np.hypot(up[:, 0], up[:, 1]))
    assert np.sqrt(np.mean(tilt[still:] ** 2)) < 0.25
    np.testing.assert_allclose(track.gyroscope_bias[-1, :2], np.radians([0.06, -0.04]), atol=np.radians(0.015))


def test_scale_and_alignment_of_the_gyroscope_are_found_in_turns():
    gyr, acc, truth = swing(180.0, seed=3)
    errors = 0.004 * np.array([[1.0, -1.0, 0.5], [0.5, -1.0, 1.0], [-1.0, 0.5, 1.0]])
    track = OrientationEkf().update_batch(gyr @ np.linalg.inv(np.eye(3) - errors).T, acc, RATE)
    tilt = np.degrees(inclination_errors(track.quaternion_wxyz, np.roll(truth.as_quat(), 1, axis=1)))
    assert np.sqrt(np.mean(tilt[len(tilt) // 2 :] ** 2)) < 0.5 * np.sqrt(np.mean(tilt[: len(tilt) // 10] ** 2))


def test_the_force_of_a_fast_turn_adds_up_to_gravity_at_a_slow_rate():
    """Means over the steps of 20 ms of a sensor that turns at 6 rad/s where it is: its velocity stays nothing."""
    rate, dt = 6.0, 0.02
    angle = rate * dt * np.arange(round(10.0 / dt))
    mean = np.sin(0.5 * rate * dt) / (0.5 * rate * dt)
    acc = 9.81 * mean * np.column_stack([np.zeros_like(angle), np.sin(angle + 0.06), np.cos(angle + 0.06)])
    ekf = OrientationEkf()
    x, pending = ekf.state.nominal, ekf.state.pending
    speed = 0.0
    for force in acc:
        kernel.integrate(x, pending, ekf._coefficients, dt, np.array([rate, 0.0, 0.0]), force)
        speed = max(speed, float(np.abs(x[kernel.V : kernel.V + 3]).max()))
    assert speed < 0.15


def test_bias_is_found_in_motion_as_well():
    gyr, acc, _ = swing(120.0)
    bias = np.radians([0.5, -0.3, 0.4])
    noise = 2.4e-3 * np.random.default_rng(6).standard_normal(gyr.shape)
    track = OrientationEkf().update_batch(gyr + bias + noise, acc, RATE)
    np.testing.assert_allclose(track.gyroscope_bias[-1], bias, atol=np.radians(0.05))


def test_a_slow_turn_is_not_taken_for_bias_once_the_bias_is_known():
    rng = np.random.default_rng(7)
    n = round(60.0 * RATE)
    gyr = 1e-3 * rng.standard_normal((2 * n, 3))
    gyr[n:, 2] += np.radians(0.7)
    acc = np.array([0.0, 0.0, 9.81]) + 0.02 * rng.standard_normal((2 * n, 3))
    track = OrientationEkf().update_batch(gyr, acc, RATE)
    turn = (rotation(track.quaternion_wxyz[-1]) * rotation(track.quaternion_wxyz[n]).inv()).as_rotvec()
    assert np.degrees(turn[2]) == pytest.approx(42.0, abs=3.0)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.6, -0.8, 0.0)])
def test_a_creep_that_gravity_shows_teaches_no_bias(axis):
    """A plate that comes to rest, is corrected at 0.1 °/s for some seconds, and then turns to another place."""
    axis, rng = np.array(axis), np.random.default_rng(5)
    creep, turn = math.radians(0.1), math.radians(60.0)
    counts = (RATE * np.array([10.0, 0.5, 1.0, 5.0, 0.5, 1.0])).astype(int)
    speeds = np.repeat([0.0, turn, 0.0, creep, turn, 0.0], counts)
    truth = Rotation.from_rotvec(np.cumsum(speeds / RATE)[:, None] * axis)
    gyr = speeds[:, None] * axis + math.radians(0.1) + math.radians(0.1) * rng.standard_normal((len(speeds), 3))
    acc = truth.inv().apply([0.0, 0.0, 9.81]) + 0.01 * rng.standard_normal((len(speeds), 3))
    track = OrientationEkf().update_batch(gyr, acc, RATE)
    crept = round(16.5 * RATE)
    assert np.degrees(np.abs(track.gyroscope_bias[crept - 1] - math.radians(0.1))).max() < 0.03
    errors = inclination_errors(track.quaternion_wxyz, np.roll(truth.as_quat(), 1, axis=1))
    assert np.degrees(errors[crept:].max()) < 0.2


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.6, -0.8, 0.0)])
def test_a_plate_that_is_brought_back_after_each_jolt_keeps_its_bias(axis):
    """A payload tilts it by 0.4° at once, and its loop takes a second for the way back: between two motions, often."""
    axis, rng, second = np.array(axis), np.random.default_rng(6), round(RATE)
    turn, jolt = np.full(second // 2, 60.0), np.full(second // 10, -4.0)
    back = 0.4 * np.exp(-np.arange(2.5 * second) / second)
    motion = np.radians(np.concatenate([turn, np.zeros(5 * second // 2), jolt, back]))
    speeds = np.concatenate([np.zeros(10 * second), *(4 * [motion, -motion])])
    truth = Rotation.from_rotvec(np.cumsum(speeds / RATE)[:, None] * axis)
    gyr = speeds[:, None] * axis + math.radians(0.1) + math.radians(0.1) * rng.standard_normal((len(speeds), 3))
    acc = truth.inv().apply([0.0, 0.0, 9.81]) + 0.01 * rng.standard_normal((len(speeds), 3))
    track = OrientationEkf().update_batch(gyr, acc, RATE)
    moved = slice(10 * second, None)
    assert np.degrees(np.abs(track.gyroscope_bias[moved] - math.radians(0.1))).max() < 0.02
    errors = inclination_errors(track.quaternion_wxyz, np.roll(truth.as_quat(), 1, axis=1))
    assert np.degrees(errors[moved].max()) < 0.1


def test_covariance_is_honest_in_monte_carlo():
    squared = []
    parameters = EkfParameters(accelerometer_bias_std=0.0)
    for seed in range(40):
        rng = np.random.default_rng(100 + seed)
        gyr, acc, truth = swing(20.0, seed)
        matrix = np.eye(3) + parameters.matrix_std * rng.standard_normal((3, 3))
        noise = parameters.gyroscope_noise * np.sqrt(RATE) * rng.standard_normal(gyr.shape)
        vibration = parameters.accelerometer_noise * np.sqrt(RATE) * rng.standard_normal(acc.shape)
        gyr = gyr @ np.linalg.inv(matrix).T + parameters.bias_std * rng.standard_normal(3) + noise
        track = OrientationEkf(parameters).update_batch(gyr, acc + vibration, RATE)
        error = truth[-1] * rotation(track.quaternion_wxyz[-1]).inv()
        tilt = np.cross(error.apply([0, 0, 1]), [0, 0, 1])[:2]
        squared.append(np.sum(tilt**2 / track.std[-1, :2] ** 2) / 2.0)
    # Motion is noise to the filter and these sensors do not move: it is cautious, never boastful.
    assert np.mean(squared) < 1.25
    assert np.mean(np.array(squared) < 3.0) >= 0.9


def test_covariance_stays_a_covariance_for_an_hour():
    gyr, acc, _ = swing(60.0)
    rest = np.zeros_like(gyr) + 1e-3 * np.random.default_rng(8).standard_normal(gyr.shape)
    still = np.tile(acc[-1], (len(gyr), 1))
    ekf = OrientationEkf()
    for _ in range(30):
        ekf.update_batch(gyr, acc, RATE)
        track = ekf.update_batch(rest, still, RATE)
    C = ekf.state.covariance
    np.testing.assert_array_equal(C, C.T)
    assert np.linalg.eigvalsh(C).min() > 0.0
    assert np.all(np.isfinite(track.quaternion_wxyz))
    np.testing.assert_allclose(np.linalg.norm(track.quaternion_wxyz, axis=1), 1.0, atol=1e-12)


def test_a_lost_tilt_is_found_again_and_the_covariance_says_so_meanwhile():
    gyr, acc, truth = swing(20.0)
    ekf = OrientationEkf()
    ekf.update(ImuSample(-0.01, np.zeros(3), truth[0].inv().apply([9.81, 0.0, 0.0]), 25.0))
    track = ekf.update_batch(gyr, acc, RATE)
    errors = inclination_errors(track.quaternion_wxyz, np.roll(truth.as_quat(), 1, axis=1))
    assert np.degrees(errors[0]) > 80.0
    assert np.degrees(errors[-500:].max()) < 2.0
    late = slice(200, None)
    assert np.mean(errors[late] < 3.0 * np.linalg.norm(track.std[late, :2], axis=1)) > 0.9


def test_at_rest_a_lost_tilt_is_found_at_once():
    rng = np.random.default_rng(3)
    ekf = OrientationEkf()
    ekf.update(ImuSample(-0.01, np.zeros(3), np.array([9.81, 0.0, 0.0]), 25.0))
    still = np.tile([0.0, 0.0, 9.81], (500, 1)) + 0.01 * rng.standard_normal((500, 3))
    track = ekf.update_batch(1e-3 * rng.standard_normal((500, 3)), still, RATE)
    up = rotation(track.quaternion_wxyz).apply([0.0, 0.0, 1.0])
    assert np.degrees(np.arccos(up[170:, 2].min())) < 0.5
    assert np.degrees(track.std[200:, :2].max()) < 1.0


def test_relevelling_keeps_bias_and_finds_the_tilt_anew():
    rng = np.random.default_rng(9)
    gyr = np.radians([0.4, 0.0, 0.0]) + 1e-3 * rng.standard_normal((1000, 3))
    ekf = OrientationEkf()
    ekf.update_batch(gyr, np.tile([0.0, 0.0, 9.81], (1000, 1)) + 0.01 * rng.standard_normal((1000, 3)), RATE)
    bias = ekf.gyroscope_bias
    ekf.relevel(0.5)
    force = np.array([9.81, 0.0, 0.0])
    ekf.update(ImuSample(50.0, gyr[0], force, 25.0))
    np.testing.assert_allclose(rotation(ekf.quaternion_wxyz).apply(force), [0, 0, 9.81], atol=1e-9)
    np.testing.assert_array_equal(ekf.gyroscope_bias, bias)
    assert np.sqrt(ekf.covariance[2, 2]) >= 0.5


def test_a_bias_that_moves_with_the_temperature_is_followed_where_the_temperature_is_told():
    rng = np.random.default_rng(11)
    n = round(60.0 * RATE)
    temperature = 20.0 + 15.0 * (1.0 - np.exp(-np.arange(n) / RATE / 10.0))
    gyr = np.radians(0.02) * (temperature - 20.0)[:, None] + 2.4e-3 * rng.standard_normal((n, 3))
    acc = np.array([0.0, 0.0, 9.81]) + 0.02 * rng.standard_normal((n, 3))
    told = OrientationEkf().update_batch(gyr, acc, RATE, temperature)
    np.testing.assert_allclose(told.gyroscope_bias[-1], np.radians(0.02) * 15.0, atol=np.radians(0.02))
    with pytest.raises(InputError, match="temperatures of shape"):
        OrientationEkf().update_batch(gyr, acc, RATE, temperature[1:])


def test_a_change_of_temperature_makes_the_bias_less_certain():
    ekf = OrientationEkf()
    before = ekf.state.covariance[kernel.EB, kernel.EB]
    ekf.warm(4.0)
    assert ekf.state.covariance[kernel.EB, kernel.EB] > before


@pytest.mark.parametrize(
    "gyr, acc, rate",
    [
        (np.zeros((0, 3)), np.zeros((0, 3)), 100.0),
        (np.zeros((5, 3)), np.zeros((4, 3)), 100.0),
        (np.zeros((5, 2)), np.zeros((5, 2)), 100.0),
        (np.full((5, 3), np.nan), np.ones((5, 3)), 100.0),
        (np.zeros((5, 3)), np.ones((5, 3)), 0.0),
        (np.zeros((5, 3)), np.ones((5, 3)), "100"),
        ("rates", np.ones((5, 3)), 100.0),
        (np.zeros((2, 3)), [[0.0, 0.0, 9.8], [0.0, 9.8]], 100.0),
    ],
)
def test_batch_refuses_what_is_no_recording(gyr, acc, rate):
    with pytest.raises(InputError):
        OrientationEkf().update_batch(gyr, acc, rate)


def test_batch_refuses_temperatures_that_are_no_numbers():
    with pytest.raises(InputError, match="temperatures: expected"):
        OrientationEkf().update_batch(np.zeros((2, 3)), np.ones((2, 3)), 100.0, temperature=["warm", "cold"])


@pytest.mark.parametrize("values", [{"interval": 0.0}, {"gyroscope_noise": -1.0}, {"velocity_std": math.nan}])
def test_impossible_parameters_are_refused(values):
    with pytest.raises(InputError, match="EKF parameter"):
        EkfParameters(**values)


@needs_broad
@pytest.mark.parametrize("trial", sorted(path.stem for path in BROAD.glob("*.mat")) or ["none"])
def test_recordings_inclination_and_honesty(trial):
    vqf = pytest.importorskip("vqf")
    recording = read_broad(BROAD / f"{trial}.mat")
    gyr, acc = recording.angular_velocity, recording.specific_force
    track = OrientationEkf().update_batch(gyr, acc, recording.rate)
    counted = recording.movement & np.isfinite(recording.quaternion_wxyz).all(axis=1)
    truth = recording.quaternion_wxyz[counted]
    errors = inclination_errors(track.quaternion_wxyz[counted], truth)
    bar = inclination_errors(vqf.VQF(1.0 / recording.rate).updateBatch(gyr, acc)["quat6D"][counted], truth)
    assert np.degrees(np.sqrt(np.mean(errors**2))) < 1.3
    assert np.sqrt(np.mean(errors**2)) < 1.2 * np.sqrt(np.mean(bar**2))
    normalised = errors**2 / np.sum(track.std[counted, :2] ** 2 / 2.0, axis=1)
    assert np.mean(normalised) < 2.0
    assert np.mean(normalised < 5.99) > 0.95
    assert track.nis.mean() < 1.0
    assert np.mean(track.nis < 12.6 / 6.0) > 0.93


def test_uneven_steps_and_a_gap_are_taken_as_they_are():
    gyr, acc, truth = swing(20.0)
    rng = np.random.default_rng(12)
    kept = rng.random(len(gyr)) > 0.2
    kept[800:1000] = False
    kept[:100] = True
    time = np.arange(len(gyr))[kept] / RATE
    track = OrientationEkf().update_batch(gyr[kept], acc[kept], RATE, time=time)
    errors = np.degrees(inclination_errors(track.quaternion_wxyz, np.roll(truth[kept].as_quat(), 1, axis=1)))
    assert errors[time < 8.0].max() < 3.0
    assert errors[time > 12.0].max() < 4.0
    with pytest.raises(InputError, match="each later"):
        OrientationEkf().update_batch(gyr[:3], acc[:3], RATE, time=np.array([0.0, 0.02, 0.01]))
