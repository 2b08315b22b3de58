"""What the motors say, gathered over time: cable displacements, rates and currents, and which motor is silent."""

import math
from collections.abc import Iterable

import numpy as np

from soft_twin.driving.c610 import COUNTS_PER_TURN, Feedback, TurnCounter
from soft_twin.driving.winch import Winch

SLACK = 0.08 * COUNTS_PER_TURN  # [counts] angle and speed may disagree by so much between two samples
LARGEST_TURN = 0.45 * COUNTS_PER_TURN  # [counts] beyond half a turn its sense is unknown
HALF_TURN = 0.4 * COUNTS_PER_TURN  # [counts] with a margin
LEARNING_TIME = 0.5  # [s] in which the rate of the feedback is learned
LONGEST_WAIT = 0.2  # [s] of silence, after which samples have been lost whatever else is known
SHORTEST_LOSS = 0.02  # [s] of feedback; a shorter one cannot be told from uneven arrival
CREEP = 100.0  # [turns/min] that a rotor may have had unseen while it was slow before and after
SHORTEST_GAP = 0.01  # [s] samples may have waited in a buffer for so long, so their times do not tell more


class MotorReadings:
    """Readings of the motors that pull a robot's cables, in the order of the cables.

    Attributes:
        ages: (c,) seconds since each motor's last feedback.
        jumps: (c,) how often the rotor's angle changed by more than its speed explains.
        losses: (c,) how often so much feedback was lost that the rotor may have turned unseen.
        foreign: feedback of motors that are not in the description.
    """

    def __init__(self, motor_ids: Iterable[int], winch: Winch):
        self._cable = {motor_id: i for i, motor_id in enumerate(motor_ids)}
        count = len(self._cable)
        self._winch = winch
        self._turns = [TurnCounter() for _ in range(count)]
        self._zero_counts = np.zeros(count)
        self._counts, self._speeds_rpm, self._currents = np.zeros(count), np.zeros(count), np.zeros(count)
        self.ages = np.full(count, np.inf)
        self.jumps, self.losses = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        self._uptime, self._heard = 0.0, np.zeros(count)
        self._unheard = np.zeros(count)
        self._speed_before = np.zeros(count)
        self.foreign = 0

    @property
    def displacements(self) -> np.ndarray:
        """(c,) cable wound in since `set_zero` was last called, or since the first feedback [m]."""
        return self._winch.displacement_of_counts(self._counts - self._zero_counts)

    @property
    def rates(self) -> np.ndarray:
        """(c,) [m/s]."""
        return self._winch.rate(self._speeds_rpm)

    @property
    def currents(self) -> np.ndarray:
        """(c,) > 0 winds in [A]."""
        return self._winch.description.direction * self._currents

    def set_zero(self, displacements: np.ndarray) -> None:
        """Let the present rotor angles stand for these displacements (c,) [m]."""
        self._zero_counts = self._counts - self._winch.rotor_counts(displacements)

    def update(self, feedback: Iterable[Feedback], dt: float) -> None:
        """Take the feedback that came in during the last `dt` seconds, oldest first."""
        self.ages += dt
        heard = np.zeros(len(self.ages))
        for sample in feedback:
            if sample.motor_id in self._cable:
                cable = self._cable[sample.motor_id]
                heard[cable] += 1.0
                self._take(cable, sample)
            else:
                self.foreign += 1
        self._look_for_losses(heard, dt)

    def _look_for_losses(self, heard: np.ndarray, dt: float) -> None:
        """Account for the time that no sample stands for.

        Samples that only come late come all, one for each period; after a loss some are missing. The rotor may have
        turned meanwhile; beyond half a turn nobody knows how far.
        """
        if self._uptime < LEARNING_TIME:
            self._uptime += dt if self._heard.any() or heard.any() else 0.0
            self._heard += heard
            return
        period = LEARNING_TIME / max(np.median(self._heard), 1.0)
        self._unheard = np.maximum(self._unheard + dt - 1.2 * period * heard, 0.0)
        speed = np.maximum(np.abs(self._speed_before), np.abs(self._speeds_rpm)) + CREEP
        unseen = speed * (COUNTS_PER_TURN / 60.0) * self._unheard
        lost = (heard > 0.0) & (self._unheard > SHORTEST_LOSS) & (unseen > HALF_TURN)
        self.losses += lost
        self._unheard[lost] = 0.0
        self._speed_before = np.where(heard > 0.0, self._speeds_rpm, self._speed_before)

    def _take(self, cable: int, sample: Feedback) -> None:
        turned = self._turns[cable].update(sample.angle_counts)
        if math.isfinite(self.ages[cable]):
            speed = max(abs(sample.speed_rpm), abs(self._speeds_rpm[cable])) * COUNTS_PER_TURN / 60.0
            explained = SLACK + speed * max(self.ages[cable], SHORTEST_GAP)
            self.jumps[cable] += abs(turned) > min(explained, LARGEST_TURN)
            self.losses[cable] += self.ages[cable] > LONGEST_WAIT
        self._counts[cable] = self._turns[cable].counts
        self._speeds_rpm[cable] = sample.speed_rpm
        self._currents[cable] = sample.current
        self.ages[cable] = 0.0
