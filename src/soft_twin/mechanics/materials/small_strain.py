"""Laws that are quadratic in a strain: Hooke's in the linear one, St. Venant–Kirchhoff's in Green's."""

import numpy as np

from soft_twin.mechanics.materials.base import IsotropicEnergy

IDENTITY = np.eye(3)


class Linear(IsotropicEnergy):
    """Hooke: W = μ ε : ε + λ/2 tr(ε)², ε = (F + Fᵀ)/2 − I. For small displacements only: rotations cost energy."""

    def energy(self, F):
        strain = _symmetric(F) - IDENTITY
        return self.mu * np.einsum("pij,pij->p", strain, strain) + 0.5 * self.lam * _trace(strain) ** 2

    def stress(self, F):
        strain = _symmetric(F) - IDENTITY
        return 2.0 * self.mu * strain + self.lam * np.multiply.outer(_trace(strain), IDENTITY)

    def tangent(self, F):
        return np.broadcast_to(self._elasticity(), (len(F), 3, 3, 3, 3))

    def _elasticity(self) -> np.ndarray:
        """C (3, 3, 3, 3) = λ δᵢⱼ δₖₗ + μ (δᵢₖ δⱼₗ + δᵢₗ δⱼₖ)."""
        d = IDENTITY
        swapped = np.einsum("ik,jl->ijkl", d, d) + np.einsum("il,jk->ijkl", d, d)
        return self.lam * np.einsum("ij,kl->ijkl", d, d) + self.mu * swapped


class StVenantKirchhoff(Linear):
    """W = μ E : E + λ/2 tr(E)², E = (FᵀF − I)/2. Right in large rotations; softens and collapses in compression."""

    def energy(self, F):
        strain = _green(F)
        return self.mu * np.einsum("pij,pij->p", strain, strain) + 0.5 * self.lam * _trace(strain) ** 2

    def stress(self, F):
        return F @ self._second_stress(F)

    def tangent(self, F):
        material = np.einsum("pim,mjnl,pkn->pijkl", F, self._elasticity(), F, optimize=True)
        return material + np.einsum("ik,plj->pijkl", IDENTITY, self._second_stress(F))

    def _second_stress(self, F: np.ndarray) -> np.ndarray:
        strain = _green(F)
        return 2.0 * self.mu * strain + self.lam * np.multiply.outer(_trace(strain), IDENTITY)


def _symmetric(F: np.ndarray) -> np.ndarray:
    return 0.5 * (F + F.swapaxes(1, 2))


def _green(F: np.ndarray) -> np.ndarray:
    return 0.5 * (F.swapaxes(1, 2) @ F - IDENTITY)


def _trace(A: np.ndarray) -> np.ndarray:
    return np.trace(A, axis1=1, axis2=2)
