"""Nested dissection: an order of a mesh's nodes in which a sparse Cholesky factorisation fills in little.

A piece of the mesh is cut by a thin layer of nodes into two that nothing couples, and so on (George 1973). The nodes
of a layer come after those of the two halves, so that eliminating one half never touches the other. Where to cut is
read from the distances, in edges and smoothed, from a few landmark nodes that are far from each other: they play the
part of coordinates, and follow bodies that twist. The layer is the smallest set of nodes that touches every edge
between the two sides (Kőnig's theorem). On blocks of cut cubes the factor costs as much as with METIS, on irregular
meshes half as much again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import dijkstra, maximum_bipartite_matching

LANDMARKS = 14
SMALLEST = 16  # nodes of a piece that is not cut any more
SHARES = np.array([0.38, 0.44, 0.5, 0.56, 0.62])  # of a piece that may lie before the cut
SMOOTHINGS = 4


@dataclass(frozen=True)
class Dissection:
    """The layers and the last pieces of a mesh, as a tree in postorder.

    Attributes:
        order: (n,) nodes in their new order.
        starts: (s + 1,) where each part of the order begins.
        parents: (s,) the layer that cut the piece in which a part lies, −1 for the last part.
    """

    order: np.ndarray
    starts: np.ndarray
    parents: np.ndarray


def coupled_nodes(groups: Iterable[np.ndarray], place: np.ndarray) -> csr_matrix:
    """The graph (b, b) of unknown nodes: entries where two nodes are in one group, the diagonal included.

    Args:
        groups: (m, k) arrays of nodes that are coupled with each other.
        place: (n,) place of each node among the unknown ones, −1 where it is none.
    """
    blocks = int(place.max()) + 1
    pairs = [(np.arange(blocks), np.arange(blocks))]
    for group in groups:
        places, k = place[group], group.shape[1]
        pairs.append((np.repeat(places, k, axis=1).ravel(), np.tile(places, (1, k)).ravel()))
    rows, columns = (np.concatenate(side) for side in zip(*pairs, strict=True))
    free = (rows >= 0) & (columns >= 0)
    rows, columns = rows[free], columns[free]
    graph = coo_matrix((np.ones(len(rows), np.int32), (rows, columns)), shape=(blocks, blocks)).tocsr()
    graph.data[:] = 1
    return graph


def dissect(graph: csr_matrix) -> Dissection:
    """Nested dissection of a graph (b, b) with a symmetric pattern."""
    distances = _smoothed(graph, landmark_distances(graph, min(LANDMARKS, graph.shape[0])))
    parts: list[np.ndarray] = []
    children: list[list[int]] = []

    def cut(piece: np.ndarray) -> int:
        """Append the parts of a piece; returns the last one's number."""
        halves = _halves(graph, distances, piece) if len(piece) > SMALLEST else None
        if halves is None:
            parts.append(piece)
            children.append([])
        else:
            one, other, layer = halves
            below = [cut(one), cut(other)]
            parts.append(layer)
            children.append(below)
        return len(parts) - 1

    cut(np.arange(graph.shape[0]))
    parents = np.full(len(parts), -1)
    for part, below in enumerate(children):
        parents[below] = part
    return Dissection(np.concatenate(parts), np.append(0, np.cumsum([len(part) for part in parts])), parents)


def landmark_distances(graph: csr_matrix, count: int) -> np.ndarray:
    """(count, b) distances in edges from nodes each of which is as far as can be from those before.

    What cannot be reached from a landmark counts as beyond all the rest.
    """
    distances = np.empty((count, graph.shape[0]), dtype=np.int64)
    nearest, landmark = np.full(graph.shape[0], np.inf), 0
    landmark = int(_distances(graph, landmark).argmax())
    for i in range(count):
        distance = _distances(graph, landmark)
        nearest = np.minimum(nearest, distance)
        reached = np.isfinite(distance)
        distances[i] = np.where(reached, distance, distance[reached].max() + 2)
        landmark = int(nearest.argmax())
    return distances


def _distances(graph: csr_matrix, start: int) -> np.ndarray:
    return dijkstra(graph, indices=start, unweighted=True)


def _smoothed(graph: csr_matrix, distances: np.ndarray) -> np.ndarray:
    """Distances (landmarks, b) averaged over neighbours again and again: cuts along them are less ragged."""
    fields, share = distances.T.astype(float), 1.0 / np.asarray(graph.sum(axis=1))
    for _ in range(SMOOTHINGS):
        fields = share * (graph @ fields)
    return np.ascontiguousarray(fields.T)


def _halves(graph: csr_matrix, distances: np.ndarray, piece: np.ndarray):
    """Two parts of a piece that nothing couples and the layer between them, or None where nothing lies beyond."""
    landmark, level = _best_cut(distances[:, piece])
    before = distances[landmark, piece] <= level
    near, far = piece[before], piece[~before]
    if len(far) == 0:
        return None
    crossing, near_ends, far_ends = _crossing_edges(graph, near, far)
    near_cover, far_cover = smallest_cover(crossing)
    layer = np.concatenate([near_ends[near_cover], far_ends[far_cover]])
    in_layer = np.zeros(graph.shape[0], dtype=bool)
    in_layer[layer] = True
    return near[~in_layer[near]], far[~in_layer[far]], layer


def _best_cut(distances: np.ndarray) -> tuple[int, float]:
    """Landmark and distance from it where a cut of the nodes of a piece (landmarks, nodes) seems smallest and most
    balanced, judged by the nodes within half an edge of it."""
    count = distances.shape[1]
    best, least = (0, np.inf), np.inf
    for landmark, ordered in enumerate(np.sort(distances, axis=1)):
        levels = ordered[(SHARES * count).astype(int)]
        before = np.searchsorted(ordered, levels, side="right")
        sizes = np.searchsorted(ordered, levels + 0.5, side="right") - np.searchsorted(ordered, levels - 0.5)
        costs = np.where(before < count, sizes * (1.0 + np.abs(2.0 * before / count - 1.0)), np.inf)
        cut = int(costs.argmin())
        if costs[cut] < least:
            best, least = (landmark, float(levels[cut])), costs[cut]
    return best


def _crossing_edges(graph: csr_matrix, near: np.ndarray, far: np.ndarray):
    """Edges between two sides as a bipartite graph (a, b), and the nodes (a,), (b,) at their ends."""
    is_far = np.zeros(graph.shape[0], dtype=bool)
    is_far[far] = True
    rows = graph[near]
    crosses = is_far[rows.indices]
    near_ends, row = np.unique(np.repeat(near, np.diff(rows.indptr))[crosses], return_inverse=True)
    far_ends, column = np.unique(rows.indices[crosses], return_inverse=True)
    shape = len(near_ends), len(far_ends)
    return csr_matrix((np.ones(len(row), np.int8), (row, column)), shape), near_ends, far_ends


def smallest_cover(edges: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """The fewest nodes that touch all edges of a bipartite graph (a, b): bool (a,) and (b,), by Kőnig's theorem from a
    largest matching: what alternating paths from unmatched rows reach is left, or taken, on the other side."""
    partner = maximum_bipartite_matching(edges, perm_type="column")
    row_of = np.full(edges.shape[1], -1)
    row_of[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    rows, columns = partner < 0, np.zeros(edges.shape[1], dtype=bool)
    front = np.flatnonzero(rows)
    while len(front):
        reached = np.unique(edges[front].indices)
        reached = reached[~columns[reached]]
        columns[reached] = True
        front = row_of[reached]  # all are matched, else the matching could be made larger
        front = front[~rows[front]]
        rows[front] = True
    return ~rows, columns
