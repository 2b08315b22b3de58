"""What can be wrong with an IMU's samples: detected and named before they reach a filter."""

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.sensing.ekf import GAP
from soft_twin.sensing.samples import ImuSample
from soft_twin.sensing.sensor_life import SensorLife
from soft_twin.sensing.steps import StepFilter


@dataclass(frozen=True)
class SampleCheckParameters:
    """Limits of what is plausible.

    Attributes:
        gyroscope_range, accelerometer_range: of the chip [rad/s], [m/s²]; a reading at it is saturated.
        rate_step, force_step: from one sample to the next that any base can do [rad/s], [m/s²].
        stuck_time: for which a living board never repeats a whole sample [s].
        gap: time without samples after which the orientation has to be found anew [s].
        free_fall: specific force below which nothing says where "up" is [m/s²].
        free_fall_time: after which that is a fall, not a shake [s].
        force_tolerance: by which a steady specific force may differ from g [m/s²]; steady is within this as well.
        force_time: for which it may do so [s].
        rest_force_tolerance: by which the specific force of a base at rest may differ from g [m/s²].
    """

    gyroscope_range: float = math.radians(2000.0)
    accelerometer_range: float = 24.0 * STANDARD_GRAVITY
    rate_step: float = math.radians(100.0)
    force_step: float = 30.0
    stuck_time: float = 0.2
    gap: float = GAP
    free_fall: float = 2.0
    free_fall_time: float = 0.1
    force_tolerance: float = 2.5
    force_time: float = 2.0
    rest_force_tolerance: float = 0.9

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0.0:
                raise InputError(f"sample check parameter {name} = {value!r}: expected more than 0")


class Trust(Enum):
    """What a sample is good for."""

    GOOD = "use it"
    TURN_UNKNOWN = "use it, and believe less in the orientation"
    FORCE_UNKNOWN = "use its rates, and forget the velocity"
    LOST = "time was lost before it: find the tilt anew"
    BAD = "do not use it"


@dataclass(frozen=True)
class Verdict:
    """What the check says about a sample.

    Attributes:
        trust: what it is good for.
        sample: what to use: as it came, or with what cannot be left out.
        faults: what is wrong, in words; empty for a good sample.
        lost_time: time since the last sample that was used, where `trust` is LOST [s].
        doubt: by which the base may have turned otherwise than `sample` says [rad].
    """

    trust: Trust
    sample: ImuSample
    faults: tuple[str, ...] = ()
    lost_time: float = 0.0
    doubt: float = 0.0


