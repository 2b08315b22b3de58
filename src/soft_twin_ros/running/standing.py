"""Whether pressures stand, or are still on their way."""

from collections import deque
from collections.abc import Sequence

import numpy as np

SPAN = 1.0  # [s] over which they are looked at
STILL = 0.005  # of the highest, that none changes by more over this span


class Standing:
    """Pressures as they come."""

    def __init__(self):
        self._heard: deque[tuple[float, np.ndarray]] = deque()

    def take(self, now: float, pressures: Sequence[float]) -> None:
        """(a,) [Pa] at a moment [s]."""
        self._heard.append((now, np.array(pressures, float)))
        while len(self._heard) > 1 and self._heard[1][0] <= now - SPAN:
            self._heard.popleft()

    @property
    def over(self) -> bool:
        """Whether they have stood for a whole span; not before so much has been heard."""
        if not self._heard or self._heard[-1][0] - self._heard[0][0] < SPAN:
            return False
        heard = np.array([pressures for _, pressures in self._heard])
        return bool(np.ptp(heard, axis=0).max() <= STILL * np.abs(heard).max())
