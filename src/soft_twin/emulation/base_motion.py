"""How the emulated robot's base moves: programmed attitudes, or a real recording."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.checks import check_positive, checked_number, checked_numbers, in_words
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.sensing.broad import read_broad
from soft_twin.sensing.optical_trial import OpticalTrial

_UPRIGHT_DEG = 90.0
_SMOOTHING_HZ = 15.0  # what a recording's rates are smoothed to before they are differentiated
_NOISE_LENGTH = 0.5  # [s] of rest, played forwards and backwards while the base stands still
REST, OVER = "rest", "over"  # what a base does before its motion is played, and when all of it has been


class BaseMotion(ABC):
    """Attitude of the base over time; before 0 and after `duration` it stands still at its first and last attitude.

    Attributes:
        duration: of the motion [s].
    """

    duration: float

    @abstractmethod
    def attitude(self, t: float) -> np.ndarray:
        """(4,) unit quaternion w, x, y, z that turns base_link's coordinates into the world's."""

    @abstractmethod
    def angular_velocity(self, t: float) -> np.ndarray:
        """(3,) rates of the base [rad/s], in base_link."""

    @abstractmethod
    def angular_acceleration(self, t: float) -> np.ndarray:
        """(3,) time derivative of the rates [rad/s²], in base_link."""

    @abstractmethod
    def specific_force(self, t: float) -> np.ndarray:
        """(3,) acceleration minus gravity of base_link's origin [m/s²], in base_link: at rest +g upwards."""

    @abstractmethod
    def phase(self, t: float) -> str:
        """What the base does at that time, in one or two words."""

    @property
    def holds(self) -> tuple[str, ...]:
        """The phases in which the base is held."""
        return ()

    def weight(self, t: float) -> np.ndarray:
        """(3,) specific force of a base at rest in its attitude, in base_link [m/s²]."""
        w, x, y, z = self.attitude(t)
        up = np.array([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z])
        return STANDARD_GRAVITY * up


class InclinationProfile(BaseMotion):
    """From upright through inclinations to the ground and back: to each a smooth move, then a hold.

    The inclination θ is the angle between base +z and the horizontal plane: 90° upright, 0° horizontal, −45°
    pointing down. The base turns about its x axis, gravity in base_link is −g (0, cos θ, sin θ). A move follows
    the quintic 10 s³ − 15 s⁴ + 6 s⁵, which starts and ends without rate and acceleration.

    `phase` says "move 135", "hold 135", … and "return" for the last move, back to upright.
    """

    def __init__(self, angles_deg: Sequence[float], move_time: float, hold_time: float):
        angles = checked_numbers(angles_deg, "a list of angles [°]", "inclinations")
        if angles.ndim != 1 or not len(angles) or not np.isfinite(angles).all():
            raise InputError(f"inclinations: expected one finite angle [°] or more, found {in_words(angles_deg)}")
        check_positive(move_time, "move time", "s")
        if not 0.0 <= checked_number(hold_time, "hold time", "s") < math.inf:
            raise InputError(f"hold time: expected 0 s or more, found {hold_time!r}")
        self._stops = np.radians([_UPRIGHT_DEG, *angles, _UPRIGHT_DEG])
        self._names = [f"{angle:g}" for angle in angles]
        self._move_time = move_time
        self._leg_time = move_time + hold_time
        self.duration = len(angles) * self._leg_time + move_time

    def attitude(self, t: float) -> np.ndarray:
        half_turn = 0.5 * (0.5 * math.pi - self._inclination(t)[0])
        return np.array([math.cos(half_turn), math.sin(half_turn), 0.0, 0.0])

    def angular_velocity(self, t: float) -> np.ndarray:
        return np.array([-self._inclination(t)[1], 0.0, 0.0])

    def angular_acceleration(self, t: float) -> np.ndarray:
        return np.array([-self._inclination(t)[2], 0.0, 0.0])

    def specific_force(self, t: float) -> np.ndarray:
        inclination = self._inclination(t)[0]
        return STANDARD_GRAVITY * np.array([0.0, math.cos(inclination), math.sin(inclination)])

    def phase(self, t: float) -> str:
        leg, share = self._leg(t)
        if leg == len(self._names):
            return "return"
        return f"move {self._names[leg]}" if share < 1.0 else self.holds[leg]

    @property
    def holds(self) -> tuple[str, ...]:
        return tuple(f"hold {name}" for name in self._names)

    def _leg(self, t: float) -> tuple[int, float]:
        """Index of the move that t belongs to and its share that is done, 0…1."""
        t = min(max(t, 0.0), self.duration)
        leg = min(int(t / self._leg_time), len(self._names))
        return leg, min((t - leg * self._leg_time) / self._move_time, 1.0)

    def _inclination(self, t: float) -> tuple[float, float, float]:
        """θ [rad], its first and its second derivative."""
        leg, s = self._leg(t)
        step = self._stops[leg + 1] - self._stops[leg]
        place = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        rate = 30.0 * s**2 * (1.0 - s) ** 2 / self._move_time
        acceleration = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / self._move_time**2
        return self._stops[leg] + place * step, rate * step, acceleration * step


