"""Neo-Hookean rubbers."""

import numpy as np

from soft_twin.twin.energies.base import IsotropicEnergy
from soft_twin.twin.energies.tensors import IDENTITY, cofactor, cofactor_derivative


class NeoHookean(IsotropicEnergy):
    """W = μ/2 (tr FᵀF − 3) − μ ln J + λ/2 (ln J)² (SORS, eq. 11). Infinite where J ≤ 0."""

    def energy(self, F):
        J = np.linalg.det(F)
        log = np.log(np.where(J.real > 0.0, J, np.nan))
        energy = 0.5 * self.mu * (np.einsum("pij,pij->p", F, F) - 3.0) - self.mu * log + 0.5 * self.lam * log**2
        return np.where(np.isnan(energy), np.inf, energy)

    def stress(self, F):
        """SORS, eq. 13: P = μ F + (λ ln J − μ) F⁻ᵀ."""
        inverse, log = self._inverse_and_log(F)
        return self.mu * F + (self.lam * log - self.mu)[:, None, None] * inverse.swapaxes(1, 2)

    def tangent(self, F):
        """SORS, eq. 14: ∂F⁻ᵀ/∂F = −F⁻ᵀ dFᵀ F⁻ᵀ."""
        inverse, log = self._inverse_and_log(F)
        constant = self.mu * np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY)
        volume = self.lam * np.einsum("pji,plk->pijkl", inverse, inverse)
        turning = (self.lam * log - self.mu)[:, None, None, None, None] * np.einsum("pli,pjk->pijkl", inverse, inverse)
        return constant + volume - turning

    def _inverse_and_log(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        J = np.linalg.det(F)
        safe = np.where((J.real > 0.0)[:, None, None], F, IDENTITY)
        return np.linalg.inv(safe), np.log(np.where(J.real > 0.0, J, 1.0))


class StableNeoHookean(IsotropicEnergy):
    """W = μ̂/2 (I − 3) + λ̂/2 (J − α)² − μ̂/2 ln(I + 1), I = tr FᵀF, α = 1 + μ̂/λ̂ − μ̂/(4 λ̂); defined for every F,
    inverted ones too (Smith, de Goes, Kim 2018, with their μ̂ = 4/3 μ, λ̂ = λ + 5/6 μ that make it Hooke's for small
    strains). The constant is chosen so that W(I) = 0."""

    def __init__(self, young_modulus: float, poisson_ratio: float):
        super().__init__(young_modulus, poisson_ratio)
        self._mu, self._lam = 4.0 / 3.0 * self.mu, self.lam + 5.0 / 6.0 * self.mu
        self._alpha = 1.0 + 0.75 * self._mu / self._lam
        self._rest = 0.5 * self._lam * (1.0 - self._alpha) ** 2 - 0.5 * self._mu * np.log(4.0)

    def energy(self, F):
        I, J = np.einsum("pij,pij->p", F, F), np.linalg.det(F)
        volume = 0.5 * self._lam * (J - self._alpha) ** 2
        return 0.5 * self._mu * (I - 3.0) + volume - 0.5 * self._mu * np.log(I + 1.0) - self._rest

    def stress(self, F):
        I, J = np.einsum("pij,pij->p", F, F), np.linalg.det(F)
        shear, volume = self._mu * (1.0 - 1.0 / (I + 1.0)), self._lam * (J - self._alpha)
        return shear[:, None, None] * F + volume[:, None, None] * cofactor(F)

    def tangent(self, F):
        I, J = np.einsum("pij,pij->p", F, F), np.linalg.det(F)
        slope = cofactor(F)
        shear = np.multiply.outer(self._mu * (1.0 - 1.0 / (I + 1.0)), np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY))
        bend = np.einsum("p,pij,pkl->pijkl", 2.0 * self._mu / (I + 1.0) ** 2, F, F)
        volume = self._lam * np.einsum("pij,pkl->pijkl", slope, slope)
        turning = (self._lam * (J - self._alpha))[:, None, None, None, None] * cofactor_derivative(F)
        return shear + bend + volume + turning
