"""The ablation of Lai et al. 2025, Figure 7, on an emulated chip: with and without temperature control and EKF.

Static, and swings of an elbow through 90° at 23 °/s, while the air warms by 10 °C. Each case begins with the six
positions of the accelerometer's calibration and a minute of rest. Without EKF the rates are integrated, less the bias
of the last two seconds of that rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.emulation.imu import EmulatedImu
from soft_twin.sensing.ekf import OrientationEkf
from soft_twin.sensing.evaluation import heading_errors, inclination_errors
from soft_twin.sensing.heater import TemperatureControl
from soft_twin.sensing.imu_calibration import calibrate_accelerometer
from soft_twin.sensing.rotations import quaternion_product
from soft_twin.sensing.samples import ImuSample

RATE = 100.0  # [Hz]
WARM_UP = 60.0  # [s]
DURATION = 600.0  # [s]
AIR = (20.0, 30.0)  # [degC] at the start and at the end
SWING = np.radians(90.0)
SWING_RATE = np.radians(23.0)  # [rad/s]
LEVER = 0.3  # [m] from the elbow to the chip
SEED = 7
_CALIBRATION_WARM_UP = 40.0  # [s]
MOTIONS = ("static", "swings")


@dataclass(frozen=True)
class Motion:
    """Truth of n samples: rates and specific force (n, 3) of the chip, orientation (n, 4) w, x, y, z."""

    angular_velocity: np.ndarray
    specific_force: np.ndarray
    quaternion_wxyz: np.ndarray


@dataclass(frozen=True)
class Recorded:
    """What the chip said: rates and calibrated forces (n, 3), temperatures (n,) [°C]."""

    angular_velocity: np.ndarray
    specific_force: np.ndarray
    temperature: np.ndarray


@dataclass(frozen=True)
class Case:
    """One run of the ablation, after the warm-up.

    Attributes:
        motion: "static" or "swings".
        heated, filtered: whether the temperature was controlled, whether the EKF was on.
        inclination, yaw: (n,) errors [rad]; yaw is 0 at the start.
    """

    motion: str
    heated: bool
    filtered: bool
    inclination: np.ndarray
    yaw: np.ndarray


def cases(duration: float = DURATION, rate: float = RATE) -> list[Case]:
    """All eight, each motion's with one and the same chip."""
    result = []
    for name in MOTIONS:
        motion = make_motion(name, duration, rate)
        for heated in (False, True):
            recorded = record(motion, heated, rate)
            for filtered in (False, True):
                orientation = (filter_orientation if filtered else integrate)(recorded, motion, rate)
                result.append(_case(name, heated, filtered, orientation, motion, rate))
    return result


def make_motion(name: str, duration: float = DURATION, rate: float = RATE) -> Motion:
    """Rest for the warm-up, then the motion: the elbow turns about its x axis, up and down."""
    t = np.arange(round((WARM_UP + duration) * rate)) / rate
    speed = _swing_rate(t - WARM_UP) if name == "swings" else np.zeros_like(t)
    angle = np.cumsum(speed) / rate
    acceleration = np.gradient(speed, 1.0 / rate)
    zero = np.zeros_like(t)
    force = STANDARD_GRAVITY * np.column_stack([zero, np.sin(angle), np.cos(angle)])
    force += LEVER * np.column_stack([zero, -(speed**2), acceleration])
    quaternion = np.column_stack([np.cos(0.5 * angle), np.sin(0.5 * angle), zero, zero])
    return Motion(np.column_stack([speed, zero, zero]), force, quaternion)


def record(
    motion: Motion,
    heated: bool,
    rate: float = RATE,
    air: tuple[float, float] = AIR,
    imu: EmulatedImu | None = None,
) -> Recorded:
    """The emulated chip, or another `imu` that has not lived yet, on that motion, calibrated, with its heater under
    control or off."""
    chip = _Chip(heated, rate, EmulatedImu(seed=SEED) if imu is None else imu)
    chip.rest(_CALIBRATION_WARM_UP, air[0])
    forces = [chip.rest(1.0, air[0], up).mean(axis=0) for up in STANDARD_GRAVITY * np.vstack([np.eye(3), -np.eye(3)])]
    fit = calibrate_accelerometer(np.array(forces))
    samples = [
        chip.sample(*truth)
        for truth in zip(
            motion.angular_velocity, motion.specific_force, _air(len(motion.angular_velocity), rate, air), strict=True
        )
    ]
    return Recorded(
        np.array([sample.angular_velocity for sample in samples]),
        (np.array([sample.specific_force for sample in samples]) - fit.offset) @ fit.matrix.T,
        np.array([sample.temperature for sample in samples]),
    )


