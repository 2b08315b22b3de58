"""The multifrontal method: a sparse Cholesky factorisation that is all dense linear algebra.

The unknowns are in the order of a nested dissection. The columns of one part of it, which all reach the same rows
further down, form a front (w own columns, r rows below), stored as one column-major panel of w + r rows, in which the
factor L takes the matrix's place:

    [ A₁₁  · ]        own block:    L₁₁ L₁₁ᵀ = A₁₁,   below: L₂₁ = A₂₁ L₁₁⁻ᵀ
    [ A₂₁  U ]        update of the parts further down:  U −= L₂₁ L₂₁ᵀ

U, full of the children's updates already, is added into the parent's front (Duff and Reid 1983). Everything in a front
is dense and goes through BLAS. Where fronts and updates are is in frontal_layout.py, the substitution of right-hand
sides in frontal_substitution.py. Subtrees of the dissection are factorised by one thread each, what is above them by
all threads, each front in tiles.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from soft_twin.linear_algebra.blas import factorise_columns, multiply, rank_update, solve_lower_from_right
from soft_twin.linear_algebra.cholesky import one_blas_thread
from soft_twin.linear_algebra.dissection import Dissection
from soft_twin.linear_algebra.frontal_layout import front_of, lay_out, rounds_of, update_places
from soft_twin.linear_algebra.frontal_substitution import add_beyond, substitute_back, substitute_forward
from soft_twin.linear_algebra.symmetric_blocks import SymmetricBlocks

PANEL = 24  # columns that the smallest kernel factorises
WIDE = 240  # columns after which the rest of a front that threads share is updated
TILE = 384  # columns of a front that a thread updates at a time
WORTH_THREADS = 3e8  # operations: smaller factorisations stay on one thread
WORTH_SHARING = 3e8  # operations of a front on which all threads work


class FrontalFactor:
    """The factor of a matrix in the order of a dissection, in double or single precision.

    Attributes:
        operations: multiplications and additions of a factorisation.
        size: numbers in the factor.
    """

    def __init__(self, graph: csr_matrix, dissection: Dissection, matrix: SymmetricBlocks, threads: int | None = None):
        """Room for the factor of `matrix`, which has the pattern `graph`; `threads`: None for one a processor."""
        widths, heights, fronts = lay_out(graph, dissection, matrix)
        operations = widths * (widths**2 / 3 + heights * (widths + heights))
        self.operations, self.size = float(operations.sum()), int(fronts.panels[-1])
        self._threads = 1 if self.operations < WORTH_THREADS else threads or len(os.sched_getaffinity(0))
        self._shared = (operations > WORTH_SHARING) & (self._threads > 1)
        self._rounds = rounds_of(dissection.parents, operations, self._threads)
        updates, stack, room = update_places(dissection.parents, heights**2, self._rounds)
        self._fronts = fronts._replace(updates=updates)
        # In single precision the second half of each stays untouched, so that it takes no memory.
        self._memory = [np.empty(self.size), np.empty(room), *(np.empty(stack) for _ in range(self._threads))]
        self._panels = self._memory[0]

    @property
    def nbytes(self) -> int:
        """Memory of the last factor."""
        return self._panels.nbytes

    def factorise(self, data: np.ndarray, kind: type) -> bool:
        """Factorise the matrix's data in numbers of a kind, np.float64 or np.float32; whether it went."""
        self._panels, updates, *stacks = (memory.view(kind)[: len(memory)] for memory in self._memory)

        def alone(task: tuple[int, int]) -> bool:
            stack = stacks.pop()  # as many as there are threads
            definite = _factorise(self._fronts, data, self._panels, stack, updates, *task)
            stacks.append(stack)
            return definite

        with one_blas_thread():
            for tasks in self._rounds:
                together = [s for s, last in tasks if last == s + 1 and self._shared[s]]
                if not all(self._each(alone, [task for task in tasks if task[0] not in together])):
                    return False
                if not all(self._factorise_together(s, data, updates) for s in together):
                    return False
        return True

    def solve(self, columns: np.ndarray) -> None:
        """Overwrite right-hand sides (c, n), of the factor's kind, by the solutions."""
        for tasks in self._rounds:
            beyond = self._each(lambda task: substitute_forward(self._fronts, self._panels, columns, *task), tasks)
            for (_, last), rest in zip(tasks, beyond, strict=True):
                add_beyond(self._fronts, last - 1, rest, columns)
        for tasks in reversed(self._rounds):
            self._each(lambda task: substitute_back(self._fronts, self._panels, columns, *task), tasks)

    def _factorise_together(self, s: int, data: np.ndarray, updates: np.ndarray) -> bool:
        """Factorise one front by all threads; whether it went."""
        width, below, panel = front_of(self._fronts, s)
        height = width + below
        self._each(
            lambda part: _gather(self._fronts, s, data, self._panels, updates, updates, *part),
            _ranges(0, height // 3, -(-height // (12 * self._threads))),
        )
        for start in range(0, width, WIDE):
            end = min(start + WIDE, width)
            if not self._factorise_wide(panel, start, end, width, height):
                return False
        into = self._fronts.updates[s]
        self._each(
            lambda part: _update_tile(
                self._panels, panel + width + part[0], height, width, updates, into + part[0] * (below + 1), below,
                part[1] - part[0], below - part[0],
            ),
            _ranges(0, below, TILE),
        )  # fmt: skip
        return True

    def _factorise_wide(self, panel: int, start: int, end: int, width: int, height: int) -> bool:
        """Factorise some columns of a front and update the own ones behind them; whether it went."""
        corner, panels = panel + start * (height + 1), self._panels
        if not _factorise_front(panels, corner, end - start, end - start, height):
            return False
        share = -(-(height - end) // self._threads)
        self._each(
            lambda part: _solve_tile(panels, corner, height, end - start, panel + start * height + part[0], part),
            _ranges(end, height, max(share, 1)),
        )
        self._each(
            lambda part: _update_tile(
                panels, panel + start * height + part[0], height, end - start, panels,
                panel + part[0] * (height + 1), height, part[1] - part[0], height - part[0],
            ),
            _ranges(end, width, TILE),
        )  # fmt: skip
        return True

    def _each(self, function, tasks: list) -> list:
        """Results of all tasks, by as many threads as there are."""
        if self._threads == 1 or len(tasks) == 1:
            return [function(task) for task in tasks]
        return list(_pool(self._threads).map(function, tasks))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads


def _ranges(start: int, end: int, length: int) -> list[tuple[int, int]]:
    return [(first, min(first + length, end)) for first in range(start, end, length)]


@njit(cache=True, nogil=True)
def _factorise(fronts, data, panels, stack, updates, first, last):
    """Factorise the fronts first … last, a subtree or one front above all of them, with the last one's update in
    `updates` and others' in `stack`; returns whether the matrix is definite."""
    taken = stack if last > first + 1 else updates
    for s in range(first, last):
        width, below, panel = front_of(fronts, s)
        height = width + below
        own = updates if s == last - 1 else stack
        _gather(fronts, s, data, panels, taken, own, 0, height // 3)
        if not _factorise_front(panels, panel, width, height, height):
            return False
        if width > 0 and below > 0:
            item = panels.itemsize
            under, update = panels.ctypes.data + item * (panel + width), own.ctypes.data + item * fronts.updates[s]
            rank_update(item, below, width, under, height, update, below)
    return True


@njit(cache=True, nogil=True)
def _gather(fronts, s, data, panels, taken, updates, first, last):
    """Fill the block columns first … last of a front, those of its update being in `updates`, with the matrix's entries
    and the children's updates, which are in `taken`. What is above the diagonal blocks stays as it is."""
    width, below, panel = front_of(fronts, s)
    height, update = width + below, fronts.updates[s]
    for j in range(3 * first, 3 * last):
        if j < width:
            panels[panel + j * height + j - j % 3 : panel + (j + 1) * height] = 0.0
        else:
            start = update + (j - width) * below
            updates[start + j - j % 3 - width : start + below] = 0.0
    for j in range(first, min(last, width // 3)):
        column = fronts.starts[s] + j
        for entry in range(fronts.entry_starts[column], fronts.entry_starts[column + 1]):
            to = panel + 3 * j * height + 3 * fronts.entries[entry]
            for c in range(3):
                for i in range(3):
                    panels[to + c * height + i] = data[9 * entry + 3 * c + i]
    for child in fronts.children[fronts.child_starts[s] : fronts.child_starts[s + 1]]:
        _take_in(fronts, child, taken, s, panels, updates, first, last)


@njit(cache=True, nogil=True)
def _take_in(fronts, child, taken, s, panels, updates, first, last):
    """Add a child's update into the block columns first … last of a front."""
    width, below, panel = front_of(fronts, s)
    height, update = width + below, fronts.updates[s]
    targets = fronts.targets[fronts.row_starts[child] : fronts.row_starts[child + 1]]
    n, count, start = 3 * len(targets), len(targets), fronts.updates[child]
    for b in range(np.searchsorted(targets, first), np.searchsorted(targets, last)):
        for c in range(3):
            column = taken[start + (3 * b + c) * n : start + (3 * b + c + 1) * n]
            at = 3 * targets[b] + c
            if at < width:
                into = panels[panel + at * height : panel + (at + 1) * height]
                above = 0
            else:
                into = updates[update + (at - width) * below : update + (at - width + 1) * below]
                above = width
            for a in range(b, count):
                to = 3 * targets[a] - above
                into[to] += column[3 * a]
                into[to + 1] += column[3 * a + 1]
                into[to + 2] += column[3 * a + 2]


@njit(cache=True, nogil=True)
def _factorise_front(panels, origin, width, height, ld):
    """Factorise the first columns (`width`) of a matrix that starts at `origin`, down to row `height`; returns whether
    it went.

    After q panels of PANEL columns, of which the lowest set bit is b, the last b update the next b: as the recursion
    that halves the columns would, so that most of the work is products of large matrices.
    """
    item = panels.itemsize
    base = panels.ctypes.data + item * origin
    for q in range(1, (width + PANEL - 1) // PANEL + 1):
        start, end = (q - 1) * PANEL, min(q * PANEL, width)
        if not factorise_columns(panels, origin + start * (ld + 1), ld, end - start, height - start):
            return False
        if end < width:
            taken = PANEL * (q & -q)
            left, into = base + item * ((end - taken) * ld + end), base + item * end * (ld + 1)
            columns = min(taken, width - end)
            multiply(item, False, True, height - end, columns, taken, left, ld, left, ld, into, ld)
    return True


@njit(cache=True, nogil=True)
def _solve_tile(panels, corner, ld, width, origin, part):
    """Rows of a front, which start at `origin`, times L⁻ᵀ of the triangle at `corner`."""
    base, item = panels.ctypes.data, panels.itemsize
    solve_lower_from_right(item, part[1] - part[0], width, base + item * corner, ld, base + item * origin, ld)


@njit(cache=True, nogil=True)
def _update_tile(panels, left, lda, k, into, origin, ldc, columns, rows):
    """C −= A A₁ᵀ in the lower part of C (rows × columns) at `origin`, of A (rows × k) at `left`, A₁ its first rows."""
    item = panels.itemsize
    a, c = panels.ctypes.data + item * left, into.ctypes.data + item * origin
    rank_update(item, columns, k, a, lda, c, ldc)
    multiply(item, False, True, rows - columns, columns, k, a + item * columns, lda, a, lda, c + item * columns, ldc)
