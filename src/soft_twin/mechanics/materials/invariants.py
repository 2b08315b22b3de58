"""Laws of I = tr FᵀF and J = det F only: neo-Hookean ones and their like. They say five numbers, and are fast.

With the derivatives of W(I, J), F's cofactor matrix H = ∂J/∂F, and h = H g for the shape functions' gradients g,

    P    = 2 W_I F + W_J H
    Kₐᵦ = ∫ 2 W_I (gₐ·gᵦ) 1 + 4 W_II (F gₐ)(F gᵦ)ᵀ + 2 W_IJ (F gₐ hᵦᵀ + hₐ (F gᵦ)ᵀ)
            + W_JJ hₐ hᵦᵀ − W_J [F (gₐ × gᵦ)]× dV.
"""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from numba import njit

from soft_twin.mechanics.materials.assembly import deformation_gradients, scatter_blocks
from soft_twin.mechanics.materials.base import NO_ADDRESSES, NO_DATA, Energy
from soft_twin.mechanics.materials.tensors import IDENTITY, cofactor, cofactor_derivative, outer, scaled


class Response(NamedTuple):
    """A law's W [J/m³] and its derivatives by I and J [Pa], arrays of one shape, or numbers."""

    W: np.ndarray
    I: np.ndarray
    J: np.ndarray
    II: np.ndarray | float = 0.0
    IJ: np.ndarray | float = 0.0
    JJ: np.ndarray | float = 0.0


class InvariantEnergy(Energy):
    """A law W(I, J); a new one only has `response`."""

    @abstractmethod
    def response(self, I: np.ndarray, J: np.ndarray) -> Response:
        """W and its derivatives at I and J, arrays of any shape."""

    def energy(self, F):
        return np.broadcast_to(self._response(F).W, (len(F),))

    def stress(self, F):
        W = self._response(F)
        return scaled(2.0 * W.I, F) + scaled(W.J, cofactor(F))

    def tangent(self, F):
        W, H = self._response(F), cofactor(F)
        unit = np.broadcast_to(np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY), (len(F), 3, 3, 3, 3))
        result = scaled(2.0 * W.I, unit) + scaled(W.J, cofactor_derivative(F))
        result += scaled(4.0 * W.II, outer(F, F)) + scaled(W.JJ, outer(H, H))
        return result + scaled(2.0 * W.IJ, outer(F, H) + outer(H, F))

    def assemble(self, x, cells, gradients, volumes, force, offsets=NO_ADDRESSES, strides=NO_ADDRESSES, data=NO_DATA):
        F = np.empty((*volumes.shape, 3, 3))
        J = deformation_gradients(x, cells, gradients, F)
        response = self.response(np.einsum("mqij,mqij->mq", F, F), J)
        slopes = np.empty((*volumes.shape, 5))
        for i in range(5):
            slopes[..., i] = response[1 + i]
        _KERNELS[cells.shape[1]](cells, gradients, volumes, F, slopes, force, offsets, strides, data)
        worst = int(J.min(axis=1).argmin())
        return float((volumes * response.W).sum()), float(J[worst].min()), worst

    def _response(self, F: np.ndarray) -> Response:
        response = self.response(np.einsum("pij,pij->p", F, F), np.linalg.det(F))
        return Response(*(np.broadcast_to(value, (len(F),)) for value in response))


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_cofactor(A, H):
    """H = ∂ det A/∂A."""
    for i in range(3):
        u, w = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            s, t = (j + 1) % 3, (j + 2) % 3
            H[i, j] = A[u, s] * A[w, t] - A[u, t] * A[w, s]


@njit(cache=True, nogil=True, error_model="numpy")
def _add_turning(block, A, ga, gb, factor):
    """Add −factor [A (gₐ × gᵦ)]× to a block (3, 3)."""
    c0 = factor * (ga[1] * gb[2] - ga[2] * gb[1])
    c1 = factor * (ga[2] * gb[0] - ga[0] * gb[2])
    c2 = factor * (ga[0] * gb[1] - ga[1] * gb[0])
    w0 = A[0, 0] * c0 + A[0, 1] * c1 + A[0, 2] * c2
    w1 = A[1, 0] * c0 + A[1, 1] * c1 + A[1, 2] * c2
    w2 = A[2, 0] * c0 + A[2, 1] * c1 + A[2, 2] * c2
    block[0, 1] += w2
    block[0, 2] -= w1
    block[1, 0] -= w2
    block[1, 2] += w0
    block[2, 0] += w1
    block[2, 1] -= w0


def _kernel(k):
    """The assembly for cells of k nodes: with k a constant of the machine code, its loops are unrolled."""

    @njit(cache=True, nogil=True, error_model="numpy")
    def _assemble(cells, gradients, volumes, F, slopes, force, offsets, strides, data):
        m, q = volumes.shape
        with_stiffness = offsets.shape[0] > 0
        H, P, K = np.empty((3, 3)), np.empty((3, 3)), np.empty((k, k, 3, 3))
        f, h, left, right = np.empty((k, 3)), np.empty((k, 3)), np.empty((k, 3)), np.empty((k, 3))
        for e in range(m):
            K[:] = 0.0
            for p in range(q):
                g, A, v = gradients[e, p], F[e, p], volumes[e, p]
                _fill_cofactor(A, H)
                by_I, by_J = 2.0 * v * slopes[e, p, 0], v * slopes[e, p, 1]
                for i in range(3):
                    for j in range(3):
                        P[i, j] = by_I * A[i, j] + by_J * H[i, j]
                for a in range(k):
                    for i in range(3):
                        force[cells[e, a], i] += P[i, 0] * g[a, 0] + P[i, 1] * g[a, 1] + P[i, 2] * g[a, 2]
                if not with_stiffness:
                    continue
                by_II, by_IJ, by_JJ = 4.0 * v * slopes[e, p, 2], 2.0 * v * slopes[e, p, 3], v * slopes[e, p, 4]
                for a in range(k):
                    for i in range(3):
                        f[a, i] = A[i, 0] * g[a, 0] + A[i, 1] * g[a, 1] + A[i, 2] * g[a, 2]
                        h[a, i] = H[i, 0] * g[a, 0] + H[i, 1] * g[a, 1] + H[i, 2] * g[a, 2]
                        left[a, i] = by_II * f[a, i] + by_IJ * h[a, i]
                        right[a, i] = by_IJ * f[a, i] + by_JJ * h[a, i]
                for a in range(k):
                    for b in range(a + 1):
                        for i in range(3):
                            for j in range(3):
                                K[a, b, i, j] += f[a, i] * left[b, j] + h[a, i] * right[b, j]
                        both = by_I * (g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2])
                        for i in range(3):
                            K[a, b, i, i] += both
                        _add_turning(K[a, b], A, g[a], g[b], by_J)
            if with_stiffness:
                scatter_blocks(K, offsets[e], strides[e], data)

    return _assemble


_KERNELS = {k: _kernel(k) for k in (4, 8, 10, 20)}
