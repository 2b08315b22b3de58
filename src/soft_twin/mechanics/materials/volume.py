"""A soft volume term, for materials that hardly change their volume."""

import numpy as np

from soft_twin.errors import MaterialError
from soft_twin.mechanics.materials.invariants import InvariantEnergy, Response


class Volume(InvariantEnergy):
    """W = κ/2 (J − 1)², J = det F: adds a bulk modulus κ [Pa] to another law.

    It is preferred to κ/4 (J² − 1 − 2 ln J), which it equals at small strains: it is defined for every F, so that a
    step may pass through an inverted cell, and its curvature U″ = κ does not change, so that Newton's method needs
    fewer steps. What it gives up is the infinite energy of J → 0: it is for J near 1, where κ keeps it.
    """

    def __init__(self, bulk_modulus: float):
        """Raises MaterialError: κ is not positive and finite."""
        if not 0.0 < bulk_modulus < np.inf:
            raise MaterialError(f"bulk modulus {bulk_modulus:g} Pa is not positive and finite")
        self.bulk_modulus = bulk_modulus

    def response(self, I, J):
        change = J - 1.0
        none = np.zeros(np.shape(J))
        return Response(0.5 * self.bulk_modulus * change**2, none, self.bulk_modulus * change, JJ=self.bulk_modulus)
