"""Straight lines that meet the faces of a body: from points of an obstacle, or from its own nodes.

The straight line through a point p along the direction n meets the body's surface at p + g n: g is the gap, negative
where the point is behind it. On a face with nodes x_a,

    p + g n = X = Σ N_a(ξ) x_a,   ν = X_ξ × X_η,   G = ∂ξ/∂X = (n × X_η, X_ξ × n)ᵀ / (ν·n),
    ∂g/∂x_a = N_a ν / (ν·n),   ∂g/∂p = −ν / (ν·n),
    (ν·n) ∂²g/∂x_a∂x_b = N_b ν (Gᵀ N_a,ξ)ᵀ + N_a (Gᵀ N_b,ξ) νᵀ + N_a N_b Gᵀ (ν·X_ξξ) G,

so that what pushes acts along the face's normal, wherever n points.

At a fold that is drawn around a point, the body is what lies behind either of two faces: a point near it has a gap to
both, the faces being extended a little. Neither vanishes while the fold slides past the point.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.spatial import cKDTree

from soft_twin.mesh.faces import FaceShape

EXTENSION = 0.2  # of a face's height, beyond its edges
ON_EDGE = 1e-9  # in a face's coordinates
FLAT = 1e-6  # of a gap's reach: a fold that is no deeper is none
FACING = 0.4  # least cosine of the angle between a line and a face: at the corner of a box, faces that touch have 0.58
ITERATIONS = 12
SETTLED = 1e-10  # step in a face's coordinates
FURTHEST = 4.0  # in a face's coordinates


@dataclass(frozen=True)
class Met:
    """Where lines meet faces with k nodes, by the module's symbols.

    Attributes:
        points, faces: (m,) which point of the obstacle meets which face.
        gaps: (m,) g [m].
        places: (m, 2) ξ.
        values, gradients: N (m, k), N_ξ (m, k, 2).
        leaning: (m, 3) ν / (ν·n).
        G: (m, 2, 3).
    """

    points: np.ndarray
    faces: np.ndarray
    gaps: np.ndarray
    places: np.ndarray
    values: np.ndarray
    gradients: np.ndarray
    leaning: np.ndarray
    G: np.ndarray

    def take(self, chosen: np.ndarray) -> "Met":
        """Some of them, (m,) bool or indices."""
        return Met(*(array[chosen] for array in vars(self).values()))


class Faces:
    """Faces that lines may meet.

    Args:
        nodes: (f, k) of the faces, outward.
        reach: how far [m] from the faces points are looked for, on either side.
    """

    def __init__(self, nodes: np.ndarray, reach: float):
        self.nodes, self._reach = nodes, reach
        self._shape = FaceShape(nodes.shape[1])

    def balls(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres (f, 3) and radii (f,) of balls around extended faces with nodes at (f, k, 3)."""
        centres = np.einsum("k,fki->fi", self._shape.values(self._shape.middle[None])[0], corners)
        return centres, (1.0 + 2.0 * EXTENSION) * np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)

    def near(self, corners: np.ndarray, tree: cKDTree) -> tuple[np.ndarray, np.ndarray]:
        """Points of a tree, and faces, (q,) that may meet, of faces with nodes at (f, k, 3) in the tree's frame."""
        centres, radii = self.balls(corners)
        near = tree.query_ball_point(centres, radii + self._reach, return_sorted=True)
        counts = np.array([len(points) for points in near])
        return np.concatenate([*near, []]).astype(np.int64), np.repeat(np.arange(len(corners)), counts.astype(np.int64))

    def meet(
        self, corners: np.ndarray, points: np.ndarray, faces: np.ndarray, starts: np.ndarray, directions: np.ndarray
    ) -> tuple[Met, np.ndarray]:
        """Where lines from `starts` (q, 3) along unit `directions` (q, 3) meet faces, which (q,), of nodes at (f, k, 3)
        from the front, and how far outside of the faces (m,), see `FaceShape.outside`; `points` (q,) are told again."""
        places = np.tile(self._shape.middle, (len(points), 1))
        polynomials = self._shape.polynomials(corners)[faces]
        good = _pierce(self._shape.powers, polynomials, starts, directions, places)
        outside = self._shape.outside(places)
        good = np.flatnonzero(good & (outside <= EXTENSION))
        points, faces, starts, directions = points[good], faces[good], starts[good], directions[good]
        values, gradients, leaning, G = _local(self._shape, corners[faces], directions, places[good])
        gaps = np.einsum("mi,mi->m", np.einsum("mk,mki->mi", values, corners[faces]) - starts, leaning)
        return Met(points, faces, gaps, places[good], values, gradients, leaning, G), outside[good]

    def first(self, met: Met, outside: np.ndarray, fold: float = EXTENSION, beside: float = 0.0) -> Met:
        """Those within reach that are on the surface, as far as they lie `outside` (m,) of their faces: the nearest of
        each point, and what is behind it at a fold, no further outside of it than `fold`. Points that only extended
        faces are before count where these are nearer than `beside` [m]."""
        good = (np.abs(met.gaps) <= self._reach) & (np.einsum("mi,mi->m", met.leaning, met.leaning) < FACING**-2)
        met, outside = met.take(good), outside[good]
        extended = np.where(np.abs(met.gaps) < beside, 2.0 * self._reach, np.inf)
        sizes = np.abs(met.gaps) + np.where(outside <= ON_EDGE, 0.0, extended)
        order = np.lexsort((sizes, met.points))
        points, starts = np.unique(met.points[order], return_index=True)
        nearest = order[starts]
        surface = np.where(np.isfinite(sizes[nearest]), met.gaps[nearest], np.inf)
        chosen = (outside <= fold) & (met.gaps >= surface[np.searchsorted(points, met.points)] - FLAT * self._reach)
        chosen[nearest] |= np.isfinite(sizes[nearest])
        return met.take(chosen)

    def normals(self, corners: np.ndarray) -> np.ndarray:
        """(f, 3) outward in the middle of faces with nodes at (f, k, 3), as long as twice or four times their area."""
        first, second = np.einsum("ks,fki->sfi", self._shape.gradients(self._shape.middle[None])[0], corners)
        return np.cross(first, second)

    def curvature(self, met: Met, x: np.ndarray) -> np.ndarray:
        """∂²g/∂x² (m, k, k, 3, 3) by the nodes of the faces."""
        slid = met.gradients @ met.G
        turning = np.einsum("mb,mi,maj->mabij", met.values, met.leaning, slid)
        curls = np.einsum("mkst,mki,mi->mst", self._shape.bends(met.places), x[self.nodes[met.faces]], met.leaning)
        curved = np.einsum("msi,mst,mtj->mij", met.G, curls, met.G)
        both = met.values[:, :, None] * met.values[:, None]
        return turning + turning.transpose(0, 2, 1, 4, 3) + both[..., None, None] * curved[:, None, None]


