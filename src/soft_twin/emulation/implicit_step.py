"""One step of an emulated body by backward Euler, as the minimum of a potential.

From points x₀ with velocities v₀ and in the time h, a body with cables comes to the minimum of

    Φ(x) = Σ ½ m (1/h² + α/h) u² − m v₀·u/h + W(x) − f·u + ½ k Σ (ℓ̃ − ℓ₁)₊² + β/h [V(x) − V'(x₀) u],   u = x − x₀,

where the potential of the damping is that of the body and of its taut cables, V = W + Σ T₀ ℓ̃ with the tensions at
the start: cables that press a body together take away as much of its stiffness as they bring by being taut, and damping
by the body's share alone drives it where it should hold it. Friction makes a cable pull less the further it is from its
winch, by factors φ of its pieces: ℓ̃ = Σ φ ℓ of the pieces is what pulls at the body by its gradient, while the tension
follows from the length itself, T = k (ℓ − ℓ₀ + d)₊. With ℓ₁ chosen so that both agree where an iteration starts, Φ has
the right forces there, and at the end, where nothing moves any more.

Each iteration solves the quadratic program of Φ linearised, in the tensions, and takes as much of its step as lowers Φ.
"""

from dataclasses import dataclass

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.cables import Cables

TOLERANCE = 1e-5  # [N] of the residual's norm at which a step is accepted
STRETCH_TOLERANCE = 1e-6  # [m] of the cables' elastic law, likewise
MAX_ITERATIONS = 50
LARGEST_STEP = 0.01  # [m] per iteration
SLOW = 0.5  # of a residual that is left after an iteration: with more, the tangent is made anew
SHORTENINGS = 12  # halvings of an iteration's step
NOISE = 1e-10  # of the elastic energy: smaller rises of the potential are round-off
QUIET = 1e-6  # [J] a body has at least, as far as round-off goes
FIRST_SHIFT, LAST_SHIFT, GROWTH = 0.25, 1e12, 4.0  # of the inertia's stiffness, added where the tangent is indefinite


@dataclass(frozen=True)
class Place:
    """Where a body may be, and what it does there.

    Attributes:
        points: (n, 3) nodes [m].
        energy: elastic [J].
        elastic: (n, 3) its gradient [N].
        pieces: (s,) lengths of the cables' pieces [m].
        directions: (s, 3) of the pieces.
        lengths: (c,) of the cables [m].
    """

    points: np.ndarray
    energy: float
    elastic: np.ndarray
    pieces: np.ndarray
    directions: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True)
class Matter:
    """What a body with cables is made of: line stiffness [N/m], Rayleigh's α [1/s] and β [s], masses (n, 1) [kg]."""

    body: Body
    cables: Cables
    stiffness: float
    alpha: float
    beta: float
    masses: np.ndarray

    def place(self, points: np.ndarray) -> Place:
        """The place at nodes (n, 3)."""
        energy, elastic, _, _ = self.body.assemble(points)
        pieces, directions = self.cables.pieces_and_directions(points)
        lengths = np.bincount(self.cables.owners, pieces, self.cables.count)
        return Place(points, energy, elastic.copy(), pieces, directions, lengths)


@dataclass(frozen=True)
class Step:
    """What a step starts from and what acts during it; see the module's docstring.

    Attributes:
        start: x₀; velocities: (n, 3) v₀; tensions: (c,) T₀.
        dt: h [s].
        loads: (n, 3) f [N].
        taut: (c,) lengths ℓ₀ − d at which the cables begin to pull [m].
        factors: (s,) φ.
    """

    matter: Matter
    start: Place
    velocities: np.ndarray
    tensions: np.ndarray
    dt: float
    loads: np.ndarray
    taut: np.ndarray
    factors: np.ndarray

    @property
    def damping(self) -> float:
        """β/h."""
        return self.matter.beta / self.dt

    @property
    def inertia(self) -> np.ndarray:
        """(n, 1) what the nodes' masses and their damping add to the stiffness [N/m]."""
        return self.matter.masses * (1.0 / self.dt**2 + self.matter.alpha / self.dt)

    def pulls(self, place: Place) -> np.ndarray:
        """∂ℓ̃/∂x (n, 3, c)."""
        return self.matter.cables.scaled_gradients_along(place.directions, self.factors)

    def scaled(self, place: Place) -> np.ndarray:
        """ℓ̃ (c,) [m]."""
        return np.bincount(self.matter.cables.owners, self.factors * place.pieces, self.matter.cables.count)

    def stretch(self, place: Place) -> np.ndarray:
        """(c,) by how much the cables are longer than where they begin to pull [m]; negative: slack."""
        return place.lengths - self.taut


