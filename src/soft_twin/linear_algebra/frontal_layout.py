"""Where the numbers of a multifrontal factor stand: the fronts of a nested dissection, and the order of the work."""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from soft_twin.linear_algebra.dissection import Dissection
from soft_twin.linear_algebra.symmetric_blocks import SymmetricBlocks

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


@njit(cache=True, nogil=True)
def front_of(fronts, s):
    """Width, height below, and where the panel of a front begins."""
    width = 3 * (fronts.starts[s + 1] - fronts.starts[s])
    return width, 3 * (fronts.row_starts[s + 1] - fronts.row_starts[s]), fronts.panels[s]


def lay_out(graph: csr_matrix, dissection: Dissection, matrix: SymmetricBlocks):
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


def rounds_of(parents: np.ndarray, operations: np.ndarray, threads: int) -> list[list[tuple[int, int]]]:
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


def update_places(parents: np.ndarray, sizes: np.ndarray, rounds) -> tuple[np.ndarray, int, int]:
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
