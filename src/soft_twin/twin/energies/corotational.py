"""Corotational elasticity: linear in the strain that is left when the rotation is taken out.

With the polar decomposition F = R S, W = μ ‖S − I‖² + λ/2 tr(S − I)², so that P = 2μ (F − R) + λ tr(S − I) R.
Differentiating F = R S, the rotation turns by Rᵀ dR = [w]× with (tr(S) I − S) w = axl(Rᵀ dF − dFᵀ R), and tr(S)
changes by R : dF, so that dP = 2μ dF + λ (R : dF) R + (λ tr(S − I) − 2μ) dR. For the shape functions' gradients g,
turned into h = R g, this makes the exact block of the stiffness matrix between the nodes a and b

    Kₐᵦ = ∫ 2μ (gₐ·gᵦ) I + λ hₐ hᵦᵀ + (λ tr(S − I) − 2μ) [hₐ]×ᵀ R (tr(S) I − S)⁻¹ Rᵀ [hᵦ]× dV.

The rotation needs neither eigenvectors nor an iteration of matrices. With the invariants I₁, I₂ of C = FᵀF, J = det F,
t = tr(S) is the largest root of (t² − I₁)²/4 = I₂ + 2 J t (both sides are the square of S's second invariant), and
R = ∂t/∂F; differentiating the root gives, with s = (t² − I₁)/2,

    R = ((s + I₁) F − F C + t cof F) / (t s − J).

It is a rotation for every F with t s > J, of inverted cells too.
"""

import math

import numpy as np
from numba import njit

from soft_twin.twin.energies.assembly import DROPPED, TRANSPOSED
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
    """R = rotation of F, see the module's docstring; returns det F. C is scratch.

    Newton's method comes down to the root from √(3 I₁), as the quartic is convex above it: tr(S)² ≤ 3 tr(S²).
    """
    determinant = _cofactor(F, C)
    c00 = F[0, 0] * F[0, 0] + F[1, 0] * F[1, 0] + F[2, 0] * F[2, 0]
    c11 = F[0, 1] * F[0, 1] + F[1, 1] * F[1, 1] + F[2, 1] * F[2, 1]
    c22 = F[0, 2] * F[0, 2] + F[1, 2] * F[1, 2] + F[2, 2] * F[2, 2]
    c01 = F[0, 0] * F[0, 1] + F[1, 0] * F[1, 1] + F[2, 0] * F[2, 1]
    c02 = F[0, 0] * F[0, 2] + F[1, 0] * F[1, 2] + F[2, 0] * F[2, 2]
    c12 = F[0, 1] * F[0, 2] + F[1, 1] * F[1, 2] + F[2, 1] * F[2, 2]
    first = c00 + c11 + c22
    second = c00 * c11 + c00 * c22 + c11 * c22 - c01 * c01 - c02 * c02 - c12 * c12
    t = math.sqrt(3.0 * first)
    for _ in range(100):
        s = 0.5 * (t * t - first)
        change = 0.5 * (s * s - second - 2.0 * determinant * t) / (t * s - determinant)
        t -= change
        if change < 1e-9 * t:  # it converges quadratically: what is left is below round-off
            break
    s = 0.5 * (t * t - first)
    scale = 1.0 / (t * s - determinant)
    own, adjoint = (s + first) * scale, t * scale
    for i in range(3):
        f0, f1, f2 = F[i, 0], F[i, 1], F[i, 2]
        R[i, 0] = own * f0 - scale * (f0 * c00 + f1 * c01 + f2 * c02) + adjoint * C[i, 0]
        R[i, 1] = own * f1 - scale * (f0 * c01 + f1 * c11 + f2 * c12) + adjoint * C[i, 1]
        R[i, 2] = own * f2 - scale * (f0 * c02 + f1 * c12 + f2 * c22) + adjoint * C[i, 2]
    return determinant


@njit(inline="always")
def _stress(F, R, lam, mu, P):
    """P = ∂W/∂F; returns W and tr(S)."""
    trace, stretch = 0.0, 0.0
    for i in range(3):
        for j in range(3):
            trace += R[i, j] * F[i, j]
            difference = F[i, j] - R[i, j]
            stretch += difference * difference
            P[i, j] = 2.0 * mu * difference
    for i in range(3):
        for j in range(3):
            P[i, j] += lam * (trace - 3.0) * R[i, j]
    return mu * stretch + 0.5 * lam * (trace - 3.0) ** 2, trace


