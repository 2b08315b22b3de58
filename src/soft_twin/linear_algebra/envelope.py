"""Cholesky factorisation of the matrices that slender bodies have: an envelope along the diagonal.

The unknowns are numbered along the body (Cuthill–McKee or layer by layer, smoothed), the matrix is stored as a lower
band and factorised in panels of PANEL columns; each panel reaches only as far down as the envelope does. In a
column-major band with b rows, the entry (i, j) stands at i + j (b − 1), so that any block inside the band is an
ordinary matrix of leading dimension b − 1 for BLAS; the band is PANEL wider than the envelope so that a panel is a full
rectangle.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from soft_twin.errors import InputError
from soft_twin.linear_algebra.addresses import DROPPED, TRANSPOSED
from soft_twin.linear_algebra.blas import factorise_columns, multiply, rank_update, solve_lower
from soft_twin.linear_algebra.cholesky import UNCOUPLED, Cholesky, has_wide_vectors, one_blas_thread
from soft_twin.linear_algebra.compiled import kernel, part
from soft_twin.linear_algebra.envelope_substitution import substitute

PANEL = 24
SMOOTHINGS = 20
WORTH_LAYERS = 0.98  # of the cost: with more, the envelope is less even, and takes more memory
SAME_LAYER = 1e-6  # of the body's size: nodes that are nearer to each other along an axis are in one layer


def slender_order(groups: Sequence[np.ndarray], free: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Place (n,) of each free node in an order that keeps the matrix near its diagonal, −1 for the others.

    Args:
        groups: arrays (m, k) of nodes that are coupled, such as a mesh's cells.
        free: (n,) bool, nodes that are unknowns.
        points: (n, 3) where the nodes are: those of a regular mesh are best taken layer by layer.
    """
    keep = np.flatnonzero(free)
    coupled = coupling_graph(groups, len(free))[keep][:, keep]
    order = _smoothed(coupled, reverse_cuthill_mckee(coupled, symmetric_mode=True))
    layers = _smoothed(coupled, _in_layers(coupled, points[keep]))
    if _cost_of(coupled, layers) < WORTH_LAYERS * _cost_of(coupled, order):
        order = layers
    place = np.full(len(free), -1)
    place[keep[order]] = np.arange(len(order))
    return place


def _in_layers(coupled: csr_matrix, points: np.ndarray) -> np.ndarray:
    """The cheapest order (n,) of those by one coordinate, then by another, then by the third."""
    rounded = np.round(points / (SAME_LAYER * np.ptp(points, axis=0).max(initial=1e-300)))
    orders = [np.lexsort(rounded.T[list(axes)]) for axes in permutations(range(3))]
    return min(orders, key=lambda order: _cost_of(coupled, order))


def coupling_graph(groups: Sequence[np.ndarray], count: int) -> csr_matrix:
    """(count, count) ones where two nodes are coupled, on the diagonal too."""
    rows = np.concatenate([np.repeat(nodes, nodes.shape[1], axis=1).ravel() for nodes in groups])
    columns = np.concatenate([np.tile(nodes, (1, nodes.shape[1])).ravel() for nodes in groups])
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(count, count)).tocsr()
    graph.data[:] = 1.0
    return graph


def _smoothed(coupled: csr_matrix, order: np.ndarray) -> np.ndarray:
    """The order (n,) with the cheapest envelope among those that come from moving each node to the mean place of
    those it is coupled with, again and again: Cuthill–McKee's levels are ragged where cells have mid-side nodes."""
    neighbours = np.asarray(coupled.sum(axis=1)).ravel()
    best, least = order, np.inf
    for _ in range(SMOOTHINGS):
        cost = _cost_of(coupled, order)
        if cost < least:
            best, least = order, cost
        order = np.argsort((coupled @ np.argsort(order)) / neighbours, kind="stable")
    return best


def _cost_of(coupled: csr_matrix, order: np.ndarray) -> float:
    """What a factorisation costs, up to a factor: the sum of the envelope's squared heights."""
    place = np.argsort(order)
    last = np.maximum.reduceat(place[coupled.indices], coupled.indptr[:-1])
    reach = np.maximum.accumulate(last[np.argsort(place)])
    return float(((reach - np.arange(len(place))) ** 2.0).sum())


