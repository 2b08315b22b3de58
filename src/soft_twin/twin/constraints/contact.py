"""Contact of a body's nodes with a rigid obstacle (SORS, eqs. 18 and 19), with Coulomb friction.

Every node near the obstacle has a row g = distance ≥ 0, refreshed in each iteration; with friction two more for its
slip along the surface since the step began, relative to the obstacle, whose multipliers are bounded by μ times the
normal force of the iteration before: a pyramid in place of Coulomb's cone, exact once the iteration has settled.
"""

import numpy as np
from scipy.sparse import coo_matrix

from soft_twin.errors import InputError
from soft_twin.twin.body import Body, nodes_of
from soft_twin.twin.constraints.base import Constraint, Rows
from soft_twin.twin.constraints.obstacles import Obstacle
from soft_twin.twin.mesh import surface_triangles

MARGIN = 0.03  # of the body's size: nodes nearer than this have a row


class Contact(Constraint):
    """See the module's docstring.

    Args:
        obstacle: what the nodes shall not enter; it may be moved between steps.
        nodes: name of a group or of a surface, indices, or a mask; None: all nodes of the body's surface.
        friction: Coulomb's coefficient μ.
        margin: distance [m] from which a node is watched; it need not be more than a node may move in one iteration.
    """

    def __init__(self, obstacle: Obstacle, nodes=None, friction: float = 0.0, margin: float | None = None):
        if not friction >= 0.0:
            raise InputError(f"contact: friction {friction:g} is negative")
        self.obstacle, self.nodes, self.friction, self.margin = obstacle, nodes, friction, margin

    def attach(self, body: Body) -> None:
        surface = np.unique(surface_triangles(body.mesh)) if self.nodes is None else self.nodes
        self._nodes = nodes_of(body, surface, "contact")
        self._margin = MARGIN * float(np.linalg.norm(body.mesh.size)) if self.margin is None else self.margin
        self._seen = self.obstacle.position.copy(), self.obstacle.rotation.copy()
        self.begin(body.mesh.nodes)

    def begin(self, x: np.ndarray) -> None:
        before, now = self._seen, (self.obstacle.position.copy(), self.obstacle.rotation.copy())
        own = (x[self._nodes] - before[0]) @ before[1]
        self._start = now[0] + own @ now[1].T  # where the nodes were, carried by the obstacle
        self._seen = now

    def rows(self, x: np.ndarray, multipliers: dict[int, float]) -> Rows:
        distances, normals = self.obstacle.distance(x[self._nodes])
        near = np.flatnonzero(distances < self._margin)
        m = len(near)
        keys, values, directions = near, distances[near], normals[near]
        lower, upper = np.zeros(m), np.full(m, np.inf)
        nodes = self._nodes[near]
        if self.friction > 0.0 and m:
            tangents = _tangents(directions)
            count = len(self._nodes)
            slips = np.einsum("psi,pi->sp", tangents, (x[self._nodes] - self._start)[near])
            bounds = self.friction * np.array([max(multipliers.get(int(key), 0.0), 0.0) for key in near])
            keys = np.concatenate([keys, count + near, 2 * count + near])
            values = np.concatenate([values, *slips])
            directions = np.concatenate([directions, tangents[:, 0], tangents[:, 1]])
            lower, upper = np.concatenate([lower, -bounds, -bounds]), np.concatenate([upper, bounds, bounds])
            nodes = np.tile(nodes, 3)
        rows = np.repeat(np.arange(len(keys)), 3)
        columns = (3 * nodes[:, None] + np.arange(3)).ravel()
        jacobian = coo_matrix((directions.ravel(), (rows, columns)), shape=(len(keys), x.size)).tocsr()
        return Rows(keys, values, jacobian, lower, upper, np.zeros(len(keys)))

    def bound(self, key: int) -> tuple[int, float] | None:
        return (key % len(self._nodes), self.friction) if key >= len(self._nodes) else None

    @property
    def groups(self) -> np.ndarray:
        return self._nodes[:, None]

    def stiffness(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        blocks = np.zeros((len(self._nodes), 1, 1, 3, 3))
        pressed = [key for key in multipliers if key < len(self._nodes)]
        if pressed:
            forces = np.array([multipliers[key] for key in pressed])
            curvature = self.obstacle.curvature(x[self._nodes[pressed]])
            blocks[pressed, 0, 0] = -forces[:, None, None] * curvature
        return blocks

    def penetration(self, x: np.ndarray) -> float:
        """How deep the deepest node is in the obstacle [m], 0 outside."""
        return float(np.maximum(-self.obstacle.distance(x[self._nodes])[0], 0.0).max(initial=0.0))

    def forces(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        """(3,) what the obstacle pushes the body with [N]."""
        rows = self.rows(x, multipliers)
        values = np.array([multipliers.get(int(key), 0.0) for key in rows.keys])
        return (rows.jacobian.T @ values).reshape(-1, 3).sum(axis=0)


def _tangents(normals: np.ndarray) -> np.ndarray:
    """(p, 2, 3) orthonormal directions across normals (p, 3)."""
    axis = np.eye(3)[np.abs(normals).argmin(axis=1)]
    first = np.cross(normals, axis)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return np.stack([first, np.cross(normals, first)], axis=1)
