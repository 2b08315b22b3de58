"""The base's motions against their own derivatives, and against gravity."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.emulation.base_motion import inclinations, recording
from soft_twin.errors import InputError, RecordingError

DATA = Path(os.environ.get("SOFT_TWIN_DATA", Path(__file__).parents[3] / "shared" / "data"))
TRIAL = DATA / "broad" / "01_undisturbed_slow_rotation_A.mat"
needs_broad = pytest.mark.skipif(not TRIAL.is_file(), reason=f"no BROAD recording at {TRIAL}")
ANGLES = [135.0, 90.0, 45.0, 0.0, -45.0]


def rotation(motion, t):
    return Rotation.from_quat(np.roll(motion.attitude(t), -1))


def body_rates(motion, t, step):
    """Rates in base_link from two attitudes."""
    return (rotation(motion, t - step).inv() * rotation(motion, t + step)).as_rotvec() / (2.0 * step)


@pytest.fixture
def profile():
    return inclinations(ANGLES, move_time=2.0, hold_time=1.0)


def test_profile_holds_each_inclination(profile):
    for i, angle in enumerate(ANGLES):
        t = 3.0 * i + 2.5
        theta = np.radians(angle)
        assert profile.phase(t) == f"hold {angle:g}"
        np.testing.assert_allclose(profile.specific_force(t), 9.81 * np.array([0, np.cos(theta), np.sin(theta)]))
        np.testing.assert_allclose(profile.angular_velocity(t), 0.0)


def test_profile_begins_and_ends_upright_and_still(profile):
    assert profile.duration == 17.0
    for t in (-5.0, 0.0, profile.duration, 100.0):
        np.testing.assert_allclose(profile.attitude(t), [1, 0, 0, 0], atol=1e-12)
        np.testing.assert_allclose(profile.specific_force(t), [0, 0, 9.81], atol=1e-12)
        np.testing.assert_allclose([profile.angular_velocity(t), profile.angular_acceleration(t)], 0.0, atol=1e-12)


def test_profile_feels_gravity_in_its_attitude(profile):
    for t in np.linspace(0.0, profile.duration, 50):
        np.testing.assert_allclose(
            profile.specific_force(t), rotation(profile, t).inv().apply([0, 0, 9.81]), atol=1e-12
        )


def test_profile_rates_are_derivatives_of_its_attitude(profile):
    for t in np.linspace(0.01, profile.duration - 0.01, 83):
        np.testing.assert_allclose(profile.angular_velocity(t), body_rates(profile, t, 1e-4), atol=1e-6)
        difference = (profile.angular_velocity(t + 1e-5) - profile.angular_velocity(t - 1e-5)) / 2e-5
        np.testing.assert_allclose(profile.angular_acceleration(t), difference, atol=1e-3)


def test_profile_names_its_phases(profile):
    assert [profile.phase(t) for t in (0.1, 3.1, 14.9, 15.1)] == ["move 135", "move 90", "hold -45", "return"]


@pytest.mark.parametrize("arguments", [([], 1.0, 1.0), ([np.nan], 1.0, 1.0), ([0.0], 0.0, 1.0), ([0.0], 1.0, -1.0)])
def test_profile_refuses_what_cannot_be_moved(arguments):
    with pytest.raises(InputError):
        inclinations(*arguments)


@needs_broad
def test_recording_turns_as_its_gyroscope_says():
    motion = recording(TRIAL)
    errors = [body_rates(motion, t, 0.02) - motion.angular_velocity(t) for t in np.arange(40.0, 140.0, 0.5)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.1  # the rates themselves: 1 rad/s rms


@needs_broad
def test_recording_at_rest_feels_its_weight_and_its_noise():
    motion = recording(TRIAL)
    weight = rotation(motion, 0.0).inv().apply([0, 0, 9.81])
    samples = np.array([np.concatenate(motion.imu(t)) for t in np.arange(-2.0, 0.0, 0.01)])
    np.testing.assert_allclose(samples[:, 3:].mean(axis=0), weight, atol=0.02)
    assert np.all(np.abs(samples[:, :3].mean(axis=0)) < 0.02)
    assert np.any(np.diff(samples, axis=0) != 0.0, axis=1).all()


@needs_broad
def test_recording_through_a_mounting_is_the_same_motion_seen_from_elsewhere():
    mounting = Rotation.from_euler("xyz", [0.3, -0.8, 2.0]).as_matrix()
    plain, mounted = recording(TRIAL, start=50.0), recording(TRIAL, start=50.0, mounting=mounting)
    np.testing.assert_allclose(mounted.imu(10.0), plain.imu(10.0))
    np.testing.assert_allclose(mounted.specific_force(10.0), mounting @ plain.specific_force(10.0))
    np.testing.assert_allclose(
        rotation(mounted, 10.0).as_matrix() @ mounting, rotation(plain, 10.0).as_matrix(), atol=1e-12
    )


@needs_broad
def test_recording_refuses_a_part_that_it_does_not_have():
    with pytest.raises(InputError, match="expected a part of it"):
        recording(TRIAL, start=100.0, duration=1000.0)


def test_recording_must_be_there():
    with pytest.raises(RecordingError, match="no recording at"):
        recording("nowhere.mat")


def test_recording_must_be_a_mat_file(tmp_path):
    path = tmp_path / "bad.mat"
    path.write_bytes(b"not a mat file" * 100)
    with pytest.raises(RecordingError, match="not readable"):
        recording(path)
