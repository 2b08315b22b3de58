"""The multifrontal method: a sparse Cholesky factorisation that is all dense linear algebra.

The unknowns are in the order of a nested dissection. The columns of one part of it, which all reach the same rows
further down, form a front (w own columns, r rows below), stored as one column-major panel of w + r rows, in which the
factor L takes the matrix's place:

    [ A₁₁  · ]        own block:    L₁₁ L₁₁ᵀ = A₁₁,   below: L₂₁ = A₂₁ L₁₁⁻ᵀ
    [ A₂₁  U ]        update of the parts further down:  U −= L₂₁ L₂₁ᵀ

U, full of the children's updates already, is added into the parent's front (Duff and Reid 1983). Everything in a
front is dense and goes through BLAS. Subtrees of the dissection are factorised by one thread each, what is above them
by all threads, each front in tiles.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from soft_twin.twin.blas import factorise_columns, multiply, rank_update, solve_lower_from_right
from soft_twin.twin.cholesky import one_blas_thread
from soft_twin.twin.dissection import Dissection
from soft_twin.twin.symmetric_blocks import SymmetricBlocks

PANEL = 24  # columns that the smallest kernel factorises
WIDE = 240  # columns after which the rest of a front that threads share is updated
STRIP = 512  # rows that stay in the cache while right-hand sides are taken in
TILE = 384  # columns of a front that a thread updates at a time
WORTH_THREADS = 3e8  # operations: smaller factorisations stay on one thread
WORTH_SHARING = 3e8  # operations of a front on which all threads work
SUBTREES = 4  # for each thread, at least: they differ in size


class Fronts(NamedTuple):
    """The fronts of s parts of a dissection in postorder, in blocks of three unknowns, for the kernels.

    Attributes:
        starts: (s + 1,) first own block of each front.
        row_starts: (s + 1,) where each front's rows begin in `rows` and `targets`.
        rows: blocks below the own ones that a front reaches, ascending.
        targets: where each of them stands in the parent's front.
        child_starts, children: the fronts whose updates a front takes in, as a compressed list.
        panels: (s + 1,) where each front's panel begins in the memory for panels.
        updates: (s,) where each front's update begins in the memory for updates.
        entry_starts: (n + 1,) where the blocks of each of n columns of the matrix begin.
        entries: (b,) row of each of them in its front.
    """

    starts: np.ndarray
    row_starts: np.ndarray
    rows: np.ndarray
    targets: np.ndarray
    child_starts: np.ndarray
    children: np.ndarray
    panels: np.ndarray
    updates: np.ndarray
    entry_starts: np.ndarray
    entries: np.ndarray


class FrontalFactor:
    """The factor of a matrix in the order of a dissection, in double or single precision.

    Attributes:
        operations: multiplications and additions of a factorisation.
        size: numbers in the factor.
    """

    def __init__(self, graph: csr_matrix, dissection: Dissection, matrix: SymmetricBlocks, threads: int | None = None):
        """Room for the factor of `matrix`, which has the pattern `graph`; `threads`: None for one a processor."""
        widths, heights, fronts = _fronts(graph, dissection, matrix)
        operations = widths * (widths**2 / 3 + heights * (widths + heights))
        self.operations, self.size = float(operations.sum()), int(fronts.panels[-1])
        self._threads = 1 if self.operations < WORTH_THREADS else threads or len(os.sched_getaffinity(0))
        self._shared = (operations > WORTH_SHARING) & (self._threads > 1)
        self._rounds = _rounds(dissection.parents, operations, self._threads)
        updates, stack, room = _update_places(dissection.parents, heights**2, self._rounds)
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
            beyond = self._each(lambda task: _substitute_forward(self._fronts, self._panels, columns, *task), tasks)
            for (_, last), rest in zip(tasks, beyond, strict=True):
                _add_beyond(self._fronts, last - 1, rest, columns)
        for tasks in reversed(self._rounds):
            self._each(lambda task: _substitute_back(self._fronts, self._panels, columns, *task), tasks)

    def _factorise_together(self, s: int, data: np.ndarray, updates: np.ndarray) -> bool:
        """Factorise one front by all threads; whether it went."""
        width, below, panel = _front(self._fronts, s)
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


def _ranges(start: int, end: int, length: int) -> list[tuple[int, int]]:
    return [(first, min(first + length, end)) for first in range(start, end, length)]


def _fronts(graph: csr_matrix, dissection: Dissection, matrix: SymmetricBlocks):
    """Widths and heights below (s,) of the fronts, in unknowns, and the fronts, without room for updates."""
    starts, parents = dissection.starts, dissection.parents
    count = len(parents)
    children = np.argsort(parents, kind="stable")[np.count_nonzero(parents < 0) :]
    child_starts = np.searchsorted(parents[children], np.arange(count + 1))
    rows: list[np.ndarray] = []
    for s in range(count):
        reached = [graph.indices[graph.indptr[starts[s]] : graph.indptr[starts[s + 1]]]]
        reached += [rows[child] for child in children[child_starts[s] : child_starts[s + 1]]]
        every = np.unique(np.concatenate(reached))
        rows.append(every[np.searchsorted(every, starts[s + 1]) :].astype(np.int64))
    row_starts = np.append(0, np.cumsum([len(below) for below in rows]))
    widths, heights = 3 * np.diff(starts), 3 * np.diff(row_starts)
    panels = np.append(0, np.cumsum(widths * (widths + heights)))
    targets = [_places(below, starts, rows, parent) for below, parent in zip(rows, parents, strict=True)]
    entries = [_places(matrix.rows[slice(*matrix.starts[starts[s : s + 2]])], starts, rows, s) for s in range(count)]
    fronts = Fronts(
        starts, row_starts, np.concatenate(rows), np.concatenate(targets), child_starts, children, panels, panels[:-1],
        matrix.starts, np.concatenate(entries),
    )  # fmt: skip
    return widths, heights, fronts


def _places(blocks: np.ndarray, starts: np.ndarray, rows: list[np.ndarray], s: int) -> np.ndarray:
    """Where blocks stand in a front that reaches them."""
    start, end = starts[s], starts[s + 1]
    return np.where(blocks < end, blocks - start, end - start + np.searchsorted(rows[s], blocks))


def _rounds(parents: np.ndarray, operations: np.ndarray, threads: int) -> list[list[tuple[int, int]]]:
    """Ranges of fronts that may be factorised at once, round after round: subtrees, then the layers above them.

    The largest subtree is taken apart until the largest is a small part of a thread's share.
    """
    count = len(parents)
    depths, firsts, below = np.zeros(count, dtype=int), np.arange(count), operations.astype(float)
    for s in range(count - 2, -1, -1):
        depths[s] = depths[parents[s]] + 1
    for s in range(count - 1):
        firsts[parents[s]] = min(firsts[parents[s]], firsts[s])
        below[parents[s]] += below[s]
    subtrees, above = [count - 1], []
    while threads > 1:
        largest = max(subtrees, key=lambda s: below[s])
        children = np.flatnonzero(parents == largest).tolist()
        if below[largest] < below[-1] / (SUBTREES * threads) or not children:
            break
        subtrees.remove(largest)
        subtrees += children
        above.append(largest)
    subtrees.sort(key=lambda s: -below[s])
    layers = [[(s, s + 1) for s in above if depths[s] == depth] for depth in sorted({*depths[above]}, reverse=True)]
    return [[(int(firsts[s]), s + 1) for s in subtrees], *layers]


def _update_places(parents: np.ndarray, sizes: np.ndarray, rounds) -> tuple[np.ndarray, int, int]:
    """Where the updates (s,) of the fronts begin, how much memory a thread needs for those inside of a subtree, and how
    much there must be for the others.

    Inside of a subtree they live on two stacks, those of fronts at even and at odd depths: a front's update can then be
    made before its children's are dropped. The others take the place of those that are used up.
    """
    places, stack = np.zeros(len(parents), dtype=np.int64), 0
    for first, last in rounds[0]:
        stack = max(stack, _stack_subtree(parents, sizes, first, last, places))
    round_of = {last - 1: index for index, tasks in enumerate(rounds) for _, last in tasks}
    room, alive = 0, []
    for index, tasks in enumerate(rounds):
        alive = [s for s in alive if round_of[parents[s]] >= index]
        for _, last in tasks:
            places[last - 1] = _first_gap(sizes[last - 1], sorted((places[s], places[s] + sizes[s]) for s in alive))
            room = max(room, int(places[last - 1] + sizes[last - 1]))
            alive.append(last - 1)
    return places, int(stack), room


def _first_gap(size: int, taken: list[tuple[int, int]]) -> int:
    """The first place where there is room between ascending ranges."""
    place = 0
    for start, end in taken:
        if start - place >= size:
            break
        place = end
    return place


@njit(cache=True)
def _stack_subtree(parents, sizes, first, last, places):
    """Fill `places` of the fronts of a subtree but for its root, last − 1; returns what both stacks take."""
    root = last - 1
    parity = np.zeros(last - first, np.int64)
    for s in range(root - 1, first - 1, -1):
        parity[s - first] = 1 - parity[parents[s] - first]
    children = np.zeros(last - first, np.int64)  # sum of the sizes of the children's updates
    tops, peaks = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for s in range(first, root):
        mine = parity[s - first]
        places[s] = tops[mine]
        tops[mine] += sizes[s]
        peaks[mine] = max(peaks[mine], tops[mine])
        tops[1 - mine] -= children[s - first]
        children[parents[s] - first] += sizes[s]
    for s in range(first, root):
        places[s] += parity[s - first] * peaks[0]
    return peaks[0] + peaks[1]


@njit(cache=True, nogil=True)
def _factorise(fronts, data, panels, stack, updates, first, last):
    """Factorise the fronts first … last, a subtree or one front above all of them, with the last one's update in
    `updates` and others' in `stack`; returns whether the matrix is definite."""
    taken = stack if last > first + 1 else updates
    for s in range(first, last):
        width, below, panel = _front(fronts, s)
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
def _front(fronts, s):
    """Width, height below, and where the panel of a front begins."""
    width = 3 * (fronts.starts[s + 1] - fronts.starts[s])
    return width, 3 * (fronts.row_starts[s + 1] - fronts.row_starts[s]), fronts.panels[s]


