"""How fast cables are by now, and will be soon: the currents that they were told lately, no feedback shows yet."""

from collections import deque

import numpy as np

UNSEEN = 0.0055  # [s] from a current to the feedback that shows what it has done, beside half a period of the feedback


class RateForecast:
    """The rate v of winches in i = b v + m v̇, from the last one that was measured and the currents told since.

    Attributes:
        rates: (c,) by now, where feedback stays away [m/s].
        soon: (c,) what the measured ones become by the currents of the last seconds that no feedback shows [m/s].
    """

    def __init__(self, count: int, inertia: float):
        """For so many winches of the inertia m [A s²/m]."""
        self.rates = self.soon = np.zeros(count)
        self._inertia = inertia
        self._gains: deque[tuple[float, np.ndarray]] = deque()  # told for so long [s]: ∫ i dt / m [m/s]
        self._seconds, self._gained = 0.0, np.zeros(count)  # sums of these

    def update(
        self, measured: np.ndarray, heard: np.ndarray, told: np.ndarray, friction: np.ndarray, period: float, dt: float
    ) -> None:
        """Go on by `dt` seconds.

        Args:
            measured: (c,) the newest rates [m/s].
            heard: (c,) bool: whether they are of these seconds.
            told: (c,) currents since the last update [A].
            friction: (c,) b [A s/m].
            period: of the feedback [s].
            dt: [s].
        """
        unseen = UNSEEN + 0.5 * period
        gained = dt / self._inertia * told
        expected = (self.rates + gained) / (1.0 + dt / self._inertia * friction)
        self.rates = np.where(heard, measured, expected)
        self._remember(gained, dt, unseen)
        self.soon = (measured + self._lately(unseen)) / (1.0 + unseen / self._inertia * friction)

    def _remember(self, gained: np.ndarray, dt: float, unseen: float) -> None:
        self._gains.append((dt, gained))
        self._seconds += dt
        self._gained = self._gained + gained
        while self._seconds - self._gains[0][0] >= unseen:
            seconds, gained = self._gains.popleft()
            self._seconds -= seconds
            self._gained = self._gained - gained

    def _lately(self, unseen: float) -> np.ndarray:
        """(c,) ∫ i dt / m of the last `unseen` seconds [m/s]: of the first current that is remembered, a part."""
        seconds, gained = self._gains[0]
        return self._gained - max(self._seconds - unseen, 0.0) / max(seconds, 1e-9) * gained
