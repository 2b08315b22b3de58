"""The finite element twin of a driven body: linearised steps on a model, equilibria, and exact sensitivities.

At positions x with the efforts e of the actuators the nodal forces f_ext − ∂W/∂x + Gᵀ e vanish, G = ∂c/∂x being the
gradients of the actuators' coordinates. Newton's step with the tangent K = ∂²W/∂x² − Σ e ∂²c/∂x² is linear in the new
efforts, dx = K⁻¹ (f_ext − ∂W/∂x) + K⁻¹ Gᵀ e: one factorisation and 1 + a right-hand sides give both the step and the
sensitivities dx/de = K⁻¹ Gᵀ, by the implicit function theorem (Lai et al. 2025, eq. 11, is the same
relation). Rigid plates move with six unknowns, see `unknowns`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.mechanics.model import Assembled, Increment, Model
from soft_twin.mechanics.stretching import Stretching
from soft_twin.solvers.chord import PAUSE, SETTLED, SLOW, Chord, is_good, largest_movement, product
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.twins.base import Actuation, Linearisation
from soft_twin.twins.frames import Frame
from soft_twin.twins.mesh_twin import MeshTwin

LARGEST_STRETCH = 0.25  # of the distance of two nodes of a cell: they move by no more against each other in a step
STATICS = Increment()


@dataclass(frozen=True)
class FemLinearisation(Linearisation):
    """As Linearisation; `steps` (size, 1 + a) are the free step and those per effort in the model's unknowns; it may be
    None where none of them is a plate's, since those of the nodes then say all."""

    steps: np.ndarray | None


class NewtonStep(NamedTuple):
    """A step in the model's unknowns.

    Attributes:
        steps: (size, 1 + a) the free step and those per effort.
        gradients: (size, a) of the actuators' coordinates.
        unbalanced: (size,) forces before the step.
        energy: elastic energy before the step [J].
    """

    steps: np.ndarray
    gradients: np.ndarray
    unbalanced: np.ndarray
    energy: float


