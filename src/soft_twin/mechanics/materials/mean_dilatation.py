"""Mean dilatation: every quadrature point of a cell feels the cell's mean change of volume, so that cells do not lock.

The law W is evaluated at F̄ = (θ/J)^(1/3) F, where θ = Σ w J is the mean of J = det F over the cell, with the shares w
of its volume (F-bar of de Souza Neto et al. 1996, with the mean in place of the middle's J, as in the mean dilatation
method of Nagtegaal, Parks, Rice 1974 and Simo, Taylor, Pister 1985). The sum over the points of φ(F, θ) = W(F̄) is an
energy: its derivatives are exact, and the stiffness symmetric. With s = (θ/J)^(1/3), G = F⁻ᵀ, P̄ = ∂W/∂F, Ā = ∂P̄/∂F at
F̄, t = P̄ : F, Q = Ā : F and D = 1 − F ⊗ G/3,

    φ_F  = s (P̄ − t G/3)                         φ_θ  = t s/(3 θ)
    φ_FF = s² Dᵀ Ā D + s (t/9 G ⊗ G − (P̄ ⊗ G + G ⊗ P̄)/3 + t/3 GᵢₗGₖⱼ)
    φ_Fθ = s/(3 θ) (P̄ − t G/3 + s (Q − (F : Q) G/3))     φ_θθ = (s/(3 θ))² (F : Q) − 2 t s/(9 θ²).

With p = Σ v φ_θ/V, a cell's force is that of the stresses φ_F + p ∂J/∂F, and its stiffness that of the tangents
φ_FF + p ∂²J/∂F², plus h gᵀ + g hᵀ + c g gᵀ, where g = ∂θ/∂x, h = Σ v φ_Fθ ∂F/∂x and c = Σ v φ_θθ.
"""

from functools import cached_property

import numpy as np
from numba import njit

from soft_twin.mechanics.materials.assembly import (
    assemble_stiffness,
    assemble_stress,
    deformation_gradients,
    scatter_blocks,
)
from soft_twin.mechanics.materials.base import NO_ADDRESSES, NO_DATA, Energy
from soft_twin.mechanics.materials.tensors import cofactor, cofactor_derivative, outer, scaled


class MeanDilatation(Energy):
    """A law whose change of volume is averaged over each cell; elements of name `hex8f` do it with any law."""

    def __init__(self, law: Energy):
        self.law = law

    @property
    def modulus(self) -> float:
        return self.law.modulus

    def energy(self, F):
        """At a single point: the law's own."""
        return self.law.energy(F)

    def stress(self, F):
        return self.law.stress(F)

    def tangent(self, F):
        return self.law.tangent(F)

    def at(self, cells):
        return MeanDilatation(self.law.at(cells))

    def assemble(self, x, cells, gradients, volumes, force, offsets=NO_ADDRESSES, strides=NO_ADDRESSES, data=NO_DATA):
        """See `Energy.assemble`; where a cell is inverted, the energy is infinite and its forces are no numbers."""
        F = np.empty((*volumes.shape, 3, 3))
        determinants = deformation_gradients(x, cells, gradients, F)
        worst = int(determinants.min(axis=1).argmin())
        if not determinants[worst].min() > 0.0:
            force[cells[worst]] = np.nan
            return np.inf, float(determinants[worst].min()), worst
        shares = volumes / volumes.sum(axis=1, keepdims=True)
        means = np.broadcast_to((shares * determinants).sum(axis=1, keepdims=True), volumes.shape).ravel()
        point = _Point(self.law, F.reshape(-1, 3, 3), determinants.ravel(), means)
        pressures = (shares * point.by_mean().reshape(volumes.shape)).sum(axis=1)
        pressures = np.repeat(pressures, volumes.shape[1])
        stress = point.by_gradient() + scaled(pressures, point.cofactor)
        assemble_stress(cells, gradients, volumes, stress.reshape(F.shape), force)
        if len(offsets):
            own = point.by_gradient_twice() + scaled(pressures, cofactor_derivative(point.F))
            assemble_stiffness(gradients, volumes, own.reshape(*volumes.shape, 3, 3, 3, 3), offsets, strides, data)
            mixed = point.by_gradient_and_mean().reshape(F.shape)
            curvature = (volumes * point.by_mean_twice().reshape(volumes.shape)).sum(axis=1)
            slopes = point.cofactor.reshape(F.shape)
            _add_coupling(gradients, volumes, shares, slopes, mixed, curvature, offsets, strides, data)
        return float(volumes.ravel() @ self.law.energy(point.F_bar)), float(determinants[worst].min()), worst