class RecordedMotion(BaseMotion):
    """The base moves as a hand moved it in a BROAD trial: attitude from the optical truth.

    Rates and specific force are the trial's own, smoothed without delay; `imu` gives them raw. While the base
    stands still, before 0 and after `duration`, the IMU reads gravity at that attitude plus the trial's own noise
    and gyroscope bias at rest.

    Args:
        trial: the recording.
        start, duration: the part of it that is played [s]; all of it by default.
        mounting: (3, 3) rotation from the recorded board's frame to base_link; the two are one by default.
    """

    def __init__(
        self, trial: OpticalTrial, start: float = 0.0, duration: float | None = None, mounting: np.ndarray | None = None
    ):
        available = (len(trial.angular_velocity) - 1) / trial.rate
        duration = available - start if duration is None else duration
        if not (start >= 0.0 and duration > 0.0 and start + duration <= available + 1e-9):
            raise InputError(
                f"start {start!r} s, duration {duration!r} s: {trial.name} has {available:.1f} s, expected a part of it"
            )
        self.duration = duration
        self._start = start
        self._rate = trial.rate
        self._mounting = np.eye(3) if mounting is None else np.asarray(mounting, dtype=float)
        self._raw = np.hstack([trial.angular_velocity, trial.specific_force])
        self._attitude = _turned(_filled(trial.quaternion_wxyz), self._mounting)
        self._smooth = _smoothed(self._raw, trial.rate)
        self._rate_derivative = np.gradient(self._smooth[:, :3], 1.0 / trial.rate, axis=0)
        self._rest_noise = _rest_noise(self._raw, trial)

    def attitude(self, t: float) -> np.ndarray:
        q = self._at(self._attitude, t)
        return q / np.linalg.norm(q)

    def angular_velocity(self, t: float) -> np.ndarray:
        return self._mounting @ self._at(self._smooth, t)[:3] if self._moves(t) else np.zeros(3)

    def angular_acceleration(self, t: float) -> np.ndarray:
        return self._mounting @ self._at(self._rate_derivative, t) if self._moves(t) else np.zeros(3)

    def specific_force(self, t: float) -> np.ndarray:
        return self._mounting @ self._at(self._smooth, t)[3:] if self._moves(t) else self.weight(t)

    def phase(self, t: float) -> str:
        return "recording" if self._moves(t) else "rest"

    def imu(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """The recorded rates (3,) [rad/s] and specific force (3,) [m/s²], in the frame of the board."""
        if self._moves(t):
            values = self._at(self._raw, t)
        else:
            values = self._noise(t)
            values[3:] += self._mounting.T @ self.weight(t)
        return values[:3], values[3:]

    def _moves(self, t: float) -> bool:
        return 0.0 <= t <= self.duration

    def _noise(self, t: float) -> np.ndarray:
        """(6,) rates and deviation of the specific force at rest, forwards and backwards through the same window."""
        last = len(self._rest_noise) - 1
        place = abs(round(t * self._rate)) % (2 * last)
        return self._rest_noise[min(place, 2 * last - place)].copy()

    def _at(self, values: np.ndarray, t: float) -> np.ndarray:
        """Row of `values` at that time, interpolated linearly."""
        place = (self._start + min(max(t, 0.0), self.duration)) * self._rate
        i = min(int(place), len(values) - 2)
        return values[i] + (place - i) * (values[i + 1] - values[i])


def moving_base(motion: BaseMotion, t: float) -> MovingBase:
    """What a motion's base does to a body on it, at that time."""
    return MovingBase(-motion.specific_force(t), motion.angular_velocity(t), motion.angular_acceleration(t))


def inclinations(angles_deg: Sequence[float], move_time: float, hold_time: float) -> InclinationProfile:
    """The programmed profile through these inclinations to the ground [°], with its times [s].

    Raises:
        InputError: no angle, or a value that is not finite or not positive.
    """
    return InclinationProfile(angles_deg, move_time, hold_time)


def recording(
    path: str | Path, start: float = 0.0, duration: float | None = None, mounting: np.ndarray | None = None
) -> RecordedMotion:
    """The motion of a BROAD trial (a .mat file): see RecordedMotion.

    Raises:
        RecordingError: the file is missing, unreadable, or not a BROAD trial.
        InputError: the part asked for is not in it.
    """
    return RecordedMotion(read_broad(path), start, duration, mounting)


def _filled(quaternions: np.ndarray) -> np.ndarray:
    """(n, 4) with gaps (NaN rows) bridged linearly and all signs along one path."""
    rows = np.arange(len(quaternions))
    seen = np.flatnonzero(np.isfinite(quaternions).all(axis=1))
    known = quaternions[seen]
    flips = np.sum(known[1:] * known[:-1], axis=1) < 0.0
    signs = np.concatenate([[1.0], np.cumprod(np.where(flips, -1.0, 1.0))])
    return np.column_stack([np.interp(rows, seen, column) for column in (known * signs[:, None]).T])


def _turned(quaternions: np.ndarray, mounting: np.ndarray) -> np.ndarray:
    """(n, 4) board → world times base_link → board."""
    x, y, z, w = Rotation.from_matrix(mounting.T).as_quat()
    right = np.array([[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])
    return quaternions @ right.T


def _smoothed(values: np.ndarray, rate: float) -> np.ndarray:
    from scipy.signal import butter, sosfiltfilt  # a second, that a base without a recording need not take

    return sosfiltfilt(butter(2, _SMOOTHING_HZ, fs=rate, output="sos"), values, axis=0)


def _rest_noise(raw: np.ndarray, trial: OpticalTrial) -> np.ndarray:
    """(k, 6) of the trial's first rest: rates as they are, specific force less its mean."""
    moving = np.flatnonzero(trial.movement)
    rest = raw[: max(moving[0] if len(moving) else len(raw), 2)][: int(_NOISE_LENGTH * trial.rate)].copy()
    rest[:, 3:] -= rest[:, 3:].mean(axis=0)
    return rest
