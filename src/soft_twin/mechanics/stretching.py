"""How much a step would stretch the cells of a mesh: what a thin wall cannot take, however little it moves."""

import numpy as np

from soft_twin.linear_algebra.compiled import kernel
from soft_twin.mesh.mesh import Mesh


class Stretching:
    """Of the cells of one mesh."""

    def __init__(self, mesh: Mesh):
        neighbours = np.stack([mesh.cells, np.roll(mesh.cells, -1, axis=1)], axis=2).reshape(-1, 2)
        self._pairs = np.unique(np.sort(neighbours, axis=1), axis=0)
        apart = mesh.nodes[self._pairs[:, 0]] - mesh.nodes[self._pairs[:, 1]]
        self._inverse_squares = 1.0 / np.einsum("pi,pi->p", apart, apart)

    def of(self, step: np.ndarray) -> float:
        """The largest movement of a cell's nodes against the next in it, of their distance at rest, in a step (n, 3)
        [m]; turning counts, too."""
        return _largest(step, self._pairs, self._inverse_squares)


@kernel()
def _largest(step, pairs, inverse_squares):
    largest = 0.0
    for p in range(len(pairs)):
        a, b = step[pairs[p, 0]], step[pairs[p, 1]]
        d0, d1, d2 = a[0] - b[0], a[1] - b[1], a[2] - b[2]
        square = (d0 * d0 + d1 * d1 + d2 * d2) * inverse_squares[p]
        if square > largest:
            largest = square
    return np.sqrt(largest)
