"""Neo-Hookean rubbers."""

import numpy as np

from soft_twin.twin.energies.base import IsotropicEnergy
from soft_twin.twin.energies.invariants import InvariantEnergy, Response


class NeoHookean(InvariantEnergy, IsotropicEnergy):
    """W = μ/2 (tr FᵀF − 3) − μ ln J + λ/2 (ln J)² (SORS, eqs. 11, 13, 14). Infinite where J ≤ 0."""

    def response(self, I, J):
        there = J > 0.0
        safe = np.where(there, J, 1.0)
        log = np.log(safe)
        W = 0.5 * self.mu * (I - 3.0) - self.mu * log + 0.5 * self.lam * log**2
        pull = self.lam * log - self.mu
        by_I = np.full(np.shape(J), 0.5 * self.mu)
        return Response(np.where(there, W, np.inf), by_I, pull / safe, JJ=(self.lam - pull) / safe**2)


class StableNeoHookean(InvariantEnergy, IsotropicEnergy):
    """W = μ̂/2 (I − 3) + λ̂/2 (J − α)² − μ̂/2 ln(I + 1), I = tr FᵀF, α = 1 + μ̂/λ̂ − μ̂/(4 λ̂); defined for every F,
    inverted ones too (Smith, de Goes, Kim 2018, with their μ̂ = 4/3 μ, λ̂ = λ + 5/6 μ that make it Hooke's for small
    strains). The constant is chosen so that W(I) = 0."""

    def __init__(self, young_modulus: float, poisson_ratio: float):
        super().__init__(young_modulus, poisson_ratio)
        self._mu, self._lam = 4.0 / 3.0 * self.mu, self.lam + 5.0 / 6.0 * self.mu
        self._alpha = 1.0 + 0.75 * self._mu / self._lam
        self._rest = 0.5 * self._lam * (1.0 - self._alpha) ** 2 - 0.5 * self._mu * np.log(4.0)

    def response(self, I, J):
        W = 0.5 * self._mu * (I - 3.0 - np.log(I + 1.0)) + 0.5 * self._lam * (J - self._alpha) ** 2 - self._rest
        by_I = 0.5 * self._mu * (1.0 - 1.0 / (I + 1.0))
        return Response(W, by_I, self._lam * (J - self._alpha), II=0.5 * self._mu / (I + 1.0) ** 2, JJ=self._lam)