class _Chip:
    """The emulated chip with its temperature control."""

    def __init__(self, heated: bool, rate: float, imu: EmulatedImu):
        self._imu = imu
        self._control = TemperatureControl()
        self._heated = heated
        self._dt = 1.0 / rate
        self._count = 0

    def sample(self, angular_velocity: np.ndarray, specific_force: np.ndarray, ambient: float) -> ImuSample:
        duty = self._control.duty if self._heated else 0.0
        time = self._count * self._dt
        self._count += 1
        sample = self._imu.sample(time, angular_velocity, specific_force, ambient, duty, self._dt)
        self._control.update(sample.time, sample.temperature)
        return sample

    def rest(self, duration: float, ambient: float, up: Sequence[float] = (0.0, 0.0, STANDARD_GRAVITY)) -> np.ndarray:
        """(n, 3) specific forces at rest."""
        count = round(duration / self._dt)
        return np.array([self.sample(np.zeros(3), np.asarray(up), ambient).specific_force for _ in range(count)])


def filter_orientation(recorded: Recorded, motion: Motion, rate: float = RATE) -> np.ndarray:
    """(n, 4) by the EKF."""
    track = OrientationEkf().update_batch(
        recorded.angular_velocity, recorded.specific_force, rate, recorded.temperature
    )
    return track.quaternion_wxyz


def integrate(recorded: Recorded, motion: Motion, rate: float = RATE) -> np.ndarray:
    """(n, 4) by integration of the rates less the bias at rest, from the tilt of the mean force at rest."""
    start = round(WARM_UP * rate)
    rest = slice(start - round(2.0 * rate), start)
    bias = recorded.angular_velocity[rest].mean(axis=0)
    ekf = OrientationEkf()
    ekf.update_batch(np.zeros((1, 3)), recorded.specific_force[rest].mean(axis=0)[None], rate)
    turns = Rotation.from_rotvec((recorded.angular_velocity[start:] - bias) / rate)
    orientation = np.tile(ekf.quaternion_wxyz, (len(motion.quaternion_wxyz), 1))
    for i, turn in enumerate(np.roll(turns.as_quat(), 1, axis=1)):
        orientation[start + i] = quaternion_product(orientation[start + i - 1], turn)
    return orientation


def temperature_error(step: float = 0.0, duration: float = 180.0) -> np.ndarray:
    """(n,) chip temperature less its target under control, at rest at 100 Hz; the air steps in the middle [K]."""
    imu, control, dt = EmulatedImu(seed=SEED), TemperatureControl(), 0.01
    temperatures = np.empty(round(duration / dt))
    for i in range(len(temperatures)):
        ambient = AIR[0] + (step if 2 * i >= len(temperatures) else 0.0)
        sample = imu.sample(i * dt, np.zeros(3), np.array([0.0, 0.0, STANDARD_GRAVITY]), ambient, control.duty, dt)
        control.update(sample.time, sample.temperature)
        temperatures[i] = imu.temperature
    return temperatures - control.target


def _swing_rate(t: np.ndarray) -> np.ndarray:
    """(n,) rate of the elbow: ±23 °/s with soft reversals, 0 before the start [rad/s]."""
    period = 2.0 * SWING / (SWING_RATE * _soft_wave(np.linspace(0.0, np.pi, 1001)).mean())
    return np.where(t < 0.0, 0.0, SWING_RATE * _soft_wave(2.0 * np.pi * t / period))


def _soft_wave(phase: np.ndarray) -> np.ndarray:
    """A square wave with soft edges."""
    return np.tanh(5.0 * np.sin(phase))


def _air(count: int, rate: float, air: tuple[float, float]) -> np.ndarray:
    """(n,) temperature of the air: constant in the warm-up, then rising steadily [°C]."""
    t = np.arange(count) / rate - WARM_UP
    return np.interp(t, [0.0, max(t[-1], 1.0)], air)


def _case(name: str, heated: bool, filtered: bool, orientation: np.ndarray, motion: Motion, rate: float) -> Case:
    after = slice(round(WARM_UP * rate), None)
    yaw = np.unwrap(heading_errors(orientation[after], motion.quaternion_wxyz[after]))
    return Case(
        name, heated, filtered, inclination_errors(orientation[after], motion.quaternion_wxyz[after]), yaw - yaw[0]
    )
