"""The equations of the neck's paper, beside rotation matrices and our own kinematics."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.twins.constant_curvature import ConstantCurvature
from soft_twin.twins.constant_curvature.arc_parameters import (
    cable_displacements,
    inclination_and_orientation,
    place,
    winch_angles,
    z_in_plate,
)

RNG = np.random.default_rng(4)
PITCH, ROLL, YAW = RNG.uniform(-1.2, 1.2, (3, 40))
GAMMAS, DISTANCE, LENGTH = np.radians([30.0, 150.0, -90.0]), 0.04, 0.1


def turns(yaw):
    """R = Rx(roll) Ry(pitch) Rz(yaw)."""
    return Rotation.from_euler("XYZ", np.column_stack([ROLL, PITCH, np.broadcast_to(yaw, PITCH.shape)])).as_matrix()


def test_equation_4_is_the_third_row_of_the_rotation_whatever_the_yaw():
    np.testing.assert_allclose(z_in_plate(PITCH, ROLL, YAW), turns(YAW)[:, 2], atol=1e-14)


@pytest.mark.parametrize("yaw", [0.0, YAW])
def test_the_inclination_is_that_of_the_axis(yaw):
    alpha, _ = inclination_and_orientation(PITCH, ROLL, yaw)
    np.testing.assert_allclose(np.cos(alpha), turns(yaw)[:, 2, 2], atol=1e-14)


@pytest.mark.parametrize(("pitch", "roll"), [(0.5, 0.0), (-0.5, 0.0), (0.0, 0.7), (0.0, -0.7)])
def test_without_yaw_the_orientation_is_opposite_to_the_axis_where_one_angle_is_zero(pitch, roll):
    _, beta = inclination_and_orientation(pitch, roll)
    axis = Rotation.from_euler("XYZ", [roll, pitch, 0.0]).as_matrix()[:, 2]
    assert np.cos(beta - np.arctan2(axis[1], axis[0])) == pytest.approx(-1.0)


def test_of_a_plate_that_is_only_bent_it_is_opposite_everywhere():
    bends = RNG.normal(0.0, 0.5, (20, 2))
    for bend in bends:
        roll, pitch, yaw = Rotation.from_rotvec([-bend[1], bend[0], 0.0]).as_euler("XYZ")
        alpha, beta = inclination_and_orientation(pitch, roll, yaw)
        assert alpha == pytest.approx(np.hypot(*bend))
        assert np.cos(beta - np.arctan2(*bend[::-1])) == pytest.approx(-1.0)


def test_places_and_cables_are_those_of_constant_curvature():
    azimuths = -GAMMAS
    places = DISTANCE * np.column_stack([np.cos(azimuths), np.sin(azimuths)])
    arcs = ConstantCurvature([LENGTH], places, cables="arc")
    alpha, beta = np.append(RNG.uniform(0.0, 1.4, 30), [0.0, 1e-9, 9e-5]), RNG.uniform(-np.pi, np.pi, 33)
    bends = (alpha * np.array([np.cos(beta), np.sin(beta)])).T[:, None]
    np.testing.assert_allclose(place(alpha, beta, LENGTH), arcs.poses(bends)[0][:, 0], atol=1e-9)
    pulled = cable_displacements(alpha, beta, DISTANCE, GAMMAS)
    np.testing.assert_allclose(pulled, arcs.displacements_of(bends), atol=1e-12)
    np.testing.assert_allclose(winch_angles(pulled, 0.0065)[0], pulled[0] / 0.0065)


def test_orientations_come_in_batches():
    chords = ConstantCurvature([LENGTH], DISTANCE * np.eye(3, 2) - 0.01, cables="chord", overhangs=(0.015, 0.0))
    pulled = chords.displacements(0.5 * PITCH, 0.5 * ROLL)
    pitch, roll = chords.orientation(pulled)
    np.testing.assert_allclose([pitch, roll], [0.5 * PITCH, 0.5 * ROLL], atol=1e-9)
    assert pitch.shape == (40,)
    one = chords.orientation(pulled[7])
    assert all(isinstance(each, float) for each in one)
    np.testing.assert_allclose(one, [pitch[7], roll[7]], atol=1e-12)
