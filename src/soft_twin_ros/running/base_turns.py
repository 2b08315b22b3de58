"""The base turns, first with its actuators free, then while they hold the tip at its target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from soft_twin_ros.running.health import DRIVERS, Drivers
from soft_twin_ros.running.sequence import ANSWER_PATIENCE, START_PATIENCE, Leader, Motion, RunSequence

SETTLING_TIME = 1.5  # [s] for the body to come to rest, before and after its actuators hold it


@dataclass(frozen=True)
class BaseTurns(RunSequence):
    """Warm-up, `without`, pause, `with`: the run of a robot that compensates for gravity.

    Attributes:
        target: (3,) of the tip in base_link [m].
        emulation: parameters of the emulated robot, which move its base.
        duration: of one motion of the base [s].
        warm_up: how long the base stands still before the first motion [s].
        holds: what the base is held in: see `Motion`.
        solver: name of the node that compensates.
        calibration: file of the base's IMU; empty: what the description says.
    """

    KIND = "base_turns"
    target: Sequence[float]
    duration: float
    warm_up: float
    holds: Mapping[str, str] = field(default_factory=dict)
    solver: str = "gravity_to_actuators"
    calibration: str = ""

    @property
    def driven_by(self) -> str:
        return self.solver

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        return {"imu_to_gravity": {"calibration": self.calibration}} if self.calibration else {}

    def run(self, leader: Leader) -> None:
        leader.enter("starting")
        leader.wait_until_ready(START_PATIENCE)
        leader.switch("compensate", self.solver, False)
        leader.enter("warm-up")
        leader.pass_time(self.warm_up)
        self._home(leader)
        self._motion(leader, "without")
        leader.enter("pause")
        leader.trigger("rewind", "emulated_robot")
        leader.trigger("reset_gravity", "imu_to_gravity")
        leader.pass_time(SETTLING_TIME)
        self._hold(leader)
        leader.pass_time(SETTLING_TIME)
        self._motion(leader, "with")
        leader.enter("end")
        self._let_go(leader)

    def _motion(self, leader: Leader, name: str) -> None:
        leader.enter(name)
        leader.trigger("play", "emulated_robot")
        error = partial(self._error, leader)
        leader.play(name, Motion(self.duration, self.holds, error, "tip from its target"))

    def _error(self, leader: Leader) -> float:
        return float(np.linalg.norm(leader.tip - np.array(self.target)))

    def _home(self, leader: Leader) -> None:
        """The robot rests upright with slack cables: that is their zero, whatever the driver has missed until now."""
        if leader.has("cables_to_motors"):
            leader.trigger("home", "cables_to_motors")
        self._enable(leader, False)
        leader.require(Drivers.WELL)
        leader.wait_until_ready(ANSWER_PATIENCE)

    def _hold(self, leader: Leader) -> None:
        """Let the actuators hold the tip's target."""
        leader.require(Drivers.ACTIVE)
        leader.switch("compensate", self.solver, True)
        self._enable(leader, True)

    def _let_go(self, leader: Leader) -> None:
        leader.require(Drivers.WELL)
        self._enable(leader, False)
        leader.switch("compensate", self.solver, False)

    def _enable(self, leader: Leader, on: bool) -> None:
        for driver in DRIVERS:
            if leader.has(driver):
                leader.switch("enable", driver, on)
