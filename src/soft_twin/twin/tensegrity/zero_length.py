"""The paper's estimator: strut by strut gradient descent with zero natural lengths (Bhat, Ikemoto 2026).

The energy is eq. 3 of the paper with b = 0, e = Σ ½ K |n_a − n_c|², with one stiffness for all cords and one for all
cylinders, no matter what the pressures are. (Its eqs. 4–6 subtract lengths from vectors.) With zero natural length a
stiffness is a force density, so the ratio of the two sets how long the arm comes out. Nothing is anchored: three
translations, the yaw of the whole and its mirror image are free, and the shape is laid on the base afterwards.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from soft_twin.errors import InputError
from soft_twin.twin.tensegrity import kernels
from soft_twin.twin.tensegrity.estimator import Estimator
from soft_twin.twin.tensegrity.readings import Readings
from soft_twin.twin.tensegrity.shape import Shape

if TYPE_CHECKING:
    from soft_twin.robots.tensegrity import TensegrityArm

STARTS = ("random", "collapsed", "expanded")


@dataclass(frozen=True)
class Descent:
    """The gradient steps of one update.

    Attributes:
        energies: (k,) total energy after each step.
        position_gradients: (k, s, 3) and yaw_gradients (k, s): ∂e/∂p and ∂e/∂θ of all struts before each step.
    """

    energies: np.ndarray
    position_gradients: np.ndarray
    yaw_gradients: np.ndarray


class ZeroLengthEstimator(Estimator):
    """Gradient descent on zero-length springs, one strut a step, in turn.

    Args:
        arm: the robot; what is not given comes from its description.
        passive, active: stiffness K of cords and of cylinders.
        position_rate, yaw_rate: learning rates α and β.
        steps: gradient steps of an update; 20 are one sweep over TM40's struts.
        start: "random", "collapsed" (all struts' centres nearly in one point) or "expanded" (three times too long).
        tolerance: the largest gradient at which the descent counts as converged, as a share of K · strut length.

    Attributes:
        descent: the last update's steps.
    """

    def __init__(
        self, arm: "TensegrityArm", passive=None, active=None, position_rate=None, yaw_rate=None, steps=None,
        start: str = "random", tolerance: float = 1e-3,
    ):  # fmt: skip
        if start not in STARTS:
            raise InputError(f"start: '{start}' is none of {', '.join(STARTS)}")
        chosen = arm.zero_length
        self.passive = chosen.passive if passive is None else passive
        self.stiffness = np.where(arm.structure.active, chosen.active if active is None else active, self.passive)
        self.position_rate = chosen.position_rate if position_rate is None else position_rate
        self.yaw_rate = chosen.yaw_rate if yaw_rate is None else yaw_rate
        self.steps = chosen.steps_per_update if steps is None else steps
        self.start = start
        self.tolerance = tolerance * self.passive * float(arm.structure.strut_lengths.mean())
        super().__init__(arm)

    def _forget(self) -> None:
        structure = self.model.structure
        count = structure.strut_count
        spread = {"random": 0.3, "collapsed": 0.01, "expanded": 0.01}[self.start]
        self._centres = self._random.normal(scale=spread, size=(count, 3))
        if self.start == "expanded":
            modules = np.arange(count) // max(1, len(structure.anchors))
            self._centres[:, 2] += 3.0 * modules * structure.strut_lengths.mean()
        self._yaws = self._random.uniform(-np.pi, np.pi, size=count)
        self._inclinations: np.ndarray | None = None
        self._next = 0
        self.descent: Descent | None = None

    def _estimate(self, readings: Readings) -> Shape:
        structure = self.model.structure
        held = np.full(structure.strut_count, np.pi / 4) if self._inclinations is None else self._inclinations
        self._inclinations = np.where(readings.measured, readings.inclinations, held)
        self.descent = Descent(
            np.empty(self.steps), np.empty((self.steps, structure.strut_count, 3)),
            np.empty((self.steps, structure.strut_count)),
        )  # fmt: skip
        descend(
            self._centres, self._yaws, self._inclinations, structure.strut_lengths, structure.members, self.stiffness,
            self._next, self.position_rate, self.yaw_rate, self.descent.energies, self.descent.position_gradients,
            self.descent.yaw_gradients,
        )  # fmt: skip
        self._next = (self._next + self.steps) % structure.strut_count
        return self._shape(readings)

    def _shape(self, readings: Readings) -> Shape:
        structure = self.model.structure
        nodes = nodes_of(self._centres, self._yaws, self._inclinations, structure.strut_lengths)
        gradient = max(np.abs(self.descent.position_gradients[-1]).max(), np.abs(self.descent.yaw_gradients[-1]).max())
        laid = lay_on(nodes, structure.anchors, structure.anchor_points)
        return Shape(
            nodes=laid @ self.model.level,
            tensions=kernels.tensions(nodes, structure.members, self.stiffness, np.zeros(len(structure.members))),
            energy=float(self.descent.energies[-1]),
            residual=float(gradient),
            confidence=1.0 if gradient <= self.tolerance else 0.0,
            iterations=self.steps,
            converged=bool(gradient <= self.tolerance),
            inclinations=self._inclinations,
            freed=tuple(np.flatnonzero(~readings.measured).tolist()),
            faults=readings.faults,
        )


def lay_on(nodes: np.ndarray, anchors: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Nodes (n, 3) moved, turned about the vertical and mirrored so that nodes[anchors] lie best on points (a, 3)."""
    base, target = nodes[anchors], points
    turn, _, other = np.linalg.svd((base - base.mean(axis=0))[:, :2].T @ (target - target.mean(axis=0))[:, :2])
    laid = nodes - base.mean(axis=0)
    laid[:, :2] = laid[:, :2] @ (turn @ other)
    return laid + target.mean(axis=0)


@njit(cache=True)
def nodes_of(centres, yaws, inclinations, lengths):
    """(2 s, 3) nodes p ∓ L/2 q of struts with those centres (s, 3), yaws and inclinations (eqs. 1 and 11)."""
    count = len(lengths)
    nodes = np.empty((2 * count, 3))
    for i in range(count):
        sine = np.sin(inclinations[i])
        q = (sine * np.cos(yaws[i]), sine * np.sin(yaws[i]), np.cos(inclinations[i]))
        for d in range(3):
            nodes[i, d] = centres[i, d] - 0.5 * lengths[i] * q[d]
            nodes[count + i, d] = centres[i, d] + 0.5 * lengths[i] * q[d]
    return nodes


@njit(cache=True)
def gradients(nodes, yaws, inclinations, lengths, members, stiffness):
    """Energy e, ∂e/∂p (s, 3) and ∂e/∂θ (s,) of zero-length springs (eq. 10)."""
    count = len(lengths)
    energy = 0.0
    forces = np.zeros((2 * count, 3))
    for k in range(len(members)):
        a, c = members[k, 0], members[k, 1]
        for d in range(3):
            pull = stiffness[k] * (nodes[a, d] - nodes[c, d])
            energy += 0.5 * pull * (nodes[a, d] - nodes[c, d])
            forces[a, d] += pull
            forces[c, d] -= pull
    turning = np.empty(count)
    for i in range(count):
        half = 0.5 * lengths[i] * np.sin(inclinations[i])
        across = forces[count + i] - forces[i]
        turning[i] = half * (np.cos(yaws[i]) * across[1] - np.sin(yaws[i]) * across[0])
    return energy, forces[:count] + forces[count:], turning


@njit(cache=True)
def descend(
    centres, yaws, inclinations, lengths, members, stiffness, first, position_rate, yaw_rate, energies,
    position_gradients, yaw_gradients,
):  # fmt: skip
    """Gradient steps in place (eq. 13), strut first, first + 1 … in turn; fills energies and gradients of each."""
    count = len(lengths)
    for step in range(len(energies)):
        i = (first + step) % count
        nodes = nodes_of(centres, yaws, inclinations, lengths)
        energy, by_position, by_yaw = gradients(nodes, yaws, inclinations, lengths, members, stiffness)
        energies[step] = energy
        position_gradients[step] = by_position
        yaw_gradients[step] = by_yaw
        centres[i] -= position_rate * by_position[i]
        yaws[i] -= yaw_rate * by_yaw[i]
