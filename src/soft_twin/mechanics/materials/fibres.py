"""Fibres: threads in a solid that carry tension only, as those wound around pneumatic chambers."""

import numpy as np

from soft_twin.mechanics.materials.muscle import Muscle
from soft_twin.mechanics.materials.tensors import IDENTITY


class Fibres(Muscle):
    """W = k/2 max(‖F m‖ − 1, 0)²: threads along m, smeared over the solid that they lie in, slack when shorter.

    k [Pa] is the threads' modulus times their share of the volume. They act beside a solid, as muscles do; an
    activation makes their natural length a share shorter, 0 is taut at rest.
    """

    _name = "fibres"
    _pushes = False

    def tangent(self, F):
        m, n, length, stretch = self._fibres(F)
        along = n[:, :, None] * n[:, None, :]
        taut, across = (stretch > 0.0)[:, None, None], (stretch / length)[:, None, None]
        return self.stiffness * np.einsum("pik,pj,pl->pijkl", taut * along + across * (IDENTITY - along), m, m)

    def activation_stress(self, F):
        taut = self._fibres(F)[3] > 0.0
        return taut[:, None, None] * super().activation_stress(F)

    def _fibres(self, F):
        m, n, length, stretch = super()._fibres(F)
        return m, n, length, np.maximum(stretch, 0.0)
