"""Chambers stand at pressures, one after the other, while an emulated scanner looks: a recording that trains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soft_twin_ros.running.health import Drivers
from soft_twin_ros.running.sequence import ANSWER_PATIENCE, START_PATIENCE, Leader, RunSequence
from soft_twin_ros.running.takes_shape import VALVES

BEGIN = 1.0  # [s] in which the driver hears the first pressures before it is enabled


@dataclass(frozen=True)
class Stands(RunSequence):
    """Starting, one phase for each of the pressures: the run of a robot whose surface is scanned.

    Attributes:
        chambers: their names.
        pressures: (n, a) [Pa].
        duration: how long each stands, the way there included [s].
        solver: name of the node that would move the chambers otherwise.
    """

    KIND = "stands"
    chambers: Sequence[str]
    pressures: Sequence[Sequence[float]]
    duration: float
    solver: str = "gravity_to_actuators"

    @property
    def driven_by(self) -> str:
        return self.solver

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        return {self.solver: {"compensate": False}}

    def run(self, leader: Leader) -> None:
        leader.enter("starting")
        leader.wait_until_ready(START_PATIENCE)
        leader.press(self.chambers, self.pressures[0], BEGIN)
        leader.require(Drivers.ACTIVE)
        leader.switch("enable", VALVES, True)
        leader.wait_until_ready(ANSWER_PATIENCE)
        for number, pressures in enumerate(self.pressures, 1):
            leader.enter(f"stand {number} of {len(self.pressures)}")
            leader.press(self.chambers, pressures, self.duration)
        leader.enter("end")
        leader.require(Drivers.WELL)
        leader.switch("enable", VALVES, False)
