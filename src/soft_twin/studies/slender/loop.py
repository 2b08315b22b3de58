"""The whole loop in simulated time, without nodes: IMU → gravity → controller → winches → body in a moving base.

Each period (20 ms unless said otherwise) the chip is sampled at 100 Hz, the estimator of `imu_to_gravity` finds
gravity, a tick of the robot's controller what the cables shall do; a period later winches begin to follow that, within
the description's rate and with the emulated motors' lag, and the emulated body moves. What is left out, beside the
graph's jitter: bytes, motor currents, supervision. The estimator has looked at the resting base for SETTLED before.
With a `TipFeedback` a tracker sees the tip, a period late, with TRACKER_NOISE; what it then says may be something else.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.emulation.base_motion import BaseMotion, moving_base
from soft_twin.emulation.imu import EmulatedImu
from soft_twin.emulation.plant import Plant
from soft_twin.inverse.controller import Controller
from soft_twin.inverse.tip_feedback import TipFeedback
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.robots.cable_tube import CableTube
from soft_twin.sensing.gravity import GravityEstimate, GravityEstimator
from soft_twin.sensing.gravity_ahead import GravityAhead
from soft_twin.studies.slender.shared import Motion
from soft_twin.twins.dynamic import DynamicTwin

PERIOD, SAMPLE = 0.02, 0.01  # [s] of the loop, of the chip
SETTLED = 30.0  # [s] for heater and filter
AMBIENT = 25.0  # [°C]
TRACKER_NOISE = 2e-4  # [m], standard deviation
LEVEL = 5e-5  # [m] a tip that creeps to rest is as far away as ever within this
Tracker = Callable[[float, np.ndarray], np.ndarray | None]  # what it says of a tip (3,) [m] that it sees at a time [s]


def faithful(time: float, seen: np.ndarray) -> np.ndarray:
    """A tracker that says what it sees."""
    return seen


@dataclass(frozen=True)
class History:
    """How a run went; rows are the ends of periods, places and gravity in base_link.

    Attributes:
        times: (t,) [s].
        gravity: (t, 3) true, of the resting base's attitude [m/s²].
        estimated: (t, 3) what the controller was told.
        tips, axes: (t, 3) of the emulated robot [m].
        twin_tips, twin_axes: (t, 3) of the controller's twin [m].
        asked, wound: (t, c) displacements that were commanded, and those of the winches [m].
        attitudes: (t, 4) base_link → world, w, x, y, z.
    """

    times: np.ndarray
    gravity: np.ndarray
    estimated: np.ndarray
    tips: np.ndarray
    axes: np.ndarray
    twin_tips: np.ndarray
    twin_axes: np.ndarray
    asked: np.ndarray
    wound: np.ndarray
    attitudes: np.ndarray

    def after(self, begin: float, end: float = np.inf) -> "History":
        """Its rows between two times."""
        chosen = (self.times >= begin - 1e-9) & (self.times <= end + 1e-9)
        return History(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


@dataclass
class Winches:
    """Winches that follow what they are told: at most at `rate` [m/s], with a lag [s]. `wound`: (c,) displacements."""

    rate: float
    lag: float
    wound: np.ndarray
    _wanted: np.ndarray = field(init=False)

    def __post_init__(self):
        self._wanted = self.wound.copy()

    def step(self, asked: np.ndarray, dt: float) -> np.ndarray:
        """(c,) after `dt` [s]."""
        self._wanted = self._wanted + np.clip(asked - self._wanted, -self.rate * dt, self.rate * dt)
        self.wound = self.wound - np.expm1(-dt / self.lag) * (self._wanted - self.wound)
        return self.wound


class Loop:
    """See the module's docstring.

    Attributes:
        controller: of the robot; aim it, and enable it or not, as you like.
        time: since the start [s].
    """

    def __init__(
        self,
        robot: CableTube,
        plant: Plant,
        controller: Controller,
        motion: BaseMotion,
        ahead: GravityAhead | None = None,
        seed: int = 0,
        period: float = PERIOD,
        feedback: TipFeedback | None = None,
        tracker: Tracker = faithful,
    ):
        """`robot`: whose winches these are. `plant`: its body, which begins as it is. `seed`: of chip and tracker.
        `feedback`: of a tracker that sees the tip; None: there is none. `tracker`: what it says of what it sees."""
        drive = robot.winches
        count = len(drive.cables)
        self.plant, self.controller, self.motion, self.period, self.time = plant, controller, motion, period, 0.0
        self._winches = Winches(drive.cable_limits.rate, robot.emulated.motor_lag, np.zeros(count))
        self._ahead, self._imu, self._duty = ahead or GravityAhead(), EmulatedImu(seed=seed), 0.0
        self._estimator, self._rows, self._asked = GravityEstimator(np.eye(3)), [], np.zeros(count)
        self._feedback, self._tracker, self._rng = feedback, tracker, np.random.default_rng(seed)
        for t in np.arange(-SETTLED, 0.0, SAMPLE):
            self._estimate = self._sample(t)

    def run(self, until: float, each: Callable[[float], None] | None = None) -> None:
        """Let time go on to `until` [s]; `each` is called with the time before every period."""
        while self.time < until - 1e-9:
            if each is not None:
                each(self.time)
            self._advance()

    def history(self) -> History:
        """What has been so far."""
        return History(*(np.array(column) for column in zip(*self._rows, strict=True)))

    def _advance(self) -> None:
        begin, self.time = self.time, self.time + self.period
        felt = self._felt(begin)
        tick = self.controller.update(felt)
        wound = self._winches.step(self._asked, self.period)
        self._asked = tick.coordinates if tick.compensating else self._asked
        if self._feedback is not None:
            self.controller.lead_by(self._feedback.update(tick.tip, self.period, tick.compensating))
        self.plant.step(self.period, wound, moving_base(self.motion, self.time))
        attitude = self.motion.attitude(self.time)
        self._rows.append((self.time, down_in_base(attitude), felt, self.plant.tip, self.plant.tip_direction, tick.tip,
                           tick.tip_direction, self._asked, wound, attitude))  # fmt: skip
        if self._feedback is not None:
            said = self._tracker(self.time, self.plant.tip + self._rng.normal(0.0, TRACKER_NOISE, 3))
            if said is not None:
                self._feedback.measure(said)
        for t in np.arange(begin + SAMPLE, self.time + 0.5 * SAMPLE, SAMPLE):
            self._estimate = self._sample(t)

    def _felt(self, time: float) -> np.ndarray:
        """(3,) what the controller is told."""
        now = self._estimate
        return self._ahead.update(time, now.gravity_in_base, now.angular_velocity, now.specific_force)

    def _sample(self, t: float) -> GravityEstimate:
        rates, force = self.motion.angular_velocity(t), self.motion.specific_force(t)
        sample = self._imu.sample(t + SETTLED, rates, force, AMBIENT, self._duty, SAMPLE)
        estimate = self._estimator.update(sample)
        self._duty = estimate.heater_duty
        return estimate


def shadow(body: DynamicTwin, history: History) -> Motion:
    """What a dynamic twin does with a history's winches and with the gravity that was estimated, as it stands."""
    rows, dt = [], float(np.diff(history.times[:2])[0])
    for when, wound, gravity in zip(history.times, history.wound, history.estimated, strict=True):
        body.drive(wound, MovingBase(gravity), dt)
        rows.append((when, body.tip, body.tip_direction))
    return Motion(*(np.array(column) for column in zip(*rows, strict=True)))


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson's r of two tracks (t, 3) (the paper's eq. 24), covariances and variances summed over their coordinates;
    NaN where one does not move."""
    a, b = one - one.mean(axis=0), other - other.mean(axis=0)
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size > 0.0 else float("nan")


def delay(leader: np.ndarray, follower: np.ndarray, period: float, longest: float) -> float:
    """By how much a track (t, k) is behind another [s], within `longest`: where the mean square of their difference is
    least, between samples by a parabola."""
    most = round(longest / period)
    misses = [float(((leader[most - k : len(leader) - k] - follower[most:]) ** 2).mean()) for k in range(most + 1)]
    best = int(np.argmin(misses))
    if not 0 < best < most:
        return best * period
    left, middle, right = misses[best - 1 : best + 2]
    return (best + 0.5 * (left - right) / (left - 2.0 * middle + right)) * period


def peak(times: np.ndarray, tips: np.ndarray, target: np.ndarray) -> float:
    """When a tip (t, 3) begins to come back to its target (3,) [s]: the last moment at which it is as far away as ever,
    within LEVEL."""
    away = np.linalg.norm(tips - target, axis=1)
    return float(times[np.flatnonzero(away >= away.max() - LEVEL)[-1]])


def down_in_base(attitude_wxyz: np.ndarray) -> np.ndarray:
    """(3,) gravity in base_link at an attitude base_link → world [m/s²]."""
    w, x, y, z = attitude_wxyz
    return -STANDARD_GRAVITY * np.array([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z])
