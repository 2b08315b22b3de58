"""Kernels that add up the cells of a body, for any strain energy."""

import numpy as np

from soft_twin.linear_algebra.addresses import DROPPED, TRANSPOSED
from soft_twin.linear_algebra.compiled import kernel, part


@kernel()
def deformation_gradients(x, cells, gradients, F):
    """Fill F (m, q, 3, 3) = Σ xₐ ⊗ ∂Nₐ/∂X; its determinants (m, q)."""
    m, q, k, _ = gradients.shape
    determinants = np.empty((m, q))
    for e in range(m):
        for p in range(q):
            A = F[e, p]
            A[:] = 0.0
            for a in range(k):
                for i in range(3):
                    for j in range(3):
                        A[i, j] += x[cells[e, a], i] * gradients[e, p, a, j]
            determinants[e, p] = (
                A[0, 0] * (A[1, 1] * A[2, 2] - A[1, 2] * A[2, 1])
                - A[0, 1] * (A[1, 0] * A[2, 2] - A[1, 2] * A[2, 0])
                + A[0, 2] * (A[1, 0] * A[2, 1] - A[1, 1] * A[2, 0])
            )
    return determinants


@kernel()
def assemble_stress(cells, gradients, volumes, stress, force):
    """Add Σ V P ∂N/∂X of stresses P (m, q, 3, 3) to force (n, 3)."""
    m, q, k, _ = gradients.shape
    for e in range(m):
        for p in range(q):
            for a in range(k):
                for i in range(3):
                    total = 0.0
                    for j in range(3):
                        total += stress[e, p, i, j] * gradients[e, p, a, j]
                    force[cells[e, a], i] += volumes[e, p] * total


@kernel()
def assemble_stiffness(gradients, volumes, tangent, offsets, strides, data):
    """Add Σ V ∂N/∂X · ∂P/∂F · ∂N/∂X of tangents (m, q, 3, 3, 3, 3) to a matrix."""
    m, q, k, _ = gradients.shape
    K = np.empty((k, k, 3, 3))
    half = np.empty((3, 3, 3))
    for e in range(m):
        K[:] = 0.0
        for p in range(q):
            g, A, v = gradients[e, p], tangent[e, p], volumes[e, p]
            for a in range(k):
                for i in range(3):
                    for s in range(3):
                        for t in range(3):
                            half[i, s, t] = v * (
                                A[i, 0, s, t] * g[a, 0] + A[i, 1, s, t] * g[a, 1] + A[i, 2, s, t] * g[a, 2]
                            )
                for b in range(a + 1):
                    for i in range(3):
                        for s in range(3):
                            K[a, b, i, s] += half[i, s, 0] * g[b, 0] + half[i, s, 1] * g[b, 1] + half[i, s, 2] * g[b, 2]
        scatter_blocks(K, offsets[e], strides[e], data)


@part()
def scatter_blocks(K, offsets, strides, data):
    """Add the blocks K[a, b], b ≤ a, of one cell to a matrix; `offsets`, `strides`: see `addresses` of the matrix."""
    block = 0
    for a in range(K.shape[0]):
        for b in range(a + 1):
            offset, stride = offsets[block], strides[block]
            block += 1
            if offset >= 0:
                for j in range(3):
                    for i in range(3):
                        data[offset + i + j * stride] += K[a, b, i, j]
            elif offset != DROPPED:
                for i in range(3):
                    for j in range(3):
                        data[TRANSPOSED - offset + j + i * stride] += K[a, b, i, j]
