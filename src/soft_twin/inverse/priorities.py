"""Least squares in order of priority, between limits: a cascade of small quadratic programs.

Each level minimises its own cost among the efforts that are as good as the best for the levels before it, J e = J e*
(Kanoun, Lamiraux, Wieber 2011; with equalities alone, Siciliano and Slotine 1991). No weight decides how much of the
first goal is given for the second: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.quadratic_programs import solve_ordered_qp

DEPENDENT = 1e-6  # of the largest singular value: directions that matter less to the levels before are free


@dataclass(frozen=True)
class Level:
    """½ eᵀ H e + fᵀ e of all goals of one priority, and what they must keep for the levels behind: rows (k, a) J."""

    H: np.ndarray
    f: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Bounds:
    """Efforts low ≤ e ≤ high (a,), and rows_low ≤ A e ≤ rows_high, which give way where nothing satisfies them."""

    low: np.ndarray
    high: np.ndarray
    A: np.ndarray
    rows_low: np.ndarray
    rows_high: np.ndarray


def solve_levels(levels: Sequence[Level], bounds: Bounds) -> np.ndarray:
    """The efforts (a,) that are best for the first level; of these, those that are best for the second; and so on.

    Raises:
        ConvergenceError: the first level has no solution.
    """
    kept = np.zeros((0, len(bounds.low)))
    efforts = np.zeros(len(bounds.low))
    for number, level in enumerate(levels):
        try:
            efforts = solve_ordered_qp(level.H, level.f, bounds, kept, kept @ efforts)
        except ConvergenceError:
            if number == 0:
                raise
            break  # what the levels before have found stands
        if number + 1 < len(levels):
            kept = np.vstack([kept, _independent(level.rows, kept)])
            if len(kept) >= len(efforts):
                break
    return efforts


def _independent(rows: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span what `rows` ask for beyond the orthonormal rows that are kept."""
    largest = np.linalg.norm(rows)
    rest = rows - rows @ kept.T @ kept
    _, sizes, directions = np.linalg.svd(rest, full_matrices=False)
    return directions[sizes > DEPENDENT * max(largest, 1e-300)]
