"""From a triangle mesh to the unit square: cut where it is a tube, boundary onto the square, the inside between.

Floater, "Mean value coordinates" (2003): every inner point is the mean of its neighbours, with weights
(tan(α/2) + tan(β/2)) / |edge|, α and β being the angles beside the edge. They are positive, and the square is convex:
no triangle is turned over (Tutte).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.sparse.linalg import spsolve

from soft_twin.errors import MeshError

CORNER = np.radians(40.0)  # a boundary that turns by more has a corner there


@dataclass(frozen=True)
class Disc:
    """A surface with one boundary.

    Attributes:
        source: (p,) which point of the surface each point is; along a cut there are two of one.
        triangles: (t, 3) outward.
        boundary: (b,) points around it, counter-clockwise seen from outside.
        corners: (4,) places in `boundary` that become the corners (0, 0), (1, 0), (1, 1), (0, 1); the first is 0.
    """

    source: np.ndarray
    triangles: np.ndarray
    boundary: np.ndarray
    corners: np.ndarray


def opened(points: np.ndarray, triangles: np.ndarray) -> Disc:
    """A surface that is a disc, or a tube that is cut along the shortest way between its two boundaries.

    Corners are the four sharpest turns of the boundary, quarters of its length where there are none; of a tube they are
    the ends of the cut.

    Raises:
        MeshError: the surface is neither, and the message says what it is.
    """
    points, triangles = np.asarray(points, float), np.asarray(triangles)
    _check_connected(len(points), triangles)
    loops = boundary_loops(triangles)
    handles = 2 - len(loops) - _euler_characteristic(triangles)
    if handles != 0 or len(loops) not in (1, 2):
        kind = f"has {len(loops)} boundaries and {handles // 2} handles" if loops else "is closed"
        raise MeshError(f"the surface cannot be flattened: it {kind}, expected a disc or a tube")
    if len(loops) == 1:
        loop = loops[0]
        corners = _corners(points[loop])
        loop, corners = np.roll(loop, -corners[0]), corners - corners[0]
        return Disc(np.arange(len(points)), triangles, loop, corners)
    return _cut(points, triangles, loops)


def boundary_loops(triangles: np.ndarray) -> list[np.ndarray]:
    """The boundaries, longest first: numbers of points, counter-clockwise seen from outside.

    Raises:
        MeshError: edges of more than two triangles, triangles turned the other way round, or boundaries that touch.
    """
    half = np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    count = triangles.max() + 1
    keys, back = half @ [count, 1], half[:, ::-1] @ [count, 1]
    if len(np.unique(keys)) != len(keys):
        raise MeshError("the surface cannot be flattened: edges of more than two triangles, or triangles turned over")
    open_ = half[~np.isin(keys, back)]
    if len(np.unique(open_[:, 0])) != len(open_):
        raise MeshError("the surface cannot be flattened: its boundary touches itself")
    after, loops = dict(open_.tolist()), []
    while after:
        start = point = next(iter(after))
        loop = []
        while point in after:
            loop.append(point)
            point = after.pop(point)
        if point != start:
            raise MeshError("the surface cannot be flattened: its boundary is no loop")
        loops.append(np.array(loop))
    return sorted(loops, key=len, reverse=True)


def flattened(points: np.ndarray, disc: Disc) -> np.ndarray:
    """(p, 2) parameters u, v of a disc's points in the unit square.

    Args:
        points: (n, 3) of the surface [m], which `disc.source` numbers.
        disc: the surface, opened.

    Raises:
        MeshError: triangles without area, or a boundary without length.
    """
    x = np.asarray(points, float)[disc.source]
    uv = np.zeros((len(x), 2))
    uv[disc.boundary] = _on_square(x[disc.boundary], disc.corners)
    inner = np.ones(len(x), bool)
    inner[disc.boundary] = False
    weights = mean_value_weights(x, disc.triangles)
    if inner.any():
        rows = weights[inner]
        total = np.asarray(rows.sum(axis=1)).ravel()
        matrix = coo_matrix((total, (np.arange(inner.sum()),) * 2)).tocsc() - rows[:, inner].tocsc()
        uv[inner] = spsolve(matrix, rows[:, ~inner] @ uv[~inner]).reshape(-1, 2)
    area = _doubled_areas(uv, disc.triangles)
    if not (area > 0.0).all():
        raise MeshError(f"the surface cannot be flattened: {(area <= 0.0).sum()} of its triangles would have no area")
    return uv


def mean_value_weights(points: np.ndarray, triangles: np.ndarray) -> csr_matrix:
    """(n, n) weights of each point's neighbours [1/m].

    Raises:
        MeshError: triangles without area.
    """
    rows, columns, values = [], [], []
    for i in range(3):
        here, one, other = (triangles[:, (i + k) % 3] for k in range(3))
        a, b = points[one] - points[here], points[other] - points[here]
        lengths = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
        across = np.linalg.norm(np.cross(a, b), axis=1)
        if not (across > 1e-12 * lengths[0] * lengths[1]).all():
            raise MeshError("the surface cannot be flattened: it has triangles without area")
        half = (lengths[0] * lengths[1] - (a * b).sum(axis=1)) / across  # tan(α/2) = (1 − cos α) / sin α
        for neighbour, length in zip((one, other), lengths, strict=True):
            rows.append(here)
            columns.append(neighbour)
            values.append(half / length)
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return coo_matrix(entries, shape=(len(points),) * 2).tocsr()


def _cut(points: np.ndarray, triangles: np.ndarray, loops: list[np.ndarray]) -> Disc:
    path = _shortest_way(points, triangles, loops)
    left = _left_of(path, triangles)
    twin = np.full(len(points), -1)
    twin[path] = len(points) + np.arange(len(path))
    cut = triangles.copy()
    cut[left] = np.where(twin[cut[left]] >= 0, twin[cut[left]], cut[left])
    source = np.concatenate([np.arange(len(points)), path])
    (loop,) = boundary_loops(cut)
    ends = [path[0], path[-1], twin[path[-1]], twin[path[0]]]
    loop = np.roll(loop, -int(np.flatnonzero(loop == ends[0])[0]))
    places = np.sort([int(np.flatnonzero(loop == end)[0]) for end in ends])
    return Disc(source, cut, loop, places)


def _shortest_way(points: np.ndarray, triangles: np.ndarray, loops: list[np.ndarray]) -> np.ndarray:
    """Points from the first boundary to the second along edges, with only its ends on them."""
    edges = np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    graph = coo_matrix((lengths, edges.T), shape=(len(points),) * 2).tocsr()
    graph = graph.maximum(graph.T)
    distance, before, _ = dijkstra(graph, indices=loops[0], return_predecessors=True, min_only=True)
    point = int(loops[1][np.argmin(distance[loops[1]])])
    path = [point]
    while before[point] >= 0:
        point = int(before[point])
        path.append(point)
    return np.array(path[::-1])


def _left_of(path: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(t,) which triangles touch a way on its left: around each of its points, those between the way on and the way
    back, counter-clockwise."""
    left = np.zeros(len(triangles), bool)
    for k, point in enumerate(path):
        fan = {}
        for t in np.flatnonzero((triangles == point).any(axis=1)):
            i = int(np.flatnonzero(triangles[t] == point)[0])
            fan[int(triangles[t, (i + 1) % 3])] = t, int(triangles[t, (i + 2) % 3])
        ahead = int(path[k + 1]) if k + 1 < len(path) else None
        behind = int(path[k - 1]) if k else None
        if ahead is not None:  # from the way on round to the way back, or to the boundary
            at = ahead
            while at in fan and at != behind:
                t, at = fan.pop(at)
                left[t] = True
        else:  # at the far boundary: backwards from the way back
            ends = {end: (t, begin) for begin, (t, end) in fan.items()}
            at = behind
            while at in ends:
                t, at = ends.pop(at)
                left[t] = True
    return left


