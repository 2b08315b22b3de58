"""Whether forces that balance do so at a minimum: a straight column beyond its critical load is at a saddle."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.cholesky import Cholesky

EXPONENTS = range(-9, 3)  # of 10, of what the Hessian may need on its diagonal, of the diagonal's mean
SETTLED = 1e-2  # relative change of the curvature
MAX_ITERATIONS = 50
UNSTABLE = "it buckles, or its elements move without energy, as those of a single column of hex20r do"


def negative_curvature(matrix: Cholesky, assemble: Callable[[], object], jacobian: csr_matrix) -> np.ndarray | None:
    """A direction (size,) in which a saddle's Hessian K bends down, its largest entry 1; None where there is none.

    A body that nothing but its rows holds has directions without stiffness; one without rows should have none.

    Inverse iteration of K + s I, with the least power of ten s that makes it definite, in the directions that leave
    some rows as they are: of all v with J v = 0 it finds the one with the least vᵀ K v / vᵀ v.

    Args:
        matrix: where `assemble` writes K; it is factorised.
        assemble: writes K anew.
        jacobian: J (m, size) of the rows that hold.

    Raises:
        ConvergenceError: there are no rows, and the body would move without energy.
    """
    assemble()
    scale = float(np.abs(matrix.diagonal).mean())
    right = np.column_stack([np.random.default_rng(0).normal(size=matrix.size), jacobian.T.toarray()])
    if matrix.solve_definite(right[:, 0]) is not None:
        return None
    solution, shifts = None, (scale * 10.0**exponent for exponent in EXPONENTS)
    while solution is None:
        shift = next(shifts, None)
        if shift is None:
            return None
        assemble()
        matrix.add_to_diagonal(shift)
        solution = matrix.solve_definite(right)
    vector, pushed, curvature = solution[:, 0], solution[:, 1:], np.inf
    for _ in range(MAX_ITERATIONS):
        vector = matrix.solve(vector / np.linalg.norm(vector))
        vector -= pushed @ np.linalg.lstsq(jacobian @ pushed, jacobian @ vector, rcond=None)[0]
        before, curvature = curvature, 1.0 / float(np.linalg.norm(vector)) - shift
        if abs(curvature - before) <= SETTLED * abs(curvature):
            break
    if curvature < 0.0:
        return vector / vector[np.abs(vector).argmax()]
    if jacobian.shape[0]:
        return None
    raise ConvergenceError(f"the equilibrium is not stable: {UNSTABLE}")
