"""Sparse Cholesky factorisation of the matrices that compact bodies have."""

from collections.abc import Sequence

import numpy as np

from soft_twin.twin.cholesky import Cholesky
from soft_twin.twin.dissection import coupled_nodes, dissect
from soft_twin.twin.energies.assembly import DROPPED, TRANSPOSED
from soft_twin.twin.envelope import EnvelopeCholesky, envelope_operations
from soft_twin.twin.fronts import FrontalFactor
from soft_twin.twin.symmetric_blocks import SymmetricBlocks

WORTH_DISSECTING = 3e8  # operations in an envelope: with less, fronts are no gain
WORTH_FRONTS = 0.75  # of the envelope's operations: fronts take longer for each
LARGE = 1e10  # operations in fronts: with more, they are what threads share


def cholesky_for(groups: Sequence[np.ndarray], place: np.ndarray) -> Cholesky:
    """The matrix that is factorised fastest: an envelope for slender bodies, fronts for compact and for large ones.

    Args:
        groups: (m, k) coupled nodes each.
        place: (n,) of each node among the unknown ones, from `slender_order`; −1 for others.
    """
    operations = envelope_operations(groups, place)
    if operations > WORTH_DISSECTING:
        sparse = SparseCholesky(groups, place)
        if sparse.operations < WORTH_FRONTS * operations or sparse.operations > LARGE:
            return sparse
    return EnvelopeCholesky(groups, place)


class SparseCholesky(Cholesky):
    """A sparse matrix, and its factor in the fronts of a nested dissection; see Cholesky.

    Unknowns are in the order of `place`; that of the dissection is its own business.

    Attributes:
        operations: multiplications and additions of a factorisation.
    """

    def __init__(self, groups: Sequence[np.ndarray], place: np.ndarray, threads: int | None = None):
        """A matrix that couples the nodes of each group with each other.

        Args:
            groups: (m, k) arrays of coupled nodes.
            place: (n,) place of each node among the blocks of unknowns, −1 where it is none.
            threads: how many factorise at once; None for as many as there are processors.
        """
        graph = coupled_nodes(groups, place)
        dissection = dissect(graph)
        ordered = graph[dissection.order][:, dissection.order]
        self.size = 3 * graph.shape[0]
        self._place, self._order = place, dissection.order
        self._position = np.argsort(dissection.order)
        self._blocks = SymmetricBlocks(ordered)
        self.data = self._blocks.data
        self.diagonal_indices = self._blocks.diagonal_indices[self._position].ravel()
        self._factor = FrontalFactor(ordered, dissection, self._blocks, threads)
        self.operations = self._factor.operations

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self._factor.nbytes

    def addresses(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As of Cholesky.

        Raises:
            InputError: two unknown nodes that are in no group with each other.
        """
        a, b = np.tril_indices(nodes.shape[1])
        places = self._place[nodes]
        unknown = (places[:, a] >= 0) & (places[:, b] >= 0)
        rows, columns = (np.where(unknown, self._position[places[:, side]], 0) for side in (a, b))
        offsets = self._blocks.offsets(np.maximum(rows, columns), np.minimum(rows, columns))
        offsets = np.where(rows < columns, TRANSPOSED - offsets, offsets)
        return np.where(unknown, offsets, DROPPED), np.full(offsets.shape, 3)

    def solve(self, right_hand_sides: np.ndarray) -> np.ndarray:
        columns = self._columns(right_hand_sides)
        self._factor.solve(columns)
        return self._from_columns(columns, right_hand_sides.shape)

    def _try(self, right_hand_sides: np.ndarray) -> np.ndarray | None:
        return self.solve(right_hand_sides) if self._factor.factorise(self.data, np.float64) else None

    def _columns(self, values: np.ndarray) -> np.ndarray:
        """(size,) or (size, c) as (c, size) in the order of the dissection."""
        blocks = values.reshape(self.size // 3, 3, -1) if values.size else np.empty((self.size // 3, 3, 0))
        return np.ascontiguousarray(blocks[self._order].transpose(2, 0, 1)).reshape(-1, self.size)

    def _from_columns(self, columns: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        solution = columns.reshape(-1, self.size // 3, 3)[:, self._position]
        return solution.transpose(1, 2, 0).reshape(shape)
