"""The operating curve of the IMU's checks: how often gravity is wrong while valid, for how often it is there at all.

The cases are those of the campaign `imu`. The bank of hypotheses gives a probability that the answer is far off, and a
limit on it decides; that limit feeds back on nothing, so one life of a case serves for every limit. Beside the checks
as they are used ("both"), the bank is judged without `Agreement`, which then still finds a lost tilt anew; a limit of
1 leaves `Agreement` alone. At each first wrong moment the observer of `imu_observer.py` is asked.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from soft_twin.sensing.gravity import GravityEstimator
from soft_twin.studies.campaigns.imu import (
    DURATION,
    LONG,
    WRONG,
    Case,
    Moment,
    longest_stretch,
    make_case,
    moments,
    sensors_are_sound,
)
from soft_twin.studies.campaigns.imu_observer import probability_of_fault

LIMITS = (1.0, 0.3, 0.2, 0.1, 0.07, 0.05, 0.02, 0.01)
CHECKS = ("both", "bank")
SETTLED = 2.0  # [s] from which a healthy board's gravity has to be there


@dataclass(frozen=True)
class Outcome:
    """Of one case by one check at one limit.

    Attributes:
        healthy: whether the case has no fault.
        wrong: whether gravity was more than 5° off while valid, from when the case counts.
        long: whether it was for more than half a second on end.
        anywhere: whether it was at any moment, also where nothing contradicts it yet.
        known: whether the observer doubted by that limit when it was wrong first; True where it was not.
        available: share of the time after the first seconds in which gravity was valid.
        withdrawn: longest time on end, after the first seconds, in which it was not [s].
    """

    healthy: bool
    wrong: bool
    long: bool
    anywhere: bool
    known: bool
    available: float
    withdrawn: float


@dataclass(frozen=True)
class Point:
    """Of the curve.

    Attributes:
        check, limit: which check, and the greatest probability of "far off" with which gravity is valid.
        cases, healthy: how many, and how many of them without a fault.
        wrong, long, anywhere: shares of all cases, see Outcome.
        unknown: share of all cases in which the answer was wrong and the observer did not doubt it by this limit.
        available: mean share of time in which a healthy board's gravity was valid.
        withdrawn: share of healthy boards whose gravity was withdrawn for more than half a second.
    """

    check: str
    limit: float
    cases: int
    healthy: int
    wrong: float
    long: float
    anywhere: float
    unknown: float
    available: float
    withdrawn: float


def outcomes(seed: int) -> dict[tuple[str, float], Outcome]:
    """What came of the case of a seed, by check and limit."""
    case = make_case(seed)
    rows = [_row(moment, chain) for chain in [GravityEstimator(np.eye(3))] for moment in moments(case, chain)]
    time, error, far, agreed, settled = np.array(rows).T
    doubt = _doubt(case, time)
    answer = {}
    for limit in LIMITS:
        by_bank = (settled > 0.0) & (far < limit if limit < 1.0 else True)
        answer["both", limit] = _outcome(case, time, error, by_bank & (agreed > 0.0), doubt >= limit)
        answer["bank", limit] = _outcome(case, time, error, by_bank, doubt >= limit)
    return answer


def points(cases: Iterable[dict[tuple[str, float], Outcome]]) -> list[Point]:
    """The curve of many cases' outcomes."""
    cases = list(cases)
    return [_point(check, limit, [one[check, limit] for one in cases]) for check in CHECKS for limit in LIMITS]


def _row(moment: Moment, chain: GravityEstimator) -> tuple[float, float, float, bool, bool]:
    watched = chain.watched
    return moment.time, moment.error, watched.far, watched.agreed, watched.settled


def _doubt(case: Case, time: np.ndarray) -> np.ndarray:
    """(k,) what the observer believes at these times; 1 where no sensor was wrong, as then there is nothing to see."""
    if sensors_are_sound(case) or case.undamaged is None:
        return np.ones(len(time))
    believed = probability_of_fault(case.motion, case.undamaged, case.readings, DURATION)
    newest = np.searchsorted(case.readings.true_time, time, side="right") - 1
    return believed[np.maximum(newest, 0)]


def _outcome(case: Case, time: np.ndarray, error: np.ndarray, valid: np.ndarray, known: np.ndarray) -> Outcome:
    wrong = valid & ~(error <= WRONG)
    counted = wrong & (time >= case.counts_from)
    late = time > SETTLED
    return Outcome(
        healthy=not case.faults,
        wrong=bool(counted.any()),
        long=longest_stretch(time, counted) > LONG,
        anywhere=bool(wrong.any()),
        known=bool(known[np.argmax(counted)]) if counted.any() else True,
        available=float(valid[late].mean()) if late.any() else 0.0,
        withdrawn=longest_stretch(time, ~valid & late),
    )


def _point(check: str, limit: float, found: list[Outcome]) -> Point:
    healthy = [one for one in found if one.healthy]
    return Point(
        check=check,
        limit=limit,
        cases=len(found),
        healthy=len(healthy),
        wrong=_share(one.wrong for one in found),
        long=_share(one.long for one in found),
        anywhere=_share(one.anywhere for one in found),
        unknown=_share(one.wrong and not one.known for one in found),
        available=_share(one.available for one in healthy),
        withdrawn=_share(one.withdrawn > LONG for one in healthy),
    )


def _share(values: Iterable[float]) -> float:
    """Mean; NaN of nothing."""
    values = list(values)
    return float(np.mean(values)) if values else float("nan")
