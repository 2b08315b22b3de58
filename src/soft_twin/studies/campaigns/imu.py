"""Faults of an IMU board against what `imu_to_gravity` tells: gravity that is wrong must never be called valid.

A board of its own physics (`devices/`) is moved by hands, arms and benches; its bytes, damaged by `imu_faults`, go
through the host's receiver into the estimator behind the node. Judged is the gravity that is told against the true one.

Kinds of violations:

* wrong while valid: gravity told as valid is more than 5° off.
* wrong for long: the same for more than 0.5 s on end.
* stamp wrong while valid: a stamp is more than 0.25 s from the time of its measurement, for more than 0.5 s.
* never named: gravity was wrong or withdrawn for more than 0.1 s on account of a fault, and no text said so.
* false alarm: without any fault, gravity is withdrawn for more than 0.5 s after the first two seconds.
* not recovered: a fault is over, the base has done what the page on sensing asks for, and gravity is still withdrawn
  0.4 s later. It asks for a second of rest, and where a sensor was wrong for a turn by 60° before that.
* false accusation: no sensor was ever wrong, and a text says that one is.
* mute message: a text does not say what to do.

An accelerometer that is wrong from the beginning on is no contradiction to anything before the base turns. Such a
case counts from when the readings contradict each other: when the force as read, on a base without acceleration, is
8° from where the rates as read have carried one of at most four seconds before, or has a length 10 % from g. (Over
the whole case a healthy chip's unknown bias of up to 1 °/s would carry it that far, and that contradicts nothing.)

The motions are no rougher than those of people who move a board on purpose. Half and 95 % of BROAD's samples in motion:
slow turns 81, 159 °/s, fast ones 323, 770 °/s; slow translation 2.4, 4.5 m/s², fast 22.7, 54.1 m/s². Here: poses 126,
hand 84, 135 °/s; carried 1.9, 3.4 m/s², shaken 6.5, 12.1 m/s² (medians over 40 drawings).
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from soft_twin.sensing.gravity import GravityEstimate, GravityEstimator
from soft_twin.sensing.imu_receiver import ImuReceiver
from soft_twin.studies.campaigns.base import Campaign, Violation
from soft_twin.studies.campaigns.devices.base_motion import GRAVITY, BaseMotion, random_motion
from soft_twin.studies.campaigns.devices.imu_board import Readings, frame, measure
from soft_twin.studies.campaigns.imu_faults import FAULTS, Fault, Frame, damage_line, damage_readings, draw

DURATION = 12.0  # [s]
HOST_START = 1.7e9  # [s] of the host's clock when a case begins
HEALTHY, COMBINED = 0.15, 0.3  # share of the cases
WRONG = np.radians(5.0)
LONG = 0.5  # [s]
PROVING = np.radians(60.0)
REST, REST_RATE, REST_FORCE, RECOVERY = 1.0, np.radians(2.0), 0.3, 0.4  # [s], [rad/s], [m/s^2], [s]
ACCUSATION = re.compile(r"contradict|stuck|is dead|stays at|at rest is|wrong unit|axes|sign")
REMEDY = re.compile(
    r"\b(look at|power|check|change|choose|set|calibrate|renew|hold|turn|put|wait|reset)\b", re.IGNORECASE
)
VISIBLE, VISIBLE_LENGTH, CARRIED = np.radians(8.0), 0.1, 4.0


@dataclass
class Told:
    """What was told after each of k arrivals.

    Attributes:
        time: (k,) of the case [s].
        error: (k,) angle between gravity told and true [rad], NaN where none was told.
        valid: (k,) whether it was told as valid.
        stamp_error: (k,) [s].
        named: (k,) whether there was a text.
        texts: of each arrival.
    """

    time: np.ndarray
    error: np.ndarray
    valid: np.ndarray
    stamp_error: np.ndarray
    named: np.ndarray
    texts: list[tuple[str, ...]]


@dataclass
class Case:
    """A case before it is lived through.

    Attributes:
        motion: of the base.
        readings: of the board, with what faults do to them.
        faults: of the case.
        frames: what arrives at the host.
        counts_from: see the module's docstring [s].
        undamaged: what the board would have read without faults; None where that is not wanted.
    """

    motion: BaseMotion
    readings: Readings
    faults: list[Fault]
    frames: list[Frame]
    counts_from: float
    undamaged: Readings | None = None


@dataclass
class Moment:
    """What is told after an arrival.

    Attributes:
        time: of the case [s].
        error: angle between gravity told and true [rad], NaN where none was told.
        told: by the estimator.
        receiver: which took the bytes.
        late: stamp less time of the newest measurement that has arrived [s].
    """

    time: float
    error: float
    told: GravityEstimate
    receiver: ImuReceiver
    late: float


class ImuCampaign(Campaign):
    """See the module's docstring."""

    name = "imu"

    def __init__(self, estimator: str = "ekf"):
        self.estimator = estimator

    def make_case(self, seed: int) -> Case:
        """The case of a seed."""
        return make_case(seed)

    def run_case(self, seed: int) -> list[Violation]:
        case = self.make_case(seed)
        return judge(case, live(case, self.estimator))

    def story(self, seed: int) -> str:
        case = self.make_case(seed)
        lines = [f"motion: {case.motion.words}; rate {1.0 / np.diff(case.readings.true_time).mean():.0f} Hz"]
        lines += [f"{f.start:.2f}…{f.end:.2f} s {f.name}: {f.words}" for f in case.faults] or ["no fault"]
        told, last = live(case, self.estimator), None
        for i in range(len(told.time)):
            if (state := (bool(told.valid[i]), told.error[i] > WRONG, told.texts[i])) != last:
                last = state
                words = "; ".join(told.texts[i])
                error = np.degrees(told.error[i])
                lines.append(f"{told.time[i]:8.3f} s {'valid  ' if told.valid[i] else 'invalid'} {error:6.1f}° {words}")
        return "\n".join(lines)


