"""Six positions and two poses: what was put into the readings is found again; hands that err are told."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.errors import DescriptionError, InputError, RecordingError, UsageError
from soft_twin.sensing.calibration import ImuCalibration
from soft_twin.sensing.gravity import build_estimator
from soft_twin.sensing.imu_calibration import (
    CalibrationDesk,
    StillCollector,
    StoredCalibration,
    calibrate_accelerometer,
    calibrate_mounting,
    face_up,
    read_calibration,
    write_calibration,
)
from soft_twin.sensing.samples import ImuSample

FACES = 9.81 * np.vstack([np.eye(3), -np.eye(3)])
SCALE = np.array([1.02, 0.99, 1.01])
OFFSET = np.array([0.3, -0.2, 0.15])


def hand_held(ups, seed=0, degrees=8.0):
    """The positions as a hand holds them: some degrees off."""
    tilts = Rotation.from_rotvec(np.radians(degrees) * np.random.default_rng(seed).uniform(-1, 1, (len(ups), 3)) / 1.8)
    return tilts.apply(ups)


@pytest.mark.parametrize("seed", range(3))
def test_six_rough_positions_give_offsets_and_scales(seed):
    fit = calibrate_accelerometer(hand_held(FACES, seed) / SCALE + OFFSET)
    np.testing.assert_allclose(fit.offset, OFFSET, atol=1e-6)
    np.testing.assert_allclose(np.diag(fit.matrix), SCALE, atol=1e-6)
    assert fit.residual < 1e-9


TRUE_MATRIX = np.diag(SCALE) + [[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [-0.02, 0.015, 0.0]]
EDGES = 9.81 * np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]) / math.sqrt(2.0)  # the best for angles


@pytest.mark.parametrize("more", [EDGES, 9.81 * Rotation.random(20, 4).apply([0.0, 0.0, 1.0])], ids=["edges", "any"])
def test_more_positions_in_any_attitude_give_the_angles_between_the_axes_as_well(more):
    ups = np.vstack([hand_held(FACES), more])
    fit = calibrate_accelerometer(ups @ np.linalg.inv(TRUE_MATRIX).T + OFFSET)
    np.testing.assert_allclose(fit.matrix, TRUE_MATRIX, atol=1e-6)
    np.testing.assert_allclose(fit.offset, OFFSET, atol=1e-6)


def test_an_angle_errs_by_twice_what_a_reading_on_an_edge_does():
    """‖A f‖ has the angle times f_i f_j / g, which is g/2 on the edge between two axes."""
    readings = np.vstack([FACES, EDGES])
    readings[-1] *= 1.001
    matrix = calibrate_accelerometer(readings).matrix
    np.testing.assert_allclose(matrix[[1, 2, 2], [0, 0, 1]], [0.0, 0.0, -0.002], atol=1e-5)


def test_positions_are_three_finite_numbers_each():
    for readings in (FACES[:, :2], np.vstack([FACES, [math.nan, 0.0, 9.81]])):
        with pytest.raises(InputError, match=r"forces of shape .*: expected \(n, 3\) finite numbers"):
            calibrate_accelerometer(readings)


def test_missing_faces_are_named():
    with pytest.raises(InputError, match="-x, -z up"):
        calibrate_accelerometer(FACES[[0, 1, 2, 4, 1, 2]])


def test_readings_of_no_accelerometer_are_refused():
    with pytest.raises(InputError, match="not plausible"):
        calibrate_accelerometer(2.0 * FACES)


def test_readings_in_g_are_told_their_unit_not_that_they_were_not_still():
    with pytest.raises(InputError, match="forces are 1.02 long, expected 9.8 m/s²: g instead of m/s²"):
        calibrate_accelerometer(1.02 * FACES / 9.81)


def test_a_board_on_its_edge_shows_no_face():
    assert face_up(np.array([0.5, -9.7, 1.0])) == "-y"
    with pytest.raises(InputError, match="upright"):
        face_up(np.array([7.0, 7.0, 0.0]))


def test_mounting_is_found_from_two_poses():
    mounting = Rotation.from_euler("xyz", [0.2, -1.1, 2.0]).as_matrix()
    ups = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(calibrate_mounting(9.81 * ups @ mounting, ups), mounting, atol=1e-9)


def test_one_pose_or_contradicting_poses_give_no_mounting():
    up, side = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="two poses"):
        calibrate_mounting([up, up], [up, up])
    with pytest.raises(InputError, match="contradict"):
        calibrate_mounting([up, up + 0.5 * side], [up, side])


def still(count, moved=0.0):
    rng = np.random.default_rng(1)
    return [
        ImuSample(0.01 * i, 1e-3 * rng.standard_normal(3) + moved * i, FACES[2] + 0.02 * rng.standard_normal(3), 30.0)
        for i in range(count)
    ]


def test_rest_is_averaged_over_its_last_second():
    collector = StillCollector()
    for sample in still(300):
        collector.add(sample)
    np.testing.assert_allclose(collector.mean_force(), FACES[2], atol=0.01)


def test_motion_and_silence_are_no_rest():
    with pytest.raises(InputError, match="is the IMU running"):
        StillCollector().mean_force()
    collector = StillCollector()
    for sample in still(200, moved=0.01):
        collector.add(sample)
    with pytest.raises(InputError, match="hold it still"):
        collector.mean_force()


def test_a_clock_that_is_set_back_costs_no_more_than_what_was_collected():
    collector = StillCollector()
    for later in (1000.0, 0.0):
        for sample in still(300):
            collector.add(replace(sample, time=sample.time + later))
    np.testing.assert_allclose(collector.mean_force(), FACES[2], atol=0.01)


def test_calibration_survives_its_file(tmp_path):
    matrix = tuple(map(tuple, np.diag(SCALE).tolist()))
    imu = ImuCalibration(matrix, tuple(OFFSET), (0.001, 0.0, -0.002), (1e-5, 0.0, 2e-5), 38.0)
    mounting = Rotation.from_euler("z", 0.5).as_matrix()
    write_calibration(tmp_path / "imu.yaml", StoredCalibration(imu, mounting))
    read = read_calibration(tmp_path / "imu.yaml")
    assert read.imu == imu
    np.testing.assert_array_equal(read.mounting, mounting)


def hold(desk, force, start):
    rng = np.random.default_rng(round(start))
    for i in range(150):
        rates, noise = 1e-3 * rng.standard_normal(3), 0.02 * rng.standard_normal(3)
        desk.add(ImuSample(start + 0.01 * i, rates, force + noise, 30.0))


def test_a_person_calibrates_accelerometer_and_mounting_pose_by_pose(tmp_path):
    path = tmp_path / "imu.yaml"
    desk = CalibrationDesk(path)
    messages = []
    for k, force in enumerate(FACES / SCALE + OFFSET):
        hold(desk, force, 10.0 * k)
        messages.append(desk.take_position())
    assert messages[0] == "+x up taken; still to come: -x, +y, -y, +z, -z"
    assert "accelerometer calibrated" in messages[-1]
    np.testing.assert_allclose(read_calibration(path).imu.accelerometer_offset, OFFSET, atol=0.01)

    mounting = Rotation.from_euler("xyz", [0.2, -0.4, 2.0]).as_matrix()
    for k, up in enumerate(9.81 * np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])):
        hold(desk, (mounting.T @ up) / SCALE + OFFSET, 100.0 + 10.0 * k)
        messages.append(desk.take_pose())
    assert "+x axis points up" in messages[-2]
    assert "mounting calibrated" in messages[-1]
    np.testing.assert_allclose(read_calibration(path).mounting, mounting, atol=5e-3)

    estimator = build_estimator(np.eye(3), calibration=path)
    rng = np.random.default_rng(0)
    for i in range(100):
        force = (mounting.T @ FACES[2]) / SCALE + OFFSET + 0.01 * rng.standard_normal(3)
        estimate = estimator.update(ImuSample(0.01 * i, 1e-3 * rng.standard_normal(3), force, 30.0))
    np.testing.assert_allclose(estimate.gravity_in_base, [0.0, 0.0, -9.81], atol=0.05)


def test_a_moving_hand_is_told_and_can_try_again(tmp_path):
    desk = CalibrationDesk(tmp_path / "imu.yaml")
    for sample in still(200, moved=0.01):
        desk.add(sample)
    with pytest.raises(InputError, match="hold it still"):
        desk.take_position()
    hold(desk, FACES[2], 10.0)
    assert "+z up taken" in desk.take_position()


def test_a_mounting_pose_is_corrected_by_an_accelerometer_that_is_calibrated_after_it(tmp_path):
    desk = CalibrationDesk(tmp_path / "imu.yaml")
    mounting = Rotation.from_euler("xyz", [0.2, -0.4, 2.0]).as_matrix()
    poses = [mounting.T @ up / SCALE + OFFSET for up in 9.81 * np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])]
    hold(desk, poses[0], 10.0)
    desk.take_pose()
    for k, force in enumerate(FACES / SCALE + OFFSET):
        hold(desk, force, 20.0 + 10.0 * k)
        desk.take_position()
    hold(desk, poses[1], 100.0)
    assert "mounting calibrated" in desk.take_pose()
    np.testing.assert_allclose(desk.stored.mounting, mounting, atol=5e-3)


def test_a_file_that_cannot_be_written_is_told_before_anybody_turns_the_board(tmp_path):
    (tmp_path / "in_the_way").touch()
    desk = CalibrationDesk(tmp_path / "in_the_way" / "imu.yaml")
    hold(desk, FACES[2], 10.0)
    for take in (desk.take_position, desk.take_pose):
        with pytest.raises(UsageError, match="cannot write the IMU calibration '.*imu.yaml': "):
            take()
    (tmp_path / "in_the_way").unlink()
    assert "+z up taken" in desk.take_position() and "base +z up taken" in desk.take_pose()


@pytest.mark.parametrize("written", [b"", b"accelerometer_offset: [0.0,"])
def test_writing_that_is_cut_off_keeps_the_calibration_before(tmp_path, monkeypatch, written):
    path = tmp_path / "imu.yaml"
    write_calibration(path, StoredCalibration(ImuCalibration(gyroscope_bias=(0.1, 0.0, 0.0))))

    def cut_off(partial, text, encoding):
        partial.write_bytes(written)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", cut_off)
    with pytest.raises(RecordingError, match="No space left on device"):
        write_calibration(path, StoredCalibration())
    assert read_calibration(path).imu.gyroscope_bias == (0.1, 0.0, 0.0)
    assert list(tmp_path.iterdir()) == [path]


def test_broken_files_are_named(tmp_path):
    with pytest.raises(RecordingError, match="no IMU calibration"):
        read_calibration(tmp_path / "missing.yaml")
    (tmp_path / "bad.yaml").write_text("accelerometer_offset: [1.0, 2.0]\n")
    with pytest.raises(DescriptionError, match="accelerometer_offset"):
        read_calibration(tmp_path / "bad.yaml")
    (tmp_path / "skew.yaml").write_text("mounting: [1, 0, 0, 0, 1, 0, 0, 0, -1]\n")
    with pytest.raises(InputError, match="right-handed"):
        read_calibration(tmp_path / "skew.yaml")
    with pytest.raises(RecordingError, match="cannot be written"):
        write_calibration(tmp_path / "no" / "folder.yaml", StoredCalibration())


@pytest.mark.parametrize(
    "values",
    [
        {"accelerometer_matrix": ((1.0, 0.0), (0.0, 1.0))},
        {"accelerometer_offset": (0.0, math.nan, 0.0)},
        {"gyroscope_bias": (0.0, 0.0)},
        {"gyroscope_bias_per_kelvin": (1.0, 2.0)},
        {"gyroscope_bias_per_kelvin": (math.nan, 0.0, 0.0)},
        {"reference_temperature": math.nan},
    ],
)
def test_impossible_calibrations_are_refused(values):
    with pytest.raises(InputError, match="IMU calibration"):
        ImuCalibration(**values)


def test_known_bias_follows_the_temperature():
    calibration = ImuCalibration(gyroscope_bias=(0.01, 0.0, 0.0), gyroscope_bias_per_kelvin=(0.001, 0.0, 0.0))
    at = [
        calibration.apply(ImuSample(0.0, np.zeros(3), FACES[2], t)).angular_velocity[0] for t in (25.0, 35.0, math.nan)
    ]
    assert at == pytest.approx([-0.01, -0.02, -0.01])


@pytest.mark.filterwarnings("error")
def test_rest_is_counted_anew_after_a_sample_that_is_no_number():
    collector, samples = StillCollector(), still(250)
    samples[80] = replace(samples[80], specific_force=np.array([0.0, np.inf, 9.81]))
    for sample in samples[:120]:
        collector.add(sample)
    with pytest.raises(InputError, match=r"0\.4 s of samples"):
        collector.mean_force()
    for sample in samples[120:]:
        collector.add(sample)
    np.testing.assert_allclose(collector.mean_force(), FACES[2], atol=0.02)
