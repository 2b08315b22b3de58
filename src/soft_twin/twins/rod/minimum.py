"""The potential of a rod, at rest or in a step of its motion, and its minimum: one Newton's method for both."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from soft_twin.errors import ConvergenceError
from soft_twin.twins.rod import kernels

if TYPE_CHECKING:
    from soft_twin.twins.rod.twin import RodTwin

MAX_ITERATIONS = 100
MOST_HALVINGS = 30
SMALLEST_STRETCH = 0.05  # 1 + ε below which a step is refused
FIRM = 1e-9  # of the stiffness: a curvature less negative than this is round-off
ESCAPE = 0.02  # [rad] that the element which turns most does so when a saddle is left


@dataclass(frozen=True)
class Motion:
    """What a step adds to the potential: Σ `inertia` (e,) |x − `coasted` (e, 3)|²/2 of the elements' middles [kg/s²],
    and the damping `viscosity` (e, 4) of strains that are not those at the `start` (e, 4)."""

    inertia: np.ndarray
    coasted: np.ndarray
    viscosity: np.ndarray
    start: np.ndarray


class Potential:
    """Of a rod under gravity (3,), with cables of given tensions (c,), or wound in so far (c,), NaN for those that are
    not; in motion, or at rest."""

    def __init__(
        self,
        rod: "RodTwin",
        gravity: np.ndarray,
        tensions: np.ndarray,
        wound: np.ndarray,
        motion: Motion | None = None,
    ):
        none = np.zeros_like(rod.strains)
        self._rod, self._gravity, self._loads, self._wound = rod, gravity, tensions, wound
        self._motion = Motion(none[:, 0], none[:, :3], none, none) if motion is None else motion
        self._driven = np.isfinite(wound)

    def value(self, strains: np.ndarray) -> float:
        """[J]; infinite where an element is pressed together."""
        if strains[:, 3].min() < SMALLEST_STRETCH - 1.0:
            return np.inf
        rod, motion, driven = self._rod, self._motion, self._driven
        moved = motion.coasted, motion.inertia
        energy, lengths = _incremental(
            strains, rod.stiffness, rod.masses, self._gravity, rod.tip_force, *moved, *rod.geometry
        )
        energy += 0.5 * float((motion.viscosity * (strains - motion.start) ** 2).sum())
        tensions = self._law(lengths)
        work = np.where(driven, 0.5 * rod.softness * tensions**2, tensions * lengths)
        return energy + float(work.sum())

    def tensions(self, strains: np.ndarray) -> np.ndarray:
        """(c,) [N]."""
        return self._law(kernels.cable_lengths(strains, *self._rod.geometry)[0])

    def _law(self, lengths: np.ndarray) -> np.ndarray:
        """(c,) of cables of these lengths (c,) along the body [N]."""
        stretch = self._wound - (self._rod.rest_lengths - lengths)
        return np.where(self._driven, np.maximum(stretch / self._rod.softness, 0.0), self._loads)

    def derivatives(self, strains: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradient (4 e,); Hessian (4 e, 4 e); and the norms [N] of the forces at work, the unbalanced ones last."""
        rod, motion, tensions = self._rod, self._motion, self.tensions(strains)
        _, pull, hessian, turns, moves = rod.assemble_at(strains, self._gravity)
        elastic, viscous = (rod.stiffness * strains).ravel(), (motion.viscosity * (strains - motion.start)).ravel()
        middles, jacobian = _middle_jacobian(strains, rod.element_lengths, turns, moves)
        push = motion.inertia[:, None] * (middles - motion.coasted)
        inertial = jacobian.T @ push.ravel()
        hessian += np.diag(motion.viscosity.ravel()) + (jacobian.T * np.repeat(motion.inertia, 3)) @ jacobian
        _add_turning(jacobian, turns, push, hessian)
        if motion.inertia.any():
            _add_own_curvature(strains, rod.element_lengths, push, hessian)
        cables = self._add_cables(strains, tensions, hessian)
        gradient = pull + inertial + viscous + cables
        parts = rod.force_scale * np.array([elastic, pull - elastic, inertial, viscous, cables, gradient])
        return gradient, hessian, np.sqrt((parts**2).sum(axis=1))

    def _add_cables(self, strains: np.ndarray, tensions: np.ndarray, hessian: np.ndarray) -> np.ndarray:
        """Gradient (4 e,) of what the cables do; their curvature, and the stiffness of those that are wound in and
        taut, are added to the Hessian (4 e, 4 e)."""
        geometry, taut = self._rod.geometry, self._driven & (tensions > 0.0)
        _, pulls = kernels.cable_lengths(strains, *geometry)
        kernels.add_cable_stiffness(strains, *geometry, tensions, hessian)
        hessian += (pulls[taut].T / self._rod.softness[taut]) @ pulls[taut]
        return tensions @ pulls


def minimise(potential: Potential, strains: np.ndarray, tolerance: float, round_off: float):
    """Strains (e, 4) at the minimum near a guess (e, 4), the residual there [N], and the number of iterations.

    `tolerance`: of the forces at work, for the unbalanced ones, besides a `round_off` [N].

    Raises:
        ConvergenceError: none was found.
    """
    history: list[float] = []
    value = potential.value(strains)
    while len(history) < MAX_ITERATIONS:
        gradient, hessian, forces = potential.derivatives(strains)
        history.append(float(forces[-1]))
        if forces[-1] <= tolerance * forces[:-1].max() + round_off:
            return strains, history[-1], len(history) - 1
        move = kernels.solve_stiffness(hessian, -gradient[:, None])[0][:, 0]
        strains, value = _search(potential, strains, value, gradient, move)
    raise ConvergenceError(
        f"the rod's forces do not balance after {MAX_ITERATIONS} iterations: {history[-1]:.2g} N are left",
        tuple(history),
    )


