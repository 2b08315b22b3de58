"""A symmetric sparse matrix of 3 × 3 blocks: the lower triangle, column after column."""

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix, triu

from soft_twin.errors import InputError
from soft_twin.linear_algebra.cholesky import UNCOUPLED


class SymmetricBlocks:
    """See the module's docstring. Diagonal blocks are whole, and the first of their columns.

    Attributes:
        starts: (n + 1,) where each column's blocks begin.
        rows: (b,) of the blocks, ascending in each column.
        data: (9 b,) the blocks, each column-major.
    """

    def __init__(self, graph: csr_matrix):
        """`graph`: (n, n) with a symmetric pattern, the diagonal included."""
        upper = triu(graph, format="csr")
        upper.sort_indices()
        self.starts, self.rows = upper.indptr.astype(np.int64), upper.indices.astype(np.int64)
        self.data = np.zeros(9 * len(self.rows))
        columns = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        self._keys = np.append(columns * graph.shape[0] + self.rows, np.iinfo(np.int64).max)

    @property
    def diagonal_indices(self) -> np.ndarray:
        """(n, 3) of the diagonal's entries in `data`."""
        return 9 * self.starts[:-1, None] + np.array([0, 4, 8])

    def offsets(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Where blocks of the lower triangle begin in `data`.

        Raises:
            InputError: a block that the graph does not have.
        """
        keys = columns * (len(self.starts) - 1) + rows
        found = np.searchsorted(self._keys, keys)
        if not (self._keys[found] == keys).all():
            raise InputError(UNCOUPLED)
        return 9 * found

    def product(self, data: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The matrix of some data, such as its own, times vectors (c, 3 n)."""
        product = np.zeros_like(columns)
        _add_product(self.starts, self.rows, data, columns, product)
        return product


@njit(cache=True, nogil=True)
def _add_product(starts, rows, data, columns, product):
    for c in range(len(columns)):
        x, y = columns[c], product[c]
        for j in range(len(starts) - 1):
            x0, x1, x2 = x[3 * j], x[3 * j + 1], x[3 * j + 2]
            A = data[9 * starts[j] : 9 * starts[j] + 9]
            y0 = A[0] * x0 + A[1] * x1 + A[2] * x2
            y1 = A[1] * x0 + A[4] * x1 + A[5] * x2
            y2 = A[2] * x0 + A[5] * x1 + A[8] * x2
            for block in range(starts[j] + 1, starts[j + 1]):
                i = 3 * rows[block]
                A = data[9 * block : 9 * block + 9]
                y[i] += A[0] * x0 + A[3] * x1 + A[6] * x2
                y[i + 1] += A[1] * x0 + A[4] * x1 + A[7] * x2
                y[i + 2] += A[2] * x0 + A[5] * x1 + A[8] * x2
                u0, u1, u2 = x[i], x[i + 1], x[i + 2]
                y0 += A[0] * u0 + A[1] * u1 + A[2] * u2
                y1 += A[3] * u0 + A[4] * u1 + A[5] * u2
                y2 += A[6] * u0 + A[7] * u1 + A[8] * u2
            y[3 * j] += y0
            y[3 * j + 1] += y1
            y[3 * j + 2] += y2
