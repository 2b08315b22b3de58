"""An IMU chip that is not there: its errors, and how it warms up.

Default values are those of a Bosch BMI088, the paper's chip, with its offsets as a factory calibration leaves them.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.sensing.samples import ImuSample


@dataclass(frozen=True)
class SensorErrors:
    """Errors of a three-axis sensor, in its unit u.

    Attributes:
        noise_density: white noise [u/√Hz].
        bias: standard deviation of the constant offset of each axis [u].
        bias_per_kelvin: standard deviation of its slope over chip temperature [u/K].
        bias_walk: random walk of the offset [u/√s].
        scale: standard deviation of each axis' relative scale error.
        misalignment: standard deviation of the angles between the axes [rad].
        range: largest magnitude that an axis reports [u].
        bits: resolution over the whole range; 0 is no quantisation.
    """

    noise_density: float = 0.0
    bias: float = 0.0
    bias_per_kelvin: float = 0.0
    bias_walk: float = 0.0
    scale: float = 0.0
    misalignment: float = 0.0
    range: float = math.inf
    bits: int = 0


@dataclass(frozen=True)
class ThermalParameters:
    """Heat flow of the board: heater → board → air, and the chip that follows the board.

    Attributes:
        resistance: board to air [K/W].
        capacity: of the board [J/K].
        heater_power: at duty 1 [W].
        self_heating: of the chip's electronics [W].
        chip_lag: time constant with which the chip follows the board [s].
        sensor_noise: of the temperature sensor [K].
        sensor_resolution: its step [K].
    """

    resistance: float = 60.0
    capacity: float = 0.4
    heater_power: float = 0.6
    self_heating: float = 0.05
    chip_lag: float = 0.5
    sensor_noise: float = 0.02
    sensor_resolution: float = 0.0625


@dataclass(frozen=True)
class EmulatedImuParameters:
    """The chip: gyroscope [rad/s], accelerometer [m/s²], heat, and jitter of its clock [s]."""

    gyroscope: SensorErrors = field(
        default=SensorErrors(
            noise_density=math.radians(0.014),
            bias=math.radians(0.3),
            bias_per_kelvin=math.radians(0.015),
            bias_walk=math.radians(5e-5),  # 0.001 deg/s in ten minutes; the data sheet: 2 deg/h bias stability
            scale=0.002,
            misalignment=0.001,
            range=math.radians(2000.0),
            bits=16,
        )
    )
    accelerometer: SensorErrors = field(
        default=SensorErrors(
            noise_density=175e-6 * STANDARD_GRAVITY,
            bias=0.003 * STANDARD_GRAVITY,
            bias_per_kelvin=0.0001 * STANDARD_GRAVITY,
            scale=0.001,
            misalignment=0.001,
            range=6.0 * STANDARD_GRAVITY,
            bits=16,
        )
    )
    thermal: ThermalParameters = ThermalParameters()
    reference_temperature: float = 25.0  # [degC], at which the biases are their constant part
    jitter: float = 20e-6


def perfect_imu() -> EmulatedImuParameters:
    """A chip without errors of its own: for a recording, which has those of a real one."""
    return EmulatedImuParameters(SensorErrors(), SensorErrors(), jitter=0.0)


class Thermal:
    """Temperatures of board and chip: C Ṫ_b = (T_air − T_b)/R + P, and τ Ṫ_chip = T_b − T_chip.

    Attributes:
        chip: true temperature of the chip [°C]; it starts as if the board had been on for long, heater off.
    """

    def __init__(self, parameters: ThermalParameters, ambient: float):
        self._parameters = parameters
        self._board = ambient + parameters.resistance * parameters.self_heating
        self.chip = self._board

    def step(self, ambient: float, duty: float, dt: float) -> float:
        """The chip's temperature after `dt` [s] in air of `ambient` [°C] with the heater at `duty`."""
        p = self._parameters
        settled = ambient + p.resistance * (p.self_heating + p.heater_power * min(max(duty, 0.0), 1.0))
        self._board = settled + (self._board - settled) * math.exp(-dt / (p.resistance * p.capacity))
        self.chip = self._board + (self.chip - self._board) * math.exp(-dt / p.chip_lag)
        return self.chip


