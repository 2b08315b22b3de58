"""Finite elements: shape functions and quadrature on reference cells. A new element is one class and one registry line.

Nodes are numbered as in VTK and meshio. Reference coordinates are ξ in [−1, 1]³ for hexahedra and barycentric
(0 ≤ ξ, Σξ ≤ 1) for tetrahedra. Shapes: (p, 3) reference points give values (p, k) and gradients (p, k, 3).
"""

from abc import ABC, abstractmethod

import numpy as np

from soft_twin.errors import UsageError


class Element(ABC):
    """A reference cell with `k` nodes.

    Attributes:
        name: name in ELEMENTS.
        cell_type: meshio's name of the cell.
        nodes: (k, 3) reference coordinates of the nodes.
        points, weights: (q, 3), (q,) quadrature of the reference cell.
        mean_dilatation: whether a cell's points feel its mean change of volume (see energies/mean_dilatation.py).
        faces: each face's nodes, corners first in order around the outward normal, then mid-side nodes likewise.
    """

    name: str
    cell_type: str
    nodes: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    faces: tuple[tuple[int, ...], ...]
    corners_per_face: int
    mean_dilatation: bool = False

    @abstractmethod
    def values(self, points: np.ndarray) -> np.ndarray:
        """Shape functions (p, k) at reference points (p, 3)."""

    @abstractmethod
    def gradients(self, points: np.ndarray) -> np.ndarray:
        """Derivatives of the shape functions by ξ, (p, k, 3), at reference points (p, 3)."""

    @abstractmethod
    def outside(self, points: np.ndarray) -> np.ndarray:
        """How far (in reference units) each of (p, 3) points lies outside the cell: (p,), ≤ 0 inside."""


class _Tetrahedron(Element):
    corners_per_face = 3

    def outside(self, points):
        return np.maximum(-points.min(axis=1), points.sum(axis=1) - 1.0)


class Tet4(_Tetrahedron):
    """4-node tetrahedron, one quadrature point. Locks in bending and near incompressibility."""

    name = "tet4"
    cell_type = "tetra"
    nodes = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    points = np.full((1, 3), 0.25)
    weights = np.array([1.0 / 6.0])
    faces = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))

    def values(self, points):
        return np.column_stack([1.0 - points.sum(axis=1), points])

    def gradients(self, points):
        reference = np.vstack([-np.ones(3), np.eye(3)])
        return np.broadcast_to(reference, (len(points), 4, 3))


class Tet10(_Tetrahedron):
    """10-node tetrahedron, four quadrature points."""

    name = "tet10"
    cell_type = "tetra10"
    edges = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
    nodes = np.vstack([Tet4.nodes, [(Tet4.nodes[a] + Tet4.nodes[b]) / 2 for a, b in edges]])
    _a, _b = (5.0 - np.sqrt(5.0)) / 20.0, (5.0 + 3.0 * np.sqrt(5.0)) / 20.0
    points = np.array([[_a, _a, _a], [_b, _a, _a], [_a, _b, _a], [_a, _a, _b]])
    weights = np.full(4, 1.0 / 24.0)
    faces = ((0, 2, 1, 6, 5, 4), (0, 1, 3, 4, 8, 7), (1, 2, 3, 5, 9, 8), (0, 3, 2, 7, 9, 6))

    def values(self, points):
        L = Tet4().values(points)
        mid = [4.0 * L[:, a] * L[:, b] for a, b in self.edges]
        return np.column_stack([L * (2.0 * L - 1.0), *mid])

    def gradients(self, points):
        L, dL = Tet4().values(points), Tet4().gradients(points)
        corner = (4.0 * L - 1.0)[:, :, None] * dL
        mid = [4.0 * (L[:, a, None] * dL[:, b] + L[:, b, None] * dL[:, a]) for a, b in self.edges]
        return np.concatenate([corner, np.stack(mid, axis=1)], axis=1)


def _gauss_cube(count: int) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.legendre.leggauss(count)
    points = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    return points, np.einsum("i,j,k->ijk", w, w, w).ravel()


