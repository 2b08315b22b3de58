"""The tilt nearest to one that is out of reach, where all that is known is which tilts are in reach.

What is in reach is taken to be star-shaped about straight: along each azimuth φ the plate goes as far as θ(φ), found by
bisection. The nearest axis is on that rim: the least angle over φ, by a look around and a search where that is least.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from soft_twin.errors import InputError
from soft_twin.twins.plate_orientation import axis_at, axis_of, checked_pitch_roll, pitch_roll_of

FURTHEST = 0.5 * np.pi  # [rad] of tilt that is looked at
FINE = 1e-5  # [rad] to which the rim is found
AROUND = np.radians(np.arange(-90.0, 91.0, 5.0))  # azimuths beside that of the target: further away is no nearer


def nearest_tilt(allows: Callable[[float, float], bool], pitch: float, roll: float) -> tuple[float, float]:
    """Pitch and roll [rad] of it; the same, where `allows` says that they are in reach.

    Raises:
        InputError: not finite, no orientation (`checked_pitch_roll`), or not even straight is in reach.
    """
    pitch, roll = checked_pitch_roll(pitch, roll)
    if allows(pitch, roll):
        return pitch, roll
    if not allows(0.0, 0.0):
        raise InputError("not even a straight body is within the limits of displacement of its cables")
    asked = axis_of(pitch, roll)
    azimuth = np.arctan2(asked[1], asked[0])

    def rim(beside: float) -> np.ndarray:
        return axis_at(_furthest(allows, azimuth + beside) * _towards(azimuth + beside))

    def away(beside: float) -> float:
        return float(np.linalg.norm(rim(beside) - asked))

    first = AROUND[np.argmin([away(beside) for beside in AROUND])]
    span = first + (AROUND[1] - AROUND[0]) * np.array([-1.0, 1.0])
    found = minimize_scalar(away, bounds=span, method="bounded", options={"xatol": FINE})
    return pitch_roll_of(rim(min((first, found.x), key=away)))


def _furthest(allows: Callable[[float, float], bool], azimuth: float) -> float:
    """The largest tilt [rad] in reach on the way there."""
    low, high = 0.0, FURTHEST
    while high - low > FINE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if allows(*pitch_roll_of(axis_at(middle * _towards(azimuth)))) else (low, middle)
    return low


def _towards(azimuth: float) -> np.ndarray:
    return np.array([np.cos(azimuth), np.sin(azimuth)])
