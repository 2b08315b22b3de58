"""Faces of elements: shape functions and quadrature over triangles and quadrangles of 3, 6, 4 and 8 nodes."""

from dataclasses import dataclass

import numpy as np

from soft_twin.errors import MeshError

_THIRD, _SIXTH = 2.0 / 3.0, 1.0 / 6.0
_GAUSS = np.sqrt(0.6)
_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
_SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
_POWERS = {
    3: [[0, 0], [1, 0], [0, 1]],
    4: [[0, 0], [1, 0], [0, 1], [1, 1]],
    6: [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0, 2]],
    8: [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2]],
}


class FaceShape:
    """Shape functions of faces with k = 3, 4, 6 or 8 nodes: corners first, then the middles of the sides.

    Attributes:
        middle, places: coordinates of the face's middle (2,), and of its nodes (k, 2).
        powers: (k, 2) of the two coordinates in each term of their polynomials.
    """

    def __init__(self, nodes: int):
        """
        Raises:
            MeshError: there is no such face.
        """
        if nodes not in _POWERS:
            raise MeshError(f"faces have {', '.join(str(k) for k in _POWERS)} nodes, not {nodes}")
        self.powers = np.array(_POWERS[nodes])
        corners = _TRIANGLE if nodes in (3, 6) else _SQUARE
        after = np.roll(corners, -1, axis=0)
        self.middle = corners.mean(axis=0)
        self._corners, self._along = corners, after - corners
        self.places = corners if nodes < 6 else np.vstack([corners, 0.5 * (corners + after)])
        self._nodal = np.linalg.inv(self._monomials(self.places, (0, 0)))

    def values(self, places: np.ndarray) -> np.ndarray:
        """(p, k) at coordinates (p, 2)."""
        return self._monomials(places, (0, 0)) @ self._nodal

    def polynomials(self, corners: np.ndarray) -> np.ndarray:
        """Coefficients (f, k, 3) of the positions on faces with nodes at (f, k, 3), by the terms of `powers`."""
        return self._nodal @ corners

    def gradients(self, places: np.ndarray) -> np.ndarray:
        """First derivatives (p, k, 2)."""
        return np.stack([self._monomials(places, orders) @ self._nodal for orders in ((1, 0), (0, 1))], axis=2)

    def bends(self, places: np.ndarray) -> np.ndarray:
        """Second derivatives (p, k, 2, 2)."""
        first, mixed, second = (self._monomials(places, orders) @ self._nodal for orders in ((2, 0), (1, 1), (0, 2)))
        return np.stack([np.stack([first, mixed], axis=2), np.stack([mixed, second], axis=2)], axis=3)

    def outside(self, places: np.ndarray) -> np.ndarray:
        """(p,) how far coordinates (p, 2) lie outside of the face, negative inside, in shares of its height."""
        away = places[:, None, :] - self._corners
        beyond = away[..., 0] * self._along[:, 1] - away[..., 1] * self._along[:, 0]
        size = self._along[0, 0] * self._along[1, 1] - self._along[0, 1] * self._along[1, 0]
        return beyond.max(axis=1) / size

    def _monomials(self, places: np.ndarray, orders: tuple[int, int]) -> np.ndarray:
        result = np.ones((len(places), len(self.powers)))
        for coordinate, order, powers in zip(places.T, orders, self.powers.T, strict=True):
            for lost in range(order):
                result = result * (powers - lost)
            result = result * coordinate[:, None] ** np.maximum(powers - order, 0)
        return result


@dataclass(frozen=True)
class FaceRule:
    """Of faces with k nodes: `values` (q, k), `gradients` (q, k, 2) by the face's coordinates, `weights` (q,)."""

    values: np.ndarray
    gradients: np.ndarray
    weights: np.ndarray


def face_rule(nodes: int) -> FaceRule:
    """The rule for faces with that many nodes, exact for pressure on a face whose nodes have moved.

    Raises:
        MeshError: there is no such face.
    """
    if nodes not in _RULES:
        raise MeshError(f"faces have {', '.join(str(k) for k in _RULES)} nodes, not {nodes}")
    return _RULES[nodes]


def _triangle(nodes: int) -> FaceRule:
    points = np.array([[_SIXTH, _SIXTH], [_THIRD, _SIXTH], [_SIXTH, _THIRD]])
    points, weights = (points, np.full(3, _SIXTH)) if nodes == 3 else _DUNAVANT_4
    return _rule(nodes, points, weights)


def _quadrangle(nodes: int) -> FaceRule:
    line, share = ([-(3**-0.5), 3**-0.5], [1.0, 1.0]) if nodes == 4 else ([-_GAUSS, 0.0, _GAUSS], [5 / 9, 8 / 9, 5 / 9])
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    return _rule(nodes, points, np.outer(share, share).ravel())


def _rule(nodes: int, points: np.ndarray, weights: np.ndarray) -> FaceRule:
    shape = FaceShape(nodes)
    return FaceRule(shape.values(points), shape.gradients(points), weights)


def _six_points() -> tuple[np.ndarray, np.ndarray]:
    """Dunavant's rule of degree 4 for the unit triangle."""
    points, weights = [], []
    for a, weight in ((0.445948490915965, 0.223381589678011), (0.091576213509771, 0.109951743655322)):
        b = 1.0 - 2.0 * a
        points += [[a, a], [a, b], [b, a]]
        weights += [0.5 * weight] * 3
    return np.array(points), np.array(weights)


_DUNAVANT_4 = _six_points()
_RULES = {3: _triangle(3), 4: _quadrangle(4), 6: _triangle(6), 8: _quadrangle(8)}
