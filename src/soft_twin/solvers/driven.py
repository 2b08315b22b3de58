"""A step of a model whose actuators are driven by their coordinates: the minimum of an incremental potential.

A drive that has let in the coordinate d of an actuator makes the effort e = max(e₀, (d − c(x))/s), with its softness s:
a cable between a winch and its anchor, a chamber that a valve has let air into. The minimum is that of

    Φ(x) + Σ (e u − ½ s e²),    u = d − c(x),

where Φ is a model's incremental potential (model.Increment). Friction makes an actuator do less than its effort, by
factors that a step takes as they are at its start: c̃(x), with the gradients G = ∂c̃/∂x of the nodal forces Gᵀ e, then
takes the place of c in Φ, shifted so that both agree where an iteration starts, and at the end, where nothing moves
any more.

Each iteration solves the quadratic program of Φ linearised, in the efforts and in the multipliers of what the body
touches, and takes as much of its step as lowers Φ, with the rows of contact as in `equilibrium`, but only those that
have pushed, are broken, or would be. The factorised second derivative is kept from iteration to iteration, and from
step to step, while it serves. Where it is not positive definite, as that of a body whose chambers balloon, it gets more
inertia, and secants make up for what that slows down.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp
from soft_twin.mechanics.actuators.base import ActuatorState
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows, stacked
from soft_twin.mechanics.contact.coulomb import bounds_of, solve_coulomb
from soft_twin.mechanics.model import Assembled, Increment, Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.equilibrium import REGULARISATION
from soft_twin.solvers.merit import Touch, broken_by, first_penalty, longest_fraction

TOLERANCE = 1.5e-4  # see Potential
ROW_TOLERANCE = 1e-6  # of the body's size, of rows that are broken
DRIVE_TOLERANCE = 1e3  # of the actuators' tolerance, of the drives' law, likewise
MAX_ITERATIONS = 50
SLOW = 0.3  # of a residual that is left after an iteration: with more, the tangent is made anew
SLOWER = 1.0  # the same where the tangent has more inertia than the body: a new one would be as slow
SECANTS, ALIKE = 10, 1e-10  # that are kept, and share of the largest by which they must differ
RUNAWAY = 100.0  # times the residuals of the first two iterations, at which a search is given up
FAR = 1000.0  # of the tolerance, of a residual that asks for a tangent of its own where the last step needed one, too
SHORTENINGS = 12  # halvings of an iteration's step
NOISE = 1e-10  # of the elastic energy: smaller rises of the potential are round-off
QUIET = 1e-6  # [J] a body has at least, as far as round-off goes
SLACK = 0.005  # of the body's size, by which a cable is slack that an iteration is not expected to tighten
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
class Pushes:
    """What pushes at a place besides Φ: efforts (a,) of the actuators, multipliers of the constraints' rows."""

    efforts: np.ndarray
    multipliers: Multipliers


@dataclass(frozen=True)
class Reached:
    """Where an iteration has come to, with what pushes there, the residuals [N] of all iterations, and whether the step
    is solved there."""

    place: Place
    pushes: Pushes
    history: list[float]
    solved: bool


@dataclass(frozen=True)
class Balance:
    """The forces at a place.

    Attributes:
        right: (size, 1 + a) those that actuators and rows have to balance, and the actuators' gradients.
        separate: rows of each constraint.
        rows: all m of them by the unknowns, None for none.
        values: (a + m,) efforts of the actuators, multipliers of the rows.
        left: norm of what is left [N].
    """

    right: np.ndarray
    separate: list[Rows | None]
    rows: Rows | None
    values: np.ndarray
    left: float

    def take(self, chosen: np.ndarray) -> "Balance":
        """With some of the rows only, (m,) bool, whose gradients stand behind the actuators'."""
        ends = np.cumsum([0 if own is None else len(own.keys) for own in self.separate])
        pairs = zip(self.separate, np.split(chosen, ends), strict=False)
        rows, count = self.rows.take(chosen), len(self.values) - len(chosen)
        return Balance(
            np.column_stack([self.right, rows.jacobian.T.toarray()]),
            [own and own.take(some) for own, some in pairs],
            rows if chosen.any() else None,
            np.concatenate([self.values[:count], self.values[count:][chosen]]),
            self.left,
        )


