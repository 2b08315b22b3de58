"""Sparse Cholesky factorisation of the matrices that compact bodies have, by the multifrontal method.

The unknowns are ordered by nested dissection. The columns of one part of the dissection, which all reach the same
rows further down, form a front (w own columns, r rows below), stored as one column-major panel of w + r rows, in
which the factor L takes the matrix's place:

    [ A₁₁  · ]        own block:    L₁₁ L₁₁ᵀ = A₁₁,   below: L₂₁ = A₂₁ L₁₁⁻ᵀ
    [ A₂₁  U ]        update of the parts further down:  U −= L₂₁ L₂₁ᵀ

U, full of the children's updates already, is added into the parent's front (Duff and Reid 1983). Everything in a
front is dense and goes through BLAS; halves of the dissection are factorised by threads.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from soft_twin.errors import InputError
from soft_twin.twin.blas import factorise_columns, multiply, rank_update, solve_lower
from soft_twin.twin.cholesky import Cholesky, one_blas_thread
from soft_twin.twin.dissection import Dissection, coupled_nodes, dissect
from soft_twin.twin.energies.assembly import DROPPED, TRANSPOSED
from soft_twin.twin.envelope import EnvelopeCholesky, envelope_operations

PANEL = 24  # columns that the smallest kernel factorises
WORTH_THREADS = 3e8  # operations: smaller factorisations stay on one thread
WORTH_DISSECTING = 3e8  # operations in an envelope: with less, fronts are no gain
WORTH_FRONTS = 0.75  # of the envelope's operations: fronts take longer for each


class Fronts(NamedTuple):
    """The fronts of s parts of a dissection in postorder, in blocks of three unknowns, for the kernels.

    Attributes:
        starts: (s + 1,) first own block of each front.
        row_starts: (s + 1,) where each front's rows begin in `rows` and `targets`.
        rows: blocks below the own ones that a front reaches, ascending.
        targets: where each of them stands in the parent's front.
        child_starts, children: the fronts whose updates a front takes in, as a compressed list.
        panels: (s + 1,) where each front's panel begins in the matrix's data.
        updates: (s,) where each front's update begins in the memory for updates.
    """

    starts: np.ndarray
    row_starts: np.ndarray
    rows: np.ndarray
    targets: np.ndarray
    child_starts: np.ndarray
    children: np.ndarray
    panels: np.ndarray
    updates: np.ndarray


def cholesky_for(groups: Sequence[np.ndarray], place: np.ndarray) -> Cholesky:
    """The matrix that is factorised fastest: an envelope for slender bodies, fronts for compact ones.

    Args:
        groups: (m, k) coupled nodes each.
        place: (n,) of each node among the unknown ones, from `slender_order`; −1 for others.
    """
    operations = envelope_operations(groups, place)
    if operations > WORTH_DISSECTING:
        sparse = SparseCholesky(groups, place)
        if sparse.operations < WORTH_FRONTS * operations:
            return sparse
    return EnvelopeCholesky(groups, place)


class SparseCholesky(Cholesky):
    """A matrix in the fronts of a nested dissection; see Cholesky.

    Unknowns are in the order of `place`; that of the dissection is its own business.

    Attributes:
        operations: multiplications and additions of a factorisation.
    """

    def __init__(self, groups: Sequence[np.ndarray], place: np.ndarray, threads: int | None = None):
        """A matrix that couples the nodes of each group with each other.

        Args:
            groups: (m, k) arrays of coupled nodes.
            place: (n,) place of each node among the blocks of unknowns, −1 where it is none.
            threads: how many factorise at once; None for as many as there are processors.
        """
        graph = coupled_nodes(groups, place)
        dissection = dissect(graph)
        self.size = 3 * graph.shape[0]
        self._place, self._order = place, dissection.order
        self._position = np.argsort(dissection.order)
        widths, heights, fronts = _fronts(graph, dissection)
        self.operations = float((widths * (widths**2 / 3 + heights * (widths + heights))).sum())
        self._threads = 1 if self.operations < WORTH_THREADS else threads or len(os.sched_getaffinity(0))
        self._rounds = _rounds(dissection.parents, self._threads)
        updates, room = _update_places(dissection.parents, heights**2, self._rounds)
        self._fronts = fronts._replace(updates=updates)
        self.data = np.zeros(fronts.panels[-1])
        self._updates = np.empty(room)
        keys = self._key(np.repeat(np.arange(len(widths)), np.diff(fronts.row_starts)), fronts.rows)
        self._keys = np.append(keys, np.iinfo(np.int64).max)
        blocks = np.arange(graph.shape[0])
        offsets, strides = self._blocks(self._position, self._position)
        self.diagonal_indices = (offsets[blocks, None] + np.arange(3) * (1 + strides[blocks, None])).ravel()

    def addresses(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As of Cholesky.

        Raises:
            InputError: two unknown nodes that are in no group with each other.
        """
        a, b = np.tril_indices(nodes.shape[1])
        places = self._place[nodes]
        unknown = (places[:, a] >= 0) & (places[:, b] >= 0)
        rows, columns = (np.where(unknown, self._position[places[:, side]], 0) for side in (a, b))
        offsets, strides = self._blocks(rows, columns)
        offsets = np.where(rows < columns, TRANSPOSED - offsets, offsets)
        return np.where(unknown, offsets, DROPPED), strides

    def solve(self, right_hand_sides: np.ndarray) -> np.ndarray:
        count = right_hand_sides.size // self.size
        blocks = right_hand_sides.reshape(self.size // 3, 3, count)
        columns = np.ascontiguousarray(blocks[self._order].transpose(2, 0, 1)).reshape(count, self.size)
        with one_blas_thread():
            _substitute_forward(self._fronts, self.data, columns)
            _substitute_back(self._fronts, self.data, columns)
        solution = columns.reshape(count, self.size // 3, 3)[:, self._position]
        return solution.transpose(1, 2, 0).reshape(right_hand_sides.shape)

    def _try(self, right_hand_sides: np.ndarray) -> np.ndarray | None:
        with one_blas_thread():
            definite = self._factorised()
        return self.solve(right_hand_sides) if definite else None

    def _factorised(self) -> bool:
        """Overwrite `data` by the factor; whether it went."""
        for tasks in self._rounds:
            if len(tasks) == 1 or self._threads == 1:
                done = [self._factorise_range(task) for task in tasks]
            else:
                done = list(_pool(self._threads).map(self._factorise_range, tasks))
            if not all(done):
                return False
        return True

    def _factorise_range(self, task: tuple[int, int]) -> bool:
        return _factorise(self._fronts, self.data, self._updates, *task)

    def _blocks(self, some: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Offsets and strides of the blocks between nodes at the given positions; the later one's are the rows."""
        fronts = self._fronts
        row, column = np.maximum(some, others), np.minimum(some, others)
        front = np.searchsorted(fronts.starts, column, side="right") - 1
        start, end = fronts.starts[front], fronts.starts[front + 1]
        found = np.searchsorted(self._keys, self._key(front, row))
        own = row < end
        if not (own | (self._keys[found] == self._key(front, row))).all():
            raise InputError("nodes: two of them are coupled in none of the groups that the matrix was made for")
        local = np.where(own, row - start, end - start + found - fronts.row_starts[front])
        heights = 3 * (end - start + fronts.row_starts[front + 1] - fronts.row_starts[front])
        return fronts.panels[front] + 3 * local + 3 * (column - start) * heights, heights

    def _key(self, front: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Numbers that rise with front and row, to search rows of many fronts at once."""
        return front * (self.size // 3) + row


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def _fronts(graph: csr_matrix, dissection: Dissection) -> tuple[np.ndarray, np.ndarray, Fronts]:
    """Widths and heights below (s,) of the fronts, in unknowns, and the fronts, without room for updates."""
    starts, parents = dissection.starts, dissection.parents
    count = len(parents)
    ordered = graph[dissection.order][:, dissection.order]
    children = np.argsort(parents, kind="stable")[np.count_nonzero(parents < 0) :]
    child_starts = np.searchsorted(parents[children], np.arange(count + 1))
    rows: list[np.ndarray] = []
    for s in range(count):
        reached = [ordered.indices[ordered.indptr[starts[s]] : ordered.indptr[starts[s + 1]]]]
        reached += [rows[child] for child in children[child_starts[s] : child_starts[s + 1]]]
        every = np.unique(np.concatenate(reached))
        rows.append(every[np.searchsorted(every, starts[s + 1]) :].astype(np.int64))
    row_starts = np.append(0, np.cumsum([len(below) for below in rows]))
    widths, heights = 3 * np.diff(starts), 3 * np.diff(row_starts)
    panels = np.append(0, np.cumsum(widths * (widths + heights)))
    targets = [_targets(below, starts, rows, parent) for below, parent in zip(rows, parents, strict=True)]
    fronts = Fronts(
        starts, row_starts, np.concatenate(rows), np.concatenate(targets), child_starts, children, panels, panels[:-1]
    )
    return widths, heights, fronts


def _targets(below: np.ndarray, starts: np.ndarray, rows: list[np.ndarray], parent: int) -> np.ndarray:
    """Where the rows of a front stand in its parent's."""
    start, end = starts[parent], starts[parent + 1]
    return np.where(below < end, below - start, end - start + np.searchsorted(rows[parent], below))


def _rounds(parents: np.ndarray, threads: int) -> list[list[tuple[int, int]]]:
    """Ranges of fronts that may be factorised at once, round after round: subtrees, then the layers between them."""
    count = len(parents)
    depths, firsts = np.zeros(count, dtype=int), np.arange(count)
    for s in range(count - 2, -1, -1):
        depths[s] = depths[parents[s]] + 1
    for s in range(count - 1):
        firsts[parents[s]] = min(firsts[parents[s]], firsts[s])
    deepest = int(np.ceil(np.log2(2 * threads))) if threads > 1 else 0
    subtrees = [(int(firsts[s]), s + 1) for s in np.flatnonzero(depths == deepest)]
    return [subtrees] + [
        [(s, s + 1) for s in np.flatnonzero(depths == depth).tolist()] for depth in range(deepest - 1, -1, -1)
    ]


def _update_places(parents: np.ndarray, sizes: np.ndarray, rounds) -> tuple[np.ndarray, int]:
    """Where the updates (s,) of the fronts begin in their memory, and how much of it there must be.

    Within a subtree they live on two stacks, those of fronts at even and at odd depths: a front's update can then be
    made before its children's are dropped. The layers between subtrees keep theirs.
    """
    places = np.zeros(len(parents), dtype=np.int64)
    room = 0
    for first, last in rounds[0]:
        room = _stack_subtree(parents, sizes, first, last, room, places)
    for tasks in rounds[1:]:
        for s, _ in tasks:
            places[s] = room
            room += sizes[s]
    return places, int(room)


@njit(cache=True)
def _stack_subtree(parents, sizes, first, last, room, places):
    """Fill `places` of the fronts first … last; returns the first number behind both stacks."""
    parity = np.zeros(last - first, np.int64)
    for s in range(last - 2, first - 1, -1):
        parity[s - first] = 1 - parity[parents[s] - first]
    children = np.zeros((last - first), np.int64)  # sum of the sizes of the children's updates
    tops, peaks = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for s in range(first, last):
        mine = parity[s - first]
        places[s] = tops[mine]
        tops[mine] += sizes[s]
        peaks[mine] = max(peaks[mine], tops[mine])
        tops[1 - mine] -= children[s - first]
        if s < last - 1:
            children[parents[s] - first] += sizes[s]
    for s in range(first, last):
        places[s] += room + parity[s - first] * peaks[0]
    return room + peaks[0] + peaks[1]


@njit(cache=True, nogil=True)
def _factorise(fronts, data, updates, first, last):
    """Factorise the fronts first … last, children before parents; returns whether the matrix is definite."""
    for s in range(first, last):
        width, below, panel = _front(fronts, s)
        height = width + below
        update = updates[fronts.updates[s] : fronts.updates[s] + below * below]
        _clear_lower(update, below)
        for child in fronts.children[fronts.child_starts[s] : fronts.child_starts[s + 1]]:
            _take_in(fronts, child, updates, data, panel, width, height, update)
        if not _factorise_front(data, panel, width, height):
            return False
        if width > 0 and below > 0:
            under = data.ctypes.data + 8 * (panel + width)
            rank_update(below, width, under, height, update.ctypes.data, below)
    return True


@njit(cache=True, nogil=True)
def _front(fronts, s):
    """Width, height below, and where the panel of a front begins."""
    width = 3 * (fronts.starts[s + 1] - fronts.starts[s])
    return width, 3 * (fronts.row_starts[s + 1] - fronts.row_starts[s]), fronts.panels[s]


@njit(cache=True, nogil=True)
def _clear_lower(update, n):
    """Zero the blocks of the lower triangle of a column-major matrix (n, n)."""
    for j in range(n):
        update[j * n + j - j % 3 : (j + 1) * n] = 0.0


@njit(cache=True, nogil=True)
def _take_in(fronts, child, updates, data, panel, width, height, update):
    """Add a child's update into a front of `width` own columns: its panel, and its own update."""
    targets = fronts.targets[fronts.row_starts[child] : fronts.row_starts[child + 1]]
    n, count, below = 3 * len(targets), len(targets), height - width
    start = fronts.updates[child]
    for b in range(count):
        for c in range(3):
            column = updates[start + (3 * b + c) * n : start + (3 * b + c + 1) * n]
            at = 3 * targets[b] + c
            if at < width:
                into = data[panel + at * height : panel + (at + 1) * height]
                above = 0
            else:
                into = update[(at - width) * below : (at - width + 1) * below]
                above = width
            for a in range(b, count):
                to = 3 * targets[a] - above
                into[to] += column[3 * a]
                into[to + 1] += column[3 * a + 1]
                into[to + 2] += column[3 * a + 2]


@njit(cache=True, nogil=True)
def _factorise_front(data, panel, width, height):
    """Factorise the own columns of a front; returns whether it went.

    After q panels of PANEL columns, of which the lowest set bit is b, the last b update the next b: as the recursion
    that halves the columns would, so that most of the work is products of large matrices.
    """
    base = data.ctypes.data + 8 * panel
    for q in range(1, (width + PANEL - 1) // PANEL + 1):
        start, end = (q - 1) * PANEL, min(q * PANEL, width)
        if not factorise_columns(data, panel + start * (height + 1), height, end - start, height - start):
            return False
        if end < width:
            taken = PANEL * (q & -q)
            left = base + 8 * ((end - taken) * height + end)
            columns = min(taken, width - end)
            multiply(
                False,
                True,
                height - end,
                columns,
                taken,
                left,
                height,
                left,
                height,
                base + 8 * end * (height + 1),
                height,
            )
    return True


@njit(cache=True, nogil=True)
def _substitute_forward(fronts, data, columns):
    """Overwrite right-hand sides (c, n) by L⁻¹ of them."""
    count, n = columns.shape
    buffer = np.empty((count, _tallest(fronts)))
    for s in range(len(fronts.panels) - 1):
        width, below, panel = _front(fronts, s)
        if width == 0:
            continue
        matrix = data.ctypes.data + 8 * panel
        here = columns.ctypes.data + 24 * fronts.starts[s]
        solve_lower(False, width, count, matrix, width + below, here, n)
        rows = fronts.rows[fronts.row_starts[s] : fronts.row_starts[s + 1]]
        buffer[:, :below] = 0.0
        tall = buffer.shape[1]
        multiply(
            False, False, below, count, width, matrix + 8 * width, width + below, here, n, buffer.ctypes.data, tall
        )
        for c in range(count):
            for a in range(len(rows)):
                for i in range(3):
                    columns[c, 3 * rows[a] + i] += buffer[c, 3 * a + i]


@njit(cache=True, nogil=True)
def _substitute_back(fronts, data, columns):
    """Overwrite (c, n) by L⁻ᵀ of them."""
    count, n = columns.shape
    buffer = np.empty((count, _tallest(fronts)))
    tall = buffer.shape[1]
    for s in range(len(fronts.panels) - 2, -1, -1):
        width, below, panel = _front(fronts, s)
        if width == 0:
            continue
        rows = fronts.rows[fronts.row_starts[s] : fronts.row_starts[s + 1]]
        for c in range(count):
            for a in range(len(rows)):
                for i in range(3):
                    buffer[c, 3 * a + i] = columns[c, 3 * rows[a] + i]
        matrix = data.ctypes.data + 8 * panel
        here = columns.ctypes.data + 24 * fronts.starts[s]
        multiply(True, False, width, count, below, matrix + 8 * width, width + below, buffer.ctypes.data, tall, here, n)
        solve_lower(True, width, count, matrix, width + below, here, n)


@njit(cache=True, nogil=True)
def _tallest(fronts):
    return max(1, 3 * (fronts.row_starts[1:] - fronts.row_starts[:-1]).max())
