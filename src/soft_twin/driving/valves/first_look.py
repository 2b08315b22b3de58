"""What chambers have before anybody has told them anything, as far as it is to be believed."""

from collections import deque

import numpy as np

AGREEING = 8  # measurements, one after the other …
AGREEMENT = 5e3  # … within so much of each other [Pa]
PATIENCE = 0.7  # [s] to wait for them
SILENCE = 0.25  # [s] without any: nothing is pumped, as with an OpenPneu whose control loop does not run
MARGIN = 0.1  # [s] on top of the time that a device takes to rest by itself


class FirstLook:
    """Where to begin from with a device that was left alone, perhaps with its chambers under pressure.

    A pressure that is believed too high fills a chamber that nobody has enabled, and one that is believed too low sucks
    at it. So a few measurements have to agree, and what is nearest to the vented pressure counts. A device that rests
    by itself when it hears nothing is not measured but waited for.
    """

    def __init__(self, count: int, rests_after: float, vented: float = 0.0):
        """For so many chambers, vented at a pressure [Pa], on a device that rests by itself after so long [s]; inf: it
        does not."""
        self._count = count
        self._rests_after = rests_after
        self._vented = vented
        self._seen: deque[np.ndarray] = deque(maxlen=AGREEING)
        self._age = self._silent = 0.0
        self._forget()

    def update(self, measured: np.ndarray | None, dt: float) -> np.ndarray | None:
        """Pressures (n,) to begin from [Pa], NaN where the chambers are at rest or nothing is known; None: wait.

        Args:
            measured: (n,) in the last `dt` seconds [Pa], NaN where not known; None if nothing was.
            dt: [s].
        """
        self._age += dt
        if np.isfinite(self._rests_after):
            return np.full(self._count, np.nan) if self._age > self._rests_after + MARGIN else None
        self._silent += dt
        if self._silent > SILENCE:
            self._forget()  # whatever the chambers had, they may have lost it meanwhile
        if measured is not None:
            self._seen.append(measured)
            self._lowest, self._highest = np.fmin(self._lowest, measured), np.fmax(self._highest, measured)
            self._silent = 0.0
        if self._agree() or self._age > (PATIENCE if self._seen else SILENCE):
            nearest = np.clip(self._vented, self._lowest, self._highest)
            return np.where(np.isnan(self._seen[-1]), np.nan, nearest) if self._seen else nearest
        return None

    def _forget(self) -> None:
        self._seen.clear()
        self._lowest = self._highest = np.full(self._count, np.nan)

    def _agree(self) -> bool:
        if len(self._seen) < AGREEING:
            return False
        return not (np.ptp(self._seen, axis=0) > AGREEMENT).any()  # false for NaN