class _Point:
    """The derivatives of φ(F, θ) in the module's docstring, at points F (p, 3, 3) with J (p,) and θ (p,)."""

    def __init__(self, law: Energy, F: np.ndarray, J: np.ndarray, mean: np.ndarray):
        self.F, self.mean, self._law = F, mean, law
        self.cofactor = cofactor(F)
        self._G = scaled(1.0 / J, self.cofactor)
        self._s = np.cbrt(mean / J)
        self.F_bar = scaled(self._s, F)
        self._P = law.stress(self.F_bar)
        self._t = np.einsum("pij,pij->p", self._P, F)

    @cached_property
    def _tangent(self) -> np.ndarray:
        return self._law.tangent(self.F_bar)

    @cached_property
    def _contracted(self) -> np.ndarray:
        return np.einsum("pijkl,pkl->pij", self._tangent, self.F)

    def by_gradient(self) -> np.ndarray:
        """φ_F (p, 3, 3)."""
        return scaled(self._s, self._shear(self._P))

    def by_mean(self) -> np.ndarray:
        """φ_θ (p,)."""
        return self._t * self._s / (3.0 * self.mean)

    def by_gradient_twice(self) -> np.ndarray:
        """φ_FF (p, 3, 3, 3, 3)."""
        G, P, t = self._G, self._P, self._t
        D = np.eye(9) - outer(self.F, G).reshape(-1, 9, 9) / 3.0
        projected = (D.swapaxes(1, 2) @ self._tangent.reshape(-1, 9, 9) @ D).reshape(self._tangent.shape)
        geometric = scaled(t / 9.0, outer(G, G)) - (outer(P, G) + outer(G, P)) / 3.0
        geometric += scaled(t / 3.0, np.einsum("pil,pkj->pijkl", G, G))
        return scaled(self._s**2, projected) + scaled(self._s, geometric)

    def by_gradient_and_mean(self) -> np.ndarray:
        """φ_Fθ (p, 3, 3)."""
        both = self._shear(self._P) + scaled(self._s, self._shear(self._contracted))
        return scaled(self._s / (3.0 * self.mean), both)

    def by_mean_twice(self) -> np.ndarray:
        """φ_θθ (p,)."""
        ratio = self._s / (3.0 * self.mean)
        return ratio**2 * np.einsum("pij,pij->p", self.F, self._contracted) - 2.0 * self._t * ratio / (3.0 * self.mean)

    def _shear(self, P: np.ndarray) -> np.ndarray:
        """P − (P : F) G/3."""
        return P - scaled(np.einsum("pij,pij->p", P, self.F) / 3.0, self._G)


@njit(cache=True, nogil=True)
def _add_coupling(gradients, volumes, shares, slopes, mixed, curvature, offsets, strides, data):
    """Add h gᵀ + g hᵀ + c g gᵀ of each cell."""
    m, q, k, _ = gradients.shape
    g, h, K = np.empty((k, 3)), np.empty((k, 3)), np.empty((k, k, 3, 3))
    for e in range(m):
        g[:], h[:] = 0.0, 0.0
        for p in range(q):
            for a in range(k):
                for i in range(3):
                    for j in range(3):
                        g[a, i] += shares[e, p] * slopes[e, p, i, j] * gradients[e, p, a, j]
                        h[a, i] += volumes[e, p] * mixed[e, p, i, j] * gradients[e, p, a, j]
        for a in range(k):
            for b in range(a + 1):
                for i in range(3):
                    for j in range(3):
                        K[a, b, i, j] = h[a, i] * g[b, j] + g[a, i] * h[b, j] + curvature[e] * g[a, i] * g[b, j]
        scatter_blocks(K, offsets[e], strides[e], data)
