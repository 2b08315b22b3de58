"""Rotations as the sensors' code uses them: quaternions are w, x, y, z."""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.errors import InputError


def checked_rotation(rotation: np.ndarray) -> np.ndarray:
    """(3, 3) as floats.

    Raises:
        InputError: not a right-handed rotation to 1e-6.
    """
    matrix = np.asarray(rotation, dtype=float)
    if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-6) or np.linalg.det(matrix) < 0:
        raise InputError(f"mounting {np.round(matrix, 4).tolist()}: expected a right-handed (3, 3) rotation matrix")
    return matrix


def quaternion_from_matrix(rotation: np.ndarray) -> np.ndarray:
    """(4,) unit quaternion of a rotation matrix."""
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return np.array([w, x, y, z])


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(4,) Hamilton product a ⊗ b."""
    aw, ax, ay, az = a.tolist()
    bw, bx, by, bz = b.tolist()
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


def rotation_matrix(quaternion_wxyz: np.ndarray) -> np.ndarray:
    """(3, 3) of a unit quaternion."""
    w, x, y, z = quaternion_wxyz.tolist()
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
