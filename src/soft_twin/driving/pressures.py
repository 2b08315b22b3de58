"""What a pressure command must keep to, whoever gives it: range and rate of every chamber."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import DescriptionError


@dataclass(frozen=True)
class ChamberLimits:
    """What every chamber must keep to.

    Attributes:
        pressure: lowest and highest gauge pressure [Pa].
        rate: of change while driven [Pa/s].
        vent_rate: of change while the chambers are vented [Pa/s].
        vented: the pressure of a relaxed chamber [Pa].
    """

    pressure: tuple[float, float]
    rate: float
    vent_rate: float
    vented: float = 0.0

    def __post_init__(self):
        low, high = self.pressure
        if not low < high:
            raise DescriptionError(f"pressure limits {low:g}…{high:g} Pa: the lower is not below the upper")
        if not low <= self.vented <= high:
            raise DescriptionError(f"vented pressure {self.vented:g} Pa is outside the limits {low:g}…{high:g} Pa")
        if not (self.rate > 0.0 and self.vent_rate > 0.0):
            raise DescriptionError(f"pressure rates {self.rate:g} and {self.vent_rate:g} Pa/s: expected above 0")


class PressureLimiter:
    """Turns commanded pressures into pressures that keep to the limits, and counts what binds.

    Attributes:
        counters: how often what bound: commands ("size", "not_finite", "pressure"), ticks ("rate").
        pressures: (n,) now [Pa].
    """

    def __init__(self, names: Sequence[str], limits: ChamberLimits):
        self.counters: Counter[str] = Counter(size=0, not_finite=0, pressure=0, rate=0)
        self.pressures = np.full(len(names), limits.vented)
        self._names = list(names)
        self._limits = limits

    def check(self, pressures) -> str:
        """What makes this command unusable, in words; empty if nothing does."""
        values = np.asarray(pressures, dtype=float)
        if values.shape != (len(self._names),):
            self.counters["size"] += 1
            return f"command refused: {values.size} pressures for {len(self._names)} chambers"
        if not np.isfinite(values).all():
            self.counters["not_finite"] += 1
            bad = ", ".join(f"{self._names[i]} = {values[i]}" for i in np.flatnonzero(~np.isfinite(values)))
            return f"command refused: {bad}, expected pascals"
        return ""

    def clip(self, pressures) -> np.ndarray:
        """(n,) the command within the limits of pressure [Pa]."""
        values = np.asarray(pressures, dtype=float)
        clipped = values.clip(*self._limits.pressure)
        self.counters["pressure"] += int((clipped != values).any())
        return clipped

    def advance(self, target: np.ndarray, rate: float, dt: float) -> None:
        """Move for `dt` seconds towards `target` (n,) [Pa], no faster than `rate` [Pa/s]."""
        change = target - self.pressures
        limited = change.clip(-rate * dt, rate * dt)
        self.counters["rate"] += int((limited != change).any())
        self.pressures = self.pressures + limited
