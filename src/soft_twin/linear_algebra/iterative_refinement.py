"""Exact solutions with a factor that is only nearly exact: conjugate gradients, preconditioned by it.

A factor in single precision differs from the matrix K in its last digits only, so that with M = L Lᵀ nearly all
eigenvalues of M⁻¹ K are 1 but for round-off: a few steps give the accuracy of a factor in double precision, where a
factor that is wrong in some directions, as of ill-conditioned matrices, takes a few more. Where K has a negative
eigenvalue and the right-hand side a part along it, the search meets a direction d with dᵀ K d < 0 before it settles.
"""

from collections.abc import Callable

import numpy as np
from numba import njit


def refine(
    multiply: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    tolerances: np.ndarray,
    round_off: float,
    limit: int,
) -> np.ndarray | None:
    """K⁻¹ of right-hand sides b (c, n), each in a row of its own.

    Args:
        multiply: K of (c', n).
        precondition: M⁻¹ of (c', n).
        tolerances: (c,) residuals that are allowed, as parts of the norms ‖b‖.
        round_off: residual that is allowed whatever b is, as a part of ‖x‖.
        limit: largest number of steps.

    Returns:
        The solutions x (c, n), or None where K is indefinite or the steps were not enough.
    """
    solution, residual, before, direction = np.zeros_like(right), right.copy(), right.copy(), np.zeros_like(right)
    allowed, power = tolerances * np.linalg.norm(right, axis=1), np.ones(len(right))
    left = np.flatnonzero(residual.any(axis=1))
    for _ in range(limit):
        if len(left) == 0:
            return solution
        _turn(precondition(residual[left]), residual, before, direction, power, left)
        product = multiply(direction[left])
        if not _advance(product, solution, residual, before, direction, left):
            return None
        norms = np.linalg.norm(residual[left], axis=1), np.linalg.norm(solution[left], axis=1)
        left = left[norms[0] > np.maximum(allowed[left], round_off * norms[1])]
    return None if len(left) else solution


@njit(cache=True, nogil=True)
def _turn(better, residual, before, direction, power, left):
    """Search directions d from the preconditioned residuals z = `better`: z + β d, with Polak and Ribière's β, which
    forgives that z is rounded."""
    for k, c in enumerate(left):
        z, r, d = better[k], residual[c], direction[c]
        share = (np.dot(z, r) - np.dot(z, before[c])) / power[c]
        power[c] = np.dot(z, r)
        for i in range(len(d)):
            d[i] = z[i] + share * d[i]


@njit(cache=True, nogil=True)
def _advance(product, solution, residual, before, direction, left):
    """A step along the search directions to where the energy is least; whether there is such a place for all."""
    for k, c in enumerate(left):
        x, r, old, d, q = solution[c], residual[c], before[c], direction[c], product[k]
        curvature = np.dot(d, q)
        if not curvature > 0.0:  # NaN too
            return False
        step = np.dot(d, r) / curvature
        for i in range(len(d)):
            x[i] += step * d[i]
            old[i] = r[i]
            r[i] -= step * q[i]
    return True
