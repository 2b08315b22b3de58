"""How fast a board's time goes by the arrivals of its frames, on a host that may be busy or asleep at times."""

from itertools import pairwise

from soft_twin.sensing.delays import Delay, DelayBin, edge_below, slope

_BLOCK = 16  # frames, at least, over which a wrong pace of more than 15 % shows
_BLOCK_TIME = 0.15  # [s] at least, as adapters hand on what came in 16 ms at once
_UNEVEN = 0.15  # of the time of a block: arrivals that are further off an even pace say nothing of it
_BIN = 0.5  # [s]
_BINS = 10  # over which a wrong pace of more than 0.8 % shows
_ENOUGH = 5  # bins
_SPAN = 1.2  # [s] between two quickest frames, at least
_SEEN = 0.015  # [s] by which their delays differ, at least
_COARSE, FINE = 0.15, 0.008
_STEP = 0.3  # [s] by which delays grow at once, and stay grown, where time stood still meanwhile
_STEADY = 0.2  # of that step: what delays may drift by before it and after it
_STAYED = 3  # bins after it
_LARGE = 1.5  # a drift that may be a step, unless it is spread over the bins


class ArrivalPace:
    """Compares times with arrivals, over a few frames where these come evenly, and over seconds where they do not.

    Attributes:
        stood_still: for how long the times have, as those of a board that slept, found by the newest frame [s]; 0: they
            have not. What is not 0 is for a new `begin`.
    """

    def __init__(self) -> None:
        self._ratio, self.stood_still = 1.0, 0.0
        self._block: list[tuple[float, float]] = []
        self._bins: list[DelayBin] = []

    def begin(self, time: float, arrival: float) -> None:
        """Times are others from this frame on."""
        self._bins, self._block, self.stood_still = [], [(time, arrival)], 0.0

    def update(self, time: float, arrival: float) -> float:
        """What passes between arrivals by what passes in `time` [s]; 1 where it may be just that.

        An answer that differs is for a new `begin`.
        """
        self._block.append((time, arrival))
        if len(self._block) > _BLOCK and time - self._block[0][0] >= _BLOCK_TIME:
            ratio, before = _regular_pace(self._block), self._ratio
            self._block, self._ratio = self._block[-1:], ratio
            if abs(ratio - 1.0) > _COARSE and abs(ratio / before - 1.0) < 0.1:
                self._ratio = 1.0
                return ratio
        return 1.0 + self._slow_drift(time, arrival)

    def _slow_drift(self, time: float, arrival: float) -> float:
        if self._bins and time - self._bins[-1].start < _BIN:
            self._bins[-1].add(time, arrival)
            return 0.0
        if self._bins and self._bins[-1].came_at_once:
            self._bins.pop()
        delays = [bin.quickest for bin in self._bins]
        self.stood_still = _standstill(delays)
        drift = 0.0 if self.stood_still else _drift(delays)
        self._bins = [*self._bins[1 - _BINS :], DelayBin(time, arrival)]
        return 0.0 if abs(drift) <= FINE or (drift >= _LARGE and _is_step(delays)) else drift


def _regular_pace(block: list[tuple[float, float]]) -> float:
    """What passes between arrivals by what passes in between by the board's time; 1 where they do not come evenly."""
    (start, first), (end, last) = block[0], block[-1]
    pace = (last - first) / (end - start)
    uneven = max(abs(arrival - first - pace * (time - start)) for time, arrival in block)
    return pace if pace > 0.0 and uneven < _UNEVEN * (last - first) else 1.0


def _standstill(delays: list[Delay]) -> float:
    """By how much delays have grown at once, and neither before nor after it [s]; 0: they have not."""
    for first in range(1, len(delays) - _STAYED + 1):
        before, after = delays[:first], delays[first:]
        step = min(delay for _, delay in after) - max(delay for _, delay in before)
        if step > _STEP and all(abs(part[-1][1] - part[0][1]) < _STEADY * step for part in (before, after)):
            return step
    return 0.0


def _is_step(delays: list[Delay]) -> bool:
    """Whether delays have grown by most of what they did from one to the next."""
    growth = max(after - before for (_, before), (_, after) in pairwise(delays))
    return growth > 0.5 * (delays[-1][1] - delays[0][1])


def _drift(delays: list[Delay]) -> float:
    """By how much delays grow with time; 0 where there is not enough to tell."""
    if len(delays) < _ENOUGH:
        return 0.0
    before, after = edge_below(delays)
    drift = slope(before, after)
    seen = after[0] - before[0] > _SPAN and abs(drift) * (after[0] - before[0]) > _SEEN
    return drift if seen else 0.0
