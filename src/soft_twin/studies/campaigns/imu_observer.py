"""What could be known of an IMU's fault: an observer that is told exactly which one there may be, and when it begins.

It has the readings with the fault and those that the board would have given without it, the chip's bias, and "up" at
the beginning. What it is not told is whether the fault is there. Both sets of readings are explained by a sound board
on a moving base, the forces by the model of motions that `sensing/hypotheses.py` has, the rates by how usual their
steps are: Student's t with the scale of the last third of a second. Bayes does the rest: the odds that the board is
broken are those beforehand, times how much better the undamaged readings are explained than the damaged ones.

No check of readings alone knows more, unless it has a better model of how bases move; so where this observer does not
doubt gravity yet, a check that does doubts sound boards as well.
"""

import math

import numpy as np
from scipy.signal import lfilter

from soft_twin.sensing.hypotheses import Hypotheses, HypothesesParameters
from soft_twin.studies.campaigns.devices.base_motion import BaseMotion
from soft_twin.studies.campaigns.devices.imu_board import Readings

STEP_TIME = 0.3  # [s] by which the usual size of a rate's steps is averaged
LEAST_STEP = math.radians(0.2)  # [rad/s], a chip's noise
IMPOSSIBLE = -50.0  # log likelihood of what no chip reads
BEYOND = 1.5  # times its range: no chip reads that
PARAMETERS = HypothesesParameters(follow=1e9)  # nobody's answer is followed: "up" is what the readings say


def probability_of_fault(motion: BaseMotion, undamaged: Readings, damaged: Readings, duration: float) -> np.ndarray:
    """(n,) what the observer believes after each reading, 0…1.

    Args:
        motion: of the base.
        undamaged, damaged: readings without and with the faults, at the same times.
        duration: within which a fault may begin [s]; with the bank's hazard it makes the probability beforehand.
    """
    bias = _bias(motion, undamaged)
    better = _evidence(undamaged, bias) - _evidence(damaged, bias)
    beforehand = min(PARAMETERS.hazard * duration, 0.5)
    log_odds = math.log(beforehand / (1.0 - beforehand)) + np.cumsum(better)
    return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -500.0, 500.0)))


def _bias(motion: BaseMotion, undamaged: Readings) -> np.ndarray:
    """(3,) of the gyroscope, by the true rates [rad/s]."""
    true = motion.rates[np.searchsorted(motion.time, undamaged.true_time - 1e-9)]
    return np.mean(undamaged.gyroscope - true, axis=0)


def _evidence(readings: Readings, bias: np.ndarray) -> np.ndarray:
    """(n,) log likelihood of each reading of a sound board, given all before it."""
    rates, forces, possible = _possible(readings)
    time = readings.true_time
    dt = float(time[1] - time[0])
    share = min(1.0, dt * PARAMETERS.samples)
    bank, evidence = Hypotheses(PARAMETERS, np.eye(3)[None]), share * _log_of_steps(rates, dt)
    up = readings.true_up[0]
    for i, (rate, force) in enumerate(zip(rates - bias, forces, strict=True)):
        bank.update(dt, rate, force, up, 0.0)
        evidence[i] += bank.evidence
    return np.where(possible, evidence, IMPOSSIBLE)


def _possible(readings: Readings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rates (n, 3) and forces (n, 3), the last possible ones where they are impossible, and (n,) where they are not."""
    possible = np.ones(len(readings.true_time), dtype=bool)
    for values, limit in (
        (readings.gyroscope, readings.gyroscope_range),
        (readings.accelerometer, readings.accelerometer_range),
    ):
        possible &= (np.abs(values) <= BEYOND * limit).all(axis=1)
    last = np.maximum.accumulate(np.where(possible, np.arange(len(possible)), np.argmax(possible)))
    return readings.gyroscope[last], readings.accelerometer[last], possible


def _log_of_steps(rates: np.ndarray, dt: float) -> np.ndarray:
    """(n,) log likelihood of the rates' steps by the size of those before them."""
    squared = np.sum(np.diff(rates, axis=0, prepend=rates[:1]) ** 2, axis=1)
    new = dt / (STEP_TIME + dt)
    before = np.concatenate([[0.0], lfilter([new], [1.0, new - 1.0], squared)[:-1]])
    variance = LEAST_STEP**2 + before / 3.0
    tail = PARAMETERS.tail
    return -1.5 * np.log(variance) - 0.5 * (tail + 3.0) * np.log1p(squared / (tail * variance))