def _on_square(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(b, 2) of a boundary on the unit square, by its length between corners."""
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    uv, ends = np.empty((len(points), 2)), [*corners, len(points)]
    for side in range(4):
        places = np.arange(ends[side], ends[side + 1] + 1)
        x = points[places % len(points)]
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])[:, None]
        if not along[-1] > 0.0:
            raise MeshError("the surface cannot be flattened: a side of its boundary has no length")
        uv[places[:-1]] = square[side] + along[:-1] / along[-1] * (square[side + 1] - square[side])
    return uv


def _corners(points: np.ndarray) -> np.ndarray:
    """(4,) places of the sharpest turns of a loop, or of quarters of its length."""
    ahead = np.roll(points, -1, axis=0) - points
    length = np.linalg.norm(ahead, axis=1)
    along = ahead / np.maximum(length, np.finfo(float).tiny)[:, None]
    turns = np.arccos(np.clip((along * np.roll(along, 1, axis=0)).sum(axis=1), -1.0, 1.0))
    sharpest = np.sort(np.argsort(turns)[-4:])
    if turns[sharpest].min() > CORNER:
        return sharpest
    begin = np.concatenate([[0.0], np.cumsum(length)[:-1]])
    return np.searchsorted(begin, length.sum() * np.array([0.0, 0.25, 0.5, 0.75]))


def _euler_characteristic(triangles: np.ndarray) -> int:
    edges = np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    return len(np.unique(triangles)) - len(np.unique(edges, axis=0)) + len(triangles)


def _check_connected(count: int, triangles: np.ndarray) -> None:
    if triangles.ndim != 2 or triangles.shape[1] != 3 or not len(triangles):
        raise MeshError(f"the surface cannot be flattened: expected triangles (t, 3), found {triangles.shape}")
    links = coo_matrix(
        (np.ones(2 * len(triangles)), (triangles[:, [0, 0]].ravel(), triangles[:, 1:].ravel())), shape=(count,) * 2
    )
    parts = connected_components(links, directed=False)[0]
    if parts > 1:
        raise MeshError(
            f"the surface cannot be flattened: it falls into {parts} parts, or has points without triangles"
        )


def _doubled_areas(uv: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b = uv[triangles[:, 1]] - uv[triangles[:, 0]], uv[triangles[:, 2]] - uv[triangles[:, 0]]
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