class EmulatedImu:
    """A chip with errors drawn once from `seed`, and noise from the same generator.

    Args:
        parameters: what it is like.
        seed: of its generator.
    """

    def __init__(self, parameters: EmulatedImuParameters | None = None, seed: int = 0):
        self.parameters = parameters or EmulatedImuParameters()
        self._rng = np.random.default_rng(seed)
        self._gyroscope = _Sensor(self.parameters.gyroscope, self._rng)
        self._accelerometer = _Sensor(self.parameters.accelerometer, self._rng)
        self._thermal: Thermal | None = None
        self._last_stamp = -math.inf

    @property
    def gyroscope_bias(self) -> np.ndarray:
        """(3,) true bias of the gyroscope at its last sample [rad/s]."""
        return self._gyroscope.bias

    @property
    def temperature(self) -> float:
        """True temperature of the chip [°C], NaN before the first sample."""
        return math.nan if self._thermal is None else self._thermal.chip

    def sample(
        self,
        time: float,
        angular_velocity: np.ndarray,
        specific_force: np.ndarray,
        ambient: float,
        heater_duty: float,
        dt: float,
    ) -> ImuSample:
        """What the chip reports.

        Args:
            time: board's clock [s].
            angular_velocity, specific_force: (3,) the truth in the board's frame [rad/s], [m/s²].
            ambient: temperature of the air [°C].
            heater_duty: 0…1 since the last sample.
            dt: time since the last sample [s].
        """
        p = self.parameters
        if self._thermal is None:
            self._thermal = Thermal(p.thermal, ambient)
        chip = self._thermal.step(ambient, heater_duty, dt)
        temperature_change = chip - p.reference_temperature
        return ImuSample(
            self._stamp(time),
            self._gyroscope.measure(angular_velocity, temperature_change, dt, self._rng),
            self._accelerometer.measure(specific_force, temperature_change, dt, self._rng),
            self._read_temperature(chip),
        )

    def _stamp(self, time: float) -> float:
        jitter = self.parameters.jitter * self._rng.standard_normal()
        self._last_stamp = max(time + jitter, self._last_stamp + 1e-6, 0.0)
        return self._last_stamp

    def _read_temperature(self, chip: float) -> float:
        p = self.parameters.thermal
        noisy = chip + p.sensor_noise * self._rng.standard_normal()
        return p.sensor_resolution * round(noisy / p.sensor_resolution)


class _Sensor:
    """Three axes with the errors of `SensorErrors`, drawn once."""

    def __init__(self, errors: SensorErrors, rng: np.random.Generator):
        self._errors = errors
        self._constant = errors.bias * rng.standard_normal(3)
        self._slope = errors.bias_per_kelvin * rng.standard_normal(3)
        skew = errors.misalignment * rng.standard_normal((3, 3))
        np.fill_diagonal(skew, errors.scale * rng.standard_normal(3))
        self._distortion = np.eye(3) + skew
        self._walk = np.zeros(3)
        self.bias = self._constant

    def measure(self, truth: np.ndarray, temperature_change: float, dt: float, rng: np.random.Generator) -> np.ndarray:
        """Reading (3,) of `truth` (3,); `temperature_change` is the chip's temperature above the reference [K]."""
        errors, normal = self._errors, rng.standard_normal(6 if dt > 0.0 else 3)  # one draw: it is half of the work
        self._walk += errors.bias_walk * math.sqrt(dt) * normal[:3]
        self.bias = self._constant + self._slope * temperature_change + self._walk
        noise = errors.noise_density / math.sqrt(dt) * normal[3:] if dt > 0.0 else 0.0
        reading = (self._distortion @ truth + self.bias + noise).clip(-errors.range, errors.range)
        if not errors.bits:
            return reading
        step = 2.0 * errors.range / (1 << errors.bits)
        return step * np.rint(reading / step)