@njit(cache=True, nogil=True)
def _pierce(powers, polynomials, starts, directions, places):
    """Move coordinates (q, 2) on faces, which are polynomials (q, k, 3) of them with `powers` (k, 2), to where lines
    through `starts` (q, 3) along `directions` (q, 3) meet the faces, by Newton's method; whether they do, from the
    front (q,)."""
    good = np.zeros(len(places), dtype=np.bool_)
    X, first, second = np.empty(3), np.empty(3), np.empty(3)
    for q in range(len(places)):
        n, place = directions[q], places[q]
        for _ in range(ITERATIONS):
            _evaluate(powers, polynomials[q], place[0], place[1], X, first, second)
            X -= starts[q]
            along = _triple(first, second, n)
            if along == 0.0:
                break
            steps = _triple(n, second, X) / along, _triple(first, n, X) / along
            place[0] = min(max(place[0] + steps[0], -FURTHEST), FURTHEST)
            place[1] = min(max(place[1] + steps[1], -FURTHEST), FURTHEST)
            if abs(steps[0]) + abs(steps[1]) <= SETTLED:
                good[q] = along < 0.0
                break
    return good


@njit(cache=True, nogil=True)
def _evaluate(powers, polynomial, u, v, X, first, second):
    """A polynomial (k, 3) with powers (k, 2) at (u, v), and its derivatives by u and v: (3,) each."""
    X[:], first[:], second[:] = 0.0, 0.0, 0.0
    for j in range(len(powers)):
        a, b = powers[j]
        by_u = a * u ** (a - 1) * v**b if a > 0 else 0.0
        by_v = b * u**a * v ** (b - 1) if b > 0 else 0.0
        value = u**a * v**b
        for i in range(3):
            X[i] += value * polynomial[j, i]
            first[i] += by_u * polynomial[j, i]
            second[i] += by_v * polynomial[j, i]


@njit(cache=True, nogil=True)
def _triple(a, b, c):
    """(a × b) · c"""
    return (a[1] * b[2] - a[2] * b[1]) * c[0] + (a[2] * b[0] - a[0] * b[2]) * c[1] + (a[0] * b[1] - a[1] * b[0]) * c[2]


def _local(shape: FaceShape, corners: np.ndarray, directions: np.ndarray, places: np.ndarray) -> tuple:
    """N (q, k), N_ξ (q, k, 2), ν / (ν·n) (q, 3) and G (q, 2, 3) at places (q, 2) of faces (q, k, 3)."""
    values, gradients = shape.values(places), shape.gradients(places)
    first, second = np.einsum("qks,qki->sqi", gradients, corners)
    normals = np.cross(first, second)
    along = np.einsum("qi,qi->q", normals, directions)[:, None]
    along = np.where(along == 0.0, np.inf, along)
    G = np.stack([np.cross(directions, second), np.cross(first, directions)], axis=1)
    return values, gradients, normals / along, G / along[:, :, None]
