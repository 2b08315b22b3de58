import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.sensing.rotations import quaternion_from_matrix, rotation_matrix

HALF_TURNS = [Rotation.from_rotvec(np.pi * axis) for axis in np.eye(3)]  # no w: each has another largest component
TURNS = [Rotation.identity(), *HALF_TURNS, *Rotation.random(40, random_state=1)]


@pytest.mark.parametrize("turn", TURNS)
def test_quaternions_and_matrices_say_the_same(turn):
    quaternion = quaternion_from_matrix(turn.as_matrix())
    expected = np.roll(turn.as_quat(), 1)
    assert abs(quaternion @ expected) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(rotation_matrix(quaternion), turn.as_matrix(), atol=1e-12)
