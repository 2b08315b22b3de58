"""What commands must keep to, whoever gives them: range, rate and acceleration of every actuator."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.descriptions.drives import CableLimits

FAR = 0.01  # of the range of positions: a command that is so far out of it may be wrong, in its unit or its order


@dataclass(frozen=True)
class Quantity:
    """What is commanded, in words: its name, the name of many, of what there is one each, and its unit."""

    one: str
    many: str
    owners: str
    unit: str


def _numbers(command) -> np.ndarray | None:
    """What was commanded as floats; None if it is anything but real numbers: text, truth values, complex, objects."""
    if type(command) is np.ndarray and command.dtype == float:  # as nodes and loops have it
        return command.copy()
    try:
        values = np.ma.asarray(command)
        if values.dtype.kind not in "iuf" or _holds_truth_values(command):
            return None
        with np.errstate(over="ignore"):
            return values.astype(float).filled(np.nan)  # what is under a mask was not commanded
    except Exception:  # it may be any object: what it raises says only that it is no row of numbers
        return None


def _holds_truth_values(command) -> bool:
    """Among numbers numpy would take them for 0 and 1."""
    return isinstance(command, list | tuple) and any(isinstance(value, bool | np.bool_) for value in command)


class CommandLimiter:
    """Turns commanded positions (displacements, pressures) into a motion within limits, and counts what binds.

    The motion heads for the target as fast as rate and acceleration allow and comes to rest on it.

    Attributes:
        counters: how often what bound: commands ("type", "size", "not_finite", and the quantity's name), ticks ("rate",
            "acceleration").
        positions, rates, accelerations: (n,) the motion now, in the quantity's unit and its derivatives.
    """

    def __init__(self, names: Sequence[str], quantity: Quantity, allowed: tuple[float, float], rest: float = 0.0):
        """For actuators of these names, whose positions are `allowed` between two values, at rest at `rest`."""
        self.counters: Counter[str] = Counter(
            {"type": 0, "size": 0, "not_finite": 0, quantity.one: 0, "rate": 0, "acceleration": 0}
        )
        self._names = list(names)
        self._quantity = quantity
        self._allowed = allowed
        self.reset(np.full(len(self._names), rest))

    def allow(self, low: np.ndarray | float, high: np.ndarray | float) -> None:
        """Let positions be within these, (n,) each or one for all, instead of what was allowed until now."""
        self._allowed = (low, high)

    def reset(self, positions: np.ndarray) -> None:
        """Be at rest at these positions (n,)."""
        self.positions = np.array(positions, dtype=float)
        self.rates = np.zeros(len(self._names))
        self.accelerations = np.zeros(len(self._names))

    def restart(self, where: np.ndarray, positions: np.ndarray) -> None:
        """Be at rest at these positions (n,) in the actuators where `where` (n,) is true."""
        self.positions = np.where(where, positions, self.positions)
        self.rates = np.where(where, 0.0, self.rates)
        self.accelerations = np.where(where, 0.0, self.accelerations)

    def check(self, command) -> str:
        """What makes this command unusable, in words; empty if nothing does."""
        values, q = _numbers(command), self._quantity
        if values is None:
            self.counters["type"] += 1
            return f"command refused: a {type(command).__name__} that is not a row of numbers: send {self._wanted}"
        if values.shape != (len(self._names),):
            self.counters["size"] += 1
            shape = " x ".join(str(size) for size in values.shape) or "one"
            return f"command refused: {shape} {q.many} for {len(self._names)} {q.owners}: send one for each"
        if not np.isfinite(values).all():
            self.counters["not_finite"] += 1
            bad = ", ".join(f"{self._names[i]} = {values[i]}" for i in np.flatnonzero(~np.isfinite(values)))
            return f"command refused: {bad}: send {self._wanted}"
        return ""

    @property
    def _wanted(self) -> str:
        return f"{len(self._names)} finite numbers, in {self._quantity.unit}"

    def clip(self, command) -> np.ndarray:
        """(n,) the command within the range that is allowed."""
        values = np.asarray(command, dtype=float)
        clipped = values.clip(*self._allowed)
        self.counters[self._quantity.one] += int((clipped != values).any())
        return clipped

    def beyond(self, command) -> str:
        """Which values of a usable command are far out of the range that is allowed, in words; empty if none is."""
        values, q = np.asarray(command, dtype=float), self._quantity
        low, high = self._allowed
        within = values.clip(low, high)
        far = np.abs(values - within) > FAR * np.subtract(high, low)
        held = ", ".join(f"{self._names[i]} goes to {within[i]:g}" for i in np.flatnonzero(far))
        return f"command beyond the limits: {held} {q.unit} instead; check its unit and its order" if held else ""

    def advance(self, target: np.ndarray, rate: float | np.ndarray, acceleration: float, dt: float) -> None:
        """Move for `dt` seconds towards `target` (n,), no faster than `rate`, with no more than `acceleration`.

        The rate may be one for all, or one for each (n,).

        From a rate v the motion goes on by v dt, and then needs v² / (2 a) to come to rest, in steps of any length:
        both together are no more than the distance. So a target that moves evenly is followed evenly, v² / (2 a)
        behind, whenever steps come.
        """
        if dt <= 0.0:  # two looks at once
            return
        target = self._within(target)
        distance = target - self.positions
        step = acceleration * dt
        wanted = 2.0 * acceleration * distance / (step + np.sqrt(step**2 + 2.0 * acceleration * np.abs(distance)))
        limited = wanted.clip(-rate, rate)
        change = (limited - self.rates).clip(-step, step)
        self.counters["rate"] += int((limited != wanted).any())
        self.counters["acceleration"] += int((np.abs(limited - self.rates) > step * (1.0 + 1e-9)).any())
        self.accelerations = change / dt
        self.rates = self.rates + change
        arrives = np.abs(self.rates * dt - distance) <= 1e-9 * np.abs(distance)
        self.positions = self._within(np.where(arrives, target, self.positions + self.rates * dt))

    def _within(self, positions: np.ndarray) -> np.ndarray:
        """The positions (n,), but none beyond the allowed range unless it was beyond already."""
        low, high = self._allowed
        return positions.clip(np.minimum(low, self.positions), np.maximum(high, self.positions))


def cable_limiter(names: Sequence[str], limits: CableLimits) -> CommandLimiter:
    """For displacements of cables [m]."""
    return CommandLimiter(names, Quantity("displacement", "displacements", "cables", "metres"), limits.displacement)