def make_case(seed: int) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    rate = float(rng.choice([100.0, 200.0], p=(0.8, 0.2)))
    motion = random_motion(rng, DURATION)
    readings = measure(rng, motion, rate)
    luck = rng.random()
    count = 0 if luck < HEALTHY else 1 if luck < 1.0 - COMBINED else 2
    faults = [draw(rng, DURATION) for _ in range(count)]
    undamaged = deepcopy(readings)
    counts_from = _damage(rng, motion, readings, faults)
    frames = _send(rng, readings)
    for fault in faults:
        frames = damage_line(rng, frames, fault)
    return Case(motion, readings, faults, frames, counts_from, undamaged)


def live(case: Case, estimator: str = "ekf") -> Told:
    """Let the receiver and the estimator live through a case."""
    rows, texts = [], []
    for moment in moments(case, GravityEstimator(np.eye(3), estimator=estimator)):
        faults = moment.told.faults + moment.receiver.faults
        rows.append((moment.time, moment.error, moment.told.valid, moment.late, bool(faults)))
        texts.append(faults)
    columns = np.array(rows, dtype=float).T if rows else np.zeros((5, 0))
    return Told(columns[0], columns[1], columns[2] > 0.0, columns[3], columns[4] > 0.0, texts)


def moments(case: Case, chain: GravityEstimator) -> Iterator[Moment]:
    """What a receiver and an estimator make of a case, arrival by arrival."""
    receiver, newest, up = ImuReceiver(), 0, case.readings.true_up
    for one in case.frames:
        if not one.data:
            receiver = ImuReceiver()
        newest = max(newest, one.index)
        for sample in receiver.feed(one.data, HOST_START + one.arrival):
            told = chain.update(sample)
            cosine = -float(told.gravity_in_base @ up[newest]) / 9.81
            late = told.time - HOST_START - case.readings.true_time[max(one.index, 0)]
            yield Moment(one.arrival, float(np.arccos(min(max(cosine, -1.0), 1.0))), told, receiver, late)


def judge(case: Case, told: Told) -> list[Violation]:
    """What was violated in a case."""
    wrong = told.valid & ~(told.error <= WRONG) & (told.time >= case.counts_from)
    found = []
    if wrong.any():
        worst = np.degrees(told.error[wrong].max())
        words = f"up to {worst:.1f}° off; {_names(case)}"
        found.append(Violation("wrong while valid", float(told.time[wrong][0]), words))
    found += _stretches(told, wrong, LONG, "wrong for long", case)
    found += _stretches(told, told.valid & (np.abs(told.stamp_error) > 0.25), LONG, "stamp wrong while valid", case)
    found += _judge_messages(told)
    return found + (_judge_fault(case, told) if case.faults else _judge_health(case, told))


def _judge_health(case: Case, told: Told) -> list[Violation]:
    withdrawn = _stretches(told, ~told.valid & (told.time > 2.0), LONG, "false alarm", case)
    return withdrawn + _judge_accusations(case, told)


def _judge_fault(case: Case, told: Told) -> list[Violation]:
    found, first = [], max(min(f.start for f in case.faults), 2.0)
    bad = (told.time > first) & (~told.valid | (told.error > WRONG)) & (told.time >= case.counts_from)
    if longest_stretch(told.time, bad) > 0.1 and not told.named[told.time > first].any():
        found.append(Violation("never named", float(told.time[bad][0]), _names(case)))
    return found + _judge_recovery(case, told) + _judge_accusations(case, told)


def _judge_recovery(case: Case, told: Told) -> list[Violation]:
    deadline = _recovered_by(case)
    late = (told.time > deadline) & (told.time < deadline + 0.1)
    if not late.any() or told.valid[late].any():
        return []
    return [Violation("not recovered", deadline, f"{_names(case)}; {'; '.join(told.texts[int(np.argmax(late))])}")]


