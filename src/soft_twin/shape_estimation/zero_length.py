"""The paper's estimator: strut by strut gradient descent with zero natural lengths (Bhat, Ikemoto 2026).

The energy is eq. 3 of the paper with b = 0, e = Σ ½ K |n_a − n_c|², with one stiffness for all cords and one for all
cylinders, no matter what the pressures are. (Its eqs. 4–6 subtract lengths from vectors.) With zero natural length a
stiffness is a force density, so the ratio of the two sets how long the arm comes out. Nothing is anchored: three
translations, the yaw of the whole and its mirror image are free, and the shape is laid on the base afterwards; that is
the paper's way. `anchored` holds the base's bottoms instead.
"""

from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_kind
from soft_twin.errors import InputError
from soft_twin.linear_algebra.compiled import kernel
from soft_twin.shape_estimation.estimator import Estimator
from soft_twin.shape_estimation.readings import Readings
from soft_twin.twins.tensegrity.model import ArmModel
from soft_twin.twins.tensegrity.shape import Shape

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
        model: of the arm.
        passive, active: stiffness K of cords and of cylinders.
        position_rate, yaw_rate: learning rates α and β.
        steps: gradient steps of an update; 20 are one sweep over TM40's struts.
        start: "random", "collapsed" (all struts' centres nearly in one point) or "expanded" (three times too long).
        anchored: hold the bottoms at the base.
        tolerance: the largest gradient at which the descent counts as converged, as a share of K · strut length.

    Attributes:
        descent: the last update's steps.
    """

    def __init__(
        self, model: ArmModel, passive: float, active: float, position_rate: float, yaw_rate: float, steps: int,
        start: str = "random", anchored: bool = False, tolerance: float = 1e-3,
    ):  # fmt: skip
        if start not in STARTS:
            raise InputError(f"start: '{start}' is none of {', '.join(STARTS)}")
        self.passive = passive
        self.stiffness = np.where(model.structure.active, active, passive)
        self.position_rate, self.yaw_rate, self.steps = position_rate, yaw_rate, steps
        self.start = start
        self.anchored = anchored
        self.tolerance = tolerance * self.passive * float(model.structure.strut_lengths.mean())
        super().__init__(model)

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
        self._held = np.full((count, 3), np.nan)
        if self.anchored:
            self._held[structure.anchors] = structure.anchor_points
        self._next = 0
        self.descent: Descent | None = None

    def start_at(self, shape: Shape) -> None:
        """Go on from a shape, as if it were the last one.

        Raises:
            InputError: it is no shape, or one of another number of struts.
        """
        count = self.model.structure.strut_count
        nodes = checked_kind(shape, Shape, "a shape, as update gives it", "start").nodes @ self.model.level.T
        if len(nodes) != 2 * count:
            raise InputError(f"start: a shape of {len(nodes) // 2} struts, the arm has {count}")
        axes = nodes[count:] - nodes[:count]
        self._centres = 0.5 * (nodes[:count] + nodes[count:])
        self._yaws = np.arctan2(axes[:, 1], axes[:, 0])

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
            self._held, self._next, self.position_rate, self.yaw_rate, self.descent.energies,
            self.descent.position_gradients, self.descent.yaw_gradients,
        )  # fmt: skip
        self._next = (self._next + self.steps) % structure.strut_count
        return self._shape(readings)

    def _shape(self, readings: Readings) -> Shape:
        structure = self.model.structure
        nodes = nodes_of(self._centres, self._yaws, self._inclinations, structure.strut_lengths)
        gradient = max(np.abs(self.descent.position_gradients[-1]).max(), np.abs(self.descent.yaw_gradients[-1]).max())
        laid = nodes if self.anchored else lay_on(nodes, structure.anchors, structure.anchor_points)
        return Shape(
            nodes=laid @ self.model.level,
            anchors=structure.anchors,
            top_nodes=structure.top_nodes,
            tensions=self.stiffness * np.linalg.norm(np.diff(nodes[structure.members], axis=1)[:, 0], axis=1),
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


@kernel()
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


@kernel()
def gradients(nodes, yaws, inclinations, lengths, members, stiffness, held):
    """Energy e, ∂e/∂p (s, 3) and ∂e/∂θ (s,) of zero-length springs (eq. 10); a held bottom is a pivot."""
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
    by_position, by_yaw = np.empty((count, 3)), np.empty(count)
    for i in range(count):
        pivots = not np.isnan(held[i, 0])
        for d in range(3):
            by_position[i, d] = 0.0 if pivots else forces[i, d] + forces[count + i, d]
        share = 0.0 if pivots else 0.5  # a pivot's top turns about its bottom, which bears what pulls there
        x = (1.0 - share) * forces[count + i, 0] - share * forces[i, 0]
        y = (1.0 - share) * forces[count + i, 1] - share * forces[i, 1]
        by_yaw[i] = lengths[i] * np.sin(inclinations[i]) * (np.cos(yaws[i]) * y - np.sin(yaws[i]) * x)
    return energy, by_position, by_yaw


@kernel()
def descend(
    centres, yaws, inclinations, lengths, members, stiffness, held, first, position_rate, yaw_rate, energies,
    position_gradients, yaw_gradients,
):  # fmt: skip
    """Gradient steps in place (eq. 13), strut first, first + 1 … in turn; fills energies and gradients of each."""
    count = len(lengths)
    for i in range(count):
        _hold(i, centres, yaws, inclinations, lengths, held)
    for step in range(len(energies)):
        i = (first + step) % count
        nodes = nodes_of(centres, yaws, inclinations, lengths)
        energy, by_position, by_yaw = gradients(nodes, yaws, inclinations, lengths, members, stiffness, held)
        energies[step] = energy
        for j in range(count):
            for d in range(3):
                position_gradients[step, j, d] = by_position[j, d]
            yaw_gradients[step, j] = by_yaw[j]
        for d in range(3):
            centres[i, d] -= position_rate * by_position[i, d]
        yaws[i] -= yaw_rate * by_yaw[i]
        _hold(i, centres, yaws, inclinations, lengths, held)


@kernel()
def _hold(i, centres, yaws, inclinations, lengths, held):
    """Put the centre of strut i where its held bottom (held[i], NaN where free) wants it."""
    if not np.isnan(held[i, 0]):
        half = 0.5 * lengths[i]
        sine = np.sin(inclinations[i])
        centres[i, 0] = held[i, 0] + half * sine * np.cos(yaws[i])
        centres[i, 1] = held[i, 1] + half * sine * np.sin(yaws[i])
        centres[i, 2] = held[i, 2] + half * np.cos(inclinations[i])
