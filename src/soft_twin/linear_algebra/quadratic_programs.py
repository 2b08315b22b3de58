"""Small dense quadratic programs, solved by DAQP (Arnström, Bemporad, Axehill 2022), with the status checked."""

from dataclasses import dataclass

import daqp
import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.active_set import settle

INFINITE = 1e30
PRIMAL_TOLERANCE = 1e-11  # by which DAQP may miss a bound, in its unit; what it misses, the rows of contact are off by
EQUAL = 5  # DAQP's flag of an equation
SOFT = 8  # DAQP's flag of a constraint that may be violated at a high price


@dataclass(frozen=True)
class Bounds:
    """low ≤ x ≤ high (c,), and rows_low ≤ A x ≤ rows_high, which give way where nothing satisfies them."""

    low: np.ndarray
    high: np.ndarray
    A: np.ndarray
    rows_low: np.ndarray
    rows_high: np.ndarray


def solve_box_qp(H: np.ndarray, f: np.ndarray, low, high) -> np.ndarray:
    """The x (c,) with low ≤ x ≤ high that minimises ½ xᵀ H x + fᵀ x, H positive definite.

    Raises:
        ConvergenceError: no solution was found.
    """
    return solve_qp(H, f, low, high, np.zeros((0, len(f))), np.zeros(0), np.zeros(0))


def solve_qp(H: np.ndarray, f: np.ndarray, low, high, A: np.ndarray, soft_low, soft_high) -> np.ndarray:
    """As `solve_box_qp`, and soft_low ≤ A x ≤ soft_high, which give way where nothing satisfies them.

    Raises:
        ConvergenceError: no solution was found.
    """
    if not len(f):
        return np.zeros(0)
    x = _solve_as_far_as_rows_allow(H, f, low, high, A, soft_low, soft_high, len(A))
    return np.minimum(np.maximum(x, low), high)


def solve_cone_qp(H: np.ndarray, f: np.ndarray, low, high, planes: np.ndarray) -> np.ndarray:
    """As `solve_box_qp`, and planes x ≤ 0, (k, c).

    Raises:
        ConvergenceError: no solution was found.
    """
    if not len(f):
        return np.zeros(0)
    x = _solve(H, f, low, high, planes, np.full(len(planes), -np.inf), np.zeros(len(planes)), 0)
    return np.minimum(np.maximum(x, low), high)


def solve_bounded_qp(H: np.ndarray, f: np.ndarray, bounds: Bounds, start: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The x (c,) between bounds that minimises ½ xᵀ H x + fᵀ x, H positive definite, and keeps rows (k, c) at what they
    are at a `start` (c,) between the bounds: kept x = kept start.

    Raises:
        ConvergenceError: no solution was found.
    """
    x = np.minimum(np.maximum(start, bounds.low), bounds.high)
    if settle(H, f, bounds.low, bounds.high, kept, bounds.A, bounds.rows_low, bounds.rows_high, x):
        return x
    values = kept @ start
    rows = np.concatenate([bounds.A, kept])
    low, high = np.concatenate([bounds.rows_low, values]), np.concatenate([bounds.rows_high, values])
    x = _solve_as_far_as_rows_allow(H, f, bounds.low, bounds.high, rows, low, high, len(bounds.A))
    return np.minimum(np.maximum(x, bounds.low), bounds.high)


def _solve_as_far_as_rows_allow(
    H: np.ndarray, f: np.ndarray, low, high, A: np.ndarray, rows_low, rows_high, count: int
) -> np.ndarray:
    """As `_solve`; the first `count` rows give way, but only where nothing satisfies them: what a soft row is violated
    for has a finite price, which it is worth where much pulls. Further rows are equations."""
    others = len(A) - count
    try:
        return _solve(H, f, low, high, A, rows_low, rows_high, np.repeat([0, EQUAL], [count, others]))
    except ConvergenceError:
        return _solve(H, f, low, high, A, rows_low, rows_high, np.repeat([SOFT, EQUAL], [count, others]))


def _solve(H: np.ndarray, f: np.ndarray, low, high, A: np.ndarray, rows_low, rows_high, flag) -> np.ndarray:
    """x (c,) between bounds, with A x between those of its rows, which have DAQP's `flag`, one for all or each.

    Newtons and pascals may be beside each other: DAQP gets unknowns in which H has a diagonal of ones. What a row gives
    way by has a price, which is to be no matter of its unit either: each is divided by its largest entry then.
    """
    c, units = len(f), 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    A = A * units
    sizes = np.abs(A).max(axis=1, initial=0.0)
    sizes[sizes == 0.0] = 1.0
    A, rows_low, rows_high = A / sizes[:, None], rows_low / sizes, rows_high / sizes
    lower, upper = np.empty(c + len(A)), np.empty(c + len(A))
    lower[:c], lower[c:], upper[:c], upper[c:] = low / units, rows_low, high / units, rows_high
    sense = np.zeros(len(lower), dtype=np.int32)
    sense[c:] = flag
    x, _, status, _ = daqp.solve(
        np.ascontiguousarray(H * np.multiply.outer(units, units)),
        np.ascontiguousarray(f * units),
        np.ascontiguousarray(A, dtype=float),
        np.minimum(upper, INFINITE),
        np.maximum(lower, -INFINITE),
        sense,
        primal_tol=PRIMAL_TOLERANCE,
    )
    if status < 1 or not np.isfinite(x).all():
        raise ConvergenceError(f"the quadratic program of {c} forces has no solution (DAQP status {status})")
    return units * x
