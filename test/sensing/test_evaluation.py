"""The errors' definition against rotations made for it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.sensing.evaluation import heading_errors, inclination_errors, rms


def wxyz(rotation):
    return np.roll(rotation.as_quat(), 1, axis=-1)[None]


def test_inclination_is_the_angle_between_the_ups_whatever_the_heading():
    truth = Rotation.from_euler("xyz", [0.3, 0.7, -1.0])
    for heading in (0.0, 1.0, 3.0):
        estimate = Rotation.from_euler("z", heading) * Rotation.from_euler("x", 0.2) * truth
        assert inclination_errors(wxyz(estimate), wxyz(truth))[0] == pytest.approx(0.2)
        assert inclination_errors(-wxyz(estimate), wxyz(truth))[0] == pytest.approx(0.2)


def test_heading_is_the_turn_about_up_with_its_sign():
    truth = Rotation.from_euler("xyz", [0.3, 0.7, -1.0])
    for heading in (-3.0, -0.5, 0.0, 2.0):
        estimate = Rotation.from_euler("z", heading) * truth
        assert heading_errors(wxyz(estimate), wxyz(truth))[0] == pytest.approx(heading)
        assert heading_errors(-wxyz(estimate), wxyz(truth))[0] == pytest.approx(heading)


def test_rms():
    assert rms(np.array([3.0, -4.0])) == pytest.approx(np.sqrt(12.5))