class Potential:
    """A step's potential, and its derivatives.

    `damped`: (a,) efforts that act as loads beside those of the drives, as the damping of the actuators does.
    `tolerance`: of the body's weight on earth, of the residual's norm at which a step is accepted.
    """

    def __init__(
        self, model: Model, increment: Increment, drive: Drive, damped: np.ndarray, tolerance: float = TOLERANCE
    ):
        self.model, self.increment, self.drive, self._damped = model, increment, drive, damped
        self.tolerance = tolerance * STANDARD_GRAVITY * model.body.mass  # [N]
        self._least, self._idle = model.actuators.least_effort, np.zeros(len(model.actuators))
        self._frozen: list[np.ndarray | None] | None = None

    def place(self, pose: Pose, multipliers: Multipliers) -> Place:
        """Everything at a pose, with friction bounded by these multipliers."""
        self.model.efforts = self._idle
        assembled = self.model.assemble(pose, self.increment, multipliers)
        return Place(pose, assembled, self.model.actuators.at(pose.points))

    def unbalanced(self, place: Place) -> np.ndarray:
        """Forces (n, 3) that the drives have to balance [N]."""
        return place.actuators.gradients @ self._damped - place.assembled.gradient

    def fill(self, place: Place, pushes: Pushes, inertia: float) -> None:
        """Write the Hessian at a place to the model's matrix, its inertia times a factor."""
        self.model.efforts = pushes.efforts + self._damped
        increment = replace(self.increment, mass=inertia * self.increment.mass)
        self.model.assemble(place.pose, increment, pushes.multipliers, with_matrix=True)

    def shift(self, place: Place) -> np.ndarray:
        """(a,) by which c̃ takes the place of c as it is there."""
        return self.drive.coordinates - place.actuators.coordinates + place.actuators.effective

    def value(self, place: Place, shift: np.ndarray, touch: Touch) -> float:
        """Of a place [J], where c̃ is shifted by (a,); infinite where the body cannot be."""
        stretch = shift - place.actuators.effective
        efforts = self._law(stretch)
        driven = efforts @ (stretch - 0.5 * self.drive.softness * efforts) - self._damped @ place.actuators.effective
        return float(driven) + self._without_drives(place) + touch.merit(place.pose, place.assembled.rows)

    def efforts(self, place: Place) -> np.ndarray:
        """(a,) that the drives make there."""
        return self._law(-self.missing(place))

    def missing(self, place: Place) -> np.ndarray:
        """(a,) by how much each actuator's coordinate is beyond what its drive has let in: a cable that is slack."""
        return place.actuators.coordinates - self.drive.coordinates

    def slack(self, place: Place, efforts: np.ndarray) -> np.ndarray:
        """(a,) bool, of cables that make no effort (a,), and are too far from one for an iteration to bring it about,
        as a rule."""
        far = self.missing(place) > SLACK * float(np.linalg.norm(self.model.body.mesh.size))
        cables = np.array([unit == "N" for unit in self.model.actuators.units], dtype=bool)  # the others have m³
        return cables & far & (efforts == 0.0) & (self._least == 0.0)

    def error(self, place: Place, efforts: np.ndarray) -> np.ndarray:
        """(a,) how far efforts are from the drives' law, as coordinates."""
        return np.abs(self.drive.softness * (efforts - self.efforts(place)))

    def goal(self, place: Place, balance: Balance, W: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, float]:
        """Efforts and multipliers (a + m,) at the end of an iteration, and how stiff the rows are on the whole [N/m].

        `W`: (a + m, a + m) compliance, softness of the drives included. `free`: (a + m,) changes of the coordinates and
        of the rows without any of them.
        """
        gaps = free.copy()
        gaps[: len(self._idle)] += self.missing(place)
        if balance.rows is None:
            return solve_box_qp(W, gaps, self._least, np.inf), first_penalty(self.model)
        rows, own = balance.rows, slice(len(self._idle), None)
        compliance = float(np.trace(W[own, own])) / len(rows.keys)
        slack = REGULARISATION * compliance
        W[own, own] += np.diag(rows.compliance + slack)
        gaps[own] += rows.values - slack * balance.values[own]
        return solve_coulomb(W, gaps, *self._bounds(balance), balance.values), 1.0 / compliance

    def _bounds(self, balance: Balance) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Of actuators and rows together: bounds, and what bounds friction, see `solve_coulomb`."""
        count, rows = len(self._idle), balance.rows
        lower, upper = np.concatenate([self._least, rows.lower]), np.concatenate([np.full(count, np.inf), rows.upper])
        places, factors = bounds_of(self.model.constraints, balance.separate)
        places = np.concatenate([np.full(count, -1), np.where(places >= 0, places + count, -1)])
        return replace(rows, lower=lower, upper=upper), places, np.concatenate([np.zeros(count), factors])

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
            it is; of one that has been slack as it was when it was not.
        known: (a,) bool, of which it has been found.
        renewed: whether it was made anew in this step.
    """

    def __init__(self, model: Model):
        self._matrix = model.unknowns.matrix
        self._made_for: float | None = None
        self._shift = 0.0  # that the last one needed: the next needs about as much
        self.renewed = False
        self.compliance = model.actuators.softness.copy()
        self.known = np.zeros(len(self.compliance), dtype=bool)

    @property
    def shifted(self) -> bool:
        """Whether the one that is there has more inertia than the body."""
        return self._made_for is not None and self._shift > 0.0

    def serves(self, increment: Increment) -> bool:
        """Whether there is one for steps with this inertia."""
        return self._made_for == increment.mass

    def forget(self) -> None:
        """Make the next one anew."""
        self._made_for = None

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Solution of (size, r) right-hand sides with the one that is there."""
        return self._matrix.solve(right)

    def renew(self, potential: Potential, place: Place, pushes: Pushes, right: np.ndarray) -> np.ndarray:
        """Make it at a place with what pushes there, and solve with it. Where it is indefinite, as that of a body about
        to snap is, it gets more inertia, more and more.

        Raises:
            ConvergenceError: it is not finite.
        """
        self._made_for, self.renewed = None, True
        shift = self._shift / GROWTH if self._shift > FIRST_SHIFT else 0.0
        while shift < LAST_SHIFT:
            potential.fill(place, pushes, 1.0 + shift)
            solution = self._matrix.solve_definite(right)
            if solution is not None:
                self._made_for, self._shift = potential.increment.mass, shift
                return solution
            shift = GROWTH * shift if shift else FIRST_SHIFT
        raise ConvergenceError("the moving body's stiffness is not finite")


class Secants:
    """What steps with one tangent have shown of it, and the way on that this tells: Anderson's acceleration (Walker and
    Ni, SIAM J. Numer. Anal. 49, 2011). A tangent with more inertia than the body's leads it to where forces balance by
    ever smaller steps in the few directions in which it is soft; so many secants make up for that.

    What is asked and taken are changes of unknowns and efforts (size + a,).
    """

    def __init__(self):
        self.forget()

    def forget(self) -> None:
        """Begin anew, with another tangent."""
        self._asked: np.ndarray | None = None
        self._changes: list[tuple[np.ndarray, np.ndarray]] = []  # what was taken, and how what is asked changed by it
        self._taken: np.ndarray | None = None

    def ask(self, way: np.ndarray) -> None:
        """The tangent asks for a way from here."""
        if self._taken is not None:
            self._changes = [*self._changes[1 - SECANTS :], (self._taken, way - self._asked)]
        self._asked, self._taken = way, None

    def take(self, way: np.ndarray) -> None:
        """A way from here was gone."""
        self._taken = way

    def better(self, size: int) -> np.ndarray | None:
        """The way on from where a way was asked for last, which has the unknowns, the first `size`, asked for least;
        None: nothing was shown yet."""
        if not self._changes:
            return None
        taken, changes = (np.column_stack(each) for each in zip(*self._changes, strict=True))
        shares = np.linalg.lstsq(changes[:size], self._asked[:size], rcond=ALIKE)[0]
        return self._asked - (taken + changes) @ shares


def minimise_driven(
    potential: Potential,
    tangent: Tangent,
    start: Place,
    guess: Pose,
    multipliers: Multipliers,
    iterations: int = MAX_ITERATIONS,
) -> Reached:
    """The end of a step that begins at `start`, searched from a guess and from multipliers.

    Where it could not be solved, the last place, at which Φ is no higher than at the start; or the start itself, where
    what is left grew out of bounds on the way or cells are inverted there: Φ has no minimum, as of a chamber that
    bursts, and a body that went after it would not come back.
    """
    model, history = potential.model, []
    enough, tangent.renewed = FAR * potential.tolerance if tangent.renewed else np.inf, False
    place = potential.place(guess, multipliers)
    multipliers = multipliers.still_pushing(place.assembled.rows, first_penalty(model))
    pushes, secants = Pushes(potential.drive.efforts, multipliers), Secants()
    for iteration in range(iterations):
        balance = _balance(potential, place, pushes)
        if history and _is_solved(potential, place, pushes, balance):  # a guess alone would coast on for ever
            return Reached(place, pushes, [*history, balance.left], True)
        if iteration == 0 and _is_lower(potential, start, place, multipliers):
            place = potential.place(start.pose, multipliers)  # what has snapped does not coast on
            balance = _balance(potential, place, pushes)
        if len(history) > 1 and balance.left > RUNAWAY * max(*history[:2], potential.tolerance):
            place = start
            break
        if balance.left > enough:  # what is left is more than a tangent of before is good for
            tangent.forget()
        enough = (SLOWER if tangent.shifted else SLOW) * balance.left
        history.append(balance.left)
        try:
            place, pushes = _iterate(potential, tangent, place, pushes, balance, secants)
        except ConvergenceError:
            break
    place = start if place.assembled.worst <= 0.0 else place
    return Reached(place, Pushes(potential.efforts(place), pushes.multipliers), history, False)


def _is_solved(potential: Potential, place: Place, pushes: Pushes, balance: Balance) -> bool:
    model = potential.model
    if balance.left >= potential.tolerance:
        return False
    if (potential.error(place, pushes.efforts) >= DRIVE_TOLERANCE * model.actuators.tolerance).any():
        return False
    missed = broken_by(balance.rows, balance.values[len(pushes.efforts) :], first_penalty(model))
    return missed <= _row_tolerance(model)


def _row_tolerance(model: Model) -> float:
    """Of rows that are broken [m]."""
    return ROW_TOLERANCE * float(np.linalg.norm(model.body.mesh.size))


def _balance(potential: Potential, place: Place, pushes: Pushes) -> Balance:
    """The forces at a place."""
    model, separate = potential.model, place.assembled.rows
    fields = np.concatenate([potential.unbalanced(place)[:, :, None], place.actuators.gradients], axis=2)
    right, rows, values = model.unknowns.reduced(fields, place.pose), None, pushes.efforts
    left = right[:, 0] + right[:, 1:] @ values
    if any(own is not None and len(own.keys) for own in separate):
        rows, known = stacked(separate, model.unknowns.transform(place.pose)), pushes.multipliers.values(separate)
        left, values = left + rows.jacobian.T @ known, np.concatenate([values, known])
    return Balance(right, separate, rows, values, float(np.linalg.norm(left)))


def _is_lower(potential: Potential, place: Place, other: Place, multipliers: Multipliers) -> bool:
    """Whether Φ is lower at a place than at the other, friction left out, which depends on how either is reached."""
    shift, none = potential.shift(other), [None] * len(multipliers)
    touch = Touch.at(place.pose, none, multipliers, first_penalty(potential.model))
    return not potential.value(other, shift, touch) <= potential.value(place, shift, touch)


def _iterate(
    potential: Potential, tangent: Tangent, place: Place, pushes: Pushes, balance: Balance, secants: Secants
) -> tuple[Place, Pushes]:
    """A lower place and what pushes there; the tangent that is there is tried first.

    Raises:
        ConvergenceError: no step lowers Φ, or numbers are no longer finite.
    """
    if tangent.serves(potential.increment):
        step, goal, touch = _direction(potential, place, tangent, tangent.solve, balance)
        way = np.concatenate([step, goal.efforts - pushes.efforts])
        secants.ask(way)
        better = secants.better(len(step)) if tangent.shifted and balance.rows is None else None
        for each in [way] if better is None else [better, way]:
            found = _search(potential, place, pushes, each, goal.multipliers, touch, secants, tries=1)
            if found is not None:
                return found
    secants.forget()
    step, goal, touch = _direction(potential, place, tangent, partial(tangent.renew, potential, place, pushes), balance)
    way = np.concatenate([step, goal.efforts - pushes.efforts])
    secants.ask(way)
    found = _search(potential, place, pushes, way, goal.multipliers, touch, secants, tries=SHORTENINGS)
    if found is None:
        raise ConvergenceError("the moving body's potential cannot be lowered")
    return found


def _direction(
    potential: Potential,
    place: Place,
    tangent: Tangent,
    solve: Callable[[np.ndarray], np.ndarray],
    balance: Balance,
) -> tuple[np.ndarray, Pushes, Touch]:
    """Step (size,) of the unknowns, what pushes at its end, and what the rows do meanwhile. `solve`: with the tangent,
    (size, r) right-hand sides for the first time."""
    rows = balance.rows
    if rows is None:
        return _without_rows(potential, place, tangent, solve, balance)
    places, _ = bounds_of(potential.model.constraints, balance.separate)
    plain, own = places < 0, balance.values[len(potential.drive.efforts) :]
    chosen = plain & ((own != 0.0) | (rows.values <= 0.0) | ~rows.inequalities)
    while True:
        some = balance.take(np.where(plain, chosen, chosen[places]))
        found = _program(potential, place, tangent, solve(some.right), some)
        after = rows.values + rows.jacobian @ found[0]
        missed = plain & ~chosen & (after < -_row_tolerance(potential.model))
        if not missed.any():
            return found
        chosen, solve = chosen | missed, tangent.solve


def _without_rows(
    potential: Potential,
    place: Place,
    tangent: Tangent,
    solve: Callable[[np.ndarray], np.ndarray],
    balance: Balance,
) -> tuple[np.ndarray, Pushes, Touch]:
    """As `_direction`, where nothing is touched: what slack cables would do is left out, unless they are tightened."""
    slack = potential.slack(place, balance.values) & tangent.known
    while True:
        solution = np.zeros_like(balance.right)
        asked = np.flatnonzero(np.append(True, ~slack))
        solution[:, asked] = solve(balance.right[:, asked])
        found = _program(potential, place, tangent, solution, balance, slack)
        tightened = slack & (potential.missing(place) + balance.right[:, 1:].T @ found[0] < 0.0)
        if not tightened.any():
            return found
        slack, solve = slack & ~tightened, tangent.solve


def _program(
    potential: Potential,
    place: Place,
    tangent: Tangent,
    solution: np.ndarray,
    balance: Balance,
    slack: np.ndarray | None = None,
) -> tuple[np.ndarray, Pushes, Touch]:
    """As `_direction`, of the solution (size, 1 + a + m) of a balance's right-hand sides; of actuators that are `slack`
    (a,) it has none, and they make no effort."""
    count = len(potential.drive.efforts)
    sensitivities = balance.right[:, 1:].T @ solution
    W = 0.5 * (sensitivities[:, 1:] + sensitivities[:, 1:].T)
    W[:count, :count] += np.diag(potential.drive.softness)
    found = np.ones(count, dtype=bool) if slack is None else ~slack
    tangent.compliance = np.where(found, np.diagonal(W)[:count], tangent.compliance)
    tangent.known |= found
    if not found.all():
        idle = np.flatnonzero(~found)
        W[idle], W[:, idle] = 0.0, 0.0
        W[idle, idle] = tangent.compliance[idle]
    values, penalty = potential.goal(place, balance, W, sensitivities[:, 0])
    multipliers = Multipliers.of(balance.separate, values[count:])
    touch = Touch.at(place.pose, balance.separate, multipliers, penalty)
    return solution[:, 0] + solution[:, 1:] @ values, Pushes(values[:count], multipliers), touch


def _search(
    potential: Potential,
    place: Place,
    pushes: Pushes,
    way: np.ndarray,
    multipliers: Multipliers,
    touch: Touch,
    secants: Secants,
    tries: int,
) -> tuple[Place, Pushes] | None:
    """As much of a way, a change of unknowns and efforts (size + a,), as lowers Φ, which the secants note; None after
    `tries`."""
    model = potential.model
    step, change = np.split(way, [len(way) - len(pushes.efforts)])
    whole = model.unknowns.move(place.pose, step)
    fraction = longest_fraction(model, place.pose, whole)
    shift = potential.shift(place)
    highest = potential.value(place, shift, touch) + NOISE * (place.assembled.energy + QUIET)
    for _ in range(tries):
        pose = whole if fraction == 1.0 else model.unknowns.move(place.pose, fraction * step)
        trial = potential.place(pose, multipliers)
        if potential.value(trial, shift, touch) <= highest:
            secants.take(fraction * way)
            return trial, Pushes(pushes.efforts + fraction * change, multipliers)
        fraction *= 0.5
    return None
