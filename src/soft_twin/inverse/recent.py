"""What was measured lately, looked up by when that was: what came late is compared with what was true then."""

from collections import deque

import numpy as np


class Recent:
    """Values (…) with their stamps."""

    def __init__(self):
        self._taken: deque[tuple[float, np.ndarray]] = deque()  # the newest last

    def add(self, stamp: float, value: np.ndarray, kept: float) -> None:
        """Take in what was measured at `stamp` [s], and drop what is older by more than `kept` [s]; what is newer is of
        a clock that has been set back since."""
        while self._taken and self._taken[-1][0] >= stamp:
            self._taken.pop()
        self._taken.append((stamp, value))
        while stamp - self._taken[0][0] > kept:
            self._taken.popleft()

    def at(self, stamp: float, within: float) -> np.ndarray | None:
        """What was at `stamp` [s], between the measurements before and after; where one of these is further away than
        `within` [s], as the other one; None: both are."""
        before = after = None
        for taken in reversed(self._taken):
            if taken[0] <= stamp:
                before = taken if stamp - taken[0] <= within else None
                break
            after = taken if taken[0] - stamp <= within else None
        if before is None or after is None:
            there = before or after
            return None if there is None else there[1]
        share = (stamp - before[0]) / (after[0] - before[0])
        return (1.0 - share) * before[1] + share * after[1]
