"""Checks of what comes from outside, that every part of the package uses."""

import math
from collections.abc import Sequence

import numpy as np

from soft_twin.errors import InputError


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
