"""What the motors say, gathered over time: cable displacements, rates and currents, and which motor is silent."""

from collections.abc import Iterable

import numpy as np

from soft_twin.driving.c610 import COUNTS_PER_TURN, Feedback, TurnCounter
from soft_twin.driving.winch import Winch

MAX_TURN = 0.4 * COUNTS_PER_TURN  # [counts] more between two samples is no rotation, it is a fault


class MotorReadings:
    """Readings of the motors that pull a robot's cables, in the order of the cables.

    Attributes:
        displacements: (c,) [m] from where `set_zero` was last called, or from the first feedback.
        rates: (c,) [m/s].
        currents: (c,) > 0 winds in [A].
        ages: (c,) seconds since each motor's last feedback.
        jumps: (c,) how often the rotor's angle jumped farther than it can turn.
        foreign: feedback of motors that are not in the description.
    """

    def __init__(self, motor_ids: Iterable[int], winch: Winch):
        self._cable = {motor_id: i for i, motor_id in enumerate(motor_ids)}
        count = len(self._cable)
        self._winch = winch
        self._turns = [TurnCounter() for _ in range(count)]
        self._zero_counts = np.zeros(count)
        self._counts = np.zeros(count)
        self.rates, self.currents = np.zeros(count), np.zeros(count)
        self.ages = np.full(count, np.inf)
        self.jumps = np.zeros(count, dtype=int)
        self.foreign = 0

    @property
    def complete(self) -> bool:
        """Whether every motor has answered at least once."""
        return bool(np.all(np.isfinite(self.ages)))

    @property
    def displacements(self) -> np.ndarray:
        return self._winch.displacement_of_counts(self._counts - self._zero_counts)

    def set_zero(self, displacements: np.ndarray) -> None:
        """Let the present rotor angles stand for these displacements (c,) [m]."""
        self._zero_counts = self._counts - self._winch.rotor_counts(displacements)

    def update(self, feedback: Iterable[Feedback], dt: float) -> None:
        """Take the feedback that came in during the last `dt` seconds, oldest first."""
        self.ages += dt
        for sample in feedback:
            if sample.motor_id in self._cable:
                self._take(self._cable[sample.motor_id], sample)
            else:
                self.foreign += 1

    def _take(self, cable: int, sample: Feedback) -> None:
        turned = self._turns[cable].update(sample.angle_counts)
        self.jumps[cable] += abs(turned) > MAX_TURN
        self._counts[cable] = self._turns[cable].counts
        self.rates[cable] = self._winch.rate(sample.speed_rpm)
        self.currents[cable] = sample.current * self._winch.description.direction
        self.ages[cable] = 0.0
