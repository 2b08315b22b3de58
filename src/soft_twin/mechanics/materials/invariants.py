"""Laws of I = tr FᵀF and J = det F only: neo-Hookean ones and their like. They say five numbers, and are fast.

With the derivatives of W(I, J), F's cofactor matrix H = ∂J/∂F, and h = H g for the shape functions' gradients g,

    P    = 2 W_I F + W_J H
    Kₐᵦ = ∫ 2 W_I (gₐ·gᵦ) 1 + 4 W_II (F gₐ)(F gᵦ)ᵀ + 2 W_IJ (F gₐ hᵦᵀ + hₐ (F gᵦ)ᵀ)
            + W_JJ hₐ hᵦᵀ − W_J [F (gₐ × gᵦ)]× dV,

which for each a and point is a constant matrix times gᵦ.
"""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from soft_twin.linear_algebra.compiled import kernel, part
from soft_twin.mechanics.materials.assembly import (
    deformation_gradients,
    fill_columns,
    new_rows,
    scatter_products,
)
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
        _assemble(cells, gradients, volumes, F, slopes, force, offsets, strides, data)
        worst = int(J.min(axis=1).argmin())
        return float((volumes * response.W).sum()), float(J[worst].min()), worst

    def _response(self, F: np.ndarray) -> Response:
        response = self.response(np.einsum("pij,pij->p", F, F), np.linalg.det(F))
        return Response(*(np.broadcast_to(value, (len(F),)) for value in response))


@part()
def _fill_cofactor(A, H):
    """H = ∂ det A/∂A."""
    for i in range(3):
        u, w = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            s, t = (j + 1) % 3, (j + 2) % 3
            H[i, j] = A[u, s] * A[w, t] - A[u, t] * A[w, s]


@part(fastmath={"contract"}, forceinline=True)
def _fill_row(ga, A, H, left, right, by_I, by_J, o, M):
    """Fill M (9, o … o + 3) with what a gradient gᵦ becomes in the blocks of a's row: see the module's docstring."""
    g0, g1, g2 = ga
    for i in range(3):
        f, h = A[i, 0] * g0 + A[i, 1] * g1 + A[i, 2] * g2, H[i, 0] * g0 + H[i, 1] * g1 + H[i, 2] * g2
        for s in range(3):
            for t in range(3):
                M[3 * i + s, o + t] = f * left[s, t] + h * right[s, t]
    for i in range(3):
        M[4 * i, o] += by_I * g0
        M[4 * i, o + 1] += by_I * g1
        M[4 * i, o + 2] += by_I * g2
        u, w = (i + 1) % 3, (i + 2) % 3
        t0 = by_J * (A[i, 1] * g2 - A[i, 2] * g1)
        t1 = by_J * (A[i, 2] * g0 - A[i, 0] * g2)
        t2 = by_J * (A[i, 0] * g1 - A[i, 1] * g0)
        M[3 * u + w, o] += t0
        M[3 * u + w, o + 1] += t1
        M[3 * u + w, o + 2] += t2
        M[3 * w + u, o] -= t0
        M[3 * w + u, o + 1] -= t1
        M[3 * w + u, o + 2] -= t2


@kernel(error_model="numpy", fastmath={"contract"})
def _assemble(cells, gradients, volumes, F, slopes, force, offsets, strides, data):
    (m, q), k = volumes.shape, cells.shape[1]
    H, P, left, right = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    K, G, M = new_rows(k, q)
    for e in range(m):
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
            if not len(offsets):
                continue
            by_II, by_IJ, by_JJ = 4.0 * v * slopes[e, p, 2], 2.0 * v * slopes[e, p, 3], v * slopes[e, p, 4]
            for i in range(3):
                for j in range(3):
                    left[i, j] = by_II * A[i, j] + by_IJ * H[i, j]
                    right[i, j] = by_IJ * A[i, j] + by_JJ * H[i, j]
            fill_columns(g, p, G)
            for a in range(k):
                _fill_row((g[a, 0], g[a, 1], g[a, 2]), A, H, left, right, by_I, by_J, 3 * p, M[a])
        if len(offsets):
            scatter_products(K, G, M, offsets[e], strides[e], data)
