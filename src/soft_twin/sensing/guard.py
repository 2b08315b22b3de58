"""What can be wrong with an IMU's samples: detected and named before they reach a filter."""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from soft_twin.errors import InputError
from soft_twin.sensing.orientation import STANDARD_GRAVITY
from soft_twin.sensing.samples import ImuSample


@dataclass(frozen=True)
class GuardParameters:
    """Limits of what is plausible.

    Attributes:
        gyroscope_range, accelerometer_range: of the chip [rad/s], [m/s²]; a reading at it is saturated.
        stuck_time: for which a living sensor never repeats itself [s].
        gap: time without samples after which the orientation has to be found anew [s].
        free_fall: specific force below which nothing says where "up" is [m/s²].
        force_time: over which the mean specific force is judged [s].
        mean_force: lowest and highest plausible value of that mean [m/s²]; shaking adds to it.
    """

    gyroscope_range: float = math.radians(2000.0)
    accelerometer_range: float = 24.0 * STANDARD_GRAVITY
    stuck_time: float = 0.2
    gap: float = 0.25
    free_fall: float = 2.0
    force_time: float = 2.0
    mean_force: tuple[float, float] = (6.0, 25.0)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not np.all(np.asarray(value) > 0.0):
                raise InputError(f"guard parameter {name} = {value!r}: expected more than 0")
        if not self.mean_force[0] < STANDARD_GRAVITY < self.mean_force[1]:
            raise InputError(f"guard parameter mean_force = {self.mean_force}: expected to contain {STANDARD_GRAVITY}")


class Trust(Enum):
    """What a sample is good for."""

    GOOD = "use it"
    TURN_UNKNOWN = "use it, and believe less in the orientation"
    FORCE_UNKNOWN = "use its rates, and forget the velocity"
    LOST = "time was lost before it: find the tilt anew"
    BAD = "do not use it"


@dataclass(frozen=True)
class Verdict:
    """What the guard says about a sample.

    Attributes:
        trust: what it is good for.
        faults: what is wrong, in words; empty for a good sample.
        lost_time: time since the last sample that was used, where `trust` is LOST [s].
    """

    trust: Trust
    faults: tuple[str, ...] = ()
    lost_time: float = 0.0


class SampleGuard:
    """Looks at one sample after the other.

    Not a number, stamps that go back, and repetition: the sample is bad. So it is while the mean specific force is far
    from g: g instead of m/s², or a broken axis. Saturation and free fall: it is doubtful. The first usable sample after
    a gap, after that long of bad ones, or after a saturated turn of 50 ms: time was lost.
    """

    def __init__(self, parameters: GuardParameters | None = None):
        self.parameters = parameters or GuardParameters()
        self.reset()

    def reset(self) -> None:
        """Forget the samples so far."""
        self._last_time = -math.inf
        self._last_used = math.nan
        self._values = np.full(6, np.nan)
        self._changed = math.nan
        self._mean_force = STANDARD_GRAVITY
        self._step = math.inf
        self._unknown_turn = 0.0

    def judge(self, sample: ImuSample) -> Verdict:
        """What the next sample is good for."""
        bad = self._unusable(sample)
        if bad:
            return Verdict(Trust.BAD, bad)
        lost = sample.time - self._last_used  # NaN for the first
        self._last_used = sample.time
        if lost > self.parameters.gap:
            return Verdict(Trust.LOST, (f"gap: {lost:.2f} s without usable samples",), lost)
        verdict = self._doubt(sample)
        if verdict.trust is Trust.TURN_UNKNOWN:
            self._unknown_turn += lost
        elif self._unknown_turn > _UNKNOWN_TURN:
            lost, self._unknown_turn = self._unknown_turn, 0.0
            return Verdict(Trust.LOST, ("gyroscope was saturated: the tilt is found anew",), lost)
        else:
            self._unknown_turn = 0.0
        return verdict

    def _unusable(self, sample: ImuSample) -> tuple[str, ...]:
        values = np.concatenate([sample.angular_velocity, sample.specific_force])
        if not math.isfinite(sample.time + values.sum()):
            return (f"not a number in the sample: {_listed(values)}",)
        if sample.time <= self._last_time:
            return (f"stamp went back by {self._last_time - sample.time:.3f} s",)
        self._step = sample.time - self._last_time
        self._last_time = sample.time
        return self._stuck(sample.time, values) + self._wrong_force(sample.specific_force)

    def _stuck(self, time: float, values: np.ndarray) -> tuple[str, ...]:
        if not np.array_equal(values, self._values):
            self._values, self._changed = values, time
        if time - self._changed < self.parameters.stuck_time:
            return ()
        return (f"sensor stuck: the same sample for {time - self._changed:.1f} s",)

    def _wrong_force(self, specific_force: np.ndarray) -> tuple[str, ...]:
        force = min(math.sqrt(specific_force @ specific_force), 100.0 * STANDARD_GRAVITY)
        share = min(self._step / self.parameters.force_time, 1.0) if math.isfinite(self._step) else 0.0
        self._mean_force += share * (force - self._mean_force)
        low, high = self.parameters.mean_force
        if low <= self._mean_force <= high:
            return ()
        cause = (
            "g instead of m/s²?" if self._mean_force < STANDARD_GRAVITY else "wrong unit or range, or a broken axis?"
        )
        return (f"specific force is {self._mean_force:.1f} m/s² on average, expected 9.8: {cause}",)

    def _doubt(self, sample: ImuSample) -> Verdict:
        p = self.parameters
        if np.abs(sample.angular_velocity).max() >= 0.999 * p.gyroscope_range:
            fault = f"gyroscope saturated at {math.degrees(p.gyroscope_range):.0f} °/s"
            return Verdict(Trust.TURN_UNKNOWN, (fault,))
        if np.abs(sample.specific_force).max() >= 0.999 * p.accelerometer_range:
            fault = f"accelerometer saturated at {p.accelerometer_range:.0f} m/s²"
            return Verdict(Trust.FORCE_UNKNOWN, (fault,))
        if math.sqrt(sample.specific_force @ sample.specific_force) < p.free_fall:
            return Verdict(Trust.FORCE_UNKNOWN, ("free fall: nothing says where up is",))
        return Verdict(Trust.GOOD)


_UNKNOWN_TURN = 0.05  # [s] of saturation after which nothing is known of the tilt


def _listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
