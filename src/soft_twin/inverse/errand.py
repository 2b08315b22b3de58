"""A path on its way: what a controller aims at from tick to tick until its end, and how it ends."""

import math
from dataclasses import dataclass

from soft_twin.errors import InputError
from soft_twin.inverse.controller import Controller, Tick
from soft_twin.inverse.paths import Path

LONGEST_TICK = 0.1  # [s] that the path goes on at most from one tick to the next, however long there was none
SETTLING = 2.0  # [s] after the path's end in which its end must be reached
LOST = 2.0  # [s] without an equilibrium after which it is given up
LATE = 0.1  # share of its duration that a path takes longer before that is told
TOLERANCE, TURN_TOLERANCE = 1e-3, 0.02  # [m], [rad] where nothing else is said


@dataclass(frozen=True)
class Ending:
    """Whether the end was reached, and what to tell."""

    success: bool
    message: str


class Errand:
    """Leads a controller along a path. Its time goes on with ticks that find their equilibrium alone, so that nothing
    jumps after a pause; wherever it is ended, the controller goes on holding the last target.

    Attributes:
        time: since the start [s].
    """

    def __init__(self, controller: Controller, path: Path, tolerance: float = 0.0):
        """`tolerance`: distance from the last target that is well enough [m]; 0: TOLERANCE.

        Raises:
            InputError: a tolerance below 0.
        """
        if not tolerance >= 0.0:
            raise InputError(f"tolerance {tolerance:g} m: expected 0 or above")
        self._controller, self._path = controller, path
        self._tolerance = tolerance or TOLERANCE
        self.time = self._lost_for = self._waited = 0.0

    @property
    def progress(self) -> float:
        """0 … 1."""
        return min(self.time / self._path.duration, 1.0)

    @property
    def time_left(self) -> float:
        """Until the path's end [s]."""
        return max(self._path.duration - self.time, 0.0)

    @property
    def miss(self) -> tuple[float, float]:
        """How far the twin is from the path's end, see `Controller.miss` [m], [rad]."""
        return self._controller.miss(self._path.target(self._path.duration))

    def lead(self) -> None:
        """Aim at what is due, before a tick."""
        self._controller.aim(self._path.target(self.time))

    def take(self, tick: Tick, since: float) -> Ending | None:
        """What a tick has come to, `since` [s] after the one before it; how the errand ends, if it does now."""
        gap, since = since, min(max(since, 0.0), LONGEST_TICK)
        if self.time < self._path.duration:
            self._waited += min(max(gap, 0.0), LOST) - (0.0 if tick.holding else since)
        if tick.holding:
            self._lost_for += since
            lost = "the twin has lost its equilibrium: the last safe command is held"
            return Ending(False, lost) if self._lost_for > LOST else None
        arrived, self._lost_for = self.time >= self._path.duration, 0.0  # whether the tick aimed at the path's end
        self.time += since
        return self._judge(tick) if arrived else None

    def _judge(self, tick: Tick) -> Ending | None:
        """At the path's end."""
        late = self._late()
        if math.isnan(tick.error):
            return Ending(True, f"done{late}")
        away = f"{1e3 * tick.error:.2f} mm from the target"
        turn = "" if math.isnan(tick.orientation_error) else f", {math.degrees(tick.orientation_error):.1f} deg off"
        if tick.error <= self._tolerance and not tick.orientation_error > TURN_TOLERANCE:
            return Ending(True, f"{away}{turn}{late}")
        if self.time < self._path.duration + SETTLING:
            return None
        limits = f"; limits bind: {', '.join(tick.active_limits)}" if tick.active_limits else ""
        wanted = [f"{1e3 * self._tolerance:g} mm"] if tick.error > self._tolerance else []
        wanted += [f"{math.degrees(TURN_TOLERANCE):.2g} deg"] if tick.orientation_error > TURN_TOLERANCE else []
        return Ending(False, f"{away}{turn}, not within {' and '.join(wanted)}{limits}{late}")

    def _late(self) -> str:
        """What there is to say of a path whose time has stood still for long."""
        if self._waited <= LATE * self._path.duration:
            return ""
        took = self._path.duration + self._waited
        return f"; in {took:.1f} s instead of {self._path.duration:g} s, as ticks came late or found nothing"
