"""Small bodies that the tests of the twin share."""

import numpy as np

from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.materials import energy_named
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.mesh import Mesh, make_mesh

TETRAHEDRA_OF_A_CUBE = ((0, 1, 3, 4), (1, 2, 3, 6), (1, 4, 5, 6), (3, 4, 6, 7), (1, 3, 4, 6))


def distorted_block(element_name: str, seed: int = 1) -> Mesh:
    """A 3 × 2 × 2 block of unit cells, inner corners moved about; edges stay straight."""
    element = ELEMENTS[element_name]
    corners = np.stack(np.meshgrid(np.arange(4), np.arange(3), np.arange(3), indexing="ij"), axis=-1).reshape(-1, 3)
    inner = ((corners > 0) & (corners < corners.max(axis=0))).all(axis=1)
    nodes = corners + inner[:, None] * np.random.default_rng(seed).uniform(-0.15, 0.15, corners.shape)
    lookup = {tuple(corner): i for i, corner in enumerate(corners)}
    cube = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
    cells = [[lookup[i + a, j + b, k + c] for a, b, c in cube] for i in range(3) for j in range(2) for k in range(2)]
    cells = np.array(cells)
    if element_name.startswith("tet"):
        mirrored = np.array([sum(divmod(i, 4)) + i // 2 for i in range(len(cells))]) % 2 == 1
        cells = np.vstack([_tetrahedra(cell, flip) for cell, flip in zip(cells, mirrored, strict=True)])
        cells = _positive(nodes, cells)
    if hasattr(element, "edges"):
        nodes, cells = _with_mid_sides(nodes, cells, element.edges)
    return make_mesh(nodes, cells, element)


def _tetrahedra(cell, flip):
    turned = cell[[1, 2, 3, 0, 5, 6, 7, 4]] if flip else cell
    return turned[np.array(TETRAHEDRA_OF_A_CUBE)]


def _positive(nodes, cells):
    edges = nodes[cells[:, 1:]] - nodes[cells[:, :1]]
    flipped = np.linalg.det(edges) < 0
    cells[flipped] = cells[flipped][:, [0, 2, 1, 3]]
    return cells


def _with_mid_sides(nodes, cells, edges):
    pairs = np.sort(np.stack([cells[:, list(edge)] for edge in edges], axis=1), axis=2)
    unique, index = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    middles = nodes[unique].mean(axis=1)
    return np.vstack([nodes, middles]), np.hstack([cells, len(nodes) + index.reshape(len(cells), -1)])


def body_of(mesh: Mesh, young_modulus=1000.0, poisson_ratio=0.3, density=1000.0, law="corotational") -> Body:
    """The mesh filled with a material, clamped at its lowest z."""
    clamped = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 1e-9
    return Body(mesh, Material(energy_named(law, young_modulus, poisson_ratio), density), clamped)


def dense(matrix) -> np.ndarray:
    """The symmetric matrix that an EnvelopeCholesky's data hold."""
    n, b = matrix._rows.shape
    lower = np.zeros((n, n))
    for offset in range(min(b - 2, n)):
        lower[np.arange(offset, n), np.arange(n - offset)] = matrix._rows[: n - offset, offset]
    return lower + np.tril(lower, -1).T
