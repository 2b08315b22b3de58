"""What a stiffness matrix that is factorised in place must be able to do, and what is done when it is indefinite."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from soft_twin.errors import ConvergenceError, InputError

UNCOUPLED = "nodes: two of them are coupled in none of the groups that the matrix was made for"
ALIKE = 0.3  # of a shift: one that is as much or more is not the next smaller one, but the same of a matrix like it
WIDE = "SkylakeX", "Cooperlake", "SapphireRapids"  # OpenBLAS's names


class Cholesky(ABC):
    """A symmetric positive definite matrix of 3 × 3 blocks, and its factor, which may take its place.

    Attributes:
        size: number of unknowns.
        place: (n,) of each node among the blocks of unknowns, −1 where it is none.
        data: the matrix, see `addresses`.
        diagonal_indices: (size,) of the diagonal's entries in `data`.
        shifts: exponents of 10 of what is tried to make a matrix positive definite, of its diagonal's mean.
        shift: what was added to the diagonal to make the last matrix positive definite.
    """

    size: int
    place: np.ndarray
    data: np.ndarray
    diagonal_indices: np.ndarray
    shifts: Sequence[int] = range(-4, 5)
    shift: float = 0.0

    @abstractmethod
    def addresses(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the blocks of groups of nodes (m, k) stand: offsets and strides (m, k (k + 1) / 2), b ≤ a in row order,
        both C-contiguous: kernels are then compiled once, for these and for none.

        The entry (i, j) of a block stands at data[offset + i + j stride]; where the offset is below DROPPED, that of
        the transposed block does at TRANSPOSED − offset; where it is DROPPED, a node is no unknown. Diagonal blocks
        are written whole.

        Raises:
            InputError: nodes that the matrix does not know, or two unknown ones that are in no group with each other.
        """

    @abstractmethod
    def solve(self, right_hand_sides: np.ndarray) -> np.ndarray:
        """Solution of (size,) or (size, c) right-hand sides, with the last factorisation."""

    def _places(self, nodes: np.ndarray) -> np.ndarray:
        """(m, k) of the nodes of groups.

        Raises:
            InputError: nodes that the matrix does not know.
        """
        if nodes.size and not (nodes.min() >= 0 and nodes.max() < len(self.place)):
            raise InputError(
                f"nodes {nodes.min()} … {nodes.max()}: the matrix was made for {len(self.place)} nodes: is it another "
                "body's?"
            )
        return self.place[nodes]

    @abstractmethod
    def _try(self, right_hand_sides: np.ndarray) -> np.ndarray | None:
        """Factorise `data`, which may be overwritten; the solution, or None if it is indefinite or not finite."""

    @property
    def nbytes(self) -> int:
        """Memory of the matrix and its factor."""
        return self.data.nbytes

    @property
    def diagonal(self) -> np.ndarray:
        """(size,) a copy of the diagonal, before the matrix is factorised."""
        return self.data[self.diagonal_indices]

    def add_to_diagonal(self, values: np.ndarray | float) -> None:
        """Add (size,) values, or one to all."""
        self.data[self.diagonal_indices] += values

    def solve_definite(self, right_hand_sides: np.ndarray) -> np.ndarray | None:
        """Factorise `data` as it is and solve, or None where it is indefinite or not finite."""
        self.shift = 0.0
        return self._try(right_hand_sides) if np.isfinite(self.diagonal.sum()) else None

    def factorise(self, assemble: Callable[[], object]) -> None:
        """Factorise `data` as it is; where it is indefinite, `assemble` writes it anew and its diagonal is shifted,
        further and further.

        Raises:
            ConvergenceError: no finite shift helps: the matrix holds NaN or infinity.
        """
        self.factorise_and_solve(assemble, np.empty((self.size, 0)))

    def factorise_and_solve(
        self, assemble: Callable[[], object], right_hand_sides: np.ndarray, expected: float = 0.0
    ) -> np.ndarray:
        """`factorise`, then `solve`.

        `expected`: the shift that a matrix like it needed, as that of the iteration before: an indefinite one is then
        tried with the next smaller one first (Nocedal and Wright, *Numerical Optimization*, 2006, algorithm 3.3).

        Raises:
            ConvergenceError: as `factorise`.
        """
        solution = self.solve_definite(right_hand_sides)
        if solution is not None:
            return solution
        assemble()
        whole, scale = self.data.copy(), float(np.abs(self.diagonal).mean())
        shifts = [scale * 10.0**exponent for exponent in self.shifts] if np.isfinite(scale) else []
        smaller = sum(shift < ALIKE * expected for shift in shifts)
        for self.shift in shifts[max(smaller - 1, 0) :]:
            self.data[:] = whole
            self.add_to_diagonal(self.shift)
            solution = self._try(right_hand_sides)
            if solution is not None:
                return solution
        raise ConvergenceError("the stiffness matrix is not finite: the body is inverted or a load is not a number")


def one_blas_thread():
    """A context in which each call of BLAS stays on one processor: threads for matrices as small as panels and fronts
    cost more than they bring, ten times as much where others use the processors too."""
    return _blas().limit(limits=1)


@cache
def has_wide_vectors() -> bool:
    """Whether BLAS works with vectors of 512 bits: its products of small matrices then are faster than its rank
    updates, which they are not elsewhere."""
    return any(each.get("architecture") in WIDE for each in _blas().info())


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
