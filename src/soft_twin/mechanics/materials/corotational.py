"""Corotational elasticity: linear in the strain that is left when the rotation is taken out.

With the polar decomposition F = R S, W = μ ‖S − I‖² + λ/2 tr(S − I)², so that P = 2μ (F − R) + λ tr(S − I) R.
Differentiating F = R S, the rotation turns by Rᵀ dR = [w]× with (tr(S) I − S) w = axl(Rᵀ dF − dFᵀ R), and tr(S)
changes by R : dF, so that dP = 2μ dF + λ (R : dF) R + (λ tr(S − I) − 2μ) dR. For the shape functions' gradients g,
turned into h = R g, this makes the exact block of the stiffness matrix between the nodes a and b

    Kₐᵦ = ∫ 2μ (gₐ·gᵦ) I + λ hₐ hᵦᵀ + (λ tr(S − I) − 2μ) [hₐ]×ᵀ R (tr(S) I − S)⁻¹ Rᵀ [hᵦ]× dV.
"""

import numpy as np
from numba import njit

from soft_twin.linear_algebra.addresses import DROPPED, TRANSPOSED
from soft_twin.linear_algebra.compiled import kernel, part
from soft_twin.mechanics.materials.base import NO_ADDRESSES, NO_DATA, IsotropicEnergy
from soft_twin.mechanics.materials.rotations import LANES, fill_rotations, matrix
from soft_twin.mechanics.materials.tensors import IDENTITY, LEVI_CIVITA, outer, scaled


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


@part(error_model="numpy", forceinline=True, cache=True)
def _fill_deformations(k, x, cells, gradients, F):
    """Fill the lanes of F with Σ xₐ ⊗ gₐ at the points of some cells."""
    lane = 0
    for e in range(len(cells)):
        for p in range(gradients.shape[1]):
            g = gradients[e, p]
            for i in range(3):
                f0, f1, f2 = 0.0, 0.0, 0.0
                for a in range(k):
                    xa = x[cells[e, a], i]
                    f0 += xa * g[a, 0]
                    f1 += xa * g[a, 1]
                    f2 += xa * g[a, 2]
                F[3 * i * LANES + lane] = f0
                F[(3 * i + 1) * LANES + lane] = f1
                F[(3 * i + 2) * LANES + lane] = f2
            lane += 1


@part(error_model="numpy", fastmath={"contract"}, cache=True)
def _fill_stresses(n, F, R, traces, lam, mu, P, densities):
    """Fill P = ∂W/∂F (9 LANES,) and W (LANES,) of the first n lanes."""
    for l in range(n):
        stretch, pressure = 0.0, lam * (traces[l] - 3.0)
        for c in range(9):
            difference = F[c * LANES + l] - R[c * LANES + l]
            stretch += difference * difference
            P[c * LANES + l] = 2.0 * mu * difference + pressure * R[c * LANES + l]
        densities[l] = mu * stretch + 0.5 * pressure * (traces[l] - 3.0)


@part(error_model="numpy", forceinline=True, cache=True)
def _add_force(k, nodes, g, v, P, lane, force):
    """Add v P gₐ of one point to the forces of its cell's nodes."""
    p00, p01, p02, p10, p11, p12, p20, p21, p22 = matrix(P, lane)
    for a in range(k):
        g0, g1, g2 = v * g[a, 0], v * g[a, 1], v * g[a, 2]
        force[nodes[a], 0] += p00 * g0 + p01 * g1 + p02 * g2
        force[nodes[a], 1] += p10 * g0 + p11 * g1 + p12 * g2
        force[nodes[a], 2] += p20 * g0 + p21 * g1 + p22 * g2


@part(error_model="numpy", fastmath={"contract"}, cache=True)
def _fill_turnings(n, F, R, traces, lam, mu, M):
    """Fill M (9 LANES,) = (λ tr(S − I) − 2μ) R (tr(S) I − S)⁻¹ Rᵀ of the first n lanes, by the cofactors of the
    symmetric A = tr(S) I − F Rᵀ, as F Rᵀ = R S Rᵀ."""
    for l in range(n):
        f00, f01, f02, f10, f11, f12, f20, f21, f22 = matrix(F, l)
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = matrix(R, l)
        a00 = traces[l] - (f00 * r00 + f01 * r01 + f02 * r02)
        a11 = traces[l] - (f10 * r10 + f11 * r11 + f12 * r12)
        a22 = traces[l] - (f20 * r20 + f21 * r21 + f22 * r22)
        a01 = -(f00 * r10 + f01 * r11 + f02 * r12)
        a02 = -(f00 * r20 + f01 * r21 + f02 * r22)
        a12 = -(f10 * r20 + f11 * r21 + f12 * r22)
        m00, m01, m02 = a11 * a22 - a12 * a12, a02 * a12 - a01 * a22, a01 * a12 - a02 * a11
        m11, m12, m22 = a00 * a22 - a02 * a02, a01 * a02 - a00 * a12, a00 * a11 - a01 * a01
        factor = (lam * (traces[l] - 3.0) - 2.0 * mu) / (a00 * m00 + a01 * m01 + a02 * m02)
        M[l], M[LANES + l], M[2 * LANES + l] = factor * m00, factor * m01, factor * m02
        M[3 * LANES + l], M[4 * LANES + l], M[5 * LANES + l] = factor * m01, factor * m11, factor * m12
        M[6 * LANES + l], M[7 * LANES + l], M[8 * LANES + l] = factor * m02, factor * m12, factor * m22


