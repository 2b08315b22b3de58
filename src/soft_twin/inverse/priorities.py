"""Least squares in order of priority, between limits: a cascade of small quadratic programs.

Each level minimises its own cost among the efforts that are as good as the best for the levels before it, J e = J e*
(Kanoun, Lamiraux, Wieber 2011; with equalities alone, Siciliano and Slotine 1991). No weight decides how much of the
first goal is given for the second: none. That is for goals that can be reached. Where the first cannot, its last
micrometres would cost the others everything, in directions in which the body hardly answers: there all goals are
weighed against each other in one program.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.quadratic_programs import solve_ordered_qp

LATER = 0.5  # weight of the goals of later levels where the first cannot be reached
NEARLY, WELL = 0.5, 1.5  # tolerances by which the first level is missed where weighing begins and where it is whole
REGULARISATION = 1e-8  # of the mean diagonal, where goals leave efforts undetermined
DEPENDENT = 1e-6  # of the largest singular value: directions that matter less to the levels before are free


@dataclass(frozen=True)
class Level:
    """½ eᵀ H e + fᵀ e of all goals of one priority and of staying, and the goals' residuals r + J e, which are as good
    as zero within a tolerance."""

    H: np.ndarray
    f: np.ndarray
    r: np.ndarray
    J: np.ndarray
    tolerance: float


@dataclass(frozen=True)
class Bounds:
    """Efforts low ≤ e ≤ high (a,), and rows_low ≤ A e ≤ rows_high, which give way where nothing satisfies them."""

    low: np.ndarray
    high: np.ndarray
    A: np.ndarray
    rows_low: np.ndarray
    rows_high: np.ndarray


def solve_levels(levels: Sequence[Level], bounds: Bounds, strict: bool = False) -> np.ndarray:
    """The efforts (a,) that are best for the first level; of these, those that are best for the second; and so on.

    Args:
        levels: the first comes first.
        bounds: that all keep to.
        strict: keep to the priorities also where the first level cannot be reached.

    Raises:
        ConvergenceError: the first level has no solution.
    """
    if len(levels) > 1 and not strict:
        weight = LATER * _out_of_reach(levels[0], bounds)
        if weight > 0.0:
            return _solve_weighed(levels, bounds, weight)
    return _solve_in_order(levels, bounds)


def _out_of_reach(level: Level, bounds: Bounds) -> float:
    """0 where a level can be reached, 1 where it surely cannot, whatever staying near the last efforts makes of it."""
    H = level.J.T @ level.J
    H[np.diag_indices_from(H)] += REGULARISATION * max(np.trace(H), 1e-300) / len(H)
    none = np.zeros((0, len(H)))
    best = solve_ordered_qp(H, level.J.T @ level.r, bounds, none, np.zeros(0))
    missed = float(np.linalg.norm(level.r + level.J @ best)) / level.tolerance
    return min(max((missed - NEARLY) / (WELL - NEARLY), 0.0), 1.0)


def _solve_weighed(levels: Sequence[Level], bounds: Bounds, weight: float) -> np.ndarray:
    H, f = levels[0].H.copy(), levels[0].f.copy()
    for level in levels[1:]:
        H += weight**2 * level.J.T @ level.J
        f += weight**2 * level.J.T @ level.r
    return solve_ordered_qp(H, f, bounds, np.zeros((0, len(f))), np.zeros(0))


def _solve_in_order(levels: Sequence[Level], bounds: Bounds) -> np.ndarray:
    count = len(bounds.low)
    kept, efforts = np.zeros((0, count)), np.zeros(count)
    for number, level in enumerate(levels):
        try:
            efforts = solve_ordered_qp(level.H, level.f, bounds, kept, kept @ efforts)
        except ConvergenceError:
            if number == 0:
                raise
            break  # what the levels before have found stands
        if number + 1 < len(levels):
            kept = np.vstack([kept, _independent(level.J, kept)])
            if len(kept) >= count:
                break
    return efforts


def _independent(rows: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span what `rows` ask for beyond the orthonormal rows that are kept."""
    largest = np.linalg.norm(rows)
    rest = rows - rows @ kept.T @ kept
    _, sizes, directions = np.linalg.svd(rest, full_matrices=False)
    return directions[sizes > DEPENDENT * max(largest, 1e-300)]
