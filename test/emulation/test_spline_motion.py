"""A base that is carried through poses: its rates and forces are the derivatives of where it is."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.emulation.spline_motion import UP, SplineMotion
from soft_twin.errors import InputError

ATTITUDES = Rotation.from_euler("xyz", [[0, 0, 0], [40, 20, 10], [80, -30, 60], [10, 0, 0]], degrees=True)
TIMES, STEP = [0.0, 1.0, 2.0, 4.0], 1e-4


@pytest.fixture
def motion():
    return SplineMotion(TIMES, ATTITUDES, np.random.default_rng(0).normal(size=(4, 3)))


def rotation(motion, t):
    return Rotation.from_quat(np.roll(motion.attitude(t), -1))


def test_rates_and_forces_are_derivatives(motion):
    t = 1.3
    turned = (rotation(motion, t - STEP).inv() * rotation(motion, t + STEP)).as_rotvec() / (2.0 * STEP)
    np.testing.assert_allclose(motion.angular_velocity(t), turned, atol=1e-6)
    change = (motion.angular_velocity(t + STEP) - motion.angular_velocity(t - STEP)) / (2.0 * STEP)
    np.testing.assert_allclose(motion.angular_acceleration(t), change, atol=1e-5)
    carried = (motion.place(t + STEP) - 2.0 * motion.place(t) + motion.place(t - STEP)) / STEP**2
    np.testing.assert_allclose(motion.specific_force(t), rotation(motion, t).inv().apply(carried + UP), atol=1e-4)


def test_it_goes_through_its_poses_and_stands_still_before_and_after(motion):
    for time, attitude in zip(TIMES, ATTITUDES, strict=True):
        assert (rotation(motion, time).inv() * attitude).magnitude() < 1e-7
    for t in (-1.0, 5.0):
        assert not motion.angular_velocity(t).any()
        np.testing.assert_allclose(np.linalg.norm(motion.specific_force(t)), 9.81)


@pytest.mark.parametrize("times", [[0.0], [0.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0]])
def test_times_that_make_no_sense_are_refused(times):
    with pytest.raises(InputError):
        SplineMotion(times, ATTITUDES)
