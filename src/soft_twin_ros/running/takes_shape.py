"""A surface is shown to a robot, and its chambers hold the pressures that are found for it."""

from dataclasses import dataclass

import numpy as np

from soft_twin_ros.running.graph import SHAPE
from soft_twin_ros.running.health import Drivers
from soft_twin_ros.running.sequence import ANSWER_PATIENCE, START_PATIENCE, Leader, RunSequence

VALVES = "pressures_to_valves"
SETTLING = 20.0  # [s] that chambers may take at most until they stand, after the shape has been held


@dataclass(frozen=True)
class TakesShape(RunSequence):
    """Starting, `with`: the run of a robot that takes a shape.

    Attributes:
        target: file with points (k, 3) in base_link [m], a line each, numbers between commas.
        weights: file that `soft-twin train` wrote.
        duration: how long the shape is held [s], and then until the chambers stand.
        pose: of the target, "free" or "fixed".
        whole: it has no holes.
    """

    KIND = "takes_shape"
    target: str
    weights: str
    duration: float
    pose: str = "fixed"
    whole: bool = False

    @property
    def driven_by(self) -> str:
        return SHAPE

    @property
    def parameters(self):
        return {SHAPE: {"weights": self.weights, "pose": self.pose, "whole": self.whole}}

    def run(self, leader: Leader) -> None:
        leader.enter("starting")
        leader.show(np.loadtxt(self.target, delimiter=","), SHAPE, START_PATIENCE)
        leader.wait_until_ready(START_PATIENCE)
        leader.require(Drivers.ACTIVE)
        leader.switch("enable", VALVES, True)
        leader.wait_until_ready(ANSWER_PATIENCE)
        leader.enter("with")
        leader.pass_time(self.duration)
        leader.settle(SETTLING)
        leader.enter("end")
        leader.require(Drivers.WELL)
        leader.switch("enable", VALVES, False)