def below_saddle(potential: Potential, strains: np.ndarray, lengths: np.ndarray) -> np.ndarray | None:
    """Strains (e, 4) beside a saddle, where the potential is lower; None where it is a minimum. `lengths` (e,)."""
    hessian = potential.derivatives(strains)[1]
    unit = 1.0 / np.sqrt(np.abs(np.diag(hessian)))
    values, vectors = np.linalg.eigh(unit[:, None] * hessian * unit)
    if values[0] >= -FIRM:
        return None
    direction = (unit * vectors[:, 0]).reshape(-1, 4)
    turn = float(np.linalg.norm(lengths[:, None] * direction[:, :3], axis=1).max())
    step = ESCAPE / max(turn, 1e-300) * direction
    return min((strains + step, strains - step), key=potential.value)


def _search(
    potential: Potential, strains: np.ndarray, reference: float, gradient: np.ndarray, move: np.ndarray
) -> tuple[np.ndarray, float]:
    """Strains after as much of a step as lowers the potential from its value before, and its value there."""
    slope, fraction = gradient @ move, 1.0
    for _ in range(MOST_HALVINGS):
        trial = strains + fraction * move.reshape(-1, 4)
        value = potential.value(trial)
        if value <= reference + 1e-4 * fraction * slope + 1e-12 * abs(reference):
            break
        fraction *= 0.5
    return trial, value


@njit(cache=True, nogil=True)
def middles_of(strains, lengths):
    """(e, 3) of the elements [m]."""
    frames, points = kernels.nodes(strains, lengths)
    return kernels.middle_points(strains, lengths, frames, points)


@njit(cache=True, nogil=True)
def _incremental(strains, stiffness, masses, gravity, tip_force, coasted, inertia, lengths, cables, passes):
    """Energy of body, weight, tip's force and inertia [J]; lengths (c,) of the cables."""
    frames, points = kernels.nodes(strains, lengths)
    middles = kernels.middle_points(strains, lengths, frames, points)
    energy = 0.5 * (stiffness * strains * strains).sum()
    for k in range(len(masses)):
        for i in range(3):
            away = middles[k, i] - coasted[k, i]
            energy += 0.5 * inertia[k] * away * away - masses[k] * gravity[i] * middles[k, i]
    for i in range(3):
        energy -= tip_force[i] * points[-1, i]
    return energy, kernels.cable_lengths(strains, lengths, cables, passes)[0]


@njit(cache=True, nogil=True)
def _middle_jacobian(strains, lengths, turns, moves):
    """Middles (e, 3), and their derivatives by the strains (3 e, 4 e)."""
    e = len(lengths)
    frames, points = kernels.nodes(strains, lengths)
    middles, jacobian = kernels.middle_points(strains, lengths, frames, points), np.zeros((3 * e, 4 * e))
    for k in range(e):
        jacobian[3 * k : 3 * k + 3, 4 * k : 4 * k + 4] = frames[k] @ kernels.element_moves(strains[k], lengths[k])[1]
        for i in range(k):
            arm = middles[k] - points[i + 1]
            for a in range(4):
                moved = moves[i, a] + kernels.cross(turns[i, a], arm)
                for c in range(3):
                    jacobian[3 * k + c, 4 * i + a] = moved[c]
    return middles, jacobian


@njit(cache=True, nogil=True)
def _add_own_curvature(strains, lengths, push, hessian):
    """Add what forces `push` (e, 3) on the middles do as each element's own strains curve their ways."""
    frames, points = kernels.nodes(strains, lengths)
    middles = kernels.middle_points(strains, lengths, frames, points)
    following, pulls = np.zeros(3), np.zeros((3, 3))  # on what comes after: Σ f, and Σ (x − the element's end) fᵀ
    for i in range(len(lengths) - 1, -1, -1):
        local, ahead = frames[i].T.copy(), frames[i + 1].T.copy()
        block = slice(4 * i, 4 * i + 4)
        hessian[block, block] += kernels.curvature_of_forces(
            strains[i], lengths[i], local @ push[i], local @ following, ahead @ pulls @ frames[i]
        )
        pulls += np.outer(points[i + 1] - points[i], following) + np.outer(middles[i] - points[i], push[i])
        following += push[i]


@njit(cache=True, nogil=True)
def _add_turning(jacobian, turns, push, hessian):
    """Add what forces `push` (e, 3) on the middles do while earlier elements turn them: push · (turn × ∂middle)."""
    e = len(turns)
    for j in range(e):
        for b in range(4):
            column = 4 * j + b
            across = np.zeros(3)
            for k in range(j, e):
                across += kernels.cross(jacobian[3 * k : 3 * k + 3, column].copy(), push[k])
            for i in range(j):
                for a in range(4):
                    turn = turns[i, a]
                    value = turn[0] * across[0] + turn[1] * across[1] + turn[2] * across[2]
                    hessian[4 * i + a, column] += value
                    hessian[column, 4 * i + a] += value
