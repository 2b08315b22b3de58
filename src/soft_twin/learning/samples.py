"""Actuations for which a twin is simulated: corners of their limits, and a Halton sequence between.

As the paper does (Sec. V-B1), the sequence is even in how far the chambers are inflated, not in their pressures: an
`Inflation` says which pressure blows a chamber up by which share of its largest volume.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError

MOST_CORNERS = 16  # actuators: 2^16 corners are 65 536 simulations
SLACK = 1e-6  # of shares of inflation: single precision's


@dataclass(frozen=True)
class Inflation:
    """How each chamber fills with its pressure.

    Attributes:
        pressures: (p, a) rising [Pa].
        volumes: (p, a) let into each chamber, rising [m³].
    """

    pressures: np.ndarray
    volumes: np.ndarray

    def __post_init__(self):
        """
        Raises:
            InputError: pressures or volumes do not rise, or are not as many.
        """
        if self.pressures.ndim != 2 or self.pressures.shape != self.volumes.shape or len(self.pressures) < 2:
            raise InputError(
                f"inflation: expected as many pressures as volumes (p, a), found {self.pressures.shape} and "
                f"{self.volumes.shape}"
            )
        for name, values in (("pressures", self.pressures), ("volumes", self.volumes)):
            still = np.flatnonzero(~(np.diff(values, axis=0) > 0.0).all(axis=0))
            if len(still):
                raise InputError(f"inflation: the {name} of chamber {still[0] + 1} do not rise")

    @property
    def limits(self) -> np.ndarray:
        """(a, 2) lowest and highest pressure of each chamber [Pa]."""
        return np.array([self.pressures[0], self.pressures[-1]]).T

    @property
    def largest(self) -> np.ndarray:
        """(a,) largest pressure of each chamber, be it below nought [Pa]."""
        return np.abs(self.limits).max(axis=1)

    @property
    def filled(self) -> np.ndarray:
        """(p, a) shares 0…1 of what lies between the first volume and the last."""
        return (self.volumes - self.volumes[0]) / (self.volumes[-1] - self.volumes[0])

    def pressures_of(self, shares: np.ndarray) -> np.ndarray:
        """(m, a) pressures [Pa] that blow the chambers up by shares (m, a) of what lies between the first volume and
        the last.

        Raises:
            InputError: another number of them, or beyond 0…1.
        """
        shares = self._checked(shares, "shares of inflation")
        wrong = shares[~((shares >= -SLACK) & (shares <= 1.0 + SLACK))]
        if len(wrong):
            raise InputError(f"shares of inflation: {wrong[0]:g} is outside 0…1")
        return _looked_up(shares, self.filled, self.pressures)

    def shares_of(self, pressures: np.ndarray) -> np.ndarray:
        """(m, a) shares of inflation of pressures (m, a) [Pa], within the limits.

        Raises:
            InputError: another number of them.
        """
        return _looked_up(self._checked(pressures, "pressures"), self.pressures, self.filled)

    def volumes_of(self, shares: np.ndarray) -> np.ndarray:
        """(m, a) volumes [m³] of shares (m, a)."""
        return self.volumes[0] + np.asarray(shares) * (self.volumes[-1] - self.volumes[0])

    def _checked(self, values: np.ndarray, what: str) -> np.ndarray:
        """(m, a), or (a,)."""
        chambers = self.pressures.shape[1]
        values = checked_numbers(values, f"{chambers} in each row (m, {chambers})", what)
        if values.ndim not in (1, 2) or values.shape[-1] != chambers:
            raise InputError(
                f"{what}: expected {chambers} in each row (m, {chambers}), found an array of shape {values.shape}"
            )
        return values


def _looked_up(values: np.ndarray, known: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(m, a) linear in between, each column by its own."""
    columns = zip(np.asarray(values).T, known.T, others.T, strict=True)
    return np.array([np.interp(*column) for column in columns]).T


def inflation_shares(actuators: int, count: int) -> np.ndarray:
    """(count, a) shares 0…1: corners first, all 2^a if there are as many samples, else a `fraction` of them that is
    at most half of the samples; then a Halton sequence (not scrambled: the same every time).

    Raises:
        InputError: more actuators than corners can be simulated of, or too few samples for their corners.
    """
    check_samples(actuators, count)
    left_out = 0 if count >= 2**actuators else actuators + 1 - int(np.log2(count))
    corners = fraction(actuators, left_out)
    inner = qmc.Halton(actuators, scramble=False).random(count - len(corners) + 1)[1:]  # the first is a corner
    return np.vstack([corners, inner])


def check_samples(actuators: int, count: int) -> None:
    """Refuse numbers of which `inflation_shares` has no samples.

    Raises:
        InputError: more actuators than corners can be simulated of, or too few samples for their corners.
    """
    if not 1 <= actuators <= MOST_CORNERS:
        raise InputError(f"{actuators} actuators have 2^{actuators} corners: 1…{MOST_CORNERS} can be sampled")
    least = min(2**actuators, 2 ** (actuators.bit_length() + 1))  # half of them are more corners than actuators
    if count < least:
        raise InputError(
            f"{count} simulations are too few for {actuators} pressures, of 2^{actuators} corners: expected {least} or "
            "more"
        )


def fraction(actuators: int, left_out: int) -> np.ndarray:
    """(2^(a − q), a) corners of a fractional factorial design: the last q of an actuation are parities of the first
    a − q, each of all but every (q + 1)-th of them. Every pair of actuators has its four corners equally often.

    Box, Hunter: The 2^(k−p) fractional factorial designs, Technometrics 3, 1961.
    """
    free = actuators - left_out
    bits = (np.arange(2**free)[:, None] >> np.arange(free)) & 1
    taken = np.arange(free)[:, None] % (left_out + 1) != np.arange(left_out)
    return np.hstack([bits, bits @ taken % 2]).astype(float)


def random_shares(actuators: int, count: int, random: np.random.Generator) -> np.ndarray:
    """(count, a) even in 0…1, for what is tried on the robot."""
    return random.uniform(size=(count, actuators))