def panel_ends(groups: Sequence[np.ndarray], place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First column of each panel, and the row behind the last that it reaches.

    Args:
        groups: (m, k) coupled nodes each.
        place: (n,) of each node among the unknown ones, −1 for others.
    """
    blocks = int(place.max()) + 1
    reach = np.arange(blocks)
    for nodes in groups:
        places = place[nodes]
        free = places >= 0
        np.maximum.at(reach, places[free], np.repeat(places.max(axis=1), free.sum(axis=1)))
    ends = np.repeat(3 * np.maximum.accumulate(reach) + 3, 3)
    starts = np.arange(0, 3 * blocks, PANEL)
    return starts, ends[np.minimum(starts + PANEL, 3 * blocks) - 1]


def envelope_operations(groups: Sequence[np.ndarray], place: np.ndarray) -> float:
    """Multiplications and additions that a factorisation in the envelope takes; arguments as of `panel_ends`."""
    starts, ends = panel_ends(groups, place)
    return float(PANEL * ((ends - starts) ** 2.0).sum())


class EnvelopeCholesky(Cholesky):
    """A matrix in the envelope along its diagonal; see Cholesky."""

    def __init__(self, groups: Sequence[np.ndarray], place: np.ndarray):
        """`groups`: (m, k) coupled nodes each; `place`: (n,) of each node among the unknown ones, −1 for others."""
        self.place = place
        starts, self._ends = panel_ends(groups, place)
        self.size = 3 * (int(place.max()) + 1)
        # What is above the diagonal lands beyond a panel's end.
        width = max(int((self._ends - starts).max()), PANEL) + 2
        self._rows = np.zeros((self.size, width))
        self.data = self._rows.reshape(-1)
        self._band = self.data, width, self._ends
        self.diagonal_indices = width * np.arange(self.size)

    def addresses(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        row, column = np.tril_indices(nodes.shape[1])
        places = self._places(nodes)
        rows, columns = places[:, row], places[:, column]
        low, high = np.minimum(rows, columns), np.maximum(rows, columns)
        if (3 * high >= self._ends[3 * low // PANEL])[low >= 0].any():
            raise InputError(UNCOUPLED)
        width = self._rows.shape[1]
        offsets = 3 * low * width + 3 * (high - low)
        offsets = np.where(low < 0, DROPPED, np.where(rows < columns, TRANSPOSED - offsets, offsets))
        return np.ascontiguousarray(offsets), np.full(offsets.shape, width - 1)

    def solve(self, right_hand_sides: np.ndarray) -> np.ndarray:
        solution = self._columns(right_hand_sides)
        if len(solution) == 1:
            substitute(self._rows, self._ends, PANEL, solution[0])
            return solution.reshape(right_hand_sides.shape)
        with one_blas_thread():
            _substitute_forward(*self._band, solution)
            _substitute_back(*self._band, solution)
        return solution.T.reshape(right_hand_sides.shape)

    def _try(self, right_hand_sides: np.ndarray) -> np.ndarray | None:
        """As of Cholesky, with the forward substitution done while each panel is in the cache."""
        solution = self._columns(right_hand_sides)
        with one_blas_thread():
            if not _factorise(*self._band, solution, has_wide_vectors()):
                return None
            _substitute_back(*self._band, solution)
        return solution.T.reshape(right_hand_sides.shape)

    def _columns(self, right_hand_sides: np.ndarray) -> np.ndarray:
        """A copy (c, n) with each right-hand side in one piece of memory."""
        return np.array(right_hand_sides.reshape(self.size, -1).T, order="C")


@kernel()
def _factorise(band, b, ends, solution, in_strips):
    """Overwrite a band of b rows by the factor L and `solution` (c, n) by L⁻¹ of it; returns whether the matrix is
    definite. `in_strips`: update a panel's width of columns at a time."""
    ld, base = b - 1, band.ctypes.data
    for panel in range(len(ends)):
        j, width, below = _panel(panel, ends, solution.shape[1])
        if not factorise_columns(band, j * b, ld, width, width + below):
            return False
        _eliminate(base, b, j, width, below, solution)
        under = base + 8 * (j * b + width)
        if in_strips:
            _update_in_strips(below, width, under, ld)
        else:
            rank_update(8, below, width, under, ld, under + 8 * width * ld, ld)
    return True


@part()
def _update_in_strips(below, width, under, ld):
    """As a rank update of what is behind a panel, by products alone: what they write above the diagonal of a strip is
    where nothing of the column before it is."""
    behind = under + 8 * width * ld
    for c in range(0, below, PANEL):
        rows = under + 8 * c
        multiply(
            8, False, True, below - c, min(PANEL, below - c), width, rows, ld, rows, ld, behind + 8 * c * (ld + 1), ld
        )


@part()
def _panel(panel, ends, n):
    """First column, width, and rows below the diagonal block."""
    j = panel * PANEL
    width = min(PANEL, n - j)
    return j, width, ends[panel] - j - width


@part()
def _eliminate(base, b, j, width, below, solution):
    """Forward substitution of (c, n) right-hand sides through one panel of the factor."""
    count, n = solution.shape
    diagonal, here = base + 8 * j * b, solution.ctypes.data + 8 * j
    solve_lower(8, False, width, count, diagonal, b - 1, here, n)
    multiply(8, False, False, below, count, width, diagonal + 8 * width, b - 1, here, n, here + 8 * width, n)


@kernel()
def _substitute_forward(band, b, ends, solution):
    for panel in range(len(ends)):
        j, width, below = _panel(panel, ends, solution.shape[1])
        _eliminate(band.ctypes.data, b, j, width, below, solution)


@kernel()
def _substitute_back(band, b, ends, solution):
    """Solve Lᵀ x = y in place; `solution` is the C-ordered transpose (c, n) of column-major right-hand sides."""
    count, n = solution.shape
    ld = b - 1
    for panel in range(len(ends) - 1, -1, -1):
        j, width, below = _panel(panel, ends, n)
        diagonal, here = band.ctypes.data + 8 * j * b, solution.ctypes.data + 8 * j
        multiply(8, True, False, width, count, below, diagonal + 8 * width, ld, here + 8 * width, n, here, n)
        solve_lower(8, True, width, count, diagonal, ld, here, n)
