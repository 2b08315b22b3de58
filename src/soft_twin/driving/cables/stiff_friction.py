"""What friction winches of a stiff body have: its pull is told from friction by what happens when the rate changes."""

import numpy as np

from soft_twin.driving.cables.friction import SLOW, FrictionEstimate

UNKNOWN = 8.0  # [A s/m] on the usual drum: standard deviation of a friction that nobody has seen
DRIFT = 0.5  # [A s/m] on the usual drum: a winch that gets warm changes by in a second
ANY_PULL = 1.0  # [A] standard deviation of a pull that nobody has seen
STEEPEST = 36.0  # [A/m] on the usual drum: a pull grows by that over the way: 1000 N/m
MEMORY = 0.02  # [s] for which a pull grows or shrinks evenly
NOISE = 0.05  # [A] of a current, averaged over …
LOOK = 0.004  # [s]
CERTAINTY = 3.0  # standard deviations, beyond which it is sure
UNSURE_INERTIA = 0.15  # share of the inertia by which it may be another


class StiffFriction(FrictionEstimate):
    """The friction b and the pull p of each winch in i − m v̇ = b v + p, by a Kalman filter of both.

    The pull wanders, the farther the faster the winch moves; the friction hardly does. At an even rate the two cannot
    be told apart, and the filter knows that: what comes on top is pull. Where the rate changes within some tens of
    milliseconds the pull is still what it was, and the friction shows.
    """

    def __init__(self, count: int, first: float, inertia: float, leverage: float = 1.0):
        """As FrictionEstimate."""
        super().__init__(count, first, inertia, leverage)
        self._pulls = self._currents = np.zeros(count)
        self._of_friction = np.full(count, (leverage * UNKNOWN) ** 2)
        self._drift, self._steepest = leverage * DRIFT, STEEPEST / leverage
        self.restart()

    @property
    def sure(self):
        """As FrictionEstimate."""
        return np.maximum(self.values - CERTAINTY * np.sqrt(self._of_friction), 0.0)

    def restart(self):
        """As FrictionEstimate; what the cables pull by is not known any more."""
        count = len(self.values)
        self._of_both, self._of_pulls = np.zeros(count), np.full(count, ANY_PULL**2)

    def update(self, currents, rates, accelerations, spans):
        known = ~np.isnan(accelerations) & (spans > 0.0)
        inertial = self._inertia * np.where(known, accelerations, 0.0)
        friction = self._of_friction + self._drift**2 * spans
        pulls = self._of_pulls + (NOISE**2 + (self._steepest * rates) ** 2 * MEMORY) * spans
        telling = np.where(np.abs(rates) > SLOW, rates, 0.0)  # slower ones tell more of dry friction
        seen_friction, seen_pulls = friction * telling + self._of_both, self._of_both * telling + pulls
        changed = 0.5 * (currents - self._currents)  # nobody knows when, between two samples
        self._currents = currents
        noise = (NOISE**2 + (UNSURE_INERTIA * inertial) ** 2 + changed**2) * LOOK / np.maximum(spans, 1e-4)
        expected = np.where(known, 1.0 / (seen_friction * telling + seen_pulls + noise), 0.0)
        surprise = currents - inertial - self.values * rates - self._pulls
        self._of_friction = friction - expected * seen_friction**2
        self._of_both = self._of_both - expected * seen_friction * seen_pulls
        self._of_pulls = pulls - expected * seen_pulls**2
        told = self._pulls + expected * seen_pulls * surprise
        self._pulls = np.maximum(told, 0.0)
        pushed = np.minimum(told, 0.0) * self._of_both / self._of_pulls  # a cable does not: it was friction
        self.values = np.clip(self.values + expected * seen_friction * surprise - pushed, self._least, self._most)