@njit(cache=True, nogil=True)
def _gather(fronts, s, data, panels, taken, updates, first, last):
    """Fill the block columns first … last of a front, those of its update being in `updates`, with the matrix's entries
    and the children's updates, which are in `taken`. What is above the diagonal blocks stays as it is."""
    width, below, panel = _front(fronts, s)
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
    width, below, panel = _front(fronts, s)
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


@njit(cache=True, nogil=True)
def _substitute_forward(fronts, panels, columns, first, last):
    """Overwrite what belongs to the fronts first … last in right-hand sides (c, n) by L⁻¹ of it; what is to be added
    behind these fronts, (c, n − end)."""
    count, n, end = columns.shape[0], columns.shape[1], 3 * fronts.starts[last]
    beyond = np.zeros((count, n - end), panels.dtype)
    values = np.empty((count, _tallest(fronts)), panels.dtype)
    for s in range(first, last):
        width, below, panel = _front(fronts, s)
        start, height = 3 * fronts.starts[s], width + below
        values[:, :width] = columns[:, start : start + width]
        values[:, width:height] = 0.0
        for j in range(0, width, PANEL):
            k = min(PANEL, width - j)
            corner = panel + j * (height + 1)
            _solve_triangle(panels, corner, height, k, values, j)
            _take_columns(panels, corner + k, height, k, height - j - k, values, j)
        columns[:, start : start + width] = values[:, :width]
        rows = fronts.rows[fronts.row_starts[s] : fronts.row_starts[s + 1]]
        inside = np.searchsorted(rows, fronts.starts[last])
        for c in range(count):
            _add_blocks(values[c, width:height], rows[:inside], columns[c], 0)
            _add_blocks(values[c, width + 3 * inside : height], rows[inside:], beyond[c], end)
    return beyond