class SampleCheck:
    """Looks at one sample after the other.

    Not a number, values that no chip says, stamps that go back, and repetition by one sensor, one axis or all: the
    sample is bad. So it is when the specific force is steady but far from g: g instead of m/s², or a broken axis;
    shaking is not steady. Rates and forces that jump as no base does are held for three samples, and taken as they are
    if they stay: see `StepFilter`. Saturation, also at a range that is smaller than the chip's, and free fall: it is
    doubtful. The first usable sample after a gap, after that long of bad ones, or after a saturated turn of 50 ms:
    time was lost. So it was when a clock was set back: stamps that go on from there as long as a gap are the new time.
    """

    def __init__(self, parameters: SampleCheckParameters | None = None):
        self.parameters = parameters or SampleCheckParameters()
        self.reset()

    def reset(self) -> None:
        """Forget the samples so far."""
        self._last_time = -math.inf
        self._last_used = math.nan
        self._new_clock = math.nan
        self._values: tuple[float, ...] = ()
        self._changed = math.nan
        self._lives = [SensorLife() for _ in _SENSORS]
        self._rates = StepFilter(self.parameters.rate_step, made_up=True)
        self._forces = StepFilter(self.parameters.force_step, made_up=False)
        self._clipped = [0, 0]
        self._period = math.nan
        self._steady_force = math.nan
        self._steady_since = math.nan
        self._rest_force = math.nan
        self._rest_since = math.nan
        self._not_falling = math.nan
        self._unknown_turn = 0.0

    def judge(self, sample: ImuSample) -> Verdict:
        """What the next sample is good for."""
        values = (*sample.angular_velocity.tolist(), *sample.specific_force.tolist())
        if not math.isfinite(sample.time + sum(values)):
            return Verdict(Trust.BAD, sample, (f"not a number in the sample: {_listed(values)}; {_SUPPLY}",))
        if sample.time <= self._last_time:
            return self._judge_backwards(sample)
        self._last_time = sample.time
        self._new_clock = math.nan
        bad = self._impossible(values) or (self._stuck(sample.time, values) + self._wrong_force(sample.time, values))
        if bad:
            return Verdict(Trust.BAD, sample, bad)
        return self._judge_usable(sample, values)

    def _judge_backwards(self, sample: ImuSample) -> Verdict:
        """A stamp that went back: a stray one, or the clock was set back; or one that is that of the sample before."""
        time, back = sample.time, self._last_time - sample.time
        fault = f"stamp went back by {back:.4g} s" if back else f"stamp stands still at {time:.12g} s"
        if not time >= self._new_clock:
            self._new_clock = time
        if time - self._new_clock < self.parameters.gap:
            return Verdict(Trust.BAD, sample, (f"{fault}: look at the clock of who sends the samples",))
        self.reset()
        self._last_time = self._last_used = time
        return Verdict(Trust.LOST, sample, (f"{fault}: its clock was set back; {_FOUND_ANEW}",), self.parameters.gap)

    def _judge_usable(self, sample: ImuSample, values: tuple[float, ...]) -> Verdict:
        passed = sample.time - self._last_used  # NaN for the first
        self._last_used = sample.time
        if passed > self.parameters.gap:
            self._rates.restart(values[:3])
            self._forces.restart(values[3:])
            fault = f"gap: {passed:.4g} s without usable samples; look at the line and the supply; {_FOUND_ANEW}"
            return Verdict(Trust.LOST, sample, (fault,), passed)
        verdict = self._doubt(sample, values, passed if passed > 0.0 else 0.01)
        if verdict.trust is Trust.TURN_UNKNOWN:
            self._unknown_turn += passed
        elif self._unknown_turn > _UNKNOWN_TURN:
            lost, self._unknown_turn = self._unknown_turn, 0.0
            words = (*verdict.faults, f"gyroscope was saturated: {_FOUND_ANEW}")
            return replace(verdict, trust=Trust.LOST, faults=words, lost_time=lost)
        else:
            self._unknown_turn = 0.0
        return verdict

    def _impossible(self, values: tuple[float, ...]) -> tuple[str, ...]:
        rate, force = max(map(abs, values[:3])), max(map(abs, values[3:]))
        if rate <= _BEYOND * self.parameters.gyroscope_range and force <= _BEYOND * self.parameters.accelerometer_range:
            return ()
        return (
            f"impossible sample, beyond what the chip can say: {_listed(values)}; {_SUPPLY}, at its unit if it stays",
        )

    def _stuck(self, time: float, values: tuple[float, ...]) -> tuple[str, ...]:
        if values != self._values:
            self._values, self._changed = values, time
        if time - self._changed >= self.parameters.stuck_time:
            return (f"sensor stuck: the same sample for {time - self._changed:.1f} s; power the board off and on",)
        readings = (values[:3], values[3:], *values)
        alive = [life.update(reading) for life, reading in zip(self._lives, readings, strict=True)]
        if all(alive):
            return ()
        which = alive.index(False)
        if which < 2:
            return (f"{_SENSORS[which]} stuck: it repeats {_listed(readings[which])}; power the board off and on",)
        return (f"{_SENSORS[which]} axis is dead: it stays at {readings[which]:.3g}; power the board off and on",)

    def _wrong_force(self, time: float, values: tuple[float, ...]) -> tuple[str, ...]:
        force = _norm(values[3:])
        steady, rests = self._wrong_steady_force(time, force), self._wrong_force_at_rest(time, values)
        if not (steady or rests):
            return ()
        return (
            f"specific force {'at rest is' if rests else 'stays at'} {force:.1f} m/s², expected 9.8: {_cause(force)}",
        )

    def _wrong_steady_force(self, time: float, force: float) -> bool:
        """Steady and far from g, for longer than a base accelerates."""
        tolerance = self.parameters.force_tolerance
        if abs(force - STANDARD_GRAVITY) <= tolerance or not abs(force - self._steady_force) <= tolerance:
            self._steady_force, self._steady_since = force, time
        if force >= self.parameters.free_fall or math.isnan(self._not_falling):
            self._not_falling = time
        return time - self._steady_since >= self.parameters.force_time

    def _wrong_force_at_rest(self, time: float, values: tuple[float, ...]) -> bool:
        """At rest the force's length is g, but for what an uncalibrated chip is off."""
        force = _norm(values[3:])
        off = abs(force - STANDARD_GRAVITY) > self.parameters.rest_force_tolerance
        steady = abs(force - self._rest_force) < _STEADY_FORCE
        if not (off and steady and max(map(abs, values[:3])) < _SLOW):
            self._rest_force, self._rest_since = force, time
        return time - self._rest_since > _REST

    def _doubt(self, sample: ImuSample, values: tuple[float, ...], dt: float) -> Verdict:
        p, faults, doubt = self.parameters, [], 0.0
        limit = self._clipping(values)
        rates, unsure = self._rates.update(values[:3], dt)
        forces = self._forces.believed if limit[1] else self._forces.update(values[3:], dt)[0]
        if unsure > 0.0:
            doubt += unsure * dt
            faults.append(f"gyroscope jumps by {math.degrees(unsure):.0f} °/s: {_LEFT_OUT}")
        if self._forces.held and not limit[1]:
            faults.append(f"accelerometer jumps to {_listed(values[3:])} m/s²: {_LEFT_OUT}")
        if self._lives[0].doubtful:
            doubt += _UNSEEN_RATE * dt
        doubt += self._unseen_turn(rates, dt)
        if rates != values[:3] or forces != values[3:]:
            sample = replace(sample, angular_velocity=np.array(rates), specific_force=np.array(forces))
        if limit[0]:
            faults.append(f"gyroscope saturated at {math.degrees(limit[0]):.0f} °/s: choose a larger range on the chip")
            return Verdict(Trust.TURN_UNKNOWN, sample, tuple(faults), doubt=doubt + 0.3 * limit[0] * dt)
        if limit[1]:
            faults.append(f"accelerometer saturated at {limit[1]:.0f} m/s²: choose a larger range on the chip")
            return Verdict(Trust.FORCE_UNKNOWN, sample, tuple(faults), doubt=doubt)
        if sample.time - self._not_falling >= p.free_fall_time:
            faults.append(_FREE_FALL)
            return Verdict(Trust.FORCE_UNKNOWN, sample, tuple(faults), doubt=doubt)
        return Verdict(Trust.GOOD, sample, tuple(faults), doubt=doubt)

    def _unseen_turn(self, rates: tuple[float, ...], dt: float) -> float:
        """What the base may have turned between two samples, where some in between are missing [rad]."""
        if not dt < _MISSING * self._period:
            missing = math.isfinite(self._period)
            self._period = self._period + 0.02 * (dt - self._period) if missing else dt
            return dt * (0.3 * max(map(abs, rates)) + _UNSEEN_RATE * min(dt / 0.2, 1.0)) if missing else 0.0
        self._period += 0.02 * (dt - self._period)
        return 0.0

    def _clipping(self, values: tuple[float, ...]) -> tuple[float, float]:
        """The ranges that gyroscope and accelerometer are at, 0 where they are not [rad/s], [m/s²]."""
        p, answer = self.parameters, []
        for k, (full, usual) in enumerate(((p.gyroscope_range, _RATE_RANGES), (p.accelerometer_range, _FORCE_RANGES))):
            largest = max(range(3), key=lambda i: abs(values[3 * k + i]))
            size = abs(values[3 * k + largest])
            repeated = self._lives[2 + 3 * k + largest].run > 0
            at = full if size >= 0.999 * full else 0.0
            if not at and repeated:
                at = next((limit for limit in usual if abs(size - limit) < 1e-3 * limit), 0.0)
            answer.append(at)
        return answer[0], answer[1]


