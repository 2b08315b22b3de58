"""An arm that moves by itself, while its twin estimates its shape from what its sensors say."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from soft_twin_ros.running.sequence import START_PATIENCE, Leader, Motion, RunSequence


@dataclass(frozen=True)
class ArmBends(RunSequence):
    """Warm-up, `with`: the run of an arm whose shape is estimated.

    Attributes:
        duration: of the arm's motion that counts [s].
        warm_up: how long it moves before that [s].
        parts: of the arm's motion, at whose ends the error is told.
    """

    KIND = "arm_bends"
    duration: float
    warm_up: float
    parts: tuple[str, ...] = ()

    def run(self, leader: Leader) -> None:
        leader.enter("starting")
        leader.wait_until_ready(START_PATIENCE)
        leader.enter("warm-up")
        leader.pass_time(self.warm_up)
        leader.enter("with")
        holds = {part: part for part in self.parts}
        leader.play("with", Motion(self.duration, holds, partial(_error, leader), "tip from where it is estimated"))
        leader.enter("end")


def _error(leader: Leader) -> float:
    return float(np.linalg.norm(leader.tip - leader.twin_tip))
