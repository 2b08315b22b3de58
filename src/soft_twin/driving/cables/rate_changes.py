"""The acceleration that drives a motion's changes of rate, where ticks come at odd times."""

import numpy as np


class RateChanges:
    """What a motion's rate changes by in a tick is driven until the next one, which may come sooner or later.

    A motion whose rate changes by Δv in a tick of 0.1 ms accelerates by Δv / 0.1 ms; driven for the 4 ms until the next
    tick, that would be 40 times too much. So a change is driven in a whole period, and what of it is still to be driven
    when a tick comes sooner, is driven on.
    """

    def __init__(self, count: int, period: float):
        """Of so many cables, at rest, in ticks that come once in a period [s] and now and then in between."""
        self._period = period
        self._due = np.zeros(count)  # [m/s]

    def restart(self, where: np.ndarray) -> None:
        """Nothing is to be driven in the cables where `where` (c,) is true."""
        self._due[where] = 0.0

    def update(self, accelerations: np.ndarray, dt: float) -> np.ndarray:
        """(c,) to be driven now [m/s²], where the motion's were these (c,) in the last `dt` seconds."""
        driven = min(dt / self._period, 1.0)
        self._due = (1.0 - driven) * self._due + driven * self._period * accelerations
        return self._due / self._period
