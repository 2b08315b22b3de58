"""Sparse Cholesky factorisation of the matrices that compact bodies have.

The factor of a large compact body takes many operations for each of its numbers. It is made in single precision, which
halves both its time and its memory, and solutions are refined with the matrix itself, in double precision, until they
are as exact as from a factor in double precision. Whether the matrix is definite is found the same way, on a random
right-hand side (see `refinement`): single precision alone might miss a small negative eigenvalue, or see one that is
not there. Where refinement does not succeed, the factor is made anew in double precision.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.addresses import DROPPED, TRANSPOSED
from soft_twin.linear_algebra.cholesky import Cholesky, one_blas_thread
from soft_twin.linear_algebra.dissection import coupled_nodes, dissect
from soft_twin.linear_algebra.envelope import EnvelopeCholesky, envelope_operations
from soft_twin.linear_algebra.fronts import FrontalFactor
from soft_twin.linear_algebra.iterative_refinement import refine
from soft_twin.linear_algebra.symmetric_blocks import SymmetricBlocks

WORTH_DISSECTING = 3e8  # operations in an envelope: with less, fronts are no gain
WORTH_FRONTS = 0.75  # of the envelope's operations: fronts take longer for each
LARGE = 1e10  # operations in fronts: with more, they are what threads share
WORTH_REFINING = 1500.0  # operations for a number of the factor: with less, refinement takes all that it saves
TOLERANCE = 1e-12  # residual of refined solutions, of the right-hand side
ROUND_OFF = 1e-16  # residual that double precision leaves, of the matrix's largest entry times the solution
PROBE_TOLERANCE = 1e-6  # residual of the random right-hand side: a part of it is along each eigenvector
LIMIT = 15  # steps of refinement, which take less than a factorisation in double precision
PAUSE = 5  # factorisations in double precision after one in single precision was not good enough


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
        single: whether the factor is made in single precision.
        fallbacks: how many factors in single precision were not good enough, and made anew in double.
    """

    def __init__(
        self, groups: Sequence[np.ndarray], place: np.ndarray, threads: int | None = None, single: bool | None = None
    ):
        """A matrix that couples the nodes of each group with each other.

        Args:
            groups: (m, k) arrays of coupled nodes.
            place: (n,) place of each node among the blocks of unknowns, −1 where it is none.
            threads: how many factorise at once; None for as many as there are processors.
            single: see the attribute; None for where it is faster.
        """
        graph = coupled_nodes(groups, place)
        dissection = dissect(graph)
        ordered = graph[dissection.order][:, dissection.order]
        self.size = 3 * graph.shape[0]
        self.place, self._order = place, dissection.order
        self._position = np.argsort(dissection.order)
        self._blocks = SymmetricBlocks(ordered)
        self.data = self._blocks.data
        self.diagonal_indices = self._blocks.diagonal_indices[self._position].ravel()
        self._factor = FrontalFactor(ordered, dissection, self._blocks, threads)
        self.operations = self._factor.operations
        self.single = self.operations > WORTH_REFINING * self._factor.size if single is None else single
        self.fallbacks, self._pause = 0, 0
        self._factorised: np.ndarray | None = None  # the matrix's data, while its factor is in single precision

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self._factor.nbytes

    def addresses(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = np.tril_indices(nodes.shape[1])
        places = self._places(nodes)
        unknown = (places[:, a] >= 0) & (places[:, b] >= 0)
        rows, columns = (np.where(unknown, self._position[places[:, side]], 0) for side in (a, b))
        offsets = self._blocks.offsets(np.maximum(rows, columns), np.minimum(rows, columns))
        offsets = np.where(rows < columns, TRANSPOSED - offsets, offsets)
        return np.ascontiguousarray(np.where(unknown, offsets, DROPPED)), np.full(offsets.shape, 3)

    def solve(self, right_hand_sides: np.ndarray) -> np.ndarray:
        """As of Cholesky.

        Raises:
            ConvergenceError: the factor is in single precision, a right-hand side cannot be refined with it, and in
                double precision the matrix turns out to be indefinite.
        """
        columns = self._columns(right_hand_sides)
        if self._factorised is None:
            self._factor.solve(columns)
            return self._from_columns(columns, right_hand_sides.shape)
        solution = self._refined(columns, np.full(len(columns), TOLERANCE))
        if solution is not None:
            return self._from_columns(solution, right_hand_sides.shape)
        self._give_up_single()
        if not self._factor.factorise(self._factorised, np.float64):
            raise ConvergenceError("the stiffness matrix is indefinite beyond what single precision shows")
        self._factorised = None
        return self.solve(right_hand_sides)

    def _try(self, right_hand_sides: np.ndarray) -> np.ndarray | None:
        if self.single and self._pause == 0:
            solution = self._try_single(self._columns(right_hand_sides))
            if solution is not None:
                return self._from_columns(solution, right_hand_sides.shape)
            self._give_up_single()
        else:
            self._pause = max(0, self._pause - 1)
        self._factorised = None
        return self.solve(right_hand_sides) if self._factor.factorise(self.data, np.float64) else None

    def _try_single(self, columns: np.ndarray) -> np.ndarray | None:
        """Solutions (c, size), or None where the matrix is indefinite or single precision is not enough for it."""
        if not self._factor.factorise(self.data, np.float32):
            return None
        self._factorised = self.data.copy()
        probe = np.random.default_rng(0).normal(size=(1, self.size))
        tolerances = np.append(PROBE_TOLERANCE, np.full(len(columns), TOLERANCE))
        solution = self._refined(np.vstack([probe, columns]), tolerances)
        return None if solution is None else solution[1:]

    def _give_up_single(self) -> None:
        self.fallbacks += 1
        self._pause = PAUSE

    def _refined(self, columns: np.ndarray, tolerances: np.ndarray) -> np.ndarray | None:
        """Solutions of (c, size) right-hand sides, None where the factor is not good enough."""
        data = self._factorised
        round_off = ROUND_OFF * data[self.diagonal_indices].max()
        product = partial(self._blocks.product, data)
        with one_blas_thread():
            return refine(product, self._nearly_solved, columns, tolerances, round_off, LIMIT)

    def _nearly_solved(self, columns: np.ndarray) -> np.ndarray:
        """Solutions of (c, size) right-hand sides in single precision."""
        sizes = np.linalg.norm(columns, axis=1, keepdims=True)
        scaled = (columns / sizes).astype(np.float32)
        self._factor.solve(scaled)
        return sizes * scaled

    def _columns(self, values: np.ndarray) -> np.ndarray:
        """(size,) or (size, c) as (c, size) in the order of the dissection."""
        blocks = values.reshape(self.size // 3, 3, -1) if values.size else np.empty((self.size // 3, 3, 0))
        return np.ascontiguousarray(blocks[self._order].transpose(2, 0, 1)).reshape(-1, self.size)

    def _from_columns(self, columns: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        solution = columns.reshape(-1, self.size // 3, 3)[:, self._position]
        return solution.transpose(1, 2, 0).reshape(shape)
