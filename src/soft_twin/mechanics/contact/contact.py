"""Contact of a body's surface with a rigid obstacle (SORS, eqs. 18 and 19), with Coulomb friction.

Every node near the obstacle has a row g = distance ≥ 0. So has every point of the obstacle's edges and round sides that
a face of the body is near to (edges.py), or a face whose nodes are all outside would be cut by the obstacle. They are
found anew in each iteration; with friction each has two rows more for its slip along the surface since the step began,
relative to the obstacle, whose multipliers are together no longer than μ times its normal force: Coulomb's cone.

Points of edges may share a force in more than one way. What friction does depends on how: with friction they give way a
little, a thousandth of what a cube of the body as large as a face does, and share it in one way alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, vstack

from soft_twin.checks import check_positive, checked_kind, checked_number, checked_positions
from soft_twin.errors import InputError
from soft_twin.mechanics.body import Body, nodes_of
from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.contact.edges import EdgeContacts
from soft_twin.mechanics.contact.obstacles import Obstacle
from soft_twin.mesh.mesh import boundary_faces, surface_triangles

MARGIN = 0.03  # of the body's size: nodes nearer than this have a row
FINENESS = 4.0  # points of the obstacle along the edge of a face
NEAR_X = 0.9  # cosine: of directions nearer to x, friction is along z and across; a number that they rarely are at
SOFTNESS = 1e-3  # of a face's: how points of edges give way where there is friction


@dataclass(frozen=True)
class _Touching:
    """Points of the body near the obstacle: keys (p,), gaps (p,) [m], the shares (p, n) of the nodes in each, the
    directions (p, 3) in which the gaps grow, 1 newton of a multiplier pushing with as many as they are long."""

    keys: np.ndarray
    gaps: np.ndarray
    shares: csr_matrix
    directions: np.ndarray


class Contact(Constraint):
    """See the module's docstring.

    Args:
        obstacle: what the body shall not enter; it may be moved between steps.
        nodes: name of a group or of a surface, indices, or a mask; None: all nodes of the body's surface. Faces between
            them are watched, too.
        friction: Coulomb's coefficient μ.
        margin: distance [m] from which a node is watched; it need not be more than a node may move in one iteration.
        spacing: distance [m] between points of the obstacle's edges; infinite: nodes alone are watched; None: a
            quarter of the watched faces' edges.
    """

    supports = True

    def __init__(
        self,
        obstacle: Obstacle,
        nodes=None,
        friction: float = 0.0,
        margin: float | None = None,
        spacing: float | None = None,
    ):
        if not 0.0 <= checked_number(friction, "contact's friction") < np.inf:
            raise InputError(f"contact: friction {friction:g} is negative or not finite")
        if margin is not None:
            check_positive(margin, "contact's margin", "m")
        if spacing is not None and not checked_number(spacing, "contact's spacing", "m") > 0.0:
            raise InputError(f"contact: spacing {spacing:g} m is not positive")
        checked_kind(obstacle, Obstacle, "an obstacle, such as a Plane", "contact")
        self.obstacle, self.nodes, self.friction, self.margin, self.spacing = obstacle, nodes, friction, margin, spacing

    def attach(self, body: Body) -> None:
        surface = np.unique(surface_triangles(body.mesh)) if self.nodes is None else self.nodes
        self._nodes, self._node_count = nodes_of(body, surface, "contact"), len(body.mesh.nodes)
        self._margin = MARGIN * float(np.linalg.norm(body.mesh.size)) if self.margin is None else self.margin
        self._watch_faces(body)
        self.accept()
        self.begin(body.mesh.nodes)

    def begin(self, x: np.ndarray) -> None:
        position, rotation = self._accepted
        own = (x - position) @ rotation
        self._start = self.obstacle.position + own @ self.obstacle.rotation.T  # where nodes were, carried along

    def accept(self) -> None:
        self._accepted = self.obstacle.position.copy(), self.obstacle.rotation.copy()

    def rows(self, x: np.ndarray, multipliers: dict[int, float]) -> Rows:
        touching = self._touching(x)
        keys, values, m = touching.keys, touching.gaps, len(touching.keys)
        jacobian = _along(touching.shares, touching.directions)
        lower, upper = np.zeros(m), np.full(m, np.inf)
        if self.friction > 0.0 and m:
            tangents = _tangents(touching.directions)
            slips = np.einsum("psi,pi->ps", tangents, touching.shares @ (x - self._start))
            bounds = self.friction * np.array([max(multipliers.get(int(key), 0.0), 0.0) for key in keys])
            twice, bounds = np.repeat(np.arange(m), 2), np.repeat(bounds, 2)
            keys = np.concatenate([keys, (keys[:, None] + self._count * np.array([1, 2])).ravel()])
            values = np.concatenate([values, slips.ravel()])
            across = _along(touching.shares[twice], tangents.reshape(-1, 3))
            jacobian = vstack([jacobian, across], format="csr")
            lower, upper = np.concatenate([lower, -bounds]), np.concatenate([upper, bounds])
        shared = (keys >= len(self._nodes)) & (keys < self._count) & (self.friction > 0.0)
        compliance = np.where(shared, self._softness, 0.0)
        return Rows(keys, values, jacobian, lower, upper, compliance)

    def bound(self, key: int) -> tuple[int, float] | None:
        return (key % self._count, self.friction) if key >= self._count else None

    @property
    def groups(self) -> np.ndarray:
        return self._groups

    def stiffness(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        n, blocks = len(self._nodes), self._no_blocks()
        pressed = np.array([key for key in multipliers if key < self._count], dtype=np.int64)
        at_nodes = pressed[pressed < n]
        forces = np.array([multipliers[int(key)] for key in at_nodes])
        curvature = self.obstacle.curvature(x[self._nodes[at_nodes]])
        blocks[at_nodes, 0, 0] = -forces[:, None, None] * curvature
        if len(at_nodes) == len(pressed):
            return blocks
        met = self._edges.meet(x)
        met = met.take(np.isin(n + self._edges.keys(met), pressed))
        forces = np.array([multipliers[int(key)] for key in n + self._edges.keys(met)])
        curvature = self._edges.curvature(met, x)
        np.add.at(blocks, n + met.faces, -forces[:, None, None, None, None] * curvature)
        return blocks

    def support(self, rows: Rows) -> np.ndarray:
        n, blocks = len(self._nodes), self._no_blocks()
        keys = rows.keys % self._count
        at_nodes = keys < n
        places = np.where(at_nodes, keys, n + self._edges.face_of(keys - n))
        columns = (3 * self._groups[places][:, :, None] + np.arange(3)).reshape(len(places), -1)
        slopes = rows.jacobian[np.arange(len(places))[:, None], columns].toarray().reshape(len(places), -1, 3)
        slopes[at_nodes, 1:] = 0.0  # a node's group repeats it
        np.add.at(blocks, places, np.einsum("mai,mbj->mabij", slopes, slopes))
        return blocks

    def _no_blocks(self) -> np.ndarray:
        k = self._groups.shape[1]
        return np.zeros((len(self._groups), k, k, 3, 3))

    def penetration(self, x: np.ndarray) -> float:
        """How deep the obstacle is in the body [m], 0 outside, at positions (n, 3) [m]: at the nodes, and at the points
        of its edges.

        Raises:
            InputError: positions of other nodes.
        """
        gaps = self._touching(checked_positions(x, self._node_count)).gaps
        return float(np.maximum(-gaps, 0.0).max(initial=0.0))

    def forces(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        """(3,) what the obstacle pushes the body with [N], in a solution at positions (n, 3) with multipliers.

        Raises:
            InputError: positions of other nodes.
        """
        rows = self.rows(checked_positions(x, self._node_count), multipliers)
        values = np.array([multipliers.get(int(key), 0.0) for key in rows.keys])
        return (rows.jacobian.T @ values).reshape(-1, 3).sum(axis=0)

    def pushes(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        """(p,) sizes of the normal forces on the body [N], one for each place that touches, without friction."""
        touching = self._touching(x)
        values = np.array([multipliers.get(int(key), 0.0) for key in touching.keys])
        pressed = values > 0.0
        return values[pressed] * np.linalg.norm(touching.directions[pressed], axis=1)

    def _watch_faces(self, body: Body) -> None:
        """The obstacle's edges before the faces between the nodes, and groups: the nodes, then the faces."""
        watched = np.zeros(len(body.mesh.nodes), dtype=bool)
        watched[self._nodes] = True
        faces = boundary_faces(body.mesh)
        faces = faces[watched[faces].all(axis=1)]
        corners = body.mesh.nodes[faces[:, : body.mesh.element.corners_per_face]]
        edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
        size = float(np.median(edges)) if len(faces) else np.inf
        self._softness = SOFTNESS / (body.modulus * size)
        spacing = size / FINENESS if self.spacing is None else self.spacing
        self._edges = EdgeContacts(self.obstacle, faces, spacing, self._margin)
        self._count = len(self._nodes) + self._edges.count
        alone = np.repeat(self._nodes[:, None], faces.shape[1] if self._edges.count else 1, axis=1)
        self._groups = np.vstack([alone, self._edges.faces]) if self._edges.count else alone

    def _touching(self, x: np.ndarray) -> _Touching:
        distances, normals = self.obstacle.gap(x[self._nodes])
        near = np.flatnonzero(distances < self._margin)
        columns, values = self._nodes[near], np.ones(len(near))
        met = self._edges.meet(x)
        met = met.take(met.gaps < self._edges.spacing)
        k = met.values.shape[1]
        starts = np.concatenate([np.arange(len(near)), len(near) + k * np.arange(len(met.gaps) + 1)])
        entries = np.concatenate([values, met.values.ravel()])
        columns = np.concatenate([columns, self._edges.faces[met.faces].ravel()])
        return _Touching(
            np.concatenate([near, len(self._nodes) + self._edges.keys(met)]),
            np.concatenate([distances[near], met.gaps]),
            csr_matrix((entries, columns, starts), shape=(len(starts) - 1, len(x))),
            np.concatenate([normals[near], met.leaning]),
        )


def _along(shares: csr_matrix, directions: np.ndarray) -> csr_matrix:
    """(p, 3 n) how far points with `shares` (p, n) of the nodes move along directions (p, 3)."""
    rows = np.repeat(np.arange(len(directions)), np.diff(shares.indptr))
    values = shares.data[:, None] * directions[rows]
    columns = 3 * shares.indices[:, None] + np.arange(3)
    return csr_matrix(
        (values.ravel(), columns.ravel(), 3 * shares.indptr), shape=(len(directions), 3 * shares.shape[1])
    )


def _tangents(directions: np.ndarray) -> np.ndarray:
    """(p, 2, 3) across directions (p, 3), orthogonal, and as long as they are."""
    lengths = np.linalg.norm(directions, axis=1)[:, None]
    axis = np.eye(3)[(np.abs(directions[:, 0]) > NEAR_X * lengths[:, 0]).astype(int)]
    first = np.cross(directions, axis)
    first *= lengths / np.linalg.norm(first, axis=1)[:, None]
    return np.stack([first, np.cross(directions, first) / lengths], axis=1)
