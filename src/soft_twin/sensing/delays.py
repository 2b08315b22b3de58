"""Delays of a board's frames and the line below them, which a host that is busy or asleep at times does not raise.

No frame comes before it is measured, and many come late: the line below all delays that is nearest to them has the
clock's drift (Moon, Skelly and Towsley 1999). It is the edge of their lower hull in the middle of the time.
"""

from collections.abc import Sequence
from itertools import pairwise

_AT_ONCE = 0.3  # of the time in which frames were measured

Delay = tuple[float, float]  # when a frame was measured, by the board's clock, and its arrival less that [s]


class DelayBin:
    """Frames measured one after the other: the quickest of them, and whether they came all at once.

    Attributes:
        start: time of the first [s].
        quickest: time and delay of the one that came soonest after it was measured, but for constant and drift [s].

    Args:
        time, arrival: of the first frame [s].
        drift: by which delays are known to grow with time.
    """

    def __init__(self, time: float, arrival: float, drift: float = 0.0):
        self.start, self._first, self._drift = time, arrival, drift
        self.quickest: Delay = (time, arrival - time)
        self.add(time, arrival)

    def add(self, time: float, arrival: float) -> None:
        """Take in a frame."""
        self._end, self._last = time, arrival
        quickest, delay = self.quickest
        if arrival - time < delay + self._drift * (time - quickest):
            self.quickest = (time, arrival - time)

    @property
    def came_at_once(self) -> bool:
        """Whether a host slept: what came then says nothing of the pace."""
        return self._last - self._first < _AT_ONCE * (self._end - self.start)


def edge_below(delays: Sequence[Delay]) -> tuple[Delay, Delay]:
    """The two of at least two delays, oldest first, whose line is below all others and nearest to them."""
    hull: list[Delay] = []
    for point in delays:
        while len(hull) > 1 and slope(hull[-2], point) <= slope(hull[-2], hull[-1]):
            hull.pop()
        hull.append(point)
    middle = sum(time for time, _ in delays) / len(delays)
    return next(edge for edge in pairwise(hull) if edge[1][0] >= middle)


def slope(a: Delay, b: Delay) -> float:
    """By how much delays grow with time from one to another."""
    return (b[1] - a[1]) / (b[0] - a[0])
