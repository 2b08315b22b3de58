"""One reading of an inertial measurement unit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_number, checked_numbers
from soft_twin.errors import InputError

FLOAT = np.dtype(float)


@dataclass(frozen=True)
class ImuSample:
    """What an IMU measured at one instant, in the frame of its board (REP-145).

    Attributes:
        time: when it was measured [s]; which clock, says who hands it out.
        angular_velocity: (3,) rates of turn [rad/s].
        specific_force: (3,) acceleration minus gravity [m/s²]: at rest +g along "up".
        temperature: of the chip [°C], NaN where it is not measured.

    Numbers of other kinds, as those in lists, become floats one after the other: filters are compiled for these alone.

    Raises:
        InputError: what are no numbers, or not three of them.
    """

    time: float
    angular_velocity: np.ndarray
    specific_force: np.ndarray
    temperature: float

    def __post_init__(self) -> None:
        for name, unit in (("time", "s"), ("temperature", "°C")):
            if type(value := getattr(self, name)) is not float:
                object.__setattr__(self, name, checked_number(value, f"{name} of an IMU's sample", unit))
        for name in ("angular_velocity", "specific_force"):
            values = getattr(self, name)
            if not (
                type(values) is np.ndarray and values.dtype is FLOAT and values.shape == (3,) and values.strides == (8,)
            ):
                object.__setattr__(self, name, _checked_axes(values, name))


def _checked_axes(values: Sequence[float], name: str) -> np.ndarray:
    """(3,) contiguous."""
    what = f"{name} of an IMU's sample"
    axes = checked_numbers(values, "3 numbers", what)
    if axes.shape != (3,):
        raise InputError(f"{what}: expected 3 numbers, found an array of shape {axes.shape}")
    return np.ascontiguousarray(axes)
