"""Where cables should have been a moment ago: late feedback is compared with what was wanted when it was measured."""

import numpy as np


class MotionMemory:
    """The last ticks of a motion, newest first.

    Attributes:
        size: ticks that are remembered; asked for an older one, it answers with the oldest.
    """

    size = 64

    def __init__(self, count: int):
        """Of so many cables, at rest at 0."""
        self._ages = 0.001 * np.arange(self.size)
        self._displacements, self._rates = np.zeros((self.size, count)), np.zeros((self.size, count))
        self._cables = np.arange(count)

    def restart(self, where: np.ndarray, displacements: np.ndarray) -> None:
        """As if the cables where `where` (c,) is true had always rested at these displacements (c,) [m]."""
        self._displacements[:, where] = displacements[where]
        self._rates[:, where] = 0.0

    def advance(self, displacements: np.ndarray, rates: np.ndarray, dt: float) -> None:
        """After `dt` more seconds the motion is at these displacements (c,) [m] and rates (c,) [m/s]."""
        self._ages[1:] = self._ages[:-1] + dt
        for past, now in ((self._displacements, displacements), (self._rates, rates)):
            past[1:] = past[:-1]
            past[0] = now

    def at(self, ages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Displacements (c,) [m] and rates (c,) [m/s] of the motion, as old as `ages` (c,) [s]."""
        older = np.searchsorted(self._ages, ages, side="right").clip(1, self.size - 1)
        newer = older - 1
        span = self._ages[older] - self._ages[newer]
        share = np.clip((ages - self._ages[newer]) / np.maximum(span, 1e-9), 0.0, 1.0)
        return self._between(self._displacements, newer, share), self._between(self._rates, newer, share)

    def _between(self, past: np.ndarray, newer: np.ndarray, share: np.ndarray) -> np.ndarray:
        return (1.0 - share) * past[newer, self._cables] + share * past[newer + 1, self._cables]