@njit(inline="always")
def _turning(F, R, trace, scale, A, M):
    """M = scale · R (tr(S) I − S)⁻¹ Rᵀ: the inverse of A = tr(S) I − F Rᵀ, as F Rᵀ = R S Rᵀ."""
    for i in range(3):
        for j in range(3):
            A[i, j] = -(F[i, 0] * R[j, 0] + F[i, 1] * R[j, 1] + F[i, 2] * R[j, 2])
        A[i, i] += trace
    factor = scale / _cofactor(A, M)
    for i in range(3):
        for j in range(3):
            M[i, j] *= factor


@njit(inline="always")
def _add_blocks(k, g, h, B, lam, mu, packed, offsets, strides, data):
    """Add the blocks 2μ (gₐ·gᵦ) I + λ hₐ hᵦᵀ + [hₐ]×ᵀ Bᵦ, b ≤ a: one behind the other if `packed`, else at their
    addresses in a matrix."""
    block = -1
    for a in range(k):
        h0, h1, h2 = h[a, 0], h[a, 1], h[a, 2]
        for b in range(a + 1):
            block += 1
            if packed:
                offset, row, column = 9 * block, 1, 3
            else:
                offset, row, column = offsets[block], 1, strides[block]
                if offset == DROPPED:
                    continue
                if offset < 0:
                    offset, row, column = TRANSPOSED - offset, column, 1
            diagonal = 2.0 * mu * (g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2])
            for j in range(3):
                hb = lam * h[b, j]
                k0 = h0 * hb + h2 * B[b, 1, j] - h1 * B[b, 2, j]
                k1 = h1 * hb + h0 * B[b, 2, j] - h2 * B[b, 0, j]
                k2 = h2 * hb + h1 * B[b, 0, j] - h0 * B[b, 1, j]
                if j == 0:
                    k0 += diagonal
                elif j == 1:
                    k1 += diagonal
                else:
                    k2 += diagonal
                at = offset + j * column
                data[at] += k0
                data[at + row] += k1
                data[at + 2 * row] += k2


@njit(inline="always")
def _move_blocks(packed, offsets, strides, data):
    """Add packed blocks to a matrix, and clear them."""
    for block in range(len(offsets)):
        offset, row, column = offsets[block], 1, strides[block]
        if offset < 0:
            offset, row, column = TRANSPOSED - offset, column, 1
        for j in range(3):
            for i in range(3):
                if offsets[block] != DROPPED:
                    data[offset + i * row + j * column] += packed[9 * block + 3 * j + i]
                packed[9 * block + 3 * j + i] = 0.0


def _kernel(k):
    """The assembly for cells of k nodes: with k a constant of the machine code, its loops are unrolled. Cells of one
    point add to the matrix at once, others sum the points up first."""

    @njit(cache=True, nogil=True, error_model="numpy")
    def _assemble(x, cells, gradients, volumes, lam, mu, force, offsets, strides, data):
        with_stiffness, single = offsets.shape[0] > 0, volumes.shape[1] == 1
        energy, worst, worst_cell = 0.0, 1e300, 0
        F, R, C, M = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        P, A, X = np.empty((3, 3)), np.empty((3, 3)), np.empty((k, 3))
        h, B, packed = np.empty((k, 3)), np.empty((k, 3, 3)), np.zeros(9 * k * (k + 1) // 2)
        for e in range(cells.shape[0]):
            for a in range(k):
                for i in range(3):
                    X[a, i] = x[cells[e, a], i]
            for p in range(volumes.shape[1]):
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
                density, trace = _stress(F, R, lam, mu, P)
                energy += v * density
                for a in range(k):
                    node = cells[e, a]
                    for i in range(3):
                        force[node, i] += v * (P[i, 0] * g[a, 0] + P[i, 1] * g[a, 1] + P[i, 2] * g[a, 2])
                if not with_stiffness:
                    continue
                _turning(F, R, trace, v * (lam * (trace - 3.0) - 2.0 * mu), A, M)
                for a in range(k):
                    for i in range(3):
                        h[a, i] = R[i, 0] * g[a, 0] + R[i, 1] * g[a, 1] + R[i, 2] * g[a, 2]
                    for i in range(3):
                        B[a, i, 0] = M[i, 1] * h[a, 2] - M[i, 2] * h[a, 1]
                        B[a, i, 1] = M[i, 2] * h[a, 0] - M[i, 0] * h[a, 2]
                        B[a, i, 2] = M[i, 0] * h[a, 1] - M[i, 1] * h[a, 0]
                if single:
                    _add_blocks(k, g, h, B, v * lam, v * mu, False, offsets[e], strides[e], data)
                else:
                    _add_blocks(k, g, h, B, v * lam, v * mu, True, offsets[e], strides[e], packed)
            if with_stiffness and not single:
                _move_blocks(packed, offsets[e], strides[e], data)
        return energy, worst, worst_cell

    return _assemble


_KERNELS = {k: _kernel(k) for k in (4, 8, 10, 20)}
