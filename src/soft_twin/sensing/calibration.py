"""What is known of one IMU's errors, and how it is applied to its samples."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soft_twin.errors import InputError
from soft_twin.sensing.samples import ImuSample


@dataclass(frozen=True)
class ImuCalibration:
    """Corrections of an IMU; the defaults correct nothing.

    The true specific force is A (f_m − o), the true rate ω_m − b − k (T − T₀).

    Attributes:
        accelerometer_matrix: (3, 3) A: scale errors and angles between the axes.
        accelerometer_offset: (3,) o [m/s²].
        gyroscope_bias: (3,) b at the reference temperature [rad/s].
        gyroscope_bias_per_kelvin: (3,) k [rad/s/K].
        reference_temperature: T₀ [°C].

    Raises:
        InputError: numbers of another shape than that, or that are not finite.
    """

    accelerometer_matrix: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    accelerometer_offset: tuple[float, ...] = (0.0, 0.0, 0.0)
    gyroscope_bias: tuple[float, ...] = (0.0, 0.0, 0.0)
    gyroscope_bias_per_kelvin: tuple[float, ...] = (0.0, 0.0, 0.0)
    reference_temperature: float = 25.0

    def __post_init__(self) -> None:
        for name, shape in {
            "accelerometer_matrix": (3, 3),
            "accelerometer_offset": (3,),
            "gyroscope_bias": (3,),
            "gyroscope_bias_per_kelvin": (3,),
        }.items():
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != shape or not np.isfinite(value).all():
                raise InputError(f"IMU calibration {name} = {getattr(self, name)!r}: expected {shape} finite numbers")
        if not math.isfinite(self.reference_temperature):
            found = f"IMU calibration reference_temperature = {self.reference_temperature!r}"
            raise InputError(f"{found}: expected °C, at which the bias was measured")

    def apply(self, sample: ImuSample) -> ImuSample:
        """The sample, corrected; an unknown temperature counts as the reference."""
        temperature_change = sample.temperature - self.reference_temperature
        matrix, offset, bias, slope = self._arrays
        return ImuSample(
            sample.time,
            sample.angular_velocity
            - (bias + temperature_change * slope if math.isfinite(temperature_change) else bias),
            matrix @ (sample.specific_force - offset),
            sample.temperature,
        )

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return (
            np.array(self.accelerometer_matrix),
            np.array(self.accelerometer_offset),
            np.array(self.gyroscope_bias),
            np.array(self.gyroscope_bias_per_kelvin),
        )
