"""Mooney–Rivlin rubber."""

import numpy as np

from soft_twin.checks import checked_number
from soft_twin.errors import MaterialError
from soft_twin.mechanics.materials.base import Energy
from soft_twin.mechanics.materials.tensors import IDENTITY, cofactor, cofactor_derivative, outer, scaled


class MooneyRivlin(Energy):
    """W = c₁ (J^(−2/3) I₁ − 3) + c₂ (J^(−4/3) I₂ − 3) + κ/2 (J − 1)², with I₁ = tr C, I₂ = (I₁² − tr C²)/2, C = FᵀF.

    At small strains it is Hooke's law with μ = 2 (c₁ + c₂) and bulk modulus κ. Infinite where J ≤ 0.
    """

    def __init__(self, c1: float, c2: float, bulk_modulus: float):
        """Constants [Pa].

        Raises:
            InputError: one is no number.
            MaterialError: c₁ + c₂ or κ is not positive and finite.
        """
        c1, c2 = checked_number(c1, "Mooney–Rivlin's c1", "Pa"), checked_number(c2, "Mooney–Rivlin's c2", "Pa")
        bulk_modulus = checked_number(bulk_modulus, "bulk modulus", "Pa")
        if not (0.0 < c1 + c2 < np.inf and 0.0 < bulk_modulus < np.inf):
            raise MaterialError(
                f"Mooney–Rivlin: c1 + c2 = {c1 + c2:g} Pa and bulk modulus {bulk_modulus:g} Pa must be positive "
                "and finite"
            )
        self.c1, self.c2, self.bulk_modulus = c1, c2, bulk_modulus

    def energy(self, F):
        J = np.linalg.det(F)
        safe = np.where(J > 0.0, J, 1.0)
        I1, I2, _ = _invariants(F)
        shape = self.c1 * (safe ** (-2 / 3) * I1 - 3.0) + self.c2 * (safe ** (-4 / 3) * I2 - 3.0)
        return np.where(J > 0.0, shape + 0.5 * self.bulk_modulus * (J - 1.0) ** 2, np.inf)

    def stress(self, F):
        I1, I2, C = _invariants(F)
        slope, (_, first, _), (f1, g1, _), (f2, g2, _) = cofactor(F), *self._factors(F)
        along_1, along_2 = 2.0 * F, 2.0 * (scaled(I1, F) - F @ C)
        return scaled(g1 * I1 + g2 * I2 + first, slope) + scaled(f1, along_1) + scaled(f2, along_2)

    def tangent(self, F):
        I1, I2, C = _invariants(F)
        slope, (_, first, second), (f1, g1, h1), (f2, g2, h2) = cofactor(F), *self._factors(F)
        along_1, along_2 = 2.0 * F, 2.0 * (scaled(I1, F) - F @ C)
        mixed = scaled(g1, along_1) + scaled(g2, along_2)
        return (
            scaled(h1 * I1 + h2 * I2 + second, outer(slope, slope))
            + scaled(g1 * I1 + g2 * I2 + first, cofactor_derivative(F))
            + outer(slope, mixed)
            + outer(mixed, slope)
            + scaled(f1, np.broadcast_to(2.0 * _UNIT, (len(F), 3, 3, 3, 3)))
            + scaled(f2, _second_invariant_curvature(F, I1, C))
        )

    def _factors(self, F: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Of κ/2 (J − 1)², c₁ J^(−2/3) and c₂ J^(−4/3): value, first and second derivative by J, (p,) each."""
        J = np.linalg.det(F)
        safe = np.where(J > 0.0, J, 1.0)
        factors = [(0.5 * self.bulk_modulus * (J - 1.0) ** 2, self.bulk_modulus * (J - 1.0), self.bulk_modulus)]
        for c, a in ((self.c1, -2.0 / 3.0), (self.c2, -4.0 / 3.0)):
            factors.append((c * safe**a, c * a * safe ** (a - 1.0), c * a * (a - 1.0) * safe ** (a - 2.0)))
        return factors


_UNIT = np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY)


def _invariants(F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    C = F.swapaxes(1, 2) @ F
    I1 = np.trace(C, axis1=1, axis2=2)
    return I1, 0.5 * (I1**2 - np.einsum("pij,pji->p", C, C)), C


def _second_invariant_curvature(F: np.ndarray, I1: np.ndarray, C: np.ndarray) -> np.ndarray:
    """∂²I₂/∂F² = 2 (2 F ⊗ F + I₁ 1 − ∂(F FᵀF)/∂F)."""
    product = (
        np.einsum("ik,plj->pijkl", IDENTITY, C)
        + np.einsum("pil,pkj->pijkl", F, F)
        + np.einsum("pik,jl->pijkl", F @ F.swapaxes(1, 2), IDENTITY)
    )
    return 2.0 * (2.0 * outer(F, F) + scaled(I1, np.broadcast_to(_UNIT, product.shape)) - product)