class Potential:
    """Φ of a step, and its derivatives."""

    def __init__(self, step: Step):
        self.step, self._inertia = step, step.inertia
        held = step.start.elastic + step.pulls(step.start) @ step.tensions
        self._steady = step.loads + step.matter.masses / step.dt * step.velocities + step.damping * held

    def value(self, place: Place, offsets: np.ndarray) -> float:
        """Φ with cables that begin to pull where ℓ̃ is (c,) `offsets` [J]."""
        step, moved = self.step, place.points - self.step.start.points
        scaled = step.scaled(place)
        body = (1.0 + step.damping) * place.energy + step.damping * float(step.tensions @ scaled)
        kinetic = float(((0.5 * self._inertia * moved - self._steady) * moved).sum())
        return body + kinetic + 0.5 * step.matter.stiffness * float((np.maximum(scaled - offsets, 0.0) ** 2).sum())

    def offsets(self, place: Place) -> np.ndarray:
        """(c,) ℓ̃ at which the cables begin to pull, as they do at this place."""
        return self.step.scaled(place) - self.step.stretch(place)

    def unbalanced(self, place: Place, pulls: np.ndarray) -> np.ndarray:
        """Forces (n, 3) that the cables have to balance [N], with `pulls` of the place."""
        step = self.step
        inertia = self._inertia * (place.points - step.start.points)
        return self._steady - inertia - (1.0 + step.damping) * place.elastic - pulls @ (step.damping * step.tensions)


class Tangent:
    """The factorised second derivative of Φ, kept from iteration to iteration and from step to step while it serves.

    Attributes:
        give: (c,) by how much a cable must be let out for its tension to fall, the others' as it is [m/N].
    """

    def __init__(self, matter: Matter):
        self._matter = matter
        self._matrix = matter.body.new_factorisation()
        self._addresses = self._matrix.addresses(matter.cables.nodes)
        self._made_for: float | None = None
        self.give = np.full(matter.cables.count, 1.0 / matter.stiffness)

    def serves(self, dt: float) -> bool:
        """Whether there is one for steps of dt."""
        return self._made_for == dt

    def forget(self) -> None:
        """Make the next one anew."""
        self._made_for = None

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Solution of (dof, r) right-hand sides with the one that is there."""
        return self._matrix.solve(right)

    def renew(self, step: Step, points: np.ndarray, tensions: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Make it at `points` (n, 3) with `tensions` (c,), and solve with it. Where it is indefinite, as that of a body
        about to snap is, it gets more inertia, more and more.

        Raises:
            ConvergenceError: it is not finite.
        """
        self._made_for, shift = None, 0.0
        while shift < LAST_SHIFT:
            self._fill(step, points, tensions, 1.0 + shift)
            solution = self._matrix.solve_definite(right)
            if solution is not None:
                self._made_for = step.dt
                return solution
            shift = GROWTH * shift if shift else FIRST_SHIFT
        raise ConvergenceError("the emulated body's stiffness is not finite")

    def _fill(self, step: Step, points: np.ndarray, tensions: np.ndarray, inertia: float) -> None:
        matter, matrix = self._matter, self._matrix
        matter.body.assemble(points, matrix)
        matrix.data[:] *= 1.0 + step.damping
        pulling = tensions + step.damping * step.tensions
        matter.cables.add_stiffness(points, pulling, *self._addresses, matrix.data)
        matrix.add_to_diagonal(matter.body.free_values(np.repeat(inertia * step.inertia, 3, axis=1)))


@dataclass(frozen=True)
class Reached:
    """Where an iteration has come to, with tensions (c,), and whether the step is solved there."""

    place: Place
    tensions: np.ndarray
    solved: bool


