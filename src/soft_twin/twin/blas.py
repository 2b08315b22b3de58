"""scipy's own BLAS and LAPACK for numba kernels, which can be cached: symbols are bound by name at load time.

Each routine is Fortran's, with every argument passed as an address (`array.ctypes.data`).
"""

import llvmlite.binding
import numpy as np
from numba import njit, types
from numba.extending import get_cython_function_address


def _routine(module: str, name: str, arguments: int):
    symbol = f"soft_twin_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{module}", name))
    return types.ExternalFunction(symbol, types.void(*[types.intp] * arguments))


dtrsm = _routine("cython_blas", "dtrsm", 11)
dsyrk = _routine("cython_blas", "dsyrk", 10)
dgemm = _routine("cython_blas", "dgemm", 13)
dpbtrf = _routine("cython_lapack", "dpbtrf", 6)
dpbtrs = _routine("cython_lapack", "dpbtrs", 9)

_LETTERS = np.frombuffer(b"LRTN", np.uint8)


@njit(cache=True, nogil=True)
def multiply(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc):
    """C −= op(A) op(B), column-major, C of m × n; matrices are addresses with leading dimensions."""
    sizes, factors, letters = np.array([m, n, k, lda, ldb, ldc], np.int32), np.array([-1.0, 1.0]), _LETTERS.ctypes.data
    at, factor = sizes.ctypes.data, factors.ctypes.data
    dgemm(
        letters + (2 if transpose_a else 3), letters + (2 if transpose_b else 3), at, at + 4, at + 8,
        factor, a, at + 12, b, at + 16, factor + 8, c, at + 20,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def rank_update(n, k, a, lda, c, ldc):
    """C −= A Aᵀ in the lower triangle of C (n × n), A of n × k."""
    sizes, factors, letters = np.array([n, k, lda, ldc], np.int32), np.array([-1.0, 1.0]), _LETTERS.ctypes.data
    at, factor = sizes.ctypes.data, factors.ctypes.data
    dsyrk(letters, letters + 3, at, at + 4, factor, a, at + 8, factor + 8, c, at + 12)


@njit(cache=True, nogil=True)
def solve_lower(transpose, n, columns, triangle, ldt, b, ldb):
    """B = op(L)⁻¹ B of a lower triangle L (n × n), B of n × columns."""
    sizes, factors, letters = np.array([n, columns, ldt, ldb], np.int32), np.array([1.0]), _LETTERS.ctypes.data
    at = sizes.ctypes.data
    dtrsm(
        letters, letters, letters + (2 if transpose else 3), letters + 3, at, at + 4,
        factors.ctypes.data, triangle, at + 8, b, at + 12,
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def factorise_columns(data, origin, ld, width, height):
    """Factorise the first columns (`width`) of a column-major matrix that starts at `origin`, down to row `height`;
    returns whether they are those of a definite matrix.

    For a few dozen columns this is faster than dpotrf and dtrsm: four at a time are taken from the next.
    """
    for c in range(width):
        column = data[origin + c * ld + c : origin + c * ld + height]
        rows = len(column)
        fours = c - c % 4
        for p in range(0, fours, 4):
            c0 = data[origin + p * ld + c : origin + p * ld + height]
            c1 = data[origin + (p + 1) * ld + c : origin + (p + 1) * ld + height]
            c2 = data[origin + (p + 2) * ld + c : origin + (p + 2) * ld + height]
            c3 = data[origin + (p + 3) * ld + c : origin + (p + 3) * ld + height]
            a0, a1, a2, a3 = c0[0], c1[0], c2[0], c3[0]
            for i in range(rows):
                column[i] -= a0 * c0[i] + a1 * c1[i] + a2 * c2[i] + a3 * c3[i]
        for p in range(fours, c):
            c0 = data[origin + p * ld + c : origin + p * ld + height]
            a0 = c0[0]
            for i in range(rows):
                column[i] -= a0 * c0[i]
        if not column[0] > 0.0:  # NaN too
            return False
        scale = 1.0 / np.sqrt(column[0])
        for i in range(rows):
            column[i] *= scale
    return True
