"""Cables threaded through a body: polylines through embedded points, their lengths, forces and stiffness.

A cable is cut at the faces of the cells it passes, so that each straight piece lies in one cell and its stiffness
adds no new entries to the matrix. With the ends p = Σ Nₐ xₐ and q = Σ Mₐ xₐ of a piece and d = (q − p)/|q − p|,
its length is ℓ = |q − p|, ∂ℓ/∂xₐ = (Mₐ − Nₐ) d and ∂²ℓ/∂xₐ∂xᵦ = (Mₐ − Nₐ)(Mᵦ − Nᵦ)(I − d dᵀ)/ℓ.
"""

import numpy as np
from numba import njit

from soft_twin.twin.embedding import cut_lines, natural_coordinates
from soft_twin.twin.energies.assembly import scatter_blocks
from soft_twin.twin.mesh import Mesh


class Cables:
    """Cables along straight lines of the undeformed body.

    Attributes:
        rest_lengths: (c,) lengths in the undeformed body [m].
    """

    def __init__(self, mesh: Mesh, starts: np.ndarray, ends: np.ndarray, pieces_per_cell: int = 1):
        """`starts`, `ends`: (c, 3) undeformed ends [m], base first. `pieces_per_cell`: how finely a cable follows
        the curve of a quadratic cell.

        Raises:
            MeshError: a cable leaves the body.
        """
        cells, weights, owners = [], [], []
        for index, (passed, cuts) in enumerate(cut_lines(mesh, starts, ends)):
            start, end = starts[index], ends[index]
            fractions = np.linspace(0.0, 1.0, pieces_per_cell + 1)
            t = cuts[:-1, None] + np.diff(cuts)[:, None] * fractions
            t0, t1 = t[:, :-1].ravel(), t[:, 1:].ravel()
            passed = np.repeat(passed, pieces_per_cell)
            values = [
                mesh.element.values(natural_coordinates(mesh, passed, start + s[:, None] * (end - start)))
                for s in (t0, t1)
            ]
            cells.append(passed)
            weights.append(values[1] - values[0])
            owners.append(np.full(len(passed), index))
        self.count = len(starts)
        self._nodes = np.ascontiguousarray(mesh.cells[np.concatenate(cells)])
        self._weights = np.ascontiguousarray(np.vstack(weights))
        self._owners = np.concatenate(owners)
        self._ones = np.ones(len(self._owners))
        self.rest_lengths = self.lengths(mesh.nodes)

    def lengths(self, x: np.ndarray) -> np.ndarray:
        """(c,) lengths at positions (n, 3) [m]."""
        pieces = np.einsum("sk,ski->si", self._weights, x[self._nodes])
        return np.bincount(self._owners, np.linalg.norm(pieces, axis=1), self.count)

    def lengths_and_gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (c,) and their gradients by the nodes' positions, (n, 3, c)."""
        lengths, gradients = np.zeros(self.count), np.zeros((len(x), 3, self.count))
        _gradients(x, self._nodes, self._weights, self._owners, self._ones, lengths, gradients)
        return lengths, gradients

    @property
    def nodes(self) -> np.ndarray:
        """(s, k) nodes of the cell that each piece lies in: those that a tension couples."""
        return self._nodes

    def add_stiffness(self, x: np.ndarray, tensions: np.ndarray, offsets, strides, data: np.ndarray) -> None:
        """Add Σ T ∂²ℓ/∂x² of tensions (c,) [N] to a matrix's data, at its addresses of `nodes`."""
        _stiffness(x, self._nodes, self._weights, tensions[self._owners], offsets, strides, data)

    def scaled_gradients(self, x: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """∂ℓ/∂x (n, 3, c) with each piece's share scaled by `factors` (s,): cables whose tension falls by friction."""
        lengths, gradients = np.zeros(self.count), np.zeros((len(x), 3, self.count))
        _gradients(x, self._nodes, self._weights, self._owners, factors, lengths, gradients)
        return gradients

    def turning(self, x: np.ndarray) -> np.ndarray:
        """(s,) angle [rad] that each cable has turned from the base, where it enters along +z, to each piece."""
        pieces = np.einsum("sk,ski->si", self._weights, x[self._nodes])
        directions = pieces / np.linalg.norm(pieces, axis=1)[:, None]
        first = np.searchsorted(self._owners, np.arange(self.count))
        before = np.roll(directions, 1, axis=0)
        before[first] = [0.0, 0.0, 1.0]
        total = np.cumsum(np.arccos(np.clip((directions * before).sum(axis=1), -1.0, 1.0)))
        return total - np.append(0.0, total)[first][self._owners]

    @property
    def owners(self) -> np.ndarray:
        """(s,) cable that each piece belongs to, in order from base to end."""
        return self._owners


@njit(cache=True, nogil=True)
def _gradients(x, nodes, weights, owners, factors, lengths, gradients):
    for s in range(len(nodes)):
        d = np.zeros(3)
        for a in range(nodes.shape[1]):
            for i in range(3):
                d[i] += weights[s, a] * x[nodes[s, a], i]
        length = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        lengths[owners[s]] += length
        for a in range(nodes.shape[1]):
            for i in range(3):
                gradients[nodes[s, a], i, owners[s]] += factors[s] * weights[s, a] * d[i] / length


@njit(cache=True, nogil=True)
def _stiffness(x, nodes, weights, tensions, offsets, strides, data):
    k = nodes.shape[1]
    K = np.empty((k, k, 3, 3))
    for s in range(len(nodes)):
        if tensions[s] == 0.0:
            continue
        d = np.zeros(3)
        for a in range(k):
            for i in range(3):
                d[i] += weights[s, a] * x[nodes[s, a], i]
        length = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        d /= length
        for a in range(k):
            for b in range(a + 1):
                scale = tensions[s] * weights[s, a] * weights[s, b] / length
                for i in range(3):
                    for j in range(3):
                        K[a, b, i, j] = scale * ((1.0 if i == j else 0.0) - d[i] * d[j])
        scatter_blocks(K, offsets[s], strides[s], data)