def minimise(step: Step, tangent: Tangent) -> Reached:
    """The end of a step: where it could not be solved, the last place, at which Φ is no higher than at the start."""
    potential = Potential(step)
    place, tensions, previous = step.matter.place(step.start.points + step.dt * step.velocities), step.tensions, np.inf
    for iteration in range(MAX_ITERATIONS):
        pulls, unbalanced, residual = _balance(potential, place, tensions)
        if residual < TOLERANCE and _stretch_error(step, place, tensions) < STRETCH_TOLERANCE:
            return Reached(place, tensions, True)
        if iteration == 0 and _is_lower(potential, step.start, place):
            place = step.start  # what has snapped does not coast on
            pulls, unbalanced, residual = _balance(potential, place, tensions)
        if residual > SLOW * previous:
            tangent.forget()
        previous = residual
        try:
            place, tensions = _iterate(potential, tangent, place, tensions, unbalanced, pulls)
        except ConvergenceError:
            break
    return Reached(place, step.matter.stiffness * np.maximum(step.stretch(place), 0.0), False)


def _balance(potential: Potential, place: Place, tensions: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """∂ℓ̃/∂x (n, 3, c), the forces (n, 3) that cables have to balance, and the norm of what is left with tensions (c,)
    [N]."""
    pulls = potential.step.pulls(place)
    unbalanced = potential.unbalanced(place, pulls)
    left = potential.step.matter.body.free_values(unbalanced - pulls @ tensions)
    return pulls, unbalanced, float(np.linalg.norm(left))


def _is_lower(potential: Potential, place: Place, other: Place) -> bool:
    """Whether Φ is lower at a place than at the other."""
    offsets = potential.offsets(other)
    return not potential.value(other, offsets) <= potential.value(place, offsets)


def _iterate(
    potential: Potential,
    tangent: Tangent,
    place: Place,
    tensions: np.ndarray,
    unbalanced: np.ndarray,
    pulls: np.ndarray,
) -> tuple[Place, np.ndarray]:
    """A lower place and the tensions there; the tangent that is there is tried first.

    Raises:
        ConvergenceError: no step lowers Φ, or numbers are no longer finite.
    """
    step, body = potential.step, potential.step.matter.body
    right = np.column_stack([body.free_values(unbalanced), body.free_values(pulls)])
    if tangent.serves(step.dt):
        found = _search(potential, place, tensions, *_direction(step, place, tangent, tangent.solve(right), right), 1)
        if found is not None:
            return found
    solution = tangent.renew(step, place.points, tensions, right)
    found = _search(potential, place, tensions, *_direction(step, place, tangent, solution, right), SHORTENINGS)
    if found is None:
        raise ConvergenceError("the emulated body's potential cannot be lowered")
    return found


def _direction(
    step: Step, place: Place, tangent: Tangent, solution: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Movement (n, 3) of the nodes and tensions (c,) at its end: T ≥ 0, elastic where taut."""
    sensitivities = right[:, 1:].T @ solution
    compliance = 0.5 * (sensitivities[:, 1:] + sensitivities[:, 1:].T)
    compliance[np.diag_indices_from(compliance)] += 1.0 / step.matter.stiffness
    tangent.give = np.diagonal(compliance).copy()
    tensions = solve_box_qp(compliance, -(step.stretch(place) + sensitivities[:, 0]), 0.0, np.inf)
    return step.matter.body.spread(solution[:, 0] - solution[:, 1:] @ tensions), tensions


def _search(
    potential: Potential, place: Place, tensions: np.ndarray, move: np.ndarray, goal: np.ndarray, tries: int
) -> tuple[Place, np.ndarray] | None:
    """As much of a movement (n, 3), with tensions (c,) on the way to its `goal`, as lowers Φ; None after `tries`."""
    fraction = min(1.0, LARGEST_STEP / max(float(np.abs(move).max()), 1e-300))
    offsets = potential.offsets(place)
    highest = potential.value(place, offsets) + NOISE * (place.energy + QUIET)
    for _ in range(tries):
        trial = potential.step.matter.place(place.points + fraction * move)
        if potential.value(trial, offsets) <= highest:
            return trial, tensions + fraction * (goal - tensions)
        fraction *= 0.5
    return None


def _stretch_error(step: Step, place: Place, tensions: np.ndarray) -> float:
    """How far tensions (c,) are from the cables' elastic law, as a length [m]."""
    return float(np.abs(np.maximum(step.stretch(place), 0.0) - tensions / step.matter.stiffness).max())
