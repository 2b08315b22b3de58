"""Corotational elasticity: linear in the strain that is left when the rotation is taken out.

With the polar decomposition F = R S, W = μ ‖S − I‖² + λ/2 tr(S − I)², so that P = 2μ (F − R) + λ tr(S − I) R.
Differentiating F = R S, the rotation turns by Rᵀ dR = [w]× with (tr(S) I − S) w = axl(Rᵀ dF − dFᵀ R), and tr(S)
changes by R : dF, so that dP = 2μ dF + λ (R : dF) R + (λ tr(S − I) − 2μ) dR. For the shape functions' gradients g,
turned into h = R g, this makes the exact block of the stiffness matrix between the nodes a and b

    Kₐᵦ = ∫ 2μ (gₐ·gᵦ) I + λ hₐ hᵦᵀ + (λ tr(S − I) − 2μ) [hₐ]×ᵀ R (tr(S) I − S)⁻¹ Rᵀ [hᵦ]× dV.
"""

import numpy as np
from numba import njit

from soft_twin.twin.energies.assembly import scatter_blocks
from soft_twin.twin.energies.base import NO_ADDRESSES, NO_DATA, IsotropicEnergy
from soft_twin.twin.energies.tensors import IDENTITY, LEVI_CIVITA, outer, scaled


class Corotational(IsotropicEnergy):
    """See the module's docstring; the law of SOFA's and the paper's (Lai et al. 2025) slender robot."""

    def assemble(self, x, cells, gradients, volumes, force, offsets=NO_ADDRESSES, strides=NO_ADDRESSES, data=NO_DATA):
        kernel = _KERNELS[cells.shape[1]]
        return kernel(x, cells, gradients, volumes, self.lam, self.mu, force, offsets, strides, data)

    def energy(self, F):
        stretches = _rotated_svd(F)[1]
        return self.mu * ((stretches - 1.0) ** 2).sum(axis=1) + 0.5 * self.lam * (stretches.sum(axis=1) - 3.0) ** 2

    def stress(self, F):
        U, stretches, Vt = _rotated_svd(F)
        R = U @ Vt
        return 2.0 * self.mu * (F - R) + self.lam * (stretches.sum(axis=1) - 3.0)[:, None, None] * R

    def tangent(self, F):
        """dR = R [w]× of the module's docstring, with w = (tr(S) I − S)⁻¹ axl(Rᵀ dF − dFᵀ R)."""
        U, stretches, Vt = _rotated_svd(F)
        R = U @ Vt
        sums = stretches.sum(axis=1)[:, None] - stretches
        inverse = Vt.swapaxes(1, 2) @ (Vt / sums[:, :, None])
        turned = np.einsum("pin,njd->pijd", R, LEVI_CIVITA)
        turning = np.einsum("pijd,pda,pkla->pijkl", turned, inverse, turned, optimize=True)
        factor = self.lam * (stretches.sum(axis=1) - 3.0) - 2.0 * self.mu
        constant = 2.0 * self.mu * np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY)
        return constant + self.lam * outer(R, R) + scaled(factor, turning)


