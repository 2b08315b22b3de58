"""A base that is carried smoothly through poses: by a robot arm, by a hand."""

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.emulation.base_motion import BaseMotion
from soft_twin.errors import InputError

UP = np.array([0.0, 0.0, STANDARD_GRAVITY])


class SplineMotion(BaseMotion):
    """Through attitudes and places at given times: rotations by cubic splines with continuous acceleration (Itkin's,
    scipy's RotationSpline), places by cubic splines that begin and end at rest. Before and after it stands still."""

    def __init__(self, times: Sequence[float], attitudes: Rotation, places: np.ndarray | None = None):
        """`times`: (k,) [s], rising from 0. `attitudes`: k rotations base_link → world. `places`: (k, 3) of base_link's
        origin in the world [m]; none: it stays.

        Raises:
            InputError: times that do not rise from 0, or of another number than the poses.
        """
        times = np.asarray(times, dtype=float)
        places = np.zeros((len(times), 3)) if places is None else np.asarray(places, dtype=float)
        if len(times) < 2 or times[0] != 0.0 or not (np.diff(times) > 0.0).all() or not np.isfinite(times).all():
            raise InputError(f"times {times.tolist()!r}: expected two or more that rise from 0")
        if len(attitudes) != len(times) or places.shape != (len(times), 3) or not np.isfinite(places).all():
            raise InputError(f"{len(times)} times, {len(attitudes)} attitudes, places {places.shape}: expected as many")
        self.duration = float(times[-1])
        self._turns, self._places = RotationSpline(times, attitudes), CubicSpline(times, places, bc_type="clamped")

    def attitude(self, t: float) -> np.ndarray:
        return np.roll(self._rotation(t).as_quat(), 1)

    def place(self, t: float) -> np.ndarray:
        """(3,) of base_link's origin in the world [m]."""
        return self._places(self._within(t))

    def angular_velocity(self, t: float) -> np.ndarray:
        return self._turns(t, 1) if self._moves(t) else np.zeros(3)

    def angular_acceleration(self, t: float) -> np.ndarray:
        return self._turns(t, 2) if self._moves(t) else np.zeros(3)

    def specific_force(self, t: float) -> np.ndarray:
        carried = self._places(t, 2) if self._moves(t) else np.zeros(3)
        return self._rotation(t).inv().apply(carried + UP)

    def phase(self, t: float) -> str:
        return "carried" if self._moves(t) else "rest"

    def _rotation(self, t: float) -> Rotation:
        return self._turns(self._within(t))

    def _within(self, t: float) -> float:
        return min(max(t, 0.0), self.duration)

    def _moves(self, t: float) -> bool:
        return 0.0 <= t <= self.duration