def _recovered_by(case: Case) -> float:
    """When gravity has to be valid again (see the module's docstring); inf if never [s]."""
    motion, over = case.motion, max(f.end for f in case.faults)
    steps = np.linalg.norm(np.diff(motion.up, axis=0, prepend=motion.up[:1]), axis=1)
    proved = np.cumsum(np.where(motion.time > over, steps, 0.0)) > PROVING
    accelerated = np.linalg.norm(motion.force - GRAVITY * motion.up, axis=1)
    rests = (np.linalg.norm(motion.rates, axis=1) < REST_RATE) & (accelerated < REST_FORCE)
    good = rests & (motion.time > over) & (proved | sensors_are_sound(case))
    rested = _stretch(motion.time, good) >= REST
    return float(motion.time[np.argmax(rested)]) + RECOVERY if rested.any() else float("inf")


def sensors_are_sound(case: Case) -> bool:
    """Whether gyroscope and accelerometer read what they feel all the time."""
    return all(FAULTS[fault.name].sound for fault in case.faults)


def _judge_accusations(case: Case, told: Told) -> list[Violation]:
    accusing = np.array([any(map(_accuses, texts)) for texts in told.texts], dtype=bool)
    if not (sensors_are_sound(case) and accusing.any()):
        return []
    first = int(np.argmax(accusing))
    return [Violation("false accusation", float(told.time[first]), f"{_names(case)}: {'; '.join(told.texts[first])}")]


def _accuses(text: str) -> bool:
    return bool(ACCUSATION.search(text)) and not text.startswith("temperature control")


def _judge_messages(told: Told) -> list[Violation]:
    for time, texts in zip(told.time.tolist(), told.texts, strict=True):
        for text in texts:
            if not REMEDY.search(text):
                return [Violation("mute message", time, text)]
    return []


def _stretches(told: Told, which: np.ndarray, limit: float, kind: str, case: Case) -> list[Violation]:
    length = longest_stretch(told.time, which)
    if length <= limit:
        return []
    return [Violation(kind, float(told.time[which][0]), f"for {length:.2f} s; {_names(case)}")]


def longest_stretch(time: np.ndarray, which: np.ndarray) -> float:
    """The longest stretch on end of `which` [s]."""
    return float(_stretch(time, which).max(initial=0.0))


def _stretch(time: np.ndarray, which: np.ndarray) -> np.ndarray:
    """(k,) for how long it has been so without a break [s]."""
    begins = which & ~np.concatenate([[False], which[:-1]])
    since = np.maximum.accumulate(np.where(begins, time, -np.inf))
    return np.where(which, time - since, 0.0)


def _names(case: Case) -> str:
    return ", ".join(f"{f.name} ({f.words}) from {f.start:.2f} s" for f in case.faults) or case.motion.words


def _send(rng: np.random.Generator, readings: Readings) -> list[Frame]:
    """The frames of a board, each some milliseconds on its way, in order."""
    count = len(readings.true_time)
    delays = 0.001 + rng.exponential(0.001, count)
    arrivals = np.maximum.accumulate(readings.true_time + delays)
    first = int(rng.integers(65536))
    rows = zip(readings.board_time, readings.gyroscope, readings.accelerometer, readings.temperature, strict=True)
    return [Frame(i, float(arrivals[i]), frame(first + i, *row)) for i, row in enumerate(rows)]


def _damage(rng: np.random.Generator, motion: BaseMotion, readings: Readings, faults: list[Fault]) -> float:
    """Do the faults of the readings; the time from which the case counts [s] (see the module's docstring)."""
    unaccelerated = measure(rng, replace(motion, force=GRAVITY * motion.up), 1.0 / np.diff(readings.true_time).mean())
    with np.errstate(all="ignore"):
        for fault in faults:
            damage_readings(deepcopy(rng), unaccelerated, fault)
            damage_readings(rng, readings, fault)
    if not any(FAULTS[fault.name].forces and fault.start == 0.0 for fault in faults):
        return 0.0
    return _contradiction(unaccelerated)


def _contradiction(readings: Readings) -> float:
    """When forces and rates, as read on a base that does not accelerate, contradict each other; inf if never [s]."""
    force, steps = readings.accelerometer, np.diff(readings.true_time, prepend=0.0)
    since = -np.inf
    for i, (rate, read) in enumerate(zip(readings.gyroscope, force, strict=True)):
        if readings.true_time[i] - since > CARRIED:
            since, carried = readings.true_time[i], read / max(np.linalg.norm(read), 1e-9)
        carried = carried - steps[i] * np.cross(rate, carried)
        carried /= np.linalg.norm(carried)
        length = np.linalg.norm(read)
        if not abs(length / GRAVITY - 1.0) <= VISIBLE_LENGTH or carried @ read < np.cos(VISIBLE) * length:
            return float(readings.true_time[i])
    return float("inf")
