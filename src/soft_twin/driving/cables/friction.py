"""What friction the winches have, learned while they move: no data sheet gives it, and it is fed forward."""

from abc import ABC, abstractmethod

import numpy as np

LEAST, MOST = 2.0, 35.0  # [A s/m] on the usual drum
SLOW = 0.02  # [m/s] slower motions say little: the cable's pull would be taken for friction
LEAST_WAY = 5e-5  # [m] of a push that says something
LEARNING_TIME = 0.03  # [s] of fast motion


class FrictionEstimate(ABC):
    """The viscous friction b of each winch.

    Attributes:
        values: (c,) [A s/m].
    """

    def __init__(self, count: int, first: float, inertia: float, leverage: float = 1.0):
        """Begin with the same friction `first` [A s/m] for all; the inertia m [A s²/m] is known. Winches of another
        `leverage` than the usual have as much more or less friction."""
        self.values = np.full(count, first)
        self._inertia = inertia
        self._least, self._most = leverage * LEAST, leverage * MOST

    @property
    def counted(self) -> np.ndarray:
        """(c,) of the friction `values`, what may be counted on to slow a winch down [A s/m]."""
        return self.values

    @property
    def sure(self) -> np.ndarray:
        """(c,) friction that each winch has for sure [A s/m], of which some may be dry."""
        return np.zeros_like(self.values)

    @abstractmethod
    def restart(self) -> None:
        """The cables have rested, and may have been moved by hand."""

    def learn_from_push(self, impulses: np.ndarray, rates: np.ndarray, ways: np.ndarray) -> None:
        """A push from rest: ∫ i dt = m v + b x. A taut cable makes b look large, so only less than it was is believed.

        Args:
            impulses: (c,) ∫ i dt of the push [A s].
            rates: (c,) at its end [m/s].
            ways: (c,) moved by it [m].
        """
        moved = ways > LEAST_WAY
        pushed = (impulses - self._inertia * rates) / np.where(moved, ways, np.inf)
        self.values = np.where(moved, np.clip(pushed, self._least, self.values), self.values)

    @abstractmethod
    def update(self, currents: np.ndarray, rates: np.ndarray, accelerations: np.ndarray, spans: np.ndarray) -> None:
        """Learn from what was measured, (c,) each, in `spans` (c,) [s]; NaN accelerations say nothing."""


class SoftFriction(FrictionEstimate):
    """b in i = b v + m v̇, by normalised least mean squares.

    The cable's pull is left out: at the rates where anything is learned it is small against the friction. Of cables
    that may pull by more see `stiff_friction`. A winch that has not moved fast yet has shown hardly any.
    """

    def __init__(self, count: int, first: float, inertia: float, leverage: float = 1.0):
        """As FrictionEstimate."""
        super().__init__(count, first, inertia, leverage)
        self._shown = np.zeros(count)  # share of the values that the winches' own motions have told

    @property
    def counted(self):
        """As FrictionEstimate."""
        return self._least + self._shown * (self.values - self._least)

    def restart(self):
        """As FrictionEstimate: it is what it was."""

    def update(self, currents, rates, accelerations, spans):
        unexplained = currents - self._inertia * accelerations - self.values * rates
        told = ~np.isnan(unexplained) * np.minimum(1.0, spans / LEARNING_TIME) / (rates**2 + SLOW**2)
        learned = self.values + told * rates * np.where(told > 0.0, unexplained, 0.0)
        self.values = np.clip(learned, self._least, self._most)
        self._shown += (1.0 - self._shown) * told * rates**2
