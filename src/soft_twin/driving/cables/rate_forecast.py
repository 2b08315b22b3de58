"""How fast cables are by now, and will be soon: the currents that they were told lately, no feedback shows yet."""

from collections import deque

import numpy as np

UNSEEN = 0.006  # [s] from a current to the feedback that shows what it has done, on a line that is quick


class RateForecast:
    """The rate v of winches in i = b v + m v̇, from the last one that was measured and the currents told since.

    Attributes:
        rates: (c,) by now, where feedback stays away [m/s].
        soon: (c,) what the measured ones become by the currents of the last UNSEEN seconds [m/s].
    """

    def __init__(self, count: int, inertia: float):
        """For so many winches of the inertia m [A s²/m]."""
        self.rates = self.soon = np.zeros(count)
        self._inertia = inertia
        self._told: deque[tuple[float, np.ndarray]] = deque()  # for so long [s], and ∫ i dt [A s]
        self._told_for, self._impulses = 0.0, np.zeros(count)  # sums of these

    def update(
        self, measured: np.ndarray, heard: np.ndarray, told: np.ndarray, friction: np.ndarray, dt: float
    ) -> None:
        """Go on by `dt` seconds.

        Args:
            measured: (c,) the newest rates [m/s].
            heard: (c,) bool: whether they are of these seconds.
            told: (c,) currents since the last update [A].
            friction: (c,) b [A s/m].
            dt: [s].
        """
        expected = (self.rates + dt / self._inertia * told) / (1.0 + dt / self._inertia * friction)
        self.rates = np.where(heard, measured, expected)
        self._remember(told, dt)
        self.soon = (measured + self._lately() / self._inertia) / (1.0 + UNSEEN / self._inertia * friction)

    def _remember(self, told: np.ndarray, dt: float) -> None:
        self._told.append((dt, dt * told))
        self._told_for += dt
        self._impulses = self._impulses + dt * told
        while self._told_for - self._told[0][0] >= UNSEEN:
            seconds, impulses = self._told.popleft()
            self._told_for -= seconds
            self._impulses = self._impulses - impulses

    def _lately(self) -> np.ndarray:
        """(c,) ∫ i dt of the last UNSEEN seconds [A s]: of the first current that is remembered, a part."""
        seconds, impulses = self._told[0]
        return self._impulses - max(self._told_for - UNSEEN, 0.0) / max(seconds, 1e-9) * impulses
