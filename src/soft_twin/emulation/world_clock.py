"""The one clock of an emulated robot: real time as long as the robot keeps up, and slower where it does not.

Robot time goes on tick by tick, as its parts live them, and no tick is left out: those that are late are lived at once.
What the robot is behind by more than it may be is given up: it stood still for so long, and from then on its time is
that much behind real time for good. A part that is too slow for it, as the body may be, loses time of its own.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from soft_twin.steady_time import steady_now

# What is caught up with [s]. All of it is lived by what a driver has commanded last, zeros where it has heard nothing
# for a while; motors do not let go of their cables within so long.
MOST_BEHIND = 0.04
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
        lost_by_body: robot time that the body has not lived [s], that of a step it is still in among it.
    """

    last: float = 1.0
    slowest: float = 1.0
    slow_for: float = 0.0
    lost: float = 0.0
    lost_by_body: float = 0.0

    @property
    def slow(self) -> bool:
        """Whether the robot is behind at present."""
        return self.last < SLOW


class WorldClock:
    """See the module's docstring. One thread moves it on, any may read it.

    Attributes:
        time: that the robot has lived [s].
    """

    def __init__(self, real_time: Callable[[], float] = steady_now):
        """It starts now; `real_time` is what it keeps up with [s]."""
        self._real_time = real_time
        self._start = self._window_start = real_time()
        self._lock = threading.Lock()
        self._window_time = self._window_lost = self._left_out = 0.0
        self._body_until = math.inf
        self.time = 0.0
        self.pace = Pace()

    def ago(self, tick: float) -> float:
        """How long ago it should have been `tick` [s]."""
        with self._lock:
            return self._due() - tick

    def give_up(self) -> float:
        """Give up what the robot is behind by more than it may be: for so long [s] it has stood still."""
        with self._lock:
            beyond = max(self._due() - self.time - MOST_BEHIND, 0.0)
            self.pace = replace(self.pace, lost=self.pace.lost + beyond)
            return beyond

    def due(self) -> float:
        """What its time should be now [s]."""
        with self._lock:
            return self._due()

    def move(self, time: float) -> None:
        """The robot has lived on to `time` [s]."""
        with self._lock:
            self.time = time
            self._take_pace(self._real_time())

    def body_steps(self, left_out: float, until: float) -> None:
        """The body begins a step, and has left out so much of the robot's time [s] before it.

        While it is in this step, it leaves out what the robot lives beyond `until` [s].
        """
        with self._lock:
            self._left_out += left_out
            self._body_until = until
            self._take_lost()

    def _due(self) -> float:
        return self._real_time() - self._start - self.pace.lost

    def _take_pace(self, now: float) -> None:
        passed = now - self._window_start
        if passed < WINDOW:
            return
        self._take_lost()
        lost = self.pace.lost_by_body
        last = max(self.time - self._window_time - (lost - self._window_lost), 0.0) / passed
        slow_for = self.pace.slow_for + (passed if last < SLOW else 0.0)
        self.pace = replace(self.pace, last=last, slowest=min(self.pace.slowest, last), slow_for=slow_for)
        self._window_start, self._window_time, self._window_lost = now, self.time, lost

    def _take_lost(self) -> None:
        lost = self._left_out + max(self.time - self._body_until, 0.0)
        self.pace = replace(self.pace, lost_by_body=lost)
