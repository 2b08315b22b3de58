"""What was measured lately, looked up by when that was: what came late is compared with what was true then."""

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Values with their stamps, the newest last."""

    def __init__(self):
        self._taken: deque[tuple[float, T]] = deque()

    def add(self, stamp: float, value: T, kept: float) -> None:
        """Take in what was measured at `stamp` [s], and drop what is older by more than `kept` [s]; what is newer is of
        a clock that has been set back since."""
        while self._taken and self._taken[-1][0] >= stamp:
            self._taken.pop()
        self._taken.append((stamp, value))
        while stamp - self._taken[0][0] > kept:
            self._taken.popleft()

    def at(self, stamp: float, within: float) -> T | None:
        """The value that was measured nearest to `stamp` [s]; None: there is none within that [s]."""
        nearest, least = None, within
        for taken, value in reversed(self._taken):
            if abs(taken - stamp) <= least:
                nearest, least = value, abs(taken - stamp)
            if taken <= stamp:
                break
        return nearest
