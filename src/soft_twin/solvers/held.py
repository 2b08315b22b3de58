"""Steps of a body that only its rows hold: what keeps the lengths of cables, not their tensions, against buckling.

Its Hessian K is indefinite, and definite with s JᵀJ of those rows, which couple nodes far apart and so are in no sparse
matrix. What is factorised is F = K + σ I, and a step of F instead of K leaves σ / (λ + σ) of what is to be done along
an eigenvector that bends by λ: where σ is four times as much, four fifths.
"""

from collections.abc import Callable

import numpy as np

TOLERANCE = 1e-6  # of what is solved for: then Newton's steps converge as with an exact one
MAX_STEPS = 40


def solve_held(
    solve: Callable[[np.ndarray], np.ndarray],
    shift: float,
    jacobian: np.ndarray,
    pushed: np.ndarray,
    stiffness: float,
    right: np.ndarray,
) -> np.ndarray | None:
    """M⁻¹ of right sides, M = K + s JᵀJ.

    P = F + s JᵀJ = M + σ I has its inverse by the Woodbury identity, and (1 − σ P⁻¹) x = P⁻¹ b is solved by conjugate
    gradients: the eigenvalues λ / (λ + σ), with λ of M, are 1 but for those of the few softest ways to move.

    Args:
        solve: F⁻¹ of (size, c).
        shift: σ [N/m].
        jacobian: J (m, size) of the rows that hold.
        pushed: F⁻¹ Jᵀ (size, m).
        stiffness: s [N/m].
        right: b (size, c).

    Returns:
        The solutions x (size, c), or None where M is indefinite, or that is not known after so many steps.
    """
    inner = np.linalg.inv(np.eye(len(jacobian)) / stiffness + jacobian @ pushed)

    def inverse(columns: np.ndarray) -> np.ndarray:
        solution = solve(columns)
        return solution - pushed @ (inner @ (jacobian @ solution))

    residual, solution = inverse(right), np.zeros_like(right)
    direction, power = residual.copy(), (residual**2).sum(axis=0)
    allowed = TOLERANCE**2 * power
    for _ in range(MAX_STEPS):
        left = power > allowed
        if not left.any():
            return solution
        along = direction[:, left]
        product = along - shift * inverse(along)
        curvature = (along * product).sum(axis=0)
        if not (curvature > 0.0).all():
            return None
        step = power[left] / curvature
        solution[:, left] += step * along
        residual[:, left] -= step * product
        before, power[left] = power[left], (residual[:, left] ** 2).sum(axis=0)
        direction[:, left] = residual[:, left] + power[left] / before * along
    return None
