"""The one clock of an emulated robot: real time as long as the robot keeps up, and slower where it does not.

Robot time goes on tick by tick, as its parts live them; no tick is left out. What it is behind by is caught up with a
little faster than real time, so that what the robot sends stays spaced. What it is behind by more than it may be is
lost for good: from then on its time is that much behind, and by no more.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

MOST_BEHIND = 0.1  # [s] that are caught up with; hosts take stamps from before that for stale
CATCHING_UP = 1.25  # of real time's speed, at most
WINDOW = 1.0  # [s] of real time that a pace is taken over
SLOW = 0.98  # a pace below this is not real time's


@dataclass(frozen=True)
class Pace:
    """How a robot's time goes, compared with real time.

    Attributes:
        last: seconds of robot time a second of real time, in the last window; 1 at first.
        slowest: least of all windows.
        slow_for: real time during which it was slow [s].
        lost: robot time that real time is ahead by for good [s].
    """

    last: float = 1.0
    slowest: float = 1.0
    slow_for: float = 0.0
    lost: float = 0.0

    @property
    def slow(self) -> bool:
        """Whether the robot is behind at present."""
        return self.last < SLOW


class WorldClock:
    """See the module's docstring. One thread moves it on, any may read it.

    Attributes:
        time: that the robot has lived [s].
    """

    def __init__(self, real_time: Callable[[], float] = time.monotonic):
        """It starts now; `real_time` is what it keeps up with [s]."""
        self._real_time = real_time
        self._start = self._last_move = self._window_start = real_time()
        self._lock = threading.Lock()
        self._window_time = 0.0
        self.time = 0.0
        self.pace = Pace()

    def ago(self, tick: float) -> float:
        """How long ago it should have been `tick` [s]."""
        with self._lock:
            return self._due() - tick

    def until(self, tick: float) -> float:
        """Real time to wait before the robot may live on to `tick` [s since the start]; not positive: now."""
        with self._lock:
            spacing = (tick - self.time) / CATCHING_UP
            return max(tick - self._due(), self._last_move + spacing - self._real_time())

    def move(self, tick: float) -> None:
        """The robot has lived on to `tick` [s since the start]."""
        with self._lock:
            self.time, self._last_move = tick, self._real_time()
            beyond = max(self._due() - tick - MOST_BEHIND, 0.0)
            self.pace = Pace(self.pace.last, self.pace.slowest, self.pace.slow_for, self.pace.lost + beyond)
            self._take_pace()

    def _due(self) -> float:
        return self._real_time() - self._start - self.pace.lost

    def _take_pace(self) -> None:
        passed = self._last_move - self._window_start
        if passed < WINDOW:
            return
        last = (self.time - self._window_time) / passed
        slow_for = self.pace.slow_for + (passed if last < SLOW else 0.0)
        self.pace = Pace(last, min(self.pace.slowest, last), slow_for, self.pace.lost)
        self._window_start, self._window_time = self._last_move, self.time


def in_words(pace: Pace) -> str:
    """What people are told of a robot that is or was slow; empty for one that kept up."""
    if pace.slow_for == 0.0 or not math.isfinite(pace.slowest):
        return ""
    return (
        f"ran at down to {pace.slowest:.2f} of real time, slow for {pace.slow_for:.1f} s, "
        f"{pace.lost:.2f} s behind for good: the host is too busy"
    )
