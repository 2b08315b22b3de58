"""A step of a model whose actuators are driven by their coordinates: the minimum of an incremental potential.

A drive that has let in the coordinate d of an actuator makes the effort e = max(e₀, (d − c(x))/s), with its softness s:
a cable between a winch and its anchor, a chamber that a valve has let air into. The minimum is that of

    Φ(x) + Σ (e u − ½ s e²),    u = d − c(x),

where Φ is a model's incremental potential (model.Increment). Friction makes an actuator do less than its effort, by
factors that a step takes as they are at its start: c̃(x), with the gradients G = ∂c̃/∂x of the nodal forces Gᵀ e, then
takes the place of c in Φ, shifted so that both agree where an iteration starts, and at the end, where nothing moves
any more.

Each iteration solves the quadratic program of Φ linearised, in the efforts, and takes as much of its step as lowers Φ.
The factorised second derivative is kept from iteration to iteration, and from step to step, while it serves.
"""

from dataclasses import dataclass, replace

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp
from soft_twin.mechanics.actuators.base import ActuatorState
from soft_twin.mechanics.model import Assembled, Increment, Model
from soft_twin.mechanics.unknowns import Pose

TOLERANCE = 1.5e-4  # of the body's weight on earth, of the residual's norm at which a step is accepted
DRIVE_TOLERANCE = 1e3  # of the actuators' tolerance, of the drives' law, likewise
WEIGHT = 9.81  # [N/kg]
MAX_ITERATIONS = 50
LARGEST_STEP = 0.1  # of the body's size, per iteration
SLOW = 0.5  # of a residual that is left after an iteration: with more, the tangent is made anew
SHORTENINGS = 12  # halvings of an iteration's step
NOISE = 1e-10  # of the elastic energy: smaller rises of the potential are round-off
QUIET = 1e-6  # [J] a body has at least, as far as round-off goes
FIRST_SHIFT, LAST_SHIFT, GROWTH = 0.25, 1e12, 4.0  # of the inertia's stiffness, added where the tangent is indefinite


@dataclass(frozen=True)
class Drive:
    """What drives the actuators: d (a,), s (a,), and the efforts (a,) at which a step starts."""

    coordinates: np.ndarray
    softness: np.ndarray
    efforts: np.ndarray


@dataclass(frozen=True)
class Place:
    """Where a body may be, and what is there: Φ's parts without the actuators, and these."""

    pose: Pose
    assembled: Assembled
    actuators: ActuatorState


@dataclass(frozen=True)
class Reached:
    """Where an iteration has come to, with efforts (a,), the residuals [N] of all iterations, and whether the step is
    solved there."""

    place: Place
    efforts: np.ndarray
    history: list[float]
    solved: bool


class Potential:
    """A step's potential, and its derivatives.

    `damped`: (a,) efforts that act as loads beside those of the drives, as the damping of the actuators does.
    """

    def __init__(self, model: Model, increment: Increment, drive: Drive, damped: np.ndarray):
        self.model, self.increment, self.drive, self._damped = model, increment, drive, damped
        self._none = model.idle
        self._least, self._idle = model.actuators.least_effort, np.zeros(len(model.actuators))
        self._frozen: list[np.ndarray | None] | None = None

    def place(self, pose: Pose) -> Place:
        """Everything at a pose."""
        self.model.efforts = self._idle
        assembled = self.model.assemble(pose, self.increment, self._none)
        return Place(pose, assembled, self.model.actuators.at(pose.points))

    def unbalanced(self, place: Place) -> np.ndarray:
        """Forces (n, 3) that the drives have to balance [N]."""
        return place.actuators.gradients @ self._damped - place.assembled.gradient

    def fill(self, place: Place, efforts: np.ndarray, inertia: float) -> None:
        """Write the Hessian at a place with efforts (a,) to the model's matrix, its inertia times a factor."""
        self.model.efforts = efforts + self._damped
        increment = replace(self.increment, mass=inertia * self.increment.mass)
        self.model.assemble(place.pose, increment, self._none, with_matrix=True)

    def shift(self, place: Place) -> np.ndarray:
        """(a,) by which c̃ takes the place of c as it is there."""
        return self.drive.coordinates - place.actuators.coordinates + place.actuators.effective

    def value(self, place: Place, shift: np.ndarray) -> float:
        """Of a place [J], where c̃ is shifted by (a,)."""
        stretch = shift - place.actuators.effective
        efforts = self._law(stretch)
        driven = efforts @ (stretch - 0.5 * self.drive.softness * efforts) - self._damped @ place.actuators.effective
        return float(driven) + self._without_drives(place)

    def efforts(self, place: Place) -> np.ndarray:
        """(a,) that the drives make there."""
        return self._law(self.drive.coordinates - place.actuators.coordinates)

    def error(self, place: Place, efforts: np.ndarray) -> np.ndarray:
        """(a,) how far efforts are from the drives' law, as coordinates."""
        return np.abs(self.drive.softness * (efforts - self.efforts(place)))

    def goal(self, place: Place, sensitivities: np.ndarray, compliance: np.ndarray) -> np.ndarray:
        """(a,) efforts at the end of an iteration, of free changes (a,) of the coordinates and their compliance."""
        lacking = self.drive.coordinates - place.actuators.coordinates - sensitivities
        return solve_box_qp(compliance, -lacking, self._least, np.inf)

    def _law(self, stretch: np.ndarray) -> np.ndarray:
        return np.maximum(stretch / self.drive.softness, self._least)

    def _without_drives(self, place: Place) -> float:
        model, points = self.model, place.pose.points
        model.efforts = self._idle
        if self._frozen is None:  # forces without a potential do the work of where they are first
            self._frozen = [None if load.energy(points) is not None else load.force(points) for load in model.forces]
        return model.potential(points, self.increment, self._frozen, place.assembled.energy)


