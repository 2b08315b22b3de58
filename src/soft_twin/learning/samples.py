"""Actuations for which a twin is simulated: every corner of their limits, and a Halton sequence between.

As the paper does (Sec. V-B1), the sequence is even in how far the chambers are inflated, not in their pressures: an
`Inflation` says which pressure blows a chamber up by which share of its largest volume.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from soft_twin.errors import InputError

MOST_CORNERS = 16  # actuators: 2^16 corners are 65 536 simulations


@dataclass(frozen=True)
class Inflation:
    """How the chambers fill with pressure.

    Attributes:
        pressures: (p,) rising [Pa].
        volumes: (p, a) let into each chamber, rising [m³].
    """

    pressures: np.ndarray
    volumes: np.ndarray

    def __post_init__(self):
        """
        Raises:
            InputError: pressures or volumes do not rise.
        """
        if not (np.diff(self.pressures) > 0.0).all() or not (np.diff(self.volumes, axis=0) > 0.0).all():
            raise InputError("inflation: pressures and volumes have to rise")

    def pressures_of(self, shares: np.ndarray) -> np.ndarray:
        """(m, a) pressures [Pa] that blow the chambers up by shares (m, a) of what lies between the first volume and
        the last."""
        return self._looked_up(shares, lambda volumes: self.pressures)

    def volumes_of(self, shares: np.ndarray) -> np.ndarray:
        """(m, a) volumes [m³] of the same."""
        return self._looked_up(shares, lambda volumes: volumes)

    def _looked_up(self, shares: np.ndarray, values) -> np.ndarray:
        columns = []
        for share, volumes in zip(np.asarray(shares).T, self.volumes.T, strict=True):
            filled = (volumes - volumes[0]) / (volumes[-1] - volumes[0])
            columns.append(np.interp(share, filled, values(volumes)))
        return np.array(columns).T


def inflation_shares(actuators: int, count: int) -> np.ndarray:
    """(count, a) shares 0…1: all 2^a corners first, then a Halton sequence (not scrambled: the same every time).

    Raises:
        InputError: more actuators than corners can be simulated of, or fewer samples than corners.
    """
    if not 1 <= actuators <= MOST_CORNERS:
        raise InputError(f"{actuators} actuators have 2^{actuators} corners: 1…{MOST_CORNERS} can be sampled")
    corners = (np.arange(2**actuators)[:, None] >> np.arange(actuators)) & 1
    if count < len(corners):
        raise InputError(f"{count} simulations are fewer than the {len(corners)} corners of {actuators} pressures")
    inner = qmc.Halton(actuators, scramble=False).random(count - len(corners) + 1)[1:]  # the first is a corner
    return np.vstack([corners.astype(float), inner])


def random_shares(actuators: int, count: int, random: np.random.Generator) -> np.ndarray:
    """(count, a) even in 0…1, for what is tried on the robot."""
    return random.uniform(size=(count, actuators))