def _rotated_svd(F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F = U diag(s) Vᵀ with U Vᵀ a rotation: the last of s (p, 3) is negative where det F is."""
    U, s, Vt = np.linalg.svd(F)
    sign = np.sign(np.linalg.det(U @ Vt))
    s[:, 2] *= sign
    U[:, :, 2] *= sign[:, None]
    return U, s, Vt


@njit(cache=True, nogil=True, error_model="numpy")
def _cofactor(A, C):
    """C = cofactor matrix of A (so that A⁻ᵀ = C / det A); returns det A."""
    C[0, 0] = A[1, 1] * A[2, 2] - A[1, 2] * A[2, 1]
    C[0, 1] = A[1, 2] * A[2, 0] - A[1, 0] * A[2, 2]
    C[0, 2] = A[1, 0] * A[2, 1] - A[1, 1] * A[2, 0]
    C[1, 0] = A[0, 2] * A[2, 1] - A[0, 1] * A[2, 2]
    C[1, 1] = A[0, 0] * A[2, 2] - A[0, 2] * A[2, 0]
    C[1, 2] = A[0, 1] * A[2, 0] - A[0, 0] * A[2, 1]
    C[2, 0] = A[0, 1] * A[1, 2] - A[0, 2] * A[1, 1]
    C[2, 1] = A[0, 2] * A[1, 0] - A[0, 0] * A[1, 2]
    C[2, 2] = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    return A[0, 0] * C[0, 0] + A[0, 1] * C[0, 1] + A[0, 2] * C[0, 2]


@njit(cache=True, nogil=True, error_model="numpy")
def _polar(F, R, C):
    """R = rotation of F by Newton's iteration R ← (R + R⁻ᵀ)/2 (Higham 1986); returns det F. C is scratch."""
    for i in range(3):
        for j in range(3):
            R[i, j] = F[i, j]
    determinant = _cofactor(R, C)
    d = determinant
    for _ in range(30):
        change, inverse = 0.0, 1.0 / d
        for i in range(3):
            for j in range(3):
                new = 0.5 * (R[i, j] + C[i, j] * inverse)
                change = max(change, abs(new - R[i, j]))
                R[i, j] = new
        d = _cofactor(R, C)
        if change < 1e-8:  # it converges quadratically: what is left is below round-off
            break
    return determinant


def _kernel(k):
    """The assembly for cells of k nodes: with k a constant of the machine code, its loops are unrolled."""

    @njit(cache=True, nogil=True, error_model="numpy")
    def _assemble(x, cells, gradients, volumes, lam, mu, force, offsets, strides, data):
        m = cells.shape[0]
        q = volumes.shape[1]
        with_stiffness = offsets.shape[0] > 0
        energy, worst, worst_cell = 0.0, 1e300, 0
        F, R, C, M = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        P, A, X = np.empty((3, 3)), np.empty((3, 3)), np.empty((k, 3))
        h, B, K = np.empty((k, 3)), np.empty((k, 3, 3)), np.empty((k, k, 3, 3))
        for e in range(m):
            for a in range(k):
                for i in range(3):
                    X[a, i] = x[cells[e, a], i]
            K[:] = 0.0
            for p in range(q):
                g = gradients[e, p]
                v = volumes[e, p]
                for i in range(3):
                    for j in range(3):
                        total = 0.0
                        for a in range(k):
                            total += X[a, i] * g[a, j]
                        F[i, j] = total
                determinant = _polar(F, R, C)
                if determinant < worst:
                    worst, worst_cell = determinant, e
                trace = 0.0
                for i in range(3):
                    for j in range(3):
                        trace += R[i, j] * F[i, j]
                stretch = 0.0
                for i in range(3):
                    for j in range(3):
                        difference = F[i, j] - R[i, j]
                        stretch += difference * difference
                        P[i, j] = v * (2.0 * mu * difference + lam * (trace - 3.0) * R[i, j])
                energy += v * (mu * stretch + 0.5 * lam * (trace - 3.0) ** 2)
                for a in range(k):
                    node = cells[e, a]
                    for i in range(3):
                        force[node, i] += P[i, 0] * g[a, 0] + P[i, 1] * g[a, 1] + P[i, 2] * g[a, 2]
                if not with_stiffness:
                    continue
                # M = R (tr(S) I − S)⁻¹ Rᵀ: the inverse of tr(S) I − F Rᵀ, as F Rᵀ = R S Rᵀ
                for i in range(3):
                    for j in range(3):
                        total = -(F[i, 0] * R[j, 0] + F[i, 1] * R[j, 1] + F[i, 2] * R[j, 2])
                        A[i, j] = total + trace if i == j else total
                scale = v * (lam * (trace - 3.0) - 2.0 * mu) / _cofactor(A, M)
                for a in range(k):
                    for i in range(3):
                        h[a, i] = R[i, 0] * g[a, 0] + R[i, 1] * g[a, 1] + R[i, 2] * g[a, 2]
                    for i in range(3):
                        B[a, i, 0] = scale * (M[i, 1] * h[a, 2] - M[i, 2] * h[a, 1])
                        B[a, i, 1] = scale * (M[i, 2] * h[a, 0] - M[i, 0] * h[a, 2])
                        B[a, i, 2] = scale * (M[i, 0] * h[a, 1] - M[i, 1] * h[a, 0])
                for a in range(k):
                    h0, h1, h2 = h[a, 0], h[a, 1], h[a, 2]
                    for b in range(a + 1):
                        diagonal = 2.0 * mu * v * (g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2])
                        for j in range(3):
                            hb = lam * v * h[b, j]
                            K[a, b, 0, j] += h0 * hb + h2 * B[b, 1, j] - h1 * B[b, 2, j]
                            K[a, b, 1, j] += h1 * hb + h0 * B[b, 2, j] - h2 * B[b, 0, j]
                            K[a, b, 2, j] += h2 * hb + h1 * B[b, 0, j] - h0 * B[b, 1, j]
                        K[a, b, 0, 0] += diagonal
                        K[a, b, 1, 1] += diagonal
                        K[a, b, 2, 2] += diagonal
            if with_stiffness:
                scatter_blocks(K, offsets[e], strides[e], data)
        return energy, worst, worst_cell

    return _assemble


_KERNELS = {k: _kernel(k) for k in (4, 8, 10, 20)}
