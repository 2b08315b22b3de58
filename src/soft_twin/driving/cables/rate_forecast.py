"""How fast cables are by now, where their feedback stays away: what they were told since has changed it."""

import numpy as np


class RateForecast:
    """The rate v of winches in i = b v + m v̇, from the last one that was measured and the currents told since.

    Attributes:
        rates: (c,) by now [m/s].
    """

    def __init__(self, count: int, inertia: float):
        """For so many winches of the inertia m [A s²/m]."""
        self.rates = np.zeros(count)
        self._inertia = inertia

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
