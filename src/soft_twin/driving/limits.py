"""What a command must keep to, whoever gives it: displacement, rate and acceleration of every cable."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from soft_twin.robots.cable_tube import CableLimits


class CommandLimiter:
    """Turns commanded displacements into a motion that keeps to the limits, and counts what binds.

    The motion heads for the target as fast as rate and acceleration allow and comes to rest on it.

    Attributes:
        counters: how often what bound: commands ("size", "not_finite", "displacement"), ticks ("rate",
            "acceleration").
        displacements, rates, accelerations: (c,) the motion now [m, m/s, m/s²].
    """

    def __init__(self, names: Sequence[str], limits: CableLimits, acceleration: float):
        """Limits for the cables of these names; `acceleration` [m/s²]."""
        self.counters: Counter[str] = Counter(size=0, not_finite=0, displacement=0, rate=0, acceleration=0)
        self._names = list(names)
        self._limits = limits
        self._acceleration = acceleration
        self.reset(np.zeros(len(self._names)))

    def reset(self, displacements: np.ndarray) -> None:
        """Be at rest at these displacements (c,) [m]."""
        self.displacements = np.array(displacements, dtype=float)
        self.rates = np.zeros(len(self._names))
        self.accelerations = np.zeros(len(self._names))

    def restart(self, where: np.ndarray, displacements: np.ndarray) -> None:
        """Be at rest at these displacements (c,) [m] in the cables where `where` (c,) is true."""
        self.displacements = np.where(where, displacements, self.displacements)
        self.rates = np.where(where, 0.0, self.rates)
        self.accelerations = np.where(where, 0.0, self.accelerations)

    def check(self, displacements) -> str:
        """What makes this command unusable, in words; empty if nothing does."""
        values = np.asarray(displacements, dtype=float)
        if values.shape != (len(self._names),):
            self.counters["size"] += 1
            return f"command refused: {values.size} displacements for {len(self._names)} cables"
        if not np.isfinite(values).all():
            self.counters["not_finite"] += 1
            bad = ", ".join(
                f"{name} = {value}" for name, value in zip(self._names, values, strict=True) if not np.isfinite(value)
            )
            return f"command refused: {bad}, expected metres"
        return ""

    def clip(self, displacements) -> np.ndarray:
        """(c,) the command within the limits of displacement [m]."""
        values = np.asarray(displacements, dtype=float)
        clipped = values.clip(*self._limits.displacement)
        self.counters["displacement"] += int((clipped != values).any())
        return clipped

    def advance(self, target: np.ndarray, dt: float, share: float = 1.0) -> None:
        """Move for `dt` seconds towards `target` (c,) [m], with a share of the allowed rate."""
        highest = share * self._limits.rate
        distance = target - self.displacements
        # the fastest rate from which braking in steps of dt still stops at the target
        step = 0.5 * self._acceleration * dt
        braking = np.sqrt(step**2 + 2.0 * self._acceleration * np.abs(distance)) - step
        wanted = np.sign(distance) * np.minimum(braking, np.abs(distance) / dt)
        limited = wanted.clip(-highest, highest)
        change = (limited - self.rates).clip(-2.0 * step, 2.0 * step)
        self.counters["rate"] += int((limited != wanted).any())
        self.counters["acceleration"] += int((np.abs(limited - self.rates) > 2.0 * step * (1.0 + 1e-9)).any())
        self.accelerations = change / dt
        self.rates = self.rates + change
        self.displacements = self.displacements + self.rates * dt
