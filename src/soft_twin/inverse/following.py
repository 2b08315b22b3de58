"""Whether actuators do what they are told."""

from collections import deque

import numpy as np

from soft_twin.inverse.goals import told_by_coordinate
from soft_twin.inverse.inverse import Inverse

NEAR_CABLE, NEAR_SHARE = 5e-4, 0.05  # [m] for cables, and of the range of what others may be told
LATE = 0.3  # [s] by which they may do it later


class Following:
    """Compares what actuators were told lately with what they have come to."""

    def __init__(self, inverse: Inverse):
        """`inverse`: whose answers they are told."""
        low, high = inverse.told_limits
        self._near = np.where(told_by_coordinate(inverse.twin), NEAR_CABLE, NEAR_SHARE * (high - low))
        self._names, self._told = inverse.names, deque[tuple[float, np.ndarray]]()

    def tell(self, time: float, values: np.ndarray) -> None:
        """They are told coordinates of cables [m] and efforts of others [Pa], (a,), at a time [s]; one before the last
        begins anew."""
        if self._told and time < self._told[-1][0]:
            self._told.clear()
        self._told.append((time, values))
        while self._told[0][0] < time - LATE:
            self._told.popleft()

    def laggards(self, measured: np.ndarray) -> list[str]:
        """Names of those that are where they were not told to be within LATE, by what is `measured` (a,), likewise;
        NaN: not known."""
        if not self._told:
            return []
        told = np.array([values for _, values in self._told])
        low, high = told.min(axis=0) - self._near, told.max(axis=0) + self._near
        return [self._names[i] for i in np.flatnonzero(~((low <= measured) & (measured <= high)))]
