"""Does every motor do what it is told? What is wrong with those that do not, in words."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SupervisionLimits:
    """When a motor is at fault.

    Attributes:
        following_error: distance between where a cable should be and where it is [m].
        following_time: for so long [s].
        contrary_time: or for so long, if it also moves away from there against its current [s].
        overload: estimated tension over the highest allowed one.
        overload_time: for so long [s].
        standstill: a motor slower than this while it should move is stalled [m/s].
    """

    following_error: float = 0.0015
    following_time: float = 0.03
    contrary_time: float = 0.007
    overload: float = 2.5
    overload_time: float = 0.2
    standstill: float = 0.002


class Supervision:
    """Watches cables that are driven."""

    def __init__(self, limits: SupervisionLimits, highest_tension: float, count: int):
        self._limits = limits
        self._tension = limits.overload * highest_tension
        self._overloaded, self._lost, self._contrary = np.zeros(count), np.zeros(count), np.zeros(count)

    def reset(self) -> None:
        """Forget the past."""
        self._overloaded[:] = 0.0
        self._lost[:] = 0.0
        self._contrary[:] = 0.0

    def check(self, errors, rates, currents, tensions, dt: float) -> list[tuple[int, str]]:
        """Cables at fault and what is wrong, after `dt` more seconds.

        Args:
            errors: (c,) where each cable should be less where it is [m].
            rates: (c,) measured [m/s].
            currents: (c,) commanded, > 0 winds in [A].
            tensions: (c,) estimated [N].
            dt: [s].
        """
        self._overloaded = np.where(tensions > self._tension, self._overloaded + dt, 0.0)
        far = np.abs(errors) > self._limits.following_error
        self._lost = np.where(far, self._lost + dt, 0.0)
        self._contrary = np.where(far & (rates * currents < 0.0) & (rates * errors < 0.0), self._contrary + dt, 0.0)
        lost = (self._lost > self._limits.following_time) | (self._contrary > self._limits.contrary_time)
        strained = self._overloaded > self._limits.overload_time
        if not (lost.any() or strained.any()):
            return []
        return [
            *((i, self._why_lost(errors[i], rates[i], currents[i])) for i in np.flatnonzero(lost)),
            *((i, f"pulls with {tensions[i]:.1f} N: the robot is blocked") for i in np.flatnonzero(strained)),
        ]

    def _why_lost(self, error: float, rate: float, current: float) -> str:
        where = f"is {1e3 * error:+.1f} mm from where it should be"
        if abs(rate) < self._limits.standstill:
            return f"stalled: it {where}; blocked, overheated, or without power"
        if rate * current < 0.0 and rate * error < 0.0:
            return f"turns against its current: it {where}; check the winding direction and the motor's phases"
        return f"does not follow: it {where}; check its cable, its load and its supply"


class DirectionProbe:
    """A small current for a moment, before anything else moves: does the motor turn the way it should?

    Attributes:
        current: [A], enough to turn a winch whose cable is slack, by a tenth of a millimetre.
        duration: [s].
        threshold: turned back by so much, the motor answers backwards [m].
    """

    current = 0.1
    duration = 0.05
    threshold = 3e-5

    def __init__(self, displacements: np.ndarray):
        self._start = displacements
        self._age = 0.0

    def running(self, dt: float) -> bool:
        """Whether the current is still to flow, after `dt` more seconds."""
        self._age += dt
        return self._age <= self.duration

    def backwards(self, displacements: np.ndarray) -> np.ndarray:
        """Indices of the cables that were let out instead of wound in."""
        return np.flatnonzero(displacements - self._start < -self.threshold)
