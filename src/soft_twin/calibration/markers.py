"""Markers on a body, as a linear map from its nodes."""

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from soft_twin.mesh.elements import Element
from soft_twin.mesh.embedding import natural_coordinates
from soft_twin.mesh.mesh import Mesh

NEAREST = 4  # nodes whose cells are tried for a marker


class Markers:
    """Points that move with the body, inside it or in front of it.

    A marker at X + d, X the nearest point of the body, is found at x(X) + F(X) d: it follows the body's deformation
    gradient F at X, as a bead on a short stalk does. That is linear in the nodes.

    Attributes:
        rest: (m, 3) positions on the undeformed body [m].
        offsets: (m, 3) d [m], zero inside the body.
    """

    def __init__(self, mesh: Mesh, positions: np.ndarray):
        """`positions`: (m, 3) on the undeformed body [m]."""
        self.rest = np.asarray(positions, dtype=float)
        cells, natural = _nearest(mesh, self.rest)
        values, slopes = mesh.element.values(natural), mesh.element.gradients(natural)
        corners = mesh.nodes[mesh.cells[cells]]
        self.offsets = self.rest - np.einsum("mk,mki->mi", values, corners)
        matrices = np.einsum("mki,mkj->mij", corners, slopes)
        along = np.linalg.solve(matrices, self.offsets[:, :, None])[:, :, 0]
        weights = values + np.einsum("mkj,mj->mk", slopes, along)
        rows = np.repeat(np.arange(len(cells)), weights.shape[1])
        shape = len(cells), len(mesh.nodes)
        self._weights: csr_matrix = coo_matrix((weights.ravel(), (rows, mesh.cells[cells].ravel())), shape).tocsr()

    @classmethod
    def weighted(cls, mesh: Mesh, weights: np.ndarray) -> "Markers":
        """One at the mean of the nodes by weights (n,), as a robot's named place has it."""
        made = cls.__new__(cls)
        made._weights = csr_matrix(weights)
        made.rest, made.offsets = made._weights @ mesh.nodes, np.zeros((1, 3))
        return made

    def at(self, points: np.ndarray) -> np.ndarray:
        """Markers (m, 3) or (m, 3, …) where the nodes are at (n, 3), or move by (n, 3, …)."""
        flat = self._weights @ points.reshape(len(points), -1)
        return flat.reshape(-1, *points.shape[1:])

    def pull(self, by_markers: np.ndarray) -> np.ndarray:
        """Derivatives by the nodes (n, 3) of what has derivatives by the markers (m, 3)."""
        return self._weights.T @ by_markers


def _nearest(mesh: Mesh, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells (m,) and reference coordinates (m, 3) of the points of the body that are nearest to points (m, 3)."""
    chosen, coordinates = [], []
    for point in points:
        close = np.argsort(np.linalg.norm(mesh.nodes - point, axis=1))[:NEAREST]
        cells = np.flatnonzero(np.isin(mesh.cells, close).any(axis=1))
        natural = natural_coordinates(mesh, cells, np.tile(point, (len(cells), 1)))
        natural = _clipped(mesh.element, natural)
        places = np.einsum("ck,cki->ci", mesh.element.values(natural), mesh.nodes[mesh.cells[cells]])
        best = int(np.argmin(np.linalg.norm(places - point, axis=1)))
        chosen.append(cells[best])
        coordinates.append(natural[best])
    return np.array(chosen), np.array(coordinates)


def _clipped(element: Element, natural: np.ndarray) -> np.ndarray:
    """Reference coordinates (c, 3), moved into the reference cell where they are outside."""
    if element.corners_per_face == 4:
        return np.clip(natural, -1.0, 1.0)
    positive = np.clip(natural, 0.0, None)
    return positive / np.maximum(positive.sum(axis=1), 1.0)[:, None]
