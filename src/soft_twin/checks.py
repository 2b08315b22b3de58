"""Checks of what comes from outside, that every part of the package uses."""

import math
from collections.abc import Sequence

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError

STRONGEST = 5.0 * STANDARD_GRAVITY  # [m/s²] more is no gravity of a robot, be it less the acceleration of its base
UNIT = 0.01  # by which the length of a direction may differ from one


def checked_vector(values: Sequence[float], size: int, what: str) -> np.ndarray:
    """(size,) finite numbers.

    Raises:
        InputError: another size, or not finite.
    """
    try:
        vector = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected {size} numbers, found {values!r}") from error
    if vector.shape != (size,):
        raise InputError(f"{what}: expected {size} numbers, found an array of shape {vector.shape}")
    if not all(map(math.isfinite, vector.tolist())):
        raise InputError(f"{what}: {vector.tolist()} is not finite")
    return vector


def checked_gravity(values: Sequence[float]) -> np.ndarray:
    """(3,) gravity in base_link [m/s²].

    Raises:
        InputError: another size, not finite, or as long as only gravity in another unit is.
    """
    gravity = checked_vector(values, 3, "gravity")
    size = math.hypot(*gravity.tolist())
    if size > STRONGEST or abs(size - 1.0) < UNIT:
        raise InputError(
            f"gravity: {gravity.tolist()} is {size:.3g} long, the earth's is {STANDARD_GRAVITY}: is it in m/s²?"
        )
    return gravity
