"""Least squares in order of priority, between limits: a cascade of small quadratic programs.

Each level minimises its own cost among the efforts that are as good as the best for the levels before it, J e = J e*
(Kanoun, Lamiraux, Wieber 2011; with equalities alone, Siciliano and Slotine 1991). No weight decides how much of the
first goal is given for the second: none. That is for goals that can be reached. Where the first cannot, its last
micrometres would cost the others everything, in directions in which the body hardly answers: there all goals are
weighed against each other in one program.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.active_set import independent
from soft_twin.linear_algebra.quadratic_programs import Bounds, solve_bounded_qp

LATER = 0.5  # weight of the goals of later levels where the first cannot be reached
NEARLY, WELL = 0.5, 1.5  # tolerances by which the first level is missed where weighing begins and where it is whole
REGULARISATION = 1e-8  # of the mean diagonal, where goals leave efforts undetermined
DEPENDENT = 1e-6  # of the largest entry: directions that matter less to the levels before are free


@dataclass(frozen=True)
class Level:
    """½ eᵀ H e + fᵀ e of all goals of one priority and of staying, and the goals' residuals r + J e, which are as good
    as zero within a tolerance."""

    H: np.ndarray
    f: np.ndarray
    r: np.ndarray
    J: np.ndarray
    tolerance: float

    def missed_by(self, efforts: np.ndarray) -> float:
        """How many tolerances efforts (a,) miss it by."""
        return math.sqrt(((self.r + self.J @ efforts) ** 2).sum()) / self.tolerance


def repeat_each_other(levels: Sequence[Level]) -> bool:
    """Whether fewer directions of the efforts matter to the levels than they have rows, and than there are efforts."""
    rows = np.concatenate([level.J for level in levels])
    return len(independent(rows, np.empty((0, rows.shape[1])), DEPENDENT)) < min(rows.shape)


def solve_levels(
    levels: Sequence[Level], bounds: Bounds, strict: bool = False, rest: Level | None = None
) -> tuple[np.ndarray, float]:
    """The efforts (a,) that are best for the first level; of these, those that are best for the second; and so on. And
    the weight of the later levels, where all were weighed against each other instead, else 0.

    Args:
        levels: the first comes first.
        bounds: that all keep to.
        strict: keep to the priorities also where the first level cannot be reached.
        rest: what chooses among efforts that are all the same to the others, and is never weighed against them.

    Raises:
        ConvergenceError: the first level has no solution.
    """
    first = _best(levels[0].H, levels[0].f, bounds)
    if len(levels) > 1 and not strict and levels[0].missed_by(first) > NEARLY:
        weight = LATER * _out_of_reach(levels[0], bounds)
        if weight > 0.0:
            return _rested(levels, rest, bounds, _solve_weighed(levels, bounds, weight)), weight
    return _solve_in_order(levels if rest is None else [*levels, rest], bounds, first), 0.0


def _out_of_reach(level: Level, bounds: Bounds) -> float:
    """0 where a level can be reached, 1 where it surely cannot, whatever staying near the last efforts makes of it."""
    H = level.J.T @ level.J
    H[np.diag_indices_from(H)] += REGULARISATION * max(np.trace(H), 1e-300) / len(H)
    best = _best(H, level.J.T @ level.r, bounds)
    return min(max((level.missed_by(best) - NEARLY) / (WELL - NEARLY), 0.0), 1.0)


def _solve_weighed(levels: Sequence[Level], bounds: Bounds, weight: float) -> np.ndarray:
    H, f = levels[0].H.copy(), levels[0].f.copy()
    for level in levels[1:]:
        H += weight**2 * level.J.T @ level.J
        f += weight**2 * level.J.T @ level.r
    return _best(H, f, bounds)


def _rested(levels: Sequence[Level], rest: Level | None, bounds: Bounds, efforts: np.ndarray) -> np.ndarray:
    """Of the efforts that are for all levels as good as these (a,), those that are best for `rest`."""
    if rest is None:
        return efforts
    rows = np.concatenate([level.J for level in levels])
    return _solve_in_order([replace(levels[0], J=rows), rest], bounds, efforts)


def _solve_in_order(levels: Sequence[Level], bounds: Bounds, efforts: np.ndarray) -> np.ndarray:
    """`efforts`: best for the first level."""
    kept = np.empty((0, len(efforts)))
    for before, level in zip(levels, levels[1:], strict=False):
        kept = independent(before.J, kept, DEPENDENT)
        if len(kept) >= len(efforts):
            break
        try:
            efforts = solve_bounded_qp(level.H, level.f, bounds, efforts, kept)
        except ConvergenceError:
            break  # what the levels before have found stands
    return efforts


def _best(H: np.ndarray, f: np.ndarray, bounds: Bounds) -> np.ndarray:
    """The efforts (a,) between bounds that one level alone asks for."""
    return solve_bounded_qp(H, f, bounds, np.zeros(len(f)), np.empty((0, len(f))))
