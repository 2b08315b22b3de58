"""Cholesky factorisation of the matrices that slender bodies have: an envelope along the diagonal.

The unknowns are numbered along the body (Cuthill–McKee), the matrix is stored as a lower band and factorised in
panels of PANEL columns by scipy's BLAS; each panel reaches only as far down as the envelope does. In a column-major
band with b rows, the entry (i, j) stands at i + j (b − 1), so that any block inside the band is an ordinary matrix
of leading dimension b − 1; the band is PANEL wider than the envelope so that a panel is a full rectangle.
"""

from collections.abc import Callable

import numpy as np
from numba import njit
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from soft_twin.errors import ConvergenceError
from soft_twin.twin.blas import dgemm, dpotrf, dsyrk, dtrsm

PANEL = 24


def slender_order(cells: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Place (n,) of each free node in an order that keeps the matrix near its diagonal, −1 for the others.

    Args:
        cells: (m, k) nodes of each cell; the nodes of one cell are coupled.
        free: (n,) bool, nodes that are unknowns.
    """
    n, k = len(free), cells.shape[1]
    rows, columns = np.repeat(cells, k, axis=1).ravel(), np.tile(cells, (1, k)).ravel()
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
    keep = np.flatnonzero(free)
    order = keep[reverse_cuthill_mckee(graph[keep][:, keep].tocsr(), symmetric_mode=True)]
    place = np.full(n, -1)
    place[order] = np.arange(len(order))
    return place


class EnvelopeCholesky:
    """A symmetric positive definite matrix of 3 × 3 blocks, and its factor in the same memory.

    Attributes:
        size: number of unknowns.
        rows: (size, b), for kernels that assemble: the entry (i, j), i ≥ j, stands at rows[j, i − j].
        shift: what was added to the diagonal to make the last matrix positive definite.
    """

    def __init__(self, cells: np.ndarray, place: np.ndarray):
        """`cells`: (m, k) coupled nodes; `place`: (n,) from `slender_order`."""
        places = place[cells]
        blocks = int(place.max()) + 1
        last = places.max(axis=1)
        reach = np.arange(blocks)
        free = places >= 0
        np.maximum.at(reach, places[free], np.repeat(last, free.sum(axis=1)))
        reach = np.maximum.accumulate(reach)
        self.size = 3 * blocks
        ends = np.repeat(3 * reach + 3, 3)
        starts = np.arange(0, self.size, PANEL)
        self._ends = ends[np.minimum(starts + PANEL, self.size) - 1]
        width = max(int((self._ends - starts).max()), PANEL) + 1
        self.rows = np.zeros((self.size, width))
        self.shift = 0.0

    def factorise(self, assemble: Callable[[], object]) -> None:
        """Factorise `rows` as they are; where they are indefinite, `assemble` writes them anew and their diagonal is
        shifted, further and further.

        Raises:
            ConvergenceError: no finite shift helps: the matrix holds NaN or infinity.
        """
        self.shift = 0.0
        scale = float(np.abs(self.rows[:, 0]).mean())
        for exponent in range(-4, 5):
            if not np.isfinite(self.rows[:, 0].sum()):  # OpenBLAS factorises NaN without complaint
                break
            if _factorise(self.rows, self._ends) == 0:
                return
            self.shift = scale * 10.0**exponent
            assemble()
            self.rows[:, 0] += self.shift
        raise ConvergenceError("the stiffness matrix is not finite: the body is inverted or a load is not a number")

    def solve(self, right_hand_sides: np.ndarray) -> np.ndarray:
        """Solution of (n,) or (n, c) right-hand sides, with the last factorisation."""
        solution = np.array(right_hand_sides.reshape(self.size, -1), order="F")
        _solve(self.rows, self._ends, solution.T)
        return solution.reshape(right_hand_sides.shape)


@njit(cache=True, nogil=True)
def _factorise(rows, ends):
    n, b = rows.shape
    ld = b - 1
    base = rows.ctypes.data
    lower, right, transposed, no, unit = _letter("L"), _letter("R"), _letter("T"), _letter("N"), _letter("N")
    one, minus = np.array([1.0]), np.array([-1.0])
    width, below, leading = np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([ld], np.int32)
    info = np.zeros(1, np.int32)
    for panel in range(len(ends)):
        j = panel * PANEL
        width[0] = min(PANEL, n - j)
        below[0] = ends[panel] - j - width[0]
        diagonal = base + 8 * (j + j * ld)
        under = diagonal + 8 * width[0]
        dpotrf(lower.ctypes.data, width.ctypes.data, diagonal, leading.ctypes.data, info.ctypes.data)
        if info[0] != 0:
            return info[0] + j
        if below[0] == 0:
            continue
        dtrsm(
            right.ctypes.data, lower.ctypes.data, transposed.ctypes.data, unit.ctypes.data,
            below.ctypes.data, width.ctypes.data, one.ctypes.data,
            diagonal, leading.ctypes.data, under, leading.ctypes.data,
        )  # fmt: skip
        dsyrk(
            lower.ctypes.data, no.ctypes.data, below.ctypes.data, width.ctypes.data, minus.ctypes.data,
            under, leading.ctypes.data, one.ctypes.data, under + 8 * width[0] * ld, leading.ctypes.data,
        )  # fmt: skip
    return 0


@njit(cache=True, nogil=True)
def _solve(rows, ends, solution):
    """Solve L Lᵀ x = r in place; `solution` is the C-ordered transpose (c, n) of column-major right-hand sides."""
    n, b = rows.shape
    ld = b - 1
    count = np.array([solution.shape[0]], np.int32)
    base, target = rows.ctypes.data, solution.ctypes.data
    left, lower, transposed, no = _letter("L"), _letter("L"), _letter("T"), _letter("N")
    one, minus = np.array([1.0]), np.array([-1.0])
    width, below = np.zeros(1, np.int32), np.zeros(1, np.int32)
    leading, long = np.array([ld], np.int32), np.array([n], np.int32)
    for step in range(2 * len(ends)):
        forward = step < len(ends)
        panel = step if forward else 2 * len(ends) - 1 - step
        j = panel * PANEL
        width[0] = min(PANEL, n - j)
        below[0] = ends[panel] - j - width[0]
        diagonal = base + 8 * (j + j * ld)
        under = diagonal + 8 * width[0]
        here, next_ = target + 8 * j, target + 8 * (j + width[0])
        if not forward and below[0] > 0:
            dgemm(
                transposed.ctypes.data, no.ctypes.data, width.ctypes.data, count.ctypes.data, below.ctypes.data,
                minus.ctypes.data, under, leading.ctypes.data, next_, long.ctypes.data,
                one.ctypes.data, here, long.ctypes.data,
            )  # fmt: skip
        dtrsm(
            left.ctypes.data, lower.ctypes.data, no.ctypes.data if forward else transposed.ctypes.data, no.ctypes.data,
            width.ctypes.data, count.ctypes.data, one.ctypes.data,
            diagonal, leading.ctypes.data, here, long.ctypes.data,
        )  # fmt: skip
        if forward and below[0] > 0:
            dgemm(
                no.ctypes.data, no.ctypes.data, below.ctypes.data, count.ctypes.data, width.ctypes.data,
                minus.ctypes.data, under, leading.ctypes.data, here, long.ctypes.data,
                one.ctypes.data, next_, long.ctypes.data,
            )  # fmt: skip


@njit(cache=True, nogil=True)
def _letter(letter):
    return np.array([ord(letter)], np.uint8)
