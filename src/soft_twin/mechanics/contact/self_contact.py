"""Contact of a body with itself, without friction: stops between links, a finger that curls up, folds.

Faces have points, halfway between each of their nodes and the middle: on edges, where faces meet, what is before a
point would change with every step. A point has a row g ≥ 0: the gap along its face's normal to the face before it
(lines.py). Both move. Of two smooth sides of the surface that touch, the one of the smaller faces has the points; a
side that curls up to itself has both. What a face has behind it in the undeformed body is its own wall, and never
before it; neither are its neighbours.

The matrix has room for the curvature of rows between faces that are opposite each other in the undeformed body, and
those beside them; that of others is left out.

Points near each other share a force in many ways: each row gives way a little, a thousandth of what a cube of the body
as large as a face does.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from soft_twin.checks import checked_number
from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.body import Body, nodes_of
from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.contact.lines import EXTENSION, Faces, Met
from soft_twin.mechanics.unknowns import Coupling, Pose
from soft_twin.mesh.faces import FaceShape
from soft_twin.mesh.mesh import boundary_faces, surface_triangles

MARGIN = 0.005  # of the body's size: faces nearer than this have rows
BESIDE = 4.0  # margins: as near to a face's extension a point may be that is before no face
DEEP = 0.1  # of the body's size: as deep in it a point still has a row
OPPOSITE = 0.25  # of the body's size: within it faces of the undeformed body are opposite a point, or its wall
THINNEST = 1e-5  # of the body's size: no wall is thinner
INSIDE = 0.5  # of the way from a node to its face's middle, that a point is
FOLD = 0.05  # of a face's height: so near to a neighbour, both may be before a point
SMOOTH = 0.85  # cosine: normals of neighbours that turn less are of one side
SKIN = 5.0  # margins: as far nodes move until faces near them are looked for again
SOFTNESS = 1e-3  # of a face's


class SelfContact(Constraint):
    """See the module's docstring.

    Args:
        nodes: name of a group, a surface or a volume, indices, or a mask, of the surface that may touch itself; None:
            all of the body's surface.
        margin: distance [m] from which a face is watched.
    """

    stop = "the body presses on itself"

    def __init__(self, nodes=None, margin: float | None = None):
        if margin is not None and not checked_number(margin, "self contact's margin", "m") > 0.0:
            raise InputError(f"self contact: margin {margin:g} m is not positive")
        self.nodes, self.margin = nodes, margin

    def attach(self, body: Body) -> None:
        surface = np.unique(surface_triangles(body.mesh)) if self.nodes is None else self.nodes
        watched = np.zeros(len(body.mesh.nodes), dtype=bool)
        watched[nodes_of(body, surface, "self contact")] = True
        faces = boundary_faces(body.mesh)
        faces = faces[watched[faces].all(axis=1)]
        if not len(faces):
            raise MeshError("self contact: no face of the body's surface is between the nodes")
        rest, size = body.mesh.nodes, float(np.linalg.norm(body.mesh.size))
        self._margin = MARGIN * size if self.margin is None else self.margin
        self._faces = Faces(faces, OPPOSITE * size)
        self._shares, self._ranks = _points_in(faces.shape[1]), _ranks(faces, rest)
        self._softness = SOFTNESS / (body.modulus * float(np.median(_sizes(rest[faces]))))
        self._never = np.zeros(0, dtype=np.int64)
        self._looked = np.full_like(rest, np.nan)
        self._candidates = self._look(rest, OPPOSITE * size)
        met, _ = self._met(rest, OPPOSITE * size)
        self._nothing = met.take(np.zeros(0, dtype=np.int64))
        self._last: tuple[np.ndarray, Met] | None = None
        behind = met.gaps < -THINNEST * size
        self._never, self._coupled = (self._with_neighbours(met.take(which)) for which in (behind, ~behind))
        self._faces = Faces(faces, max(DEEP * size, self._margin))

    @property
    def groups(self) -> np.ndarray | None:
        faces, own = np.divmod(self._coupled, len(self._faces.nodes))
        return np.hstack([self._faces.nodes[faces], self._faces.nodes[own]]) if len(faces) else None

    def add_to(self, coupling: Coupling, pose: Pose, multipliers: dict[int, float]) -> None:
        places, blocks = self.curvature(pose.points, multipliers)
        coupling.take(places).add(blocks, pose)

    def curvature(self, x: np.ndarray, multipliers: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
        """Blocks −Σ λ ∂²g/∂x² (m, k, k, 3, 3) of those of the `groups` that push, and which they are (m,)."""
        met = self._touching(x)
        forces, pairs = np.array([multipliers.get(int(pair), 0.0) for pair in self._pairs(met)]), self._faces_of(met)
        pushing = (forces > 0.0) & np.isin(pairs, self._coupled)
        met, forces = self._with_points(met.take(pushing)), forces[pushing]
        places, group = np.unique(np.searchsorted(self._coupled, pairs[pushing]), return_inverse=True)
        k = met.values.shape[1]
        blocks = np.zeros((len(places), k, k, 3, 3))
        np.add.at(blocks, group, -forces[:, None, None, None, None] * self._faces.curvature(met, x))
        return places, blocks

    def rows(self, x: np.ndarray, multipliers: dict[int, float]) -> Rows | None:
        met = self._touching(x)
        m = len(met.points)
        if not m:
            return None
        values = self._with_points(met).values[:, :, None] * met.leaning[:, None]
        columns = 3 * self._nodes_of(met.points, met.faces)[:, :, None] + np.arange(3)
        starts = np.arange(0, values.size + 1, values[0].size)
        jacobian = csr_matrix((values.ravel(), columns.ravel(), starts), shape=(m, x.size))
        return Rows(self._pairs(met), met.gaps, jacobian, np.zeros(m), np.full(m, np.inf), np.full(m, self._softness))

    def penetration(self, x: np.ndarray) -> float:
        """How deep points of the body are in it [m], 0 where none is."""
        return float(np.maximum(-self._touching(x).gaps, 0.0).max(initial=0.0))

    def _touching(self, x: np.ndarray) -> Met:
        """What points have before them, where it is near."""
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1]
        if not np.abs(x - self._looked).max() < SKIN * self._margin and np.isfinite(x).all():
            self._looked, self._candidates = x.copy(), self._look(x, (1.0 + 2.0 * SKIN) * self._margin)
        if not len(self._candidates[0]):
            return self._nothing
        met = self._faces.first(*self._met(x, self._margin), fold=FOLD, beside=BESIDE * self._margin)
        self._last = x.copy(), met.take(met.gaps < self._margin)
        return self._last[1]

    def _met(self, x: np.ndarray, far: float) -> tuple[Met, np.ndarray]:
        """Which of the candidates meet, as `Faces.meet`, where the face may be no further away than `far` [m]."""
        corners, (points, faces) = x[self._faces.nodes], self._candidates
        starts, along = self._points(corners)[points], self._directions(corners)[points // len(self._shares)]
        good = _nearest(corners[faces], starts, along) < far
        return self._faces.meet(corners, points[good], faces[good], starts[good], along[good])

    def _look(self, x: np.ndarray, far: float) -> tuple[np.ndarray, np.ndarray]:
        """Points and faces (q,) before them, no further away than `far` [m], or behind them."""
        corners, nodes = x[self._faces.nodes], self._faces.nodes
        starts, directions = self._points(corners), self._directions(corners)
        points, faces = self._faces.near(corners, cKDTree(starts))
        own = points // len(self._shares)
        good = (self._ranks[own] <= self._ranks[faces]) & ((directions[own] * directions[faces]).sum(axis=1) < 0.0)
        points, faces, own = points[good], faces[good], own[good]
        (centres, radii), along = self._faces.balls(corners), directions[own]
        away = centres[faces] - starts[points]
        ahead = (away * along).sum(axis=1)
        good = (ahead - radii[faces] < far) & ((away * away).sum(axis=1) - ahead**2 < radii[faces] ** 2)
        points, faces, own = points[good], faces[good], own[good]
        good = _nearest(corners[faces], starts[points], directions[own]) < far
        good &= ~(nodes[faces][:, :, None] == nodes[own][:, None]).any(axis=(1, 2))
        good &= ~np.isin(faces * len(nodes) + own, self._never)
        return points[good], faces[good]

    def _with_neighbours(self, met: Met) -> np.ndarray:
        """(g,) pairs of faces, of `_faces_of`: those that meet, and with those beside the face before the point."""
        count = len(self._faces.nodes)
        before = coo_matrix((np.ones(len(met.faces)), (met.faces, met.points // len(self._shares))), (count, count))
        both = (_beside(self._faces.nodes) @ before.tocsr()).tocoo()
        return np.unique(both.row.astype(np.int64) * count + both.col)

    def _points(self, corners: np.ndarray) -> np.ndarray:
        """(f k, 3) of faces with nodes at (f, k, 3)."""
        return (self._shares @ corners).reshape(-1, 3)

    def _directions(self, corners: np.ndarray) -> np.ndarray:
        """(f, 3) unit normals of faces with nodes at (f, k, 3)."""
        normals = self._faces.normals(corners)
        return normals / np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]

    def _with_points(self, met: Met) -> Met:
        """With the nodes of the points' faces behind those of the faces before them."""
        own = self._shares[met.points % len(self._shares)]
        gradients = np.concatenate([met.gradients, np.zeros_like(met.gradients)], axis=1)
        return replace(met, values=np.hstack([met.values, -own]), gradients=gradients)

    def _nodes_of(self, points: np.ndarray, faces: np.ndarray) -> np.ndarray:
        """(q, 2 k) nodes of faces, and of the faces of points."""
        return np.hstack([self._faces.nodes[faces], self._faces.nodes[points // len(self._shares)]])

    def _faces_of(self, met: Met) -> np.ndarray:
        """(m,) numbers of pairs of a face and the face of a point before it."""
        return met.faces * len(self._faces.nodes) + met.points // len(self._shares)

    def _pairs(self, met: Met) -> np.ndarray:
        """(m,) numbers of pairs of a point and a face."""
        return met.points * len(self._faces.nodes) + met.faces


def _points_in(k: int) -> np.ndarray:
    """(k, k) shares of the nodes of a face in each of its points."""
    shape = FaceShape(k)
    return shape.values(shape.places + INSIDE * (shape.middle - shape.places))


def _nearest(corners: np.ndarray, starts: np.ndarray, along: np.ndarray) -> np.ndarray:
    """(q,) how far faces with nodes at (q, k, 3) are at the least before points (q, 3) along directions (q, 3) [m]."""
    ahead = ((corners - starts[:, None]) @ along[:, :, None])[:, :, 0]
    low = ahead.min(axis=1)
    return low - EXTENSION * (ahead.max(axis=1) - low)


def _sizes(corners: np.ndarray) -> np.ndarray:
    """(f,) of faces with nodes at (f, k, 3) [m]."""
    return np.linalg.norm(corners[:, 0] - corners[:, 1], axis=1)


def _beside(faces: np.ndarray) -> csr_matrix:
    """(f, f) which share nodes, themselves, too."""
    of_nodes = coo_matrix((np.ones(faces.size), (np.repeat(np.arange(len(faces)), faces.shape[1]), faces.ravel())))
    return of_nodes.tocsr() @ of_nodes.T.tocsr()


def _ranks(faces: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """(f,) of the smooth side that each face is on: sides of smaller faces come first."""
    normals = Faces(faces, 0.0).normals(rest[faces])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    neighbours = _beside(faces).tocoo()
    smooth = (normals[neighbours.row] * normals[neighbours.col]).sum(axis=1) > SMOOTH
    pairs = neighbours.row[smooth], neighbours.col[smooth]
    count, sides = connected_components(coo_matrix((np.ones(smooth.sum()), pairs), shape=neighbours.shape))
    mean = np.bincount(sides, _sizes(rest[faces]), count) / np.bincount(sides, minlength=count)
    return np.argsort(np.argsort(mean, kind="stable"), kind="stable")[sides]
