"""Homing by taking up slack: every cable is wound in slowly until it is just taut."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class HomingParameters:
    """How slack is taken up.

    Attributes:
        rate: of winding in [m/s].
        tension: by which a cable that is taut pulls more than it did while it was wound in freely [N].
        settling: until the winches run evenly, their pulls say nothing [s].
        smoothing: time constant of the pulls that are compared [s].
        certainty: a cable is taut if it also pulls by so many times the smoothed pull's noise more.
        delivery: a winch that gets less than this share of the current it is told feels nothing.
        travel: a cable that is not taut after so much has come off its drum [m].
    """

    rate: float = 0.004
    tension: float = 0.15
    settling: float = 0.08
    smoothing: float = 0.025
    certainty: float = 5.0
    delivery: float = 0.5
    travel: float = 0.02

    @property
    def patience(self) -> float:
        """For so long it may take at the most [s]."""
        return 2.0 * self.travel / self.rate + self.settling


class SlackTakeUp:
    """Where to wind the cables while their slack is taken up.

    What a winch pulls while its cable is slack is its friction, whatever that is: the least smoothed pull since it runs
    evenly. Tension is what comes on top of it.

    Attributes:
        taut: (c,) bool: cables that have been found taut, and stay where they were then.
    """

    def __init__(self, parameters: HomingParameters, displacements: np.ndarray):
        """Begin at these displacements (c,) [m]."""
        count = len(displacements)
        self.taut = np.zeros(count, dtype=bool)
        self._parameters = parameters
        self._age = 0.0
        self._smooth, self._variance = np.zeros(count), np.zeros(count)
        self._free = np.full(count, np.inf)
        self._told, self._given = np.zeros(count), np.zeros(count)
        self._targets = displacements + parameters.travel
        self._ends = displacements + 0.95 * parameters.travel

    def update(
        self,
        displacements: np.ndarray,
        pulls: np.ndarray,
        told: np.ndarray,
        given: np.ndarray,
        heard: np.ndarray,
        dt: float,
    ) -> np.ndarray:
        """Targets (c,) [m] after `dt` more seconds.

        Args:
            displacements: (c,) of the cables [m].
            pulls: (c,) of the winches, by the motors' currents as they were measured, not smoothed, friction included
                or not [N].
            told, given: (c,) these currents as they should be and as they are [A].
            heard: (c,) bool: motors that feed back; what others pull is not known.
            dt: [s].
        """
        p = self._parameters
        self._age += dt
        noise = self._follow(pulls, dt)
        self._told += self._share(dt) * (told - self._told)
        self._given += self._share(dt) * (given - self._given)
        if self._age < p.settling:
            return self._targets
        self._free = np.where(heard, np.minimum(self._free, self._smooth), self._free)
        delivered = self._given >= p.delivery * self._told
        newly = ~self.taut & heard & delivered & (self._smooth - self._free > p.tension + p.certainty * noise)
        self._targets = np.where(newly, displacements, self._targets)
        self.taut = self.taut | newly
        return self._targets

    def lost(self, displacements: np.ndarray) -> np.ndarray:
        """Indices of the cables that were wound in all the way, or for long enough for that, and are still slack."""
        late = self._age > self._parameters.patience
        return np.flatnonzero(~self.taut & ((displacements > self._ends) | late))

    def _follow(self, pulls: np.ndarray, dt: float) -> np.ndarray:
        """Smooth the pulls; (c,) standard deviation of the smoothed ones' noise [N]."""
        if self._age <= dt:
            self._smooth = pulls.copy()
        share = self._share(dt)
        deviation = pulls - self._smooth
        self._smooth = self._smooth + share * deviation
        self._variance += share * (deviation**2 - self._variance)
        return np.sqrt(self._variance * share / (2.0 - share))

    def _share(self, dt: float) -> float:
        """Of what is new, that smoothing takes after `dt` more seconds."""
        return 1.0 - math.exp(-dt / self._parameters.smoothing)
