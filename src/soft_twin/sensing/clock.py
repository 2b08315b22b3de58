"""A board's clock seen from the host, and the host's clock that nobody sets seen from the one that tells the day."""

import math
import time

from soft_twin.sensing.delays import Delay, DelayBin, edge_below, slope
from soft_twin.steady_time import steady_now

_BIN = 0.25  # [s] of which the quickest frame is kept: a drift of 0.8 % is 2 ms in it
_WINDOW = 10.0  # [s] after which a delay is forgotten: a drift is found to 0.01 % where the quickest differ by 1 ms
_FASTEST = 0.01  # drift: ArrivalPace corrects what is beyond 0.8 %
_SET = 0.01  # [s] by which the time of day is set, at least


class BoardClock:
    """Offset from a board's clock to the host's, and how fast it grows: the line below the delays of the last 10 s.

    Samples are never early and often late, by as much as a scheduler likes; the quickest ones are nearest to the truth.
    Which is the quickest is told along the drift: of a clock that is slow it would be the oldest, else. Frames that all
    came at once say nothing of the drift, and frames that come after a later one nothing at all.
    A board whose clock jumps back by more than a second has restarted: offset and drift start anew.
    """

    def __init__(self) -> None:
        self._last_host_time = -math.inf
        self.restart()

    def restart(self) -> None:
        """The board's clock is another one from now on."""
        self._last_board_time = -math.inf
        self._bins: list[DelayBin] = []
        self._drift = 0.0
        self._quickest: Delay = (0.0, math.inf)

    def observe(self, board_time: float, arrival: float) -> None:
        """Take note that what happened at `board_time` (board's clock) arrived at `arrival` (host's clock) [s]."""
        if board_time < self._last_board_time - 1.0:
            self.restart()
        elif board_time <= self._last_board_time:
            return
        self._last_board_time = board_time
        if self._bins and board_time - self._bins[-1].start < _BIN:
            self._bins[-1].add(board_time, arrival)
        else:
            self._renew(board_time)
            self._bins.append(DelayBin(board_time, arrival, self._drift))
        if arrival - board_time < self._least_delay(board_time):
            self._quickest = (board_time, arrival - board_time)

    def to_host(self, board_time: float) -> float:
        """That time on the host's clock [s]; of successive calls each answer is later than the one before."""
        self._last_host_time = max(board_time + self._least_delay(board_time), self._last_host_time + 1e-6)
        return self._last_host_time

    def _least_delay(self, board_time: float) -> float:
        time, delay = self._quickest
        return delay + self._drift * (board_time - time)

    def _renew(self, board_time: float) -> None:
        """The line below the delays of the last seconds, all bins of which are complete."""
        self._bins = [bin for bin in self._bins if board_time - bin.start < _WINDOW]
        steady = [bin.quickest for bin in self._bins if not bin.came_at_once]
        if len(steady) > 1:
            self._drift = min(max(slope(*edge_below(steady)), -_FASTEST), _FASTEST)
        self._quickest = min(
            (bin.quickest for bin in self._bins), key=lambda at: at[1] - self._drift * at[0], default=(0.0, math.inf)
        )


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
