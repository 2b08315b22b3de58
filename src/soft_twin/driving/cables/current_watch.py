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
        enough: a motor that gives this share of it, gives its current.
        patience: a motor that gave none, and did not give enough for so long since, is at fault [s].
    """

    window: float = 0.03
    clear: float = 0.25
    share: float = 0.3
    enough: float = 0.7
    patience: float = 0.1


class CurrentWatch:
    """Compares what the motors measure with what they were told lately.

    Attributes:
        missing: (c,) for how long each has been told a clear current and not given it, since it last gave enough [s].
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
            return np.zeros(len(told), dtype=bool)
        lately = np.array([currents for _, currents in self._told])
        least, most = lately.min(axis=0), lately.max(axis=0)
        floor = np.where(least > 0.0, least, np.where(most < 0.0, -most, 0.0))
        full = self._now - self._told[0][0] > 0.5 * self._limits.window
        clear, given = full & (floor > self._limits.clear), np.sign(least) * measured
        absent = clear & (given < self._limits.share * floor)
        lacking = absent | (clear & (self.missing > 0.0))
        enough = clear & (given > self._limits.enough * floor)
        self.missing = np.where(enough, 0.0, self.missing + dt * lacking)
        return absent

    def failed(self) -> np.ndarray:
        """Indices of the motors whose current stays away."""
        return np.flatnonzero(self.missing > self._limits.patience)