@part(error_model="numpy", forceinline=True, cache=True)
def _turn(k, g, v, R, M, lane, h, B):
    """h = R g and B = v M [h]× of one point, (k, 3) and (k, 3, 3)."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = matrix(R, lane)
    for a in range(k):
        h0 = r00 * g[a, 0] + r01 * g[a, 1] + r02 * g[a, 2]
        h1 = r10 * g[a, 0] + r11 * g[a, 1] + r12 * g[a, 2]
        h2 = r20 * g[a, 0] + r21 * g[a, 1] + r22 * g[a, 2]
        h[a, 0], h[a, 1], h[a, 2] = h0, h1, h2
        for i in range(3):
            m0, m1, m2 = M[3 * i * LANES + lane], M[(3 * i + 1) * LANES + lane], M[(3 * i + 2) * LANES + lane]
            B[a, 3 * i] = v * (m1 * h2 - m2 * h1)
            B[a, 3 * i + 1] = v * (m2 * h0 - m0 * h2)
            B[a, 3 * i + 2] = v * (m0 * h1 - m1 * h0)


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
                k0 = h0 * hb + h2 * B[b, 3 + j] - h1 * B[b, 6 + j]
                k1 = h1 * hb + h0 * B[b, 6 + j] - h2 * B[b, j]
                k2 = h2 * hb + h1 * B[b, j] - h0 * B[b, 3 + j]
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


@part(error_model="numpy", forceinline=True, cache=True)
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
    """The assembly for cells of k nodes: with k a constant of the machine code, its loops are unrolled. As many cells
    are taken at a time as fill the lanes. Those of four nodes, which have one point, add to the matrix at once, others
    sum the points up first."""
    at_once = k == 4

    @kernel(error_model="numpy")
    def _assemble(x, cells, gradients, volumes, lam, mu, force, offsets, strides, data):
        (m, q), with_stiffness = volumes.shape, offsets.shape[0] > 0
        energy, worst, worst_cell = 0.0, 1e300, 0
        F, R, P, M = np.empty(9 * LANES), np.empty(9 * LANES), np.empty(9 * LANES), np.empty(9 * LANES)
        determinants, traces, densities = np.empty(LANES), np.empty(LANES), np.empty(LANES)
        h, B, packed = np.empty((k, 3)), np.empty((k, 9)), np.empty(9 * k * (k + 1) // 2)
        packed[:] = 0.0
        for first in range(0, m, LANES // q):
            last = min(first + LANES // q, m)
            n = (last - first) * q
            _fill_deformations(k, x, cells[first:last], gradients[first:last], F)
            fill_rotations(n, F, R, determinants, traces)
            _fill_stresses(n, F, R, traces, lam, mu, P, densities)
            if with_stiffness:
                _fill_turnings(n, F, R, traces, lam, mu, M)
            for lane in range(n):
                e, p = first + lane // q, lane % q
                g, v = gradients[e, p], volumes[e, p]
                if determinants[lane] < worst:
                    worst, worst_cell = determinants[lane], e
                energy += v * densities[lane]
                _add_force(k, cells[e], g, v, P, lane, force)
                if not with_stiffness:
                    continue
                _turn(k, g, v, R, M, lane, h, B)
                if at_once:
                    _add_blocks(k, g, h, B, v * lam, v * mu, False, offsets[e], strides[e], data)
                else:
                    _add_blocks(k, g, h, B, v * lam, v * mu, True, offsets[e], strides[e], packed)
                    if p == q - 1:
                        _move_blocks(packed, offsets[e], strides[e], data)
        return energy, worst, worst_cell

    return _assemble


_KERNELS = {k: _kernel(k) for k in (4, 8, 10, 20)}
