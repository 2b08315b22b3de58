"""A board's clock seen from the host, and the host's clock that nobody sets seen from the one that tells the day."""

import math
import time

from soft_twin.steady_time import steady_now

_WINDOW = 5.0  # [s] after which a delay is forgotten, so that the offset follows the drift of the board's crystal
_SET = 0.01  # [s] by which the time of day is set, at least


class BoardClock:
    """Offset from a board's clock to the host's: the least delay seen in the last 5 to 10 seconds.

    Samples are never early and often late, by as much as a scheduler likes; the quickest one is nearest to the truth.
    A board whose clock jumps back by more than a second has restarted: the offset starts anew.
    """

    def __init__(self) -> None:
        self._last_board_time = -math.inf
        self._last_host_time = -math.inf
        self.restart()

    def restart(self) -> None:
        """The board's clock is another one from now on."""
        self._previous = math.inf
        self._current = math.inf
        self._window_start = -math.inf

    def observe(self, board_time: float, arrival: float) -> None:
        """Take note that what happened at `board_time` (board's clock) arrived at `arrival` (host's clock) [s]."""
        if board_time < self._last_board_time - 1.0:
            self.restart()
        self._last_board_time = board_time
        if board_time - self._window_start > _WINDOW:
            self._previous, self._current, self._window_start = self._current, math.inf, board_time
        self._current = min(self._current, arrival - board_time)

    def to_host(self, board_time: float) -> float:
        """That time on the host's clock [s]; of successive calls each answer is later than the one before."""
        host_time = board_time + min(self._previous, self._current)
        self._last_host_time = max(host_time, self._last_host_time + 1e-6)
        return self._last_host_time


class TimeOfDay:
    """Moments of `steady_now()` told as `time.time()`.

    The difference of both is kept until the time of day is set: what a scheduler lets pass between two looks at them
    does not show, so that times between samples are those that were measured.
    """

    def __init__(self) -> None:
        self._ahead = math.nan

    def ahead(self) -> float:
        """What the time of day is ahead of the clock that nobody sets [s]."""
        before, now, after = steady_now(), time.time(), steady_now()
        ahead, unsure = now - 0.5 * (before + after), 0.5 * (after - before)
        if not abs(ahead - self._ahead) <= _SET + unsure:
            self._ahead = ahead
        return self._ahead
