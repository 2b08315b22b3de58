"""Neo-Hookean rubbers."""

import numpy as np

from soft_twin.mechanics.materials.base import IsotropicEnergy
from soft_twin.mechanics.materials.invariants import InvariantEnergy, Response


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

    def response(self, I, J):
        mu, lam = 4.0 / 3.0 * self.mu, self.lam + 5.0 / 6.0 * self.mu
        alpha = 1.0 + 0.75 * mu / lam
        rest = 0.5 * lam * (1.0 - alpha) ** 2 - 0.5 * mu * np.log(4.0)
        W = 0.5 * mu * (I - 3.0 - np.log(I + 1.0)) + 0.5 * lam * (J - alpha) ** 2 - rest
        by_I = 0.5 * mu * (1.0 - 1.0 / (I + 1.0))
        return Response(W, by_I, lam * (J - alpha), II=0.5 * mu / (I + 1.0) ** 2, JJ=lam)
