"""A recording of one IMU with optical truth beside it, whichever data set it is from."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OpticalTrial:
    """One recording.

    Attributes:
        name: the file's name without its ending.
        rate: samples per second.
        angular_velocity: (n, 3) [rad/s].
        specific_force: (n, 3) [m/s²].
        quaternion_wxyz: (n, 4) optical truth, sensor → world (z up), NaN where it was lost.
        movement: (n,) bool, the part of the trial in which errors count.
    """

    name: str
    rate: float
    angular_velocity: np.ndarray
    specific_force: np.ndarray
    quaternion_wxyz: np.ndarray
    movement: np.ndarray

    @property
    def counted(self) -> np.ndarray:
        """(n,) bool: in the part that counts, and the truth is known."""
        return self.movement & np.isfinite(self.quaternion_wxyz).all(axis=1)
