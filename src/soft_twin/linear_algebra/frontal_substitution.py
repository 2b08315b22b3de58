"""Substitution through the fronts of a multifrontal factor (fronts.py), without BLAS."""

import numpy as np

from soft_twin.linear_algebra.compiled import kernel
from soft_twin.linear_algebra.frontal_layout import front_of
from soft_twin.linear_algebra.triangles import solve_transposed_triangle, solve_triangle

PANEL = 24  # columns whose triangle is solved at a time
STRIP = 512  # rows that stay in the cache while right-hand sides are taken in


@kernel()
def substitute_forward(fronts, panels, columns, first, last):
    """Overwrite what belongs to the fronts first … last in right-hand sides (c, n) by L⁻¹ of it; what is to be added
    behind these fronts, (c, n − end)."""
    count, n, end = columns.shape[0], columns.shape[1], 3 * fronts.starts[last]
    beyond = np.zeros((count, n - end), panels.dtype)
    values = np.empty((count, _tallest(fronts)), panels.dtype)
    for s in range(first, last):
        width, below, panel = front_of(fronts, s)
        start, height = 3 * fronts.starts[s], width + below
        for c in range(count):
            for i in range(width):
                values[c, i] = columns[c, start + i]
            for i in range(width, height):
                values[c, i] = 0.0
        for j in range(0, width, PANEL):
            k = min(PANEL, width - j)
            corner = panel + j * (height + 1)
            for c in range(count):
                solve_triangle(panels, corner, height, values[c, j : j + k])
            _take_columns(panels, corner + k, height, k, height - j - k, values, j)
        rows = fronts.rows[fronts.row_starts[s] : fronts.row_starts[s + 1]]
        inside = np.searchsorted(rows, fronts.starts[last])
        for c in range(count):
            for i in range(width):
                columns[c, start + i] = values[c, i]
            _add_blocks(values[c, width:height], rows[:inside], columns[c], 0)
            _add_blocks(values[c, width + 3 * inside : height], rows[inside:], beyond[c], end)
    return beyond


@kernel()
def add_beyond(fronts, s, beyond, columns):
    """Add what is behind a front's subtree, in the rows that the front reaches."""
    end = 3 * fronts.starts[s + 1]
    for c in range(len(columns)):
        for row in fronts.rows[fronts.row_starts[s] : fronts.row_starts[s + 1]]:
            for i in range(3):
                columns[c, 3 * row + i] += beyond[c, 3 * row - end + i]


@kernel()
def _add_blocks(values, rows, into, start):
    for a in range(len(rows)):
        for i in range(3):
            into[3 * rows[a] - start + i] += values[3 * a + i]


