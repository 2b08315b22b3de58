"""Do chambers have the pressures that they were told? What is wrong with those that have not, in words."""

from collections import deque
from collections.abc import Sequence

import numpy as np


class ChamberWatch:
    """Compares measured pressures with what was asked for lately.

    A chamber that fills or empties at a rate of its own has a pressure somewhere between the lowest and the highest
    that it was told within the time it takes to respond. One that stays farther from there than a tolerance is at
    fault; not so one that is relaxed and nearer to the vented pressure than its valve has come yet. What people ask for
    meanwhile excuses nothing: a sensor that reads nonsense does so whoever drives.
    """

    def __init__(
        self,
        names: Sequence[str],
        tolerance: float | np.ndarray,
        response: float,
        patience: float,
        vented: float = 0.0,
    ):
        """Tolerance [Pa], one for all or (n,), time to respond [s], for how long a chamber may be astray [s], and the
        vented pressure [Pa]."""
        self._names = list(names)
        self._tolerance, self._response, self._patience = tolerance, response, patience
        self._vented = vented
        self._told: deque[tuple[float, np.ndarray]] = deque()
        self._now = 0.0
        self._astray = np.zeros(len(self._names))  # [s]
        self._deviation = np.zeros(len(self._names))  # as last known [Pa]

    def update(self, measured: np.ndarray, told: np.ndarray, dt: float, driven: bool) -> tuple[str, str]:
        """What is at fault ("supply", "chambers", "pressed" or "") and what to say, after `dt` more seconds.

        A chamber that nothing is known of is neither longer astray nor back: its sensor may be at its end.

        Args:
            measured: (n,) [Pa], NaN where not known.
            told: (n,) what the valves are told to hold now [Pa].
            dt: [s].
            driven: whether the chambers are driven, not relaxed.
        """
        self._now += dt
        self._told.append((self._now, told))
        while self._told[0][0] < self._now - self._response:
            self._told.popleft()
        lately = np.array([pressures for _, pressures in self._told])
        known = np.isfinite(measured)
        low, high = lately.min(axis=0), lately.max(axis=0)
        if not driven:
            low, high = np.minimum(low, self._vented), np.maximum(high, self._vented)
        away = measured - np.clip(measured, low, high)
        self._deviation = deviation = np.where(known, away, self._deviation)
        far = np.abs(deviation) > self._tolerance
        self._astray = np.where(far, self._astray + known * dt, 0.0)
        faulty = np.flatnonzero(self._astray > self._patience)
        over = faulty[deviation[faulty] > 0.0]
        if len(over) and not driven:
            where = ", ".join(f"{self._names[i]} by {deviation[i] / 1e3:.0f} kPa" for i in over)
            return (
                "pressed",
                f"still under pressure though vented: {where}; close the supply and let the air out by hand",
            )
        return self._verdict(faulty, deviation)

    def _verdict(self, faulty: np.ndarray, deviation: np.ndarray) -> tuple[str, str]:
        low = np.count_nonzero(deviation < -self._tolerance)
        if len(faulty) and low > 1 and low > 0.5 * len(deviation):
            return "supply", f"{low} chambers do not reach their pressure: is the supply pressure lost? Check it"
        if len(faulty):
            where = ", ".join(f"{self._names[i]} is {deviation[i] / 1e3:+.0f} kPa from its command" for i in faulty)
            return "chambers", f"{where}: valve stuck, or chamber leaks; check both"
        return "", ""
