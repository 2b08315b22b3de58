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
        self._gains: deque[tuple[float, np.ndarray]] = deque()  # told for so long [s]: ∫ i dt / m [m/s]
        self._seconds, self._gained = 0.0, np.zeros(count)  # sums of these

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
        gained = dt / self._inertia * told
        expected = (self.rates + gained) / (1.0 + dt / self._inertia * friction)
        self.rates = np.where(heard, measured, expected)
        self._remember(gained, dt)
        self.soon = (measured + self._lately()) / (1.0 + UNSEEN / self._inertia * friction)

    def _remember(self, gained: np.ndarray, dt: float) -> None:
        self._gains.append((dt, gained))
        self._seconds += dt
        self._gained = self._gained + gained
        while self._seconds - self._gains[0][0] >= UNSEEN:
            seconds, gained = self._gains.popleft()
            self._seconds -= seconds
            self._gained = self._gained - gained

    def _lately(self) -> np.ndarray:
        """(c,) ∫ i dt / m of the last UNSEEN seconds [m/s]: of the first current that is remembered, a part."""
        seconds, gained = self._gains[0]
        return self._gained - max(self._seconds - UNSEEN, 0.0) / max(seconds, 1e-9) * gained
