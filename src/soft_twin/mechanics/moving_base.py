"""A base that moves: what it does to the body that stands on it, in the frame of the base."""

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.checks import checked_vector


def _zeros() -> np.ndarray:
    return np.zeros(3)


@dataclass(frozen=True)
class MovingBase:
    """How a base moves, all of it (3,) in base_link.

    Attributes:
        gravity: specific gravity, that is gravity less the base's acceleration [m/s²].
        rate: ω of the base [rad/s].
        acceleration: ω̇ [rad/s²].

    Raises:
        InputError: not three finite numbers.
    """

    gravity: np.ndarray
    rate: np.ndarray = field(default_factory=_zeros)
    acceleration: np.ndarray = field(default_factory=_zeros)

    def __post_init__(self):
        checked_vector(self.gravity, 3, "specific gravity")
        checked_vector(self.rate, 3, "angular velocity")
        checked_vector(self.acceleration, 3, "angular acceleration")

    def inertial_forces(self, mass: csr_matrix, points: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """Nodal forces (n, 3) [N] of Euler, of the centrifuge, and of Coriolis, −M (ω̇ × x + ω × (ω × x + 2 v)), with
        a mass matrix (n, n), positions and velocities (n, 3) relative to the base."""
        if not (self.rate.any() or self.acceleration.any()):
            return np.zeros_like(points)
        spin = _cross_matrix(self.rate)
        turned = points @ (_cross_matrix(self.acceleration) + spin @ spin).T + velocities @ (2.0 * spin.T)
        return -(mass @ turned)


def _cross_matrix(vector: np.ndarray) -> np.ndarray:
    """[v]× (3, 3)."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