def _product(factors: np.ndarray) -> np.ndarray:
    """(p, k) of factors (p, k, 3), several times as fast as `prod`."""
    return factors[..., 0] * factors[..., 1] * factors[..., 2]


def _products_of_others(factors: np.ndarray) -> np.ndarray:
    """(p, k, 3) of factors (p, k, 3), without each in turn."""
    x, y, z = np.moveaxis(factors, 2, 0)
    return np.stack([y * z, x * z, x * y], axis=2)


class _Hexahedron(Element):
    corners = np.array(
        [[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], float
    )
    corners_per_face = 4

    def outside(self, points):
        return np.abs(points).max(axis=1) - 1.0


class Hex8(_Hexahedron):
    """8-node hexahedron, 2×2×2 quadrature points. Locks in bending of thin cells and near incompressibility."""

    name = "hex8"
    cell_type = "hexahedron"
    nodes = _Hexahedron.corners
    points, weights = _gauss_cube(2)
    faces = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))

    def values(self, points):
        return _product(1.0 + points[:, None, :] * self.nodes) / 8.0

    def gradients(self, points):
        return self.nodes * _products_of_others(1.0 + points[:, None, :] * self.nodes) / 8.0


class Hex8F(Hex8):
    """8-node hexahedron with mean dilatation: does not lock near incompressibility, as stiff as hex8 in bending."""

    name = "hex8f"
    mean_dilatation = True


class Hex20(_Hexahedron):
    """20-node serendipity hexahedron, 3×3×3 quadrature points."""

    name = "hex20"
    cell_type = "hexahedron20"
    edges = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
    nodes = np.vstack([_Hexahedron.corners, [(_Hexahedron.corners[a] + _Hexahedron.corners[b]) / 2 for a, b in edges]])
    points, weights = _gauss_cube(3)
    _along_edge = (nodes == 0.0).astype(float)
    faces = (
        (0, 3, 2, 1, 11, 10, 9, 8),
        (4, 5, 6, 7, 12, 13, 14, 15),
        (0, 1, 5, 4, 8, 17, 12, 16),
        (1, 2, 6, 5, 9, 18, 13, 17),
        (2, 3, 7, 6, 10, 19, 14, 18),
        (3, 0, 4, 7, 11, 16, 15, 19),
    )

    def values(self, points):
        return _product(self._factors(points)) * self._tails(points)

    def gradients(self, points):
        factors = self._factors(points)
        slopes = self.nodes - 2.0 * points[:, None, :] * self._along_edge
        result = slopes * _products_of_others(factors) * self._tails(points)[:, :, None]
        result[:, :8] += _product(factors[:, :8])[:, :, None] * self.corners / 8.0
        return result

    def _factors(self, points: np.ndarray) -> np.ndarray:
        """(p, 20, 3) 1 + ξᵢaᵢ, or 1 − ξᵢ² along a mid-side node's edge, where aᵢ = 0."""
        xi = points[:, None, :]
        return 1.0 + xi * self.nodes - xi * xi * self._along_edge

    def _tails(self, points: np.ndarray) -> np.ndarray:
        """The factor (p, 20) that is left: (Σξᵢaᵢ − 2)/8 at corners, 1/4 at mid-sides."""
        return np.hstack([(points @ self.corners.T - 2.0) / 8.0, np.full((len(points), 12), 0.25)])


class Hex20R(Hex20):
    """20-node hexahedron with reduced 2×2×2 quadrature: does not lock in bending up to ν ≈ 0.49 (the default)."""

    name = "hex20r"
    points, weights = _gauss_cube(2)


ELEMENTS = {element.name: element() for element in (Tet4, Tet10, Hex8F, Hex8, Hex20, Hex20R)}


def element_for(cell_type: str) -> Element | None:
    """The element that cells of meshio's type are taken for: of several, the last in ELEMENTS."""
    return {element.cell_type: element for element in ELEMENTS.values()}.get(cell_type)


def element_named(name: str) -> Element:
    """The element of that name.

    Raises:
        UsageError: there is none; the message lists those there are.
    """
    if name not in ELEMENTS:
        raise UsageError(f"no element '{name}': there are {', '.join(ELEMENTS)}")
    return ELEMENTS[name]
