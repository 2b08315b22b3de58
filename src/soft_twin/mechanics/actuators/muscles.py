"""Muscles as actuators: the active stress [Pa] works on how much shorter their fibres are, times their space [m³].

Fibres along m that pull with an active stress σ do the work −σ ∫ (‖F m‖ − 1) dV: a bundle of cables, one at each
quadrature point, whose length is ∫ ‖F m‖ dV. What the muscle is at rest is the body's material.
"""

from collections.abc import Sequence

import numpy as np

from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.cables import Cables

TOLERANCE = 1e-9  # of a muscle's volume


class Muscles(CableActuators):
    """Bundles of fibres (`Cables.bundles`); a muscle only contracts."""

    unit = "Pa"

    def __init__(self, bundles: Cables, names: Sequence[str] | None = None):
        """Raises InputError for another number of names."""
        names = [f"muscle_{i + 1}" for i in range(bundles.count)] if names is None else names
        super().__init__(bundles, 1.0, names)
        self.softness = np.zeros(bundles.count)
        self.tolerance = TOLERANCE * bundles.rest_lengths
