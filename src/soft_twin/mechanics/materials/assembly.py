"""Kernels that add up the cells of a body, for any strain energy."""

import numpy as np

from soft_twin.linear_algebra.addresses import DROPPED, TRANSPOSED
from soft_twin.linear_algebra.compiled import kernel, part

VECTOR = 4  # numbers that the processor takes at once, at the least


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


@kernel(fastmath={"contract"})
def assemble_stiffness(gradients, volumes, tangent, offsets, strides, data):
    """Add Σ V ∂N/∂X · ∂P/∂F · ∂N/∂X of tangents (m, q, 3, 3, 3, 3) to a matrix."""
    m, q, k, _ = gradients.shape
    K, G, M = new_rows(k)
    for e in range(m):
        K[:] = 0.0
        for p in range(q):
            g, A, v = gradients[e, p], tangent[e, p], volumes[e, p]
            fill_columns(g, G)
            for a in range(k):
                for i in range(3):
                    for s in range(3):
                        for t in range(3):
                            M[3 * i + s, t] = v * (
                                A[i, 0, s, t] * g[a, 0] + A[i, 1, s, t] * g[a, 1] + A[i, 2, s, t] * g[a, 2]
                            )
                add_products(a, M, G, K[a])
        scatter_rows(K, k, offsets[e], strides[e], data)


@part()
def new_rows(k):
    """For the blocks of a cell of k nodes, b ≤ a: K (k, 9, w) with the entries of a row of blocks side by side, which
    the processor's vectors take; the gradients' columns G (3, w) alike; and M (9, 3), what a gradient becomes in a row
    of blocks. w is k, rounded up to whole vectors."""
    width = VECTOR * ((k + VECTOR - 1) // VECTOR)
    return np.empty((k, 9, width)), np.zeros((3, width)), np.empty((9, 3))


@part()
def fill_columns(g, G):
    """The gradients (k, 3) of a point as columns."""
    for b in range(len(g)):
        for t in range(3):
            G[t, b] = g[b, t]


@part(fastmath={"contract"}, forceinline=True)
def add_products(a, M, G, row):
    """Add M g of all gradients to a's row of blocks (9, w), up to that of a and what is in the vector with it."""
    for r in range(9):
        m0, m1, m2, entry = M[r, 0], M[r, 1], M[r, 2], row[r]
        for b in range(VECTOR * (a // VECTOR + 1)):
            entry[b] += m0 * G[0, b] + m1 * G[1, b] + m2 * G[2, b]


@part()
def scatter_rows(K, k, offsets, strides, data):
    """Add rows of blocks (k, 9, w) of one cell to a matrix; `offsets`, `strides`: see `addresses` of the matrix."""
    block = 0
    for a in range(k):
        row = K[a]
        for b in range(a + 1):
            offset, stride = offsets[block], strides[block]
            block += 1
            if offset >= 0:
                for j in range(3):
                    for i in range(3):
                        data[offset + i + j * stride] += row[3 * i + j, b]
            elif offset != DROPPED:
                for i in range(3):
                    for j in range(3):
                        data[TRANSPOSED - offset + j + i * stride] += row[3 * i + j, b]


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
