"""Substitution through a small triangle of a Cholesky factor, without BLAS.

Inlined into the substitutions of all kinds of matrices: calls would make them up to a third slower.
"""

from numba import njit


@njit(inline="always")
def solve_triangle(entries, corner, ld, x):
    """Overwrite x (k,) by L⁻¹ x, L the triangle at `corner` of columns in `entries`, `ld` from one to the next."""
    k = len(x)
    for j in range(k):
        column = entries[corner + j * ld : corner + j * ld + k]
        x[j] /= column[j]
        for i in range(j + 1, k):
            x[i] -= column[i] * x[j]


@njit(inline="always")
def solve_transposed_triangle(entries, corner, ld, x):
    """As `solve_triangle`, by L⁻ᵀ x."""
    k = len(x)
    for j in range(k - 1, -1, -1):
        column = entries[corner + j * ld : corner + j * ld + k]
        for i in range(j + 1, k):
            x[j] -= column[i] * x[i]
        x[j] /= column[j]
