"""Do the motors give the current that they are told? One without power, or overheated, does not."""

from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CurrentLimits:
    """When a motor does not give its current.

    Attributes:
        window: feedback is no older than this [s].
        clear: in this window it was always told at least so much, one way [A] …
        share: … and gave less than this share of the least of it.
        patience: a motor that gives none for so long is at fault [s].
    """

    window: float = 0.03
    clear: float = 0.25
    share: float = 0.3
    patience: float = 0.1


class CurrentWatch:
    """Compares what the motors measure with what they were told lately.

    Attributes:
        missing: (c,) for how long each has not given its current [s].
    """

    def __init__(self, limits: CurrentLimits, count: int):
        self._limits = limits
        self._told: deque[tuple[float, np.ndarray]] = deque()
        self._now = 0.0
        self.missing = np.zeros(count)

    def reset(self) -> None:
        """Forget the past."""
        self._told.clear()
        self.missing[:] = 0.0

    def update(self, told: np.ndarray, measured: np.ndarray, dt: float) -> np.ndarray:
        """(c,) bool: motors that do not give their current.

        Args:
            told: (c,) in the last tick [A].
            measured: (c,) by the newest feedback [A].
            dt: since the last tick [s].
        """
        self._now += dt
        self._told.append((self._now, told))
        while self._told[0][0] < self._now - self._limits.window:
            self._told.popleft()
        if np.abs(told).max() <= self._limits.clear:
            self.missing[:] = 0.0
            return self.missing > 0.0
        lately = np.array([currents for _, currents in self._told])
        least, most = lately.min(axis=0), lately.max(axis=0)
        floor = np.where(least > 0.0, least, np.where(most < 0.0, -most, 0.0))
        full = self._now - self._told[0][0] > 0.5 * self._limits.window
        absent = full & (floor > self._limits.clear) & (np.sign(least) * measured < self._limits.share * floor)
        self.missing = np.where(absent, self.missing + dt, 0.0)
        return absent

    def failed(self) -> np.ndarray:
        """Indices of the motors whose current stays away."""
        return np.flatnonzero(self.missing > self._limits.patience)