@njit(cache=True, nogil=True)
def _add_beyond(fronts, s, beyond, columns):
    """Add what is behind a front's subtree, in the rows that the front reaches."""
    end = 3 * fronts.starts[s + 1]
    for c in range(len(columns)):
        for row in fronts.rows[fronts.row_starts[s] : fronts.row_starts[s + 1]]:
            for i in range(3):
                columns[c, 3 * row + i] += beyond[c, 3 * row - end + i]


@njit(cache=True, nogil=True)
def _add_blocks(values, rows, into, start):
    for a in range(len(rows)):
        for i in range(3):
            into[3 * rows[a] - start + i] += values[3 * a + i]


@njit(cache=True, nogil=True)
def _substitute_back(fronts, panels, columns, first, last):
    """Overwrite what belongs to the fronts first … last in (c, n) by L⁻ᵀ of it, once that is done above them."""
    count = len(columns)
    values = np.empty((count, _tallest(fronts)), panels.dtype)
    for s in range(last - 1, first - 1, -1):
        width, below, panel = _front(fronts, s)
        start, height = 3 * fronts.starts[s], width + below
        values[:, :width] = columns[:, start : start + width]
        rows = fronts.rows[fronts.row_starts[s] : fronts.row_starts[s + 1]]
        for c in range(count):
            for a in range(len(rows)):
                for i in range(3):
                    values[c, width + 3 * a + i] = columns[c, 3 * rows[a] + i]
        for j in range((width - 1) // PANEL * PANEL, -1, -PANEL):
            k = min(PANEL, width - j)
            corner = panel + j * (height + 1)
            _take_rows(panels, corner + k, height, k, height - j - k, values, j)
            _solve_transposed_triangle(panels, corner, height, k, values, j)
        columns[:, start : start + width] = values[:, :width]


@njit(cache=True, nogil=True)
def _solve_triangle(panels, corner, ld, k, values, first):
    """Overwrite k of the values (c, …), from `first` on, by L⁻¹ of them, L the triangle at `corner`."""
    for c in range(len(values)):
        x = values[c, first : first + k]
        for j in range(k):
            column = panels[corner + j * ld : corner + j * ld + k]
            x[j] /= column[j]
            for i in range(j + 1, k):
                x[i] -= column[i] * x[j]


@njit(cache=True, nogil=True)
def _solve_transposed_triangle(panels, corner, ld, k, values, first):
    """As `_solve_triangle`, by L⁻ᵀ of them."""
    for c in range(len(values)):
        x = values[c, first : first + k]
        for j in range(k - 1, -1, -1):
            column = panels[corner + j * ld : corner + j * ld + k]
            for i in range(j + 1, k):
                x[j] -= column[i] * x[i]
            x[j] /= column[j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
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


@njit(cache=True, nogil=True)
def _four(values, first):
    return values[first], values[first + 1], values[first + 2], values[first + 3]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
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


@njit(cache=True, nogil=True)
def _subtract_four(values, first, x0, x1, x2, x3):
    values[first] -= x0
    values[first + 1] -= x1
    values[first + 2] -= x2
    values[first + 3] -= x3


@njit(cache=True, nogil=True)
def _tallest(fronts):
    widths = fronts.starts[1:] - fronts.starts[:-1]
    return 3 * (widths + fronts.row_starts[1:] - fronts.row_starts[:-1]).max()