_SUPPLY = "look at the board's cable and supply if it comes again"
_LEFT_OUT = f"left out until it is seen again; {_SUPPLY}"
_FREE_FALL = "free fall: nothing says where up is; hold the base, or set the chip's range and unit if it is held"
_FOUND_ANEW = "the tilt is found anew: hold the base still for a second"
_SENSORS = (
    "gyroscope",
    "accelerometer",
    *(f"{sensor}'s {axis}" for sensor in ("gyroscope", "accelerometer") for axis in "xyz"),
)
_BEYOND = 1.5  # times the range: no chip says that
_RATE_RANGES = tuple(math.radians(limit) for limit in (125.0, 250.0, 500.0, 1000.0, 2000.0))
_FORCE_RANGES = tuple(STANDARD_GRAVITY * limit for limit in (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0))
_UNKNOWN_TURN = 0.05  # [s] of saturation after which nothing is known of the tilt
_UNSEEN_RATE = 1.0  # [rad/s] at which a base may turn while the gyroscope does not say
_MISSING = 2.5  # times the usual time between two samples: some are missing
_STEADY_FORCE = 0.2  # [m/s^2]
_SLOW = math.radians(3.0)  # [rad/s]
_REST = 0.3  # [s]
_IN_G = (0.7, 1.5)  # readings that are g where the unit is g, of a base that moves as well


def _norm(values: tuple[float, ...]) -> float:
    return math.sqrt(sum(value * value for value in values))


def _cause(force: float) -> str:
    """Why a force that should be g long is of another length [m/s²], and what to do."""
    if force < _IN_G[0]:
        return "is gravity taken off already? Send what the accelerometer reads, with gravity"
    if force < _IN_G[1]:
        return "g instead of m/s²? Set the chip's unit"
    return (
        "an axis of the accelerometer is wrong in scale or offset, or its range or unit is; "
        "set these, calibrate it, or change the board"
    )


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
