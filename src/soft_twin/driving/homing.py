"""Homing by taking up slack: every cable is wound in slowly until it is just taut."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class HomingParameters:
    """How slack is taken up.

    Attributes:
        rate: of winding in [m/s].
        tension: estimated tension of a cable that is taut [N].
        settling: until the winches run evenly, their currents say nothing of tension [s].
        travel: a cable that is not taut after so much has come off its drum [m].
    """

    rate: float = 0.004
    tension: float = 0.15
    settling: float = 0.4
    travel: float = 0.02


class SlackTakeUp:
    """Where to wind the cables while their slack is taken up.

    Attributes:
        taut: (c,) bool: cables that have been found taut, and stay where they were then.
    """

    def __init__(self, parameters: HomingParameters, displacements: np.ndarray):
        """Begin at these displacements (c,) [m]."""
        self.taut = np.zeros(len(displacements), dtype=bool)
        self._tension = parameters.tension
        self._settling = parameters.settling
        self._targets = displacements + parameters.travel
        self._ends = displacements + 0.95 * parameters.travel

    def update(self, displacements: np.ndarray, tensions: np.ndarray, dt: float) -> np.ndarray:
        """Targets (c,) [m] after `dt` more seconds, for cables that are there [m] and pull like that [N]."""
        self._settling -= dt
        newly = ~self.taut & (tensions > self._tension) & (self._settling < 0.0)
        self._targets = np.where(newly, displacements, self._targets)
        self.taut = self.taut | newly
        return self._targets

    def lost(self, displacements: np.ndarray) -> np.ndarray:
        """Indices of the cables that were wound in all the way and are still slack."""
        return np.flatnonzero(~self.taut & (displacements > self._ends))