class Tangent:
    """The factorised Hessian of a potential, in the model's matrix.

    Attributes:
        compliance: (a,) by how much an actuator's coordinate must be let out for its effort to fall, the others' as
            it is.
    """

    def __init__(self, model: Model):
        self._matrix = model.unknowns.matrix
        self._made_for: float | None = None
        self.compliance = model.actuators.softness.copy()

    def serves(self, increment: Increment) -> bool:
        """Whether there is one for steps with this inertia."""
        return self._made_for == increment.mass

    def forget(self) -> None:
        """Make the next one anew."""
        self._made_for = None

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Solution of (size, r) right-hand sides with the one that is there."""
        return self._matrix.solve(right)

    def renew(self, potential: Potential, place: Place, efforts: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Make it at a place with efforts (a,), and solve with it. Where it is indefinite, as that of a body about to
        snap is, it gets more inertia, more and more.

        Raises:
            ConvergenceError: it is not finite.
        """
        self._made_for, shift = None, 0.0
        while shift < LAST_SHIFT:
            potential.fill(place, efforts, 1.0 + shift)
            solution = self._matrix.solve_definite(right)
            if solution is not None:
                self._made_for = potential.increment.mass
                return solution
            shift = GROWTH * shift if shift else FIRST_SHIFT
        raise ConvergenceError("the moving body's stiffness is not finite")


def minimise_driven(potential: Potential, tangent: Tangent, start: Place, guess: Pose) -> Reached:
    """The end of a step that begins at `start`, searched from a guess: where it could not be solved, the last place, at
    which Φ is no higher than at the start."""
    model, history = potential.model, []
    tolerance = TOLERANCE * WEIGHT * model.body.mass
    law = DRIVE_TOLERANCE * model.actuators.tolerance
    place, efforts = potential.place(guess), potential.drive.efforts
    for iteration in range(MAX_ITERATIONS):
        right, residual = _balance(potential, place, efforts)
        if residual < tolerance and (potential.error(place, efforts) < law).all():
            return Reached(place, efforts, [*history, residual], True)
        if iteration == 0 and _is_lower(potential, start, place):
            place = potential.place(start.pose)  # what has snapped does not coast on
            right, residual = _balance(potential, place, efforts)
        if history and residual > SLOW * history[-1]:
            tangent.forget()
        history.append(residual)
        try:
            place, efforts = _iterate(potential, tangent, place, efforts, right)
        except ConvergenceError:
            break
    return Reached(place, potential.efforts(place), history, False)


def _balance(potential: Potential, place: Place, efforts: np.ndarray) -> tuple[np.ndarray, float]:
    """Right-hand sides (size, 1 + a): the forces that the actuators have to balance, and G; and the norm of what is
    left with efforts (a,) [N]."""
    fields = np.concatenate([potential.unbalanced(place)[:, :, None], place.actuators.gradients], axis=2)
    right = potential.model.unknowns.reduced(fields, place.pose)
    return right, float(np.linalg.norm(right[:, 0] + right[:, 1:] @ efforts))


def _is_lower(potential: Potential, place: Place, other: Place) -> bool:
    """Whether Φ is lower at a place than at the other."""
    shift = potential.shift(other)
    return not potential.value(other, shift) <= potential.value(place, shift)


def _iterate(
    potential: Potential, tangent: Tangent, place: Place, efforts: np.ndarray, right: np.ndarray
) -> tuple[Place, np.ndarray]:
    """A lower place and the efforts there; the tangent that is there is tried first.

    Raises:
        ConvergenceError: no step lowers Φ, or numbers are no longer finite.
    """
    if tangent.serves(potential.increment):
        step = _direction(potential, place, tangent, tangent.solve(right), right)
        found = _search(potential, place, efforts, *step, tries=1)
        if found is not None:
            return found
    solution = tangent.renew(potential, place, efforts, right)
    found = _search(potential, place, efforts, *_direction(potential, place, tangent, solution, right), SHORTENINGS)
    if found is None:
        raise ConvergenceError("the moving body's potential cannot be lowered")
    return found


def _direction(
    potential: Potential, place: Place, tangent: Tangent, solution: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Step (size,) of the unknowns, and the efforts (a,) at its end."""
    sensitivities = right[:, 1:].T @ solution
    compliance = 0.5 * (sensitivities[:, 1:] + sensitivities[:, 1:].T)
    compliance += np.diag(potential.drive.softness)
    tangent.compliance = np.diagonal(compliance).copy()
    efforts = potential.goal(place, sensitivities[:, 0], compliance)
    return solution[:, 0] + solution[:, 1:] @ efforts, efforts


def _search(
    potential: Potential, place: Place, efforts: np.ndarray, step: np.ndarray, goal: np.ndarray, tries: int
) -> tuple[Place, np.ndarray] | None:
    """As much of a step (size,), with efforts (a,) on the way to its `goal`, as lowers Φ; None after `tries`."""
    model = potential.model
    whole = model.unknowns.move(place.pose, step)
    largest = float(np.abs(whole.points - place.pose.points).max())
    fraction = min(1.0, LARGEST_STEP * float(np.linalg.norm(model.body.mesh.size)) / max(largest, 1e-300))
    shift = potential.shift(place)
    highest = potential.value(place, shift) + NOISE * (place.assembled.energy + QUIET)
    for _ in range(tries):
        pose = whole if fraction == 1.0 else model.unknowns.move(place.pose, fraction * step)
        trial = potential.place(pose)
        if potential.value(trial, shift) <= highest:
            return trial, efforts + fraction * (goal - efforts)
        fraction *= 0.5
    return None
