"""Damped Newton's loop, compiled: an update of a 20-strut arm is a few of its rounds, each tens of microseconds."""

import numpy as np

from soft_twin.linear_algebra.blas import dpbtrf, dpbtrs
from soft_twin.linear_algebra.compiled import kernel
from soft_twin.twins.tensegrity import kernels

ARMIJO = 1e-4
MAX_HALVINGS = 30
REUSE = 0.1  # a factorisation serves on while each step takes the residual down to this share
MAX_TURN = 0.12  # [m] the longest arc by which one step may turn a strut
ROUNDING = 1e-14  # share of the energy's terms, which may cancel, that rounding may add


@kernel(error_model="numpy")
def descend(
    bottoms, directions, lengths, members, stiffness, natural, stops, loads, holds, targets, grips, inclinations,
    measured, equations, band, factor, gradient, tangents, curvatures, tolerance, max_iterations, factorised,
):  # fmt: skip
    """Newton's method from a pose, which is changed in place: energy [J], residual [N], steps.

    Args:
        band: (k + 1, n), Fortran order: room for the Hessian.
        factor: (k + 1, n), Fortran order: its Cholesky factor, that of a nearby Hessian if `factorised`.
        gradient: (n,); tangents (s, 2, 3) and curvatures (s, 3): room.
    """
    nodes = kernels.node_positions(bottoms, directions, lengths)
    energy = kernels.potential(nodes, members, stiffness, natural, stops, loads, holds, targets)
    energy += kernels.grip_energy(directions, grips, inclinations)
    step = np.empty_like(gradient)
    before = np.inf
    iteration = 0
    while True:
        kernels.strut_frames(directions, lengths, measured, tangents, curvatures)
        forces = kernels.node_gradient(nodes, members, stiffness, natural, stops, loads, holds, targets)
        kernels.strut_gradient(forces, tangents, equations, gradient)
        kernels.add_grip_gradient(directions, lengths, grips, inclinations, equations, gradient)
        residual = np.abs(gradient).max()
        if not factorised or (residual > tolerance and residual > REUSE * before):
            _factorise(
                nodes, members, stiffness, natural, stops, holds, forces, directions, lengths, grips, inclinations,
                tangents, curvatures, equations, band, factor,
            )  # fmt: skip
            factorised = True
        if not residual > tolerance or iteration == max_iterations:
            return energy, residual, iteration
        for i in range(len(step)):
            step[i] = -gradient[i]
        solve(factor, step)
        scale = min(1.0, MAX_TURN / _longest_turn(step, equations))
        allowed = ROUNDING * (abs(energy) + kernels.load_terms(nodes, loads))
        slope = step @ gradient
        found = False
        for _ in range(MAX_HALVINGS):
            new_bottoms, new_directions = kernels.move_struts(
                bottoms, directions, lengths, measured, tangents, equations, step, scale
            )
            new_nodes = kernels.node_positions(new_bottoms, new_directions, lengths)
            new_energy = kernels.potential(new_nodes, members, stiffness, natural, stops, loads, holds, targets)
            new_energy += kernels.grip_energy(new_directions, grips, inclinations)
            if new_energy <= energy + ARMIJO * scale * slope + allowed:
                found = True
                break
            scale *= 0.5
        if not found:
            return energy, residual, iteration
        for i in range(len(bottoms)):
            for d in range(3):
                bottoms[i, d], directions[i, d] = new_bottoms[i, d], new_directions[i, d]
        nodes, energy, before = new_nodes, new_energy, residual
        iteration += 1


@kernel(error_model="numpy")
def _factorise(
    nodes, members, stiffness, natural, stops, holds, forces, directions, lengths, grips, inclinations, tangents,
    curvatures, equations, band, factor,
):  # fmt: skip
    """Cholesky factor of the Hessian; of a positive definite relative of it where the Hessian is indefinite."""
    for convex in (False, True):
        kernels.hessian(
            nodes, members, stiffness, natural, stops, holds, forces, tangents, curvatures, equations, convex, band
        )
        kernels.add_grip_hessian(directions, lengths, grips, inclinations, equations, convex, band)
        if _factorise_copy(band, factor):
            return
    shift = 0.0
    for i in range(band.shape[1]):
        shift = max(shift, band[0, i])
    shift = 1e-6 * max(shift, 1.0)
    while True:
        for i in range(band.shape[1]):
            band[0, i] += shift
        if _factorise_copy(band, factor):
            return
        shift *= 10.0


@kernel()
def _factorise_copy(band, factor):
    """Whether a band is positive definite, whose Cholesky factor is then put into `factor`."""
    for i in range(band.shape[1]):
        for k in range(band.shape[0]):
            factor[k, i] = band[k, i]
    return cholesky(factor) == 0


@kernel()
def cholesky(band):
    """Factorise a lower band (k + 1, n) in place by LAPACK; 0 if it is positive definite."""
    lower = np.array([76], dtype=np.uint8)
    sizes = np.array([band.shape[1], band.shape[0] - 1, band.shape[0]], dtype=np.int32)
    info = np.zeros(1, dtype=np.int32)
    dpbtrf(
        lower.ctypes.data, sizes.ctypes.data, sizes[1:].ctypes.data, band.ctypes.data, sizes[2:].ctypes.data,
        info.ctypes.data,
    )  # fmt: skip
    return info[0]


@kernel()
def solve(factor, vector):
    """Solve in place with a factor (k + 1, n) for a vector (n,)."""
    lower = np.array([76], dtype=np.uint8)
    sizes = np.array([factor.shape[1], factor.shape[0] - 1, factor.shape[0], 1], dtype=np.int32)
    info = np.zeros(1, dtype=np.int32)
    dpbtrs(
        lower.ctypes.data, sizes.ctypes.data, sizes[1:].ctypes.data, sizes[3:].ctypes.data, factor.ctypes.data,
        sizes[2:].ctypes.data, vector.ctypes.data, sizes.ctypes.data, info.ctypes.data,
    )  # fmt: skip


@kernel()
def _longest_turn(step, equations):
    longest = 1e-300
    for i in range(len(equations)):
        for a in range(3, 5):
            if equations[i, a] >= 0:
                longest = max(longest, abs(step[equations[i, a]]))
    return longest
