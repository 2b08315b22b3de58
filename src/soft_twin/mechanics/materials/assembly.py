"""Kernels that add up the cells of a body, for any strain energy."""

import numpy as np

from soft_twin.linear_algebra.addresses import DROPPED, TRANSPOSED
from soft_twin.linear_algebra.blas import multiply
from soft_twin.linear_algebra.compiled import kernel, part

VECTOR = 4  # numbers that the processor takes at once, at the least
WORTH_BLAS = 200  # numbers in the gradients of a cell: with less, a call takes longer than it saves


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
    K, G, M = new_rows(k, q)
    for e in range(m):
        for p in range(q):
            g, A, v = gradients[e, p], tangent[e, p], volumes[e, p]
            fill_columns(g, p, G)
            for a in range(k):
                for i in range(3):
                    for s in range(3):
                        for t in range(3):
                            M[a, 3 * i + s, 3 * p + t] = v * (
                                A[i, 0, s, t] * g[a, 0] + A[i, 1, s, t] * g[a, 1] + A[i, 2, s, t] * g[a, 2]
                            )
        scatter_products(K, G, M, offsets[e], strides[e], data)


@part()
def new_rows(k, q):
    """For the blocks of a cell of k nodes and q points, b ≤ a: M (k, 9, 3 q), what a gradient becomes in a row of
    blocks; the gradients' columns G (3 q, w); and their products K (k, 9, w), with the entries of a row of blocks side
    by side, which the processor's vectors take. w is k, rounded up to whole vectors."""
    width = VECTOR * ((k + VECTOR - 1) // VECTOR)
    return np.empty((k, 9, width)), np.zeros((3 * q, width)), np.empty((k, 9, 3 * q))


@part()
def fill_columns(g, p, G):
    """The gradients (k, 3) of point p as columns."""
    for b in range(len(g)):
        for t in range(3):
            G[3 * p + t, b] = g[b, t]


@part(fastmath={"contract"})
def scatter_products(K, G, M, offsets, strides, data):
    """Add the blocks of one cell to a matrix; `offsets`, `strides`: see `addresses` of the matrix."""
    K[:] = 0.0
    if G.size < WORTH_BLAS:
        _take_products(K, G, M)
    else:
        _multiply_rows(K, G, M)
    k, block = len(K), 0
    for a in range(k):
        row = K[a]
        for b in range(a + 1):
            offset, stride = offsets[block], strides[block]
            block += 1
            if offset >= 0:
                for j in range(3):
                    for i in range(3):
                        data[offset + i + j * stride] -= row[3 * i + j, b]
            elif offset != DROPPED:
                for i in range(3):
                    for j in range(3):
                        data[TRANSPOSED - offset + j + i * stride] -= row[3 * i + j, b]


@part(fastmath={"contract"}, forceinline=True)
def _take_products(K, G, M):
    """K −= M G, up to the vector that the diagonal block is in."""
    for a in range(len(K)):
        for r in range(9):
            entry = K[a, r]
            for p in range(0, len(G), 3):
                m0, m1, m2 = M[a, r, p], M[a, r, p + 1], M[a, r, p + 2]
                for b in range(VECTOR * (a // VECTOR + 1)):
                    entry[b] -= m0 * G[p, b] + m1 * G[p + 1, b] + m2 * G[p + 2, b]


@part()
def _multiply_rows(K, G, M):
    """As `_take_products`, with BLAS, a vector's nodes at a time. A product is too small for it to start threads."""
    k, _, width = K.shape
    depth = len(G)
    for a in range(0, k, VECTOR):
        to, by = K.ctypes.data + 72 * a * width, M.ctypes.data + 72 * a * depth
        multiply(8, False, False, a + VECTOR, 9 * min(VECTOR, k - a), depth, G.ctypes.data, width, by, depth, to, width)


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
