"""Substitution of a single right-hand side through the factor of an envelope, without BLAS.

What it takes is the factor's way from memory, twice. Eight columns at a time, the vector goes to the cache and back
an eighth as often; only their triangles are left to be solved number by number.
"""

from numba import njit

from soft_twin.linear_algebra.triangles import solve_transposed_triangle, solve_triangle

GROUP = 8  # columns


@njit(cache=True, nogil=True)
def substitute(rows, ends, panel, x):
    """Overwrite x (n,) by L⁻ᵀ L⁻¹ x; `rows`, `ends`: of an EnvelopeCholesky, its `panel` a multiple of GROUP."""
    n, b = rows.shape
    band = rows.reshape(-1)
    for j in range(0, n, GROUP):
        width = min(GROUP, n - j)
        solve_triangle(band, j * b, b - 1, x[j : j + width])
        if width == GROUP:  # below the last, narrower group there is nothing
            _take_columns(band, j * b + GROUP, b - 1, x[j : j + GROUP], x[j + GROUP : ends[j // panel]])
    for j in range((n - 1) // GROUP * GROUP, -1, -GROUP):
        width = min(GROUP, n - j)
        if width == GROUP:
            _take_rows(band, j * b + GROUP, b - 1, x[j : j + GROUP], x[j + GROUP : ends[j // panel]])
        solve_transposed_triangle(band, j * b, b - 1, x[j : j + width])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _take_columns(band, origin, ld, x, y):
    """y −= A x with eight columns A at `origin`."""
    A0, A1, A2, A3, A4, A5, A6, A7 = _columns(band, origin, ld, len(y))
    x0, x1, x2, x3, x4, x5, x6, x7 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    for i in range(len(y)):
        y[i] -= (
            (A0[i] * x0 + A1[i] * x1)
            + (A2[i] * x2 + A3[i] * x3)
            + (A4[i] * x4 + A5[i] * x5)
            + (A6[i] * x6 + A7[i] * x7)
        )


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _take_rows(band, origin, ld, x, y):
    """x −= Aᵀ y with eight columns A at `origin`."""
    A0, A1, A2, A3, A4, A5, A6, A7 = _columns(band, origin, ld, len(y))
    x0, x1, x2, x3, x4, x5, x6, x7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(y)):
        x0 += A0[i] * y[i]
        x1 += A1[i] * y[i]
        x2 += A2[i] * y[i]
        x3 += A3[i] * y[i]
        x4 += A4[i] * y[i]
        x5 += A5[i] * y[i]
        x6 += A6[i] * y[i]
        x7 += A7[i] * y[i]
    x[0] -= x0
    x[1] -= x1
    x[2] -= x2
    x[3] -= x3
    x[4] -= x4
    x[5] -= x5
    x[6] -= x6
    x[7] -= x7


@njit(inline="always")
def _columns(band, origin, ld, height):
    """Eight columns of a column-major matrix."""
    return (
        band[origin : origin + height],
        band[origin + ld : origin + ld + height],
        band[origin + 2 * ld : origin + 2 * ld + height],
        band[origin + 3 * ld : origin + 3 * ld + height],
        band[origin + 4 * ld : origin + 4 * ld + height],
        band[origin + 5 * ld : origin + 5 * ld + height],
        band[origin + 6 * ld : origin + 6 * ld + height],
        band[origin + 7 * ld : origin + 7 * ld + height],
    )
