"""Rotations as the sensors' code uses them: quaternions are w, x, y, z."""

import math

import numpy as np

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError


def checked_rotation(rotation: np.ndarray) -> np.ndarray:
    """(3, 3) as floats.

    Raises:
        InputError: not a right-handed rotation to 1e-6.
    """
    matrix = checked_numbers(rotation, "a rotation (3, 3)", "mounting")
    if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-6) or np.linalg.det(matrix) < 0:
        raise InputError(f"mounting {np.round(matrix, 4).tolist()}: expected a right-handed (3, 3) rotation matrix")
    return matrix


def quaternion_from_matrix(rotation: np.ndarray) -> np.ndarray:
    """(4,) unit quaternion of a rotation matrix (3, 3), from its largest component (Shepperd 1978)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    squares = (1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz)  # 4 w², 4 x², 4 y², 4 z²
    largest = squares.index(max(squares))
    w, x, y, z = (  # each times 4 and the largest component
        (squares[0], zy - yz, xz - zx, yx - xy),
        (zy - yz, squares[1], xy + yx, xz + zx),
        (xz - zx, xy + yx, squares[2], yz + zy),
        (yx - xy, xz + zx, yz + zy, squares[3]),
    )[largest]
    size = math.sqrt(w * w + x * x + y * y + z * z)
    return np.array([w / size, x / size, y / size, z / size])


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
