"""What two gravities say of how a plate stands."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.inverse.plate_sight import look, rotation_of

AXIS = np.array([0.6, -0.8])


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.99e-3, 1.01e-3, 0.4, 2.5, 4.0])
def test_a_bend_turns_about_the_axis_across_it(angle):
    turn = Rotation.from_rotvec(angle * np.array([0.8, 0.6, 0.0])).as_matrix()
    np.testing.assert_allclose(rotation_of(angle * AXIS), turn, atol=1e-14)


@pytest.mark.parametrize("angle", [1e-7, 0.9e-3, 1.1e-3, 0.4, 1.2])
@pytest.mark.parametrize("twist", [0.0, -0.3])
def test_the_bend_that_was_is_seen(angle, twist):
    bend, gravity = angle * AXIS, np.array([2.0, -3.0, -8.0])
    rotation = rotation_of(bend) @ Rotation.from_rotvec([0.0, 0.0, twist]).as_matrix()
    sight = look(gravity, rotation.T @ gravity, bend + [0.1, -0.15], twist)
    assert sight.unseen is None and sight.mismatch < 1e-9
    np.testing.assert_allclose(sight.bend, bend, atol=1e-9)


def test_of_gravity_that_is_hardly_seen_to_turn_the_spread_is_that_of_its_slopes():
    """Covariance of the bend by finite differences of what the plate's gravity is in base_link."""
    bend, gravity, h = 0.5 * AXIS, np.array([3.0, 1.0, -6.0]), 1e-6
    plate = rotation_of(bend).T @ gravity / np.linalg.norm(gravity)
    slopes = [(rotation_of(bend + d) - rotation_of(bend - d)) @ plate / (2.0 * h) for d in h * np.eye(2)]
    spread = look(gravity, plate, bend).spread
    np.testing.assert_allclose(spread, np.linalg.inv(np.array(slopes) @ np.array(slopes).T), rtol=1e-7)