class FemTwin(MeshTwin):
    """See the module's docstring and Twin."""

    def __init__(self, model: Model, length: float, frames: Mapping[str, Frame] | None = None):
        """As MeshTwin.

        Raises:
            InputError: the model has no gravity, or constraints that are more than rigid plates.
        """
        super().__init__(model, length, frames)
        self._gravity = model.gravity
        self._softness_matrix, self._has_plates = np.diag(self.softness), bool(model.unknowns.plates)
        self._stretching = Stretching(self.body.mesh)
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._multipliers = self.model.idle
        self._chord: Chord | None = None
        self._moved, self._pause = 0.0, 0

    def state(self) -> tuple:
        return *super().state(), self._multipliers

    def restore(self, state: tuple) -> None:
        *own, self._multipliers = state
        super().restore(tuple(own))
        self._chord = None

    def linearise(self, gravity: np.ndarray) -> FemLinearisation:
        self._chord = None
        gravity = checked_vector(gravity, 3, "gravity")
        return self._linearisation(self._newton_step(gravity, self._assemble(gravity, with_matrix=True))[0])

    def moved_by(self, forces: np.ndarray) -> np.ndarray:
        """(n, 3, k) [m] how forces (n, 3, k) [N] on the nodes would move the body with the actuators' efforts held, to
        first order, where `linearise` was called last."""
        return self._spread(self.model.unknowns.matrix.solve(self._reduced(forces)))

    def is_held(self, gravity: np.ndarray) -> bool:
        """Whether the body, at rest, stays where it is when the actuators' efforts are held, not their coordinates: its
        tangent with them is positive definite. A chamber that balloons is not held by its pressure."""
        self.linearise(gravity)
        return self.model.unknowns.matrix.shift == 0.0

    def relinearise(self, gravity: np.ndarray, learn: bool = False) -> FemLinearisation:
        gravity = checked_vector(gravity, 3, "gravity")
        chord = self._chord
        step = None if chord is None else self._chord_step(chord, gravity, learn)
        if step is not None:
            chord.use(gravity)
            return step
        self._pause = PAUSE if chord is not None and not chord.used else max(0, self._pause - 1)
        if self._pause > 0:
            return self.linearise(gravity)
        self._chord = None
        masses = self._reduced(np.multiply.outer(self.body.node_masses, np.eye(3)))
        newton, per_gravity = self._newton_step(gravity, self._assemble(gravity, with_matrix=True), masses)
        step = self._linearisation(newton)
        if not step.definite:  # a shifted stiffness is good for one step at the most
            return step
        self._chord = Chord(step.step_per_effort, step.steps[:, 1:], self._spread(per_gravity), per_gravity, gravity)
        return step

    def _newton_step(
        self, gravity: np.ndarray, assembled: Assembled, further: np.ndarray | None = None
    ) -> tuple[NewtonStep, np.ndarray]:
        """The step from where the model's matrix was assembled, and K⁻¹ of `further` columns (size, r)."""
        unbalanced = self._reduced(-assembled.gradient)
        gradients = self._reduced(self.actuators.gradients(self._pose.points))
        right = np.column_stack([unbalanced, gradients] if further is None else [unbalanced, gradients, further])
        matrix = self.model.unknowns.matrix
        solution = matrix.factorise_and_solve(lambda: self._assemble(gravity, with_matrix=True), right)
        steps, columns = np.split(solution, [1 + self.actuator_count], axis=1)
        steps[:, 0] -= steps[:, 1:] @ self.efforts
        return NewtonStep(steps, gradients, unbalanced, assembled.energy), columns

    def _linearisation(self, newton: NewtonStep) -> FemLinearisation:
        """What a step of the model's unknowns is to the body and its actuators."""
        sensitivities = newton.gradients.T @ newton.steps
        moves = self._spread(newton.steps)
        return FemLinearisation(
            free_step=moves[:, :, 0],
            step_per_effort=np.ascontiguousarray(moves[:, :, 1:]),
            coordinates=self.body_coordinates(),
            free_coordinates=sensitivities[:, 0],
            compliance=sensitivities[:, 1:] + self._softness_matrix,
            residual=math.sqrt(newton.unbalanced @ newton.unbalanced),
            energy=newton.energy,
            steps=newton.steps,
            definite=self._is_definite,
        )

    @property
    def _is_definite(self) -> bool:
        """Whether the stiffness was, that was factorised last."""
        return self.model.unknowns.matrix.shift == 0.0

    def _chord_step(self, chord: Chord, gravity: np.ndarray, learn: bool) -> FemLinearisation | None:
        """The step with what was factorised before, or None where that is too old."""
        assembled = self._assemble(gravity)
        unbalanced = self._reduced(-assembled.gradient)
        corrected = self.model.unknowns.matrix.solve(unbalanced)
        correction = self._spread(corrected)
        left = largest_movement(chord.left_undone(correction, gravity))
        if not is_good(left, self._moved, self.length):  # not a number too
            return None
        if learn and SETTLED * self.length < self._moved < SLOW * self.length:
            chord.learn(correction, corrected, gravity)
        free_step = correction - product(chord.step_per_effort, self.efforts)
        changes = self.actuators.changes(self._pose.points, free_step[:, :, None], chord.step_per_effort)
        return FemLinearisation(
            free_step=free_step,
            step_per_effort=chord.step_per_effort,
            coordinates=self.body_coordinates(),
            free_coordinates=changes[0][:, 0],
            compliance=changes[1] + self._softness_matrix,
            residual=math.sqrt(unbalanced @ unbalanced),
            energy=assembled.energy,
            steps=np.column_stack([corrected - chord.steps @ self.efforts, chord.steps]) if self._has_plates else None,
            definite=self._is_definite,
        )

    def advance(self, step: FemLinearisation, efforts: np.ndarray, largest_step: float) -> float:
        move = step.free_step + product(step.step_per_effort, efforts)
        largest = largest_movement(move)
        fraction = min(1.0, largest_step / max(largest, 1e-300))
        fraction = min(fraction, LARGEST_STRETCH / max(self._stretching.of(move), 1e-300))
        if self._has_plates:
            unknowns = step.steps[:, 0] + step.steps[:, 1:] @ efforts
            self._pose = self.model.unknowns.move(self._pose, fraction * unknowns)
        else:
            self.points = self.points + fraction * move
        if self._chord is not None:
            self._chord.taken(efforts - self.efforts, move, whole=fraction == 1.0)
        self.efforts = self.efforts + fraction * (efforts - self.efforts)
        self._moved = fraction * largest
        return largest

    def _settle(self, gravity: np.ndarray, actuation: Actuation) -> tuple[float, int]:
        self._gravity.vector, self.efforts = gravity, actuation.loads
        self.model.drive(actuation.coordinates)
        try:
            solved = equilibrium(self.model)
            driven = self.model.driven_efforts(solved.pose.points, solved.multipliers)
        finally:
            self.model.drive(None)
        self._pose, self._multipliers = solved.pose, self.model.undriven(solved.multipliers)
        self.efforts = actuation.loads + driven
        return solved.residual, solved.iterations

    def _assemble(self, gravity: np.ndarray, with_matrix: bool = False) -> Assembled:
        self._gravity.vector = gravity
        return self.model.assemble(self._pose, STATICS, self._multipliers, with_matrix)

    def _reduced(self, field: np.ndarray) -> np.ndarray:
        return self.model.unknowns.reduced(field, self._pose)

    def _spread(self, step: np.ndarray) -> np.ndarray:
        return self.model.unknowns.spread(step, self._pose)
