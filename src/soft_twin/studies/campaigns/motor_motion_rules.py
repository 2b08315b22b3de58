"""The motors' judge on motion: within displacement and rate, and never the wrong way."""

import math

import numpy as np

from soft_twin.studies.campaigns.devices.winches import TORQUE
from soft_twin.studies.campaigns.motor_book import CaseBook

TICK = 0.004  # [s] between two looks at the physics
BEYOND = 0.001  # [m] beyond the limits of displacement, see motors.py
FAST, FAST_OFFSET = 1.75, 0.005  # times the limit, and [m/s], see motors.py
FLUNG = 1.05  # times the least rate since it is driven, which is no more than it has been flung with
DRIVEN = 0.02  # [s] after a current, a motor counts as driven …
CARRIES = 2.0 * TICK  # [s] … and what makes it faster is that current: a body that it lets go may fling it
MEMORY = 0.06  # [s] of true positions among which what is told may lie
MOTOR_PATIENCE = 0.2  # [s] a motor that hears nothing lets go
BRAKING = 0.03  # [s] to turn back a cable at the limit of its rate: rate over acceleration, and the motor's lag
WRONG_WAY = 0.0015  # [m] that a reversed motor may drive a cable against its current, see motors.py
REVERSAL_TIME = 0.06  # [s] a reversed motor may run until it is named


class MotionRules:
    """What the winches do."""

    def __init__(self, book: CaseBook):
        self._book = book
        count = len(book.case.winches)
        self._wrong_way, self._deaf_until = np.zeros(count), np.full(count, -1.0)
        self._outer = np.full(count, np.inf), np.full(count, -np.inf)
        self._reversed_at = np.full(count, np.nan)
        self._slowest = np.zeros(count)  # since it is driven; else its rate [m/s]

    def physics(self) -> None:
        """The winches against their limits; to be called each tick."""
        now, winches = self._book.world.clock.now, self._book.world.winches
        displacement = self._book.displacements()
        self._note_deaf(now)
        hears = now > self._deaf_until
        since_driven = np.where(hears, now - self._book.driven, np.inf)
        driven = since_driven < DRIVEN
        if displacement is not None and not self._book.homing and self._book.zero_sure:
            self._check_displacements(displacement, winches.rates(), driven, now)
        self._book.past.append((now, winches.lengths()))
        while self._book.past[0][0] < now - MEMORY:
            self._book.past.popleft()
        self._check_senses(winches, hears)
        self._check_rates(np.abs(winches.rates()), since_driven < CARRIES, now)

    def host_was_halted(self) -> None:
        """Meanwhile the motors went on with what they were told last, up to their own patience; now they brake."""
        self._deaf_until[:] = np.maximum(self._deaf_until, self._book.world.clock.now + BRAKING)

    def _note_deaf(self, now: float) -> None:
        """A motor that does not hear the host goes on for a while with what it was told last."""
        if self._book.world.adapter.line.lost_out or not self._book.world.adapter.plugged:
            self._deaf_until[:] = now + MOTOR_PATIENCE
        for i in self._book.world.controllers.deaf:
            self._deaf_until[i] = now + MOTOR_PATIENCE

    def _check_displacements(self, displacement, rates, driven, now: float) -> None:
        low, high = self._book.limits.displacement
        outer_low, outer_high = self._outermost(displacement, driven)
        above = driven & (displacement > outer_high + BEYOND) & (rates > 0.001)
        below = driven & (displacement < outer_low - BEYOND) & (rates < -0.001)
        for i in np.flatnonzero(above | below):
            if not self._excused(i, now):
                where = f"{1e3 * displacement[i]:.2f} mm of {1e3 * low:.2f}…{1e3 * high:.2f} mm"
                self._book.found("beyond displacement", f"cable {i + 1} is driven to {where}")

    def _outermost(self, displacement, driven) -> tuple[np.ndarray, np.ndarray]:
        """How far out cables may be: to the limits, or to where they were when or since they were driven."""
        low, high = self._book.limits.displacement
        lowest, highest = self._outer
        self._outer = (
            np.minimum(low, np.where(driven, np.maximum(lowest, displacement), displacement)),
            np.maximum(high, np.where(driven, np.minimum(highest, displacement), displacement)),
        )
        return self._outer

    def _check_rates(self, rates, driven, now: float) -> None:
        """A cable that its body has flung is braked from there."""
        self._slowest = np.where(driven, np.minimum(self._slowest, rates), rates)
        allowed = np.maximum(FAST * self._book.limits.rate + FAST_OFFSET, FLUNG * self._slowest)
        for i in np.flatnonzero(driven & (rates > allowed)):
            if not self._excused(i, now):
                limit = 1e3 * self._book.limits.rate
                self._book.found(
                    "too fast", f"cable {i + 1} moves at {1e3 * rates[i]:.0f} mm/s, limit {limit:.0f} mm/s"
                )

    def _check_senses(self, winches, hears) -> None:
        """A motor whose torque is reversed, and that hears the host, drives its cable the wrong way until it is named.

        One that does not hear, or not any more, goes on with what it was told last, whoever may have found it out. What
        a sound one would be drawn out by its cable is not its doing.
        """
        senses = np.array([winch.direction for winch in self._book.case.winches])
        reversed_ = winches.health[:, TORQUE] < 0.0
        wrong = reversed_ & hears & (np.abs(winches.wanted) > 0.05) & (winches.rates() * senses * winches.wanted < 0.0)
        self._book.world.let_sound(~wrong)
        sound = winches if self._book.world.sound is None else self._book.world.sound
        anyway = np.maximum(-sound.rates() * senses * np.sign(winches.wanted), 0.0)
        beyond = np.maximum(np.abs(winches.rates()) - anyway, 0.0)
        self._wrong_way = np.where(wrong, self._wrong_way + beyond * TICK, 0.0)
        for i in np.flatnonzero(self._wrong_way > WRONG_WAY):
            self._book.found("driven the wrong way", f"cable {i + 1} ran {1e3 * self._wrong_way[i]:.1f} mm")

    def _excused(self, i: int, now: float) -> bool:
        """A motor whose torque has just turned round, or that has just got another's id, runs away until that shows."""
        ids = self._book.world.controllers.ids
        if self._book.world.winches.health[i, TORQUE] > 0.0 and ids.count(self._book.case.winches[i].motor_id) == 1:
            self._reversed_at[i] = np.nan
            return False
        if math.isnan(self._reversed_at[i]):
            self._reversed_at[i] = now
        return now - self._reversed_at[i] < REVERSAL_TIME
