"""Triangles on a surface of a mesh: between its nodes, or finer, on the curved faces that quadratic elements have."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.mesh.faces import FaceShape
from soft_twin.mesh.mesh import Mesh, split_faces

SAME = 1e-9  # weights closer than this are of one point


@dataclass(frozen=True)
class Facets:
    """A surface as triangles.

    Attributes:
        weights: (p, n) of the mesh's nodes in each point: points are `weights @ nodes`, however the body is deformed.
        triangles: (t, 3) of points, outward.
        between: (t, p) of the points in the middle of each triangle, as its element's face is curved there: places
            between the points are `between @ points`.
    """

    weights: csr_matrix
    triangles: np.ndarray
    between: csr_matrix


def facets(mesh: Mesh, faces: np.ndarray, parts: int = 1) -> Facets:
    """Triangles of faces (f, k_face) of a mesh, outward.

    Args:
        mesh: the mesh.
        faces: its nodes.
        parts: 1: between the nodes; more: each edge is cut into so many, and what is between the nodes lies where the
            element's shape functions say.
    """
    width, count = faces.shape[1], len(faces)
    shape = FaceShape(width)
    if parts == 1:
        nodes, numbered = np.unique(faces, return_inverse=True)
        ones = np.ones(len(nodes)), nodes, np.arange(len(nodes) + 1)
        numbered, own = numbered.reshape(faces.shape), split_faces(np.arange(width)[None])
        between = _between(shape, shape.places, own, numbered, len(nodes))
        return Facets(csr_matrix(ones, shape=(len(nodes), len(mesh.nodes))), split_faces(numbered), between)
    places, own = _square(parts) if width in (4, 8) else _triangle(parts)
    values, points = shape.values(places), len(places)
    rows = np.repeat(np.arange(count * points), width)
    entries = np.tile(values, (count, 1)).ravel(), (rows, np.repeat(faces, points, axis=0).ravel())
    whole = csr_matrix(entries, shape=(count * points, len(mesh.nodes)))
    first, numbers = _distinct(whole)
    numbered = numbers.reshape(count, points)
    between = _between(shape, places, own, numbered, len(first))
    return Facets(whole[first], numbered[:, own].reshape(-1, 3), between)


def _between(shape: FaceShape, places: np.ndarray, own: np.ndarray, numbered: np.ndarray, count: int) -> csr_matrix:
    """See Facets; faces have points at places (k, 2), triangles (s, 3) of these, and numbers (f, k) of `count` points.

    Points are enough to say where the face's nodes are, and these say where it is between them."""
    middles = shape.values(places[own].mean(axis=1)) @ np.linalg.pinv(shape.values(places))  # (s, k)
    faces, (rows, width) = len(numbered), middles.shape
    entries = np.tile(middles.ravel(), faces), np.repeat(numbered, rows, axis=0).ravel()
    starts = np.arange(0, faces * rows * width + 1, width)
    return csr_matrix((*entries, starts), shape=(faces * rows, count))


def _square(parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (p, 2) on a quadrilateral −1…1 and triangles (t, 3) of them, counter-clockwise."""
    ticks = np.linspace(-1.0, 1.0, parts + 1)
    places = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    i, j = (each.ravel() for each in np.meshgrid(*2 * [np.arange(parts)], indexing="ij"))
    corner = i * (parts + 1) + j
    a, b, c, d = corner, corner + parts + 1, corner + parts + 2, corner + 1
    return places, np.vstack([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def _triangle(parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (p, 2) on a triangle 0…1 and triangles (t, 3) of them, counter-clockwise."""
    pairs = [(i, j) for i in range(parts + 1) for j in range(parts + 1 - i)]
    number = {pair: k for k, pair in enumerate(pairs)}
    upright = [((i, j), (i + 1, j), (i, j + 1)) for i, j in pairs if i + j < parts]
    turned = [((i + 1, j), (i + 1, j + 1), (i, j + 1)) for i, j in pairs if i + j < parts - 1]
    return np.array(pairs) / parts, np.array([[number[pair] for pair in each] for each in upright + turned])


def _distinct(weights: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """The first of each group of equal rows, and the group of each row: neighbours share the points of their edge."""
    weights.data[np.abs(weights.data) < SAME] = 0.0
    weights.eliminate_zeros()
    weights.sort_indices()
    known: dict[tuple, int] = {}
    first, numbers = [], np.empty(weights.shape[0], np.int64)
    for row in range(weights.shape[0]):
        own = slice(weights.indptr[row], weights.indptr[row + 1])
        key = *weights.indices[own].tolist(), *np.round(weights.data[own] / SAME).astype(np.int64).tolist()
        numbers[row] = known.setdefault(key, len(known))
        if numbers[row] == len(first):
            first.append(row)
    return np.array(first), numbers
