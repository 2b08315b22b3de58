"""Ogden's rubber, in principal stretches."""

from collections.abc import Sequence

import numpy as np

from soft_twin.checks import checked_number, checked_numbers
from soft_twin.errors import MaterialError
from soft_twin.mechanics.materials.base import Energy

CLOSE = 1e-6  # squared stretches nearer than this, relatively, count as equal


class Ogden(Energy):
    """W = Σ μᵢ/αᵢ (λ̄₁^αᵢ + λ̄₂^αᵢ + λ̄₃^αᵢ − 3) + κ/2 (J − 1)² with λ̄ = J^(−1/3) λ, λ the singular values of F.

    At small strains it is Hooke's law with μ = Σ μᵢ αᵢ/2 and bulk modulus κ. Infinite where J ≤ 0.
    """

    def __init__(self, moduli: Sequence[float], exponents: Sequence[float], bulk_modulus: float):
        """`moduli` μᵢ [Pa], `exponents` αᵢ.

        Raises:
            InputError: what are no numbers.
            MaterialError: as many moduli as exponents are not given, or Σ μᵢ αᵢ or κ is not positive and
                finite.
        """
        self.moduli = np.array(checked_numbers(moduli, "some numbers [Pa]", "Ogden's moduli"))
        self.exponents = np.array(checked_numbers(exponents, "some numbers", "Ogden's exponents"))
        bulk_modulus = checked_number(bulk_modulus, "bulk modulus", "Pa")
        if self.moduli.shape != self.exponents.shape or self.moduli.ndim != 1 or not self.exponents.all():
            raise MaterialError(f"Ogden: expected as many moduli as exponents, none of them 0: {moduli}, {exponents}")
        if not (0.0 < self.moduli @ self.exponents < np.inf and 0.0 < bulk_modulus < np.inf):
            raise MaterialError(
                f"Ogden: the sum of moduli times exponents, {self.moduli @ self.exponents:g} Pa, and the bulk modulus, "
                f"{bulk_modulus:g} Pa, must be positive and finite"
            )
        self.bulk_modulus = bulk_modulus

    def energy(self, F):
        _, stretches, _, J = _principal(F)
        powers = self._powers(stretches, J)
        shape = ((powers.sum(axis=1) - 3.0) * self.moduli / self.exponents).sum(axis=1)
        return np.where(np.linalg.det(F) > 0.0, shape + 0.5 * self.bulk_modulus * (J - 1.0) ** 2, np.inf)

    def stress(self, F):
        U, stretches, Vt, J = _principal(F)
        return (U * self._slopes(stretches, J)[:, None, :]) @ Vt

    def tangent(self, F):
        """∂P/∂F in the frames of F's singular vectors: Wᵢⱼ between the stretches, and for each pair of them the moduli
        (Wᵢ ∓ Wⱼ)/(λᵢ ∓ λⱼ) of a symmetric and a skew dF (Smith, de Goes, Kim 2019)."""
        U, stretches, Vt, J = _principal(F)
        slopes, curvature = self._slopes(stretches, J), self._curvature(stretches, J)
        A = np.zeros((len(F), 3, 3, 3, 3))
        for i in range(3):
            for j in range(3):
                A[:, i, i, j, j] += curvature[:, i, j]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            twist = (slopes[:, i] + slopes[:, j]) / (stretches[:, i] + stretches[:, j])
            away = stretches[:, i] - stretches[:, j]
            close = np.abs(away) < CLOSE * stretches[:, i]
            flip = np.where(
                close,
                0.5 * (curvature[:, i, i] + curvature[:, j, j]) - curvature[:, i, j],
                (slopes[:, i] - slopes[:, j]) / np.where(close, 1.0, away),
            )
            A[:, i, j, i, j] = A[:, j, i, j, i] = 0.5 * (flip + twist)
            A[:, i, j, j, i] = A[:, j, i, i, j] = 0.5 * (flip - twist)
        return np.einsum("pia,pbj,pkc,pdl,pabcd->pijkl", U, Vt, U, Vt, A, optimize=True)

    def _powers(self, stretches: np.ndarray, J: np.ndarray) -> np.ndarray:
        """λ̄ⱼ^αᵢ (p, 3, terms)."""
        return (stretches * J[:, None] ** (-1.0 / 3.0))[:, :, None] ** self.exponents

    def _slopes(self, stretches: np.ndarray, J: np.ndarray) -> np.ndarray:
        """∂W/∂λⱼ (p, 3) = (Σ μᵢ (λ̄ⱼ^αᵢ − mean over j) + κ (J − 1) J)/λⱼ."""
        powers = self._powers(stretches, J)
        shear = (powers - powers.mean(axis=1, keepdims=True)) @ self.moduli
        return (shear + (self.bulk_modulus * (J - 1.0) * J)[:, None]) / stretches

    def _curvature(self, stretches: np.ndarray, J: np.ndarray) -> np.ndarray:
        """∂²W/∂λⱼ∂λₖ (p, 3, 3)."""
        powers = self._powers(stretches, J) * self.exponents
        mean = powers.mean(axis=1, keepdims=True)
        grown = np.einsum("pjt,jk->pjkt", powers, np.eye(3)) - (powers[:, :, None] + powers[:, None]) / 3.0
        by_logs = (grown + mean[:, None] / 3.0) @ self.moduli
        by_logs += (self.bulk_modulus * (2.0 * J - 1.0) * J)[:, None, None]
        own = (self._slopes(stretches, J) * stretches)[:, :, None] * np.eye(3)
        return (by_logs - own) / (stretches[:, :, None] * stretches[:, None, :])


def _principal(F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """F = U diag(λ) Vᵀ, and J, at rest where det F ≤ 0."""
    there = np.linalg.det(F) > 0.0
    U, stretches, Vt = np.linalg.svd(np.where(there[:, None, None], F, np.eye(3)))
    return U, stretches, Vt, stretches.prod(axis=1)
