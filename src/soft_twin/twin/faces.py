"""Faces of elements: shape functions and quadrature over triangles and quadrangles of 3, 6, 4 and 8 nodes."""

from dataclasses import dataclass

import numpy as np

from soft_twin.errors import MeshError

_THIRD, _SIXTH = 2.0 / 3.0, 1.0 / 6.0
_GAUSS = np.sqrt(0.6)


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


def area_vectors(rule: FaceRule, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tangents x_ξ, x_η and normal x_ξ × x_η of faces (f, k, 3) at the quadrature points: (f, q, 3) each."""
    tangents = np.einsum("qks,fki->sfqi", rule.gradients, corners)
    return tangents[0], tangents[1], np.cross(tangents[0], tangents[1])


def _triangle(quadratic: bool) -> FaceRule:
    points = np.array([[_SIXTH, _SIXTH], [_THIRD, _SIXTH], [_SIXTH, _THIRD]])
    weights = np.full(3, _SIXTH)
    if quadratic:
        points, weights = _DUNAVANT_4
    L = np.column_stack([1.0 - points.sum(axis=1), points])
    dL = np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    if not quadratic:
        return FaceRule(L, np.broadcast_to(dL, (len(L), 3, 2)).copy(), weights)
    edges = ((0, 1), (1, 2), (2, 0))
    values = np.column_stack([L * (2.0 * L - 1.0), *(4.0 * L[:, a] * L[:, b] for a, b in edges)])
    corner = (4.0 * L - 1.0)[:, :, None] * dL
    middle = [4.0 * (L[:, a, None] * dL[b] + L[:, b, None] * dL[a]) for a, b in edges]
    return FaceRule(values, np.concatenate([corner, np.stack(middle, axis=1)], axis=1), weights)


def _quadrangle(quadratic: bool) -> FaceRule:
    line, share = ([-_GAUSS, 0.0, _GAUSS], [5 / 9, 8 / 9, 5 / 9]) if quadratic else ([-(3**-0.5), 3**-0.5], [1.0, 1.0])
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.outer(share, share).ravel()
    nodes = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    x = points[:, None, :]
    factors = 1.0 + x * nodes
    values = factors.prod(axis=2) / 4.0
    gradients = nodes * factors[:, :, ::-1] / 4.0
    if not quadratic:
        return FaceRule(values, gradients, weights)
    tail = (x * nodes).sum(axis=2) - 1.0
    corner = values * tail
    corner_gradients = gradients * tail[:, :, None] + values[:, :, None] * nodes
    middles = np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    along = middles == 0.0
    parts = np.where(along, 1.0 - x**2, 1.0 + x * middles)
    slopes = np.where(along, -2.0 * x, middles)
    middle_values = parts.prod(axis=2) / 2.0
    middle_gradients = slopes * parts[:, :, ::-1] / 2.0
    return FaceRule(
        np.hstack([corner, middle_values]), np.concatenate([corner_gradients, middle_gradients], axis=1), weights
    )


def _six_points() -> tuple[np.ndarray, np.ndarray]:
    """Dunavant's rule of degree 4 for the unit triangle."""
    points, weights = [], []
    for a, weight in ((0.445948490915965, 0.223381589678011), (0.091576213509771, 0.109951743655322)):
        b = 1.0 - 2.0 * a
        points += [[a, a], [a, b], [b, a]]
        weights += [0.5 * weight] * 3
    return np.array(points), np.array(weights)


_DUNAVANT_4 = _six_points()
_RULES = {3: _triangle(False), 4: _quadrangle(False), 6: _triangle(True), 8: _quadrangle(True)}
