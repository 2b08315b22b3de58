"""What can be wrong with an IMU's samples: detected and named before they reach a filter."""

import math
from dataclasses import dataclass
from enum import Enum

from soft_twin.errors import InputError
from soft_twin.sensing.ekf import GAP
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
        free_fall_time: after which that is a fall, not a shake [s].
        force_tolerance: by which a steady specific force may differ from g [m/s²]; steady is within this as well.
        force_time: for which it may do so [s].
    """

    gyroscope_range: float = math.radians(2000.0)
    accelerometer_range: float = 24.0 * STANDARD_GRAVITY
    stuck_time: float = 0.2
    gap: float = GAP
    free_fall: float = 2.0
    free_fall_time: float = 0.1
    force_tolerance: float = 2.5
    force_time: float = 2.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0.0:
                raise InputError(f"guard parameter {name} = {value!r}: expected more than 0")


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

    Not a number, stamps that go back, and repetition: the sample is bad. So it is when the specific force is steady
    but far from g: g instead of m/s², or a broken axis; shaking is not steady. Saturation and free fall: it is
    doubtful. The first usable sample after a gap, after that long of bad ones, or after a saturated turn of 50 ms:
    time was lost. So it was when a clock was set back: stamps that go on from there as long as a gap are the new time.
    """

    def __init__(self, parameters: GuardParameters | None = None):
        self.parameters = parameters or GuardParameters()
        self.reset()

    def reset(self) -> None:
        """Forget the samples so far."""
        self._last_time = -math.inf
        self._last_used = math.nan
        self._new_clock = math.nan
        self._values: tuple[float, ...] = ()
        self._changed = math.nan
        self._steady_force = math.nan
        self._steady_since = math.nan
        self._not_falling = math.nan
        self._unknown_turn = 0.0

    def judge(self, sample: ImuSample) -> Verdict:
        """What the next sample is good for."""
        values = (*sample.angular_velocity.tolist(), *sample.specific_force.tolist())
        if not math.isfinite(sample.time + sum(values)):
            return Verdict(Trust.BAD, (f"not a number in the sample: {_listed(values)}",))
        if sample.time <= self._last_time:
            return self._judge_backwards(sample.time)
        self._last_time = sample.time
        self._new_clock = math.nan
        bad = self._stuck(sample.time, values) + self._wrong_force(sample.time, _norm(values[3:]))
        if bad:
            return Verdict(Trust.BAD, bad)
        return self._judge_usable(sample.time, values)

    def _judge_backwards(self, time: float) -> Verdict:
        """A stamp that went back: a stray one, or the clock was set back."""
        fault = f"stamp went back by {self._last_time - time:.3f} s"
        if not time >= self._new_clock:
            self._new_clock = time
        if time - self._new_clock < self.parameters.gap:
            return Verdict(Trust.BAD, (fault,))
        self.reset()
        self._last_time = self._last_used = time
        return Verdict(Trust.LOST, (f"{fault}: its clock was set back",), self.parameters.gap)

    def _judge_usable(self, time: float, values: tuple[float, ...]) -> Verdict:
        lost = time - self._last_used  # NaN for the first
        self._last_used = time
        if lost > self.parameters.gap:
            return Verdict(Trust.LOST, (f"gap: {lost:.2f} s without usable samples",), lost)
        verdict = self._doubt(time, values)
        if verdict.trust is Trust.TURN_UNKNOWN:
            self._unknown_turn += lost
        elif self._unknown_turn > _UNKNOWN_TURN:
            lost, self._unknown_turn = self._unknown_turn, 0.0
            return Verdict(Trust.LOST, ("gyroscope was saturated: the tilt is found anew",), lost)
        else:
            self._unknown_turn = 0.0
        return verdict

    def _stuck(self, time: float, values: tuple[float, ...]) -> tuple[str, ...]:
        if values != self._values:
            self._values, self._changed = values, time
        if time - self._changed < self.parameters.stuck_time:
            return ()
        return (f"sensor stuck: the same sample for {time - self._changed:.1f} s",)

    def _wrong_force(self, time: float, force: float) -> tuple[str, ...]:
        tolerance = self.parameters.force_tolerance
        if abs(force - STANDARD_GRAVITY) <= tolerance or not abs(force - self._steady_force) <= tolerance:
            self._steady_force, self._steady_since = force, time
        if force >= self.parameters.free_fall or math.isnan(self._not_falling):
            self._not_falling = time
        if time - self._steady_since < self.parameters.force_time:
            return ()
        cause = "g instead of m/s²?" if force < STANDARD_GRAVITY else "wrong unit or range, or a broken axis?"
        return (f"specific force stays at {force:.1f} m/s², expected 9.8: {cause}",)

    def _doubt(self, time: float, values: tuple[float, ...]) -> Verdict:
        p = self.parameters
        if max(map(abs, values[:3])) >= 0.999 * p.gyroscope_range:
            fault = f"gyroscope saturated at {math.degrees(p.gyroscope_range):.0f} °/s"
            return Verdict(Trust.TURN_UNKNOWN, (fault,))
        if max(map(abs, values[3:])) >= 0.999 * p.accelerometer_range:
            fault = f"accelerometer saturated at {p.accelerometer_range:.0f} m/s²"
            return Verdict(Trust.FORCE_UNKNOWN, (fault,))
        if time - self._not_falling >= p.free_fall_time:
            return Verdict(Trust.FORCE_UNKNOWN, ("free fall: nothing says where up is",))
        return _GOOD


_GOOD = Verdict(Trust.GOOD)
_UNKNOWN_TURN = 0.05  # [s] of saturation after which nothing is known of the tilt


def _norm(values: tuple[float, ...]) -> float:
    return math.sqrt(sum(value * value for value in values))


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
