"""Whether triangles, as of an STL file, enclose a body: without holes, once each, and one body alone."""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from soft_twin.errors import MeshError

SAME = 1e-6  # of the surface's size: corners that are nearer to each other are one


def check_closed(points: np.ndarray, triangles: np.ndarray) -> None:
    """See that triangles (t, 3) of points (p, 3) enclose one body, with hollows or without.

    Raises:
        MeshError: there are none, some are there twice, an edge belongs to one alone, or there are bodies beside each
            other.
    """
    if len(triangles) == 0:
        raise MeshError("there are no triangles in it")
    triangles = _joined(points, triangles)
    doubled = len(triangles) - len(np.unique(np.sort(triangles, axis=1), axis=0))
    if doubled:
        raise MeshError(f"{doubled} of its triangles are there twice: remove what is double")
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    edges, counts = np.unique(sides, axis=0, return_counts=True)
    if len(single := edges[counts == 1]):
        x, y, z = points[single[0]].mean(axis=0)
        raise MeshError(
            f"its surface is not closed: {len(single)} edges have a triangle on one side alone, as near "
            f"({x:.4g}, {y:.4g}, {z:.4g}): fill what is missing"
        )
    bodies = _bodies(points, triangles)
    if bodies > 1:
        raise MeshError(f"it encloses {bodies} bodies beside each other: expected one, with hollows or without")


def _joined(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The triangles of other points, those at one place being one; without those that have no area then."""
    size = max(np.ptp(points, axis=0).max(), 1e-300)
    _, first, same = np.unique(np.round(points / (SAME * size)), axis=0, return_index=True, return_inverse=True)
    joined = first[same.ravel()][triangles]
    distinct = (joined != np.roll(joined, 1, axis=1)).all(axis=1)
    return joined[distinct]


def _bodies(points: np.ndarray, triangles: np.ndarray) -> int:
    """How many of the surfaces that hang together lie in the box of no other."""
    ends = triangles[:, [0, 1]].ravel(), triangles[:, [1, 2]].ravel()
    graph = coo_matrix((np.ones(len(ends[0])), ends), shape=2 * (len(points),))
    _, part = connected_components(graph, directed=False)
    shells = [points[triangles[part[triangles[:, 0]] == each]] for each in np.unique(part[triangles[:, 0]])]
    boxes = [(shell.min(axis=(0, 1)), shell.max(axis=(0, 1))) for shell in shells]
    return sum(
        not any(i != j and (other[0] <= box[0]).all() and (other[1] >= box[1]).all() for j, other in enumerate(boxes))
        for i, box in enumerate(boxes)
    )
