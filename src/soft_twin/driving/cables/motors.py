"""What the motors say, gathered over time: cable displacements, rates and currents, and which motor is silent."""

from collections.abc import Iterable

import numpy as np

from soft_twin.driving.cables.c610 import Feedback
from soft_twin.driving.cables.rotor import COUNTS_PER_RPM, FeedbackPeriod, Rotor
from soft_twin.driving.cables.winch import Winch

TOGETHER = 0.04  # [s] within which motors that a bus or a host has kept silent are heard again


class RestsTogether:
    """Motors that are silent together were kept from being heard; one that is silent alone may have had no power.

    Without power a rotor may turn, and stand by chance near the angle that it had. That all of them do so is no chance.
    """

    def __init__(self, count: int):
        self._seen, self._open, self._age = np.zeros(count, dtype=int), np.zeros(count, dtype=bool), 0.0

    def update(self, rests: np.ndarray, dt: float) -> np.ndarray:
        """(c,) bool: motors whose rest is not believed, `dt` seconds later, after so many rests (c,) in all."""
        self._open |= rests > self._seen
        self._seen = rests
        self._age = self._age + dt if self._open.any() else 0.0
        alone = np.zeros(len(rests), dtype=bool)
        if self._age > TOGETHER:
            if not self._open.all():
                alone = self._open
            self._open, self._age = np.zeros(len(rests), dtype=bool), 0.0
        return alone


class MotorReadings:
    """Readings of the motors that pull a robot's cables, in the order of the cables.

    Attributes:
        displacements: (c,) cable wound in since `set_zero` was last called, or since the first feedback [m].
        rates: (c,) [m/s].
        currents: (c,) > 0 winds in [A].
        pull_per_current: (c,) at the drums as they are wound now [N/A].
        ages: (c,) seconds since each motor's last feedback.
        unheard: (c,) of these, seconds that this host has listened in vain, and was not halted itself.
        jumps, losses: (c,) see Rotor; a rotor alone that rested for long where others were heard is a loss, too.
        spans: (c,) what the samples of the last update stand for, 0 where there were none, or that is not known [s].
        owed: (c,) time that no sample stands for yet: what is heard may be as old [s].
        late: (c,) bool, motors of which samples that have waited are coming in: the newest is of the past; see Rotor.
        foreign: feedback of motors that are not in the description.
    """

    def __init__(self, motor_ids: Iterable[int], winch: Winch, acceleration: float, silent_after: float):
        """The motors of these ids.

        Args:
            motor_ids: in the order of the cables.
            winch: that each of them turns.
            acceleration: of a cable that no motor exceeds, by the highest current [m/s²].
            silent_after: a motor that was silent for so long may have turned unseen [s].
        """
        self._cable = {motor_id: i for i, motor_id in enumerate(motor_ids)}
        self._winch = winch
        highest = float(np.max(np.abs(winch.rotor_counts(acceleration))))
        self._push_per_current = highest / winch.description.current_limit  # [counts/s²/A]
        self._rotors = [Rotor(highest, silent_after) for _ in self._cable]
        self._period = FeedbackPeriod(len(self._rotors))
        self._zero_counts = np.zeros(len(self._rotors))
        self._rests, self._rested_for = RestsTogether(len(self._rotors)), np.zeros(len(self._rotors), dtype=int)
        self.foreign = 0
        self._gather()

    def response(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the motors did in the samples of the last update.

        Returns:
            currents (c,) that flowed [A], rates (c,) [m/s] and accelerations (c,) [m/s²], all of them > 0 winds in;
            accelerations are NaN where they are not known.
        """
        currents = self._winch.direction * self._mean_currents
        return currents, self._rate_per_speed * self._mean_speeds, self._rate_per_speed * self._accelerations

    @property
    def period(self) -> float:
        """Of the feedback, 0 while it is not known [s]."""
        return self._period.seconds

    @property
    def timed(self) -> bool:
        """Whether it is known how often motors answer: until then nobody can say what they do with their currents."""
        return self._period.seconds > 0.0

    @property
    def acceleration_bounds(self) -> np.ndarray:
        """(2, c) least and greatest accelerations in the samples of the last update [m/s²], NaN where not known."""
        return np.sort(self._rate_per_speed * self._acceleration_bounds, axis=0)

    def set_zero(self, displacements: np.ndarray) -> None:
        """Let the present rotor angles stand for these displacements (c,) [m]."""
        self._zero_counts = self._counts - self._winch.rotor_counts(displacements)
        self._place()

    def update(self, feedback: Iterable[Feedback], dt: float, told: np.ndarray | float = 0.0) -> None:
        """Take the feedback that came in during the last `dt` seconds, oldest first.

        The motors were `told` currents (c,) in the meantime, > 0 winds in [A].
        """
        samples: list[list[Feedback]] = [[] for _ in self._rotors]
        for sample in feedback:
            if sample.motor_id in self._cable:
                samples[self._cable[sample.motor_id]].append(sample)
            else:
                self.foreign += 1
        pushes = np.abs(told - self.currents) * self._push_per_current
        for rotor, each, push in zip(self._rotors, samples, pushes.tolist(), strict=True):
            rotor.update(each, dt, self._period.seconds, push)
        self._period.update(np.array([rotor.heard for rotor in self._rotors], dtype=float), dt, bool(self.late.any()))
        self._rested_for += self._rests.update(np.array([rotor.rests for rotor in self._rotors]), dt)
        self._gather()

    def _gather(self) -> None:
        rotors = self._rotors
        self.ages = np.array([rotor.age for rotor in rotors])
        self.unheard = np.array([rotor.unheard for rotor in rotors])
        self.spans = np.array([rotor.span for rotor in rotors])
        self.owed = np.array([rotor.owed for rotor in rotors])
        self.late = np.array([rotor.late for rotor in rotors])
        self.jumps = np.array([rotor.jumps for rotor in rotors])
        self.losses = np.array([rotor.losses for rotor in rotors]) + self._rested_for
        self._counts = np.array([rotor.counts for rotor in rotors], dtype=float)
        self._speeds = np.array([rotor.speed for rotor in rotors])
        self.currents = self._winch.direction * np.array([rotor.current for rotor in rotors])
        self._mean_currents = np.array([rotor.mean_current for rotor in rotors])
        self._mean_speeds = np.array([rotor.mean_speed for rotor in rotors])
        self._accelerations = np.array([rotor.acceleration for rotor in rotors])
        self._acceleration_bounds = np.array([rotor.acceleration_bounds for rotor in rotors]).T
        self._place()

    def _place(self) -> None:
        """Where the cables are, and how fast they move."""
        self.displacements = self._winch.displacement_of_counts(self._counts - self._zero_counts)
        self._rate_per_speed = self._winch.rate(1.0 / COUNTS_PER_RPM, self.displacements)
        self.rates = self._rate_per_speed * self._speeds
        self.pull_per_current = self._winch.force(1.0, self.displacements)