@kernel()
def substitute_back(fronts, panels, columns, first, last):
    """Overwrite what belongs to the fronts first … last in (c, n) by L⁻ᵀ of it, once that is done above them."""
    count = len(columns)
    values = np.empty((count, _tallest(fronts)), panels.dtype)
    for s in range(last - 1, first - 1, -1):
        width, below, panel = front_of(fronts, s)
        start, height = 3 * fronts.starts[s], width + below
        rows = fronts.rows[fronts.row_starts[s] : fronts.row_starts[s + 1]]
        for c in range(count):
            for i in range(width):
                values[c, i] = columns[c, start + i]
            for a in range(len(rows)):
                for i in range(3):
                    values[c, width + 3 * a + i] = columns[c, 3 * rows[a] + i]
        for j in range((width - 1) // PANEL * PANEL, -1, -PANEL):
            k = min(PANEL, width - j)
            corner = panel + j * (height + 1)
            _take_rows(panels, corner + k, height, k, height - j - k, values, j)
            for c in range(count):
                solve_transposed_triangle(panels, corner, height, values[c, j : j + k])
        for c in range(count):
            for i in range(width):
                columns[c, start + i] = values[c, i]


@kernel(error_model="numpy", fastmath={"contract"})
def _take_columns(panels, origin, ld, k, rows, values, first):
    """y −= A x in the values (c, …) of each right-hand side: x the k from `first` on, y the `rows` behind them, A at
    `origin`. BLAS would copy A before it multiplies with as few columns as there are here."""
    count, behind = len(values), first + k
    for top in range(0, rows, STRIP):
        end = min(top + STRIP, rows)
        for j in range(0, k - 3, 4):
            at = origin + j * ld
            A0, A1 = panels[at + top : at + end], panels[at + ld + top : at + ld + end]
            A2, A3 = panels[at + 2 * ld + top : at + 2 * ld + end], panels[at + 3 * ld + top : at + 3 * ld + end]
            for c in range(0, count - 1, 2):
                x0, x1, x2, x3 = _four(values[c], first + j)
                z0, z1, z2, z3 = _four(values[c + 1], first + j)
                y, w = values[c, behind + top : behind + end], values[c + 1, behind + top : behind + end]
                for i in range(end - top):
                    y[i] -= A0[i] * x0 + A1[i] * x1 + A2[i] * x2 + A3[i] * x3
                    w[i] -= A0[i] * z0 + A1[i] * z1 + A2[i] * z2 + A3[i] * z3
            if count % 2:
                x0, x1, x2, x3 = _four(values[count - 1], first + j)
                y = values[count - 1, behind + top : behind + end]
                for i in range(end - top):
                    y[i] -= A0[i] * x0 + A1[i] * x1 + A2[i] * x2 + A3[i] * x3
        for j in range(k - k % 4, k):
            A0 = panels[origin + j * ld + top : origin + j * ld + end]
            for c in range(count):
                x0, y = values[c, first + j], values[c, behind + top : behind + end]
                for i in range(end - top):
                    y[i] -= A0[i] * x0


@kernel()
def _four(values, first):
    return values[first], values[first + 1], values[first + 2], values[first + 3]


@kernel(error_model="numpy", fastmath={"contract", "reassoc"})
def _take_rows(panels, origin, ld, k, rows, values, first):
    """x −= Aᵀ y, as in `_take_columns`."""
    count, behind = len(values), first + k
    zero = panels.dtype.type(0.0)
    for top in range(0, rows, STRIP):
        end = min(top + STRIP, rows)
        for j in range(0, k - 3, 4):
            at = origin + j * ld
            A0, A1 = panels[at + top : at + end], panels[at + ld + top : at + ld + end]
            A2, A3 = panels[at + 2 * ld + top : at + 2 * ld + end], panels[at + 3 * ld + top : at + 3 * ld + end]
            for c in range(0, count - 1, 2):
                y, w = values[c, behind + top : behind + end], values[c + 1, behind + top : behind + end]
                x0, x1, x2, x3, z0, z1, z2, z3 = zero, zero, zero, zero, zero, zero, zero, zero
                for i in range(end - top):
                    x0 += A0[i] * y[i]
                    x1 += A1[i] * y[i]
                    x2 += A2[i] * y[i]
                    x3 += A3[i] * y[i]
                    z0 += A0[i] * w[i]
                    z1 += A1[i] * w[i]
                    z2 += A2[i] * w[i]
                    z3 += A3[i] * w[i]
                _subtract_four(values[c], first + j, x0, x1, x2, x3)
                _subtract_four(values[c + 1], first + j, z0, z1, z2, z3)
            if count % 2:
                y = values[count - 1, behind + top : behind + end]
                x0, x1, x2, x3 = zero, zero, zero, zero
                for i in range(end - top):
                    x0 += A0[i] * y[i]
                    x1 += A1[i] * y[i]
                    x2 += A2[i] * y[i]
                    x3 += A3[i] * y[i]
                _subtract_four(values[count - 1], first + j, x0, x1, x2, x3)
        for j in range(k - k % 4, k):
            A0 = panels[origin + j * ld + top : origin + j * ld + end]
            for c in range(count):
                y, x0 = values[c, behind + top : behind + end], zero
                for i in range(end - top):
                    x0 += A0[i] * y[i]
                values[c, first + j] -= x0


@kernel()
def _subtract_four(values, first, x0, x1, x2, x3):
    values[first] -= x0
    values[first + 1] -= x1
    values[first + 2] -= x2
    values[first + 3] -= x3


@kernel()
def _tallest(fronts):
    widths = fronts.starts[1:] - fronts.starts[:-1]
    return 3 * (widths + fronts.row_starts[1:] - fronts.row_starts[:-1]).max()
