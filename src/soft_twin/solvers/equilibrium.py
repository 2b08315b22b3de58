"""Minima of a model's potential under its constraints: sequential quadratic programming, Newton's method without them.

SORS, Algorithm 1, with what it lacks: a merit function, checked statuses, and the quadratic program in the multipliers.
With the Hessian K and r = −∂Φ/∂q, a step is dq = K⁻¹ r + K⁻¹ Jᵀ λ, so that the rows' new values are
g + J K⁻¹ r + W λ with W = J K⁻¹ Jᵀ + diag(c): the λ between their bounds that complement them minimise
½ λᵀ W λ + (g + J K⁻¹ r)ᵀ λ. One factorisation and one right-hand side a row; the program is as small as the contact.

K is the Hessian of the merit function but for s JᵀJ of the rows that push or stick, where s is the penalty of broken
rows. K alone may be indefinite where those rows bend, as they do where a body is folded around an edge. Then the step
is of K + s JᵀJ and r − s Jᵀ g: the same one, as long as those rows still do (Bertsekas, *Constrained Optimization and
Lagrange Multiplier Methods*, 1982). Where they give way, g + J dq = −c λ, their Jᵀ λ is taken (1 − s c) times. Rows of
cables, which couple nodes far apart, hold so as well, though their JᵀJ is in no sparse matrix: see `held.py`.

A step lowers the merit function, but for a whole one of a body at rest that touches nothing and whose Hessian has been
definite so far, whose next one then does: where threads are stiff and the body turns, a whole step stretches them,
which the next puts right, and shortened steps along the turn are many (Chamberlain et al., "The watchdog technique for
forcing convergence", *Math. Prog. Study* 16, 1982).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.checks import checked_count, checked_kind
from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows, stacked
from soft_twin.mechanics.contact.coulomb import bounds_of, solve_coulomb
from soft_twin.mechanics.model import Assembled, Increment, Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.held import solve_held
from soft_twin.solvers.merit import Touch, broken_by, first_penalty, longest_fraction, moved
from soft_twin.solvers.stability import UNSTABLE, negative_curvature

TOLERANCE = 1e-10  # of the forces at work, for the residual of a body at rest
IN_MOTION = 10.0  # times as much for that of a step in time
GAP_TOLERANCE = 1e-8  # of the body's size, for broken rows
ROUND_OFF = 1e-14  # of the inertial forces at work, for the residual
SUPPORT = 10.0  # of the penalty of broken rows: what rows that push or stick add to an indefinite Hessian
GIVING = 0.5  # what pushing rows add, at most, of what they give way by
REGULARISATION = 1e-6  # of W's mean diagonal, for changes of the multipliers: rows may repeat each other
MAX_ITERATIONS = 100
MORE_ITERATIONS = 200  # for a body that falls from a saddle
HALVINGS = 25
STUCK = 40  # iterations one behind the other in which next to nothing moves and the residual does not fall
STILL, LESS = 1e-5, 0.9  # of the body's size, that it moves then at most; of the least residual, that would be a fall
RUNAWAY, FAR, WORSE = 40, 1.0, 10.0  # iterations one behind the other with an indefinite Hessian, that bring a body at
# rest further from its undeformed shape than its size, or from balance, by the residual, than it has been during them:
# it has no minimum to go to, where all that find one need some 20 of them
NOISE = 1e-13  # of the merit function: smaller rises are round-off, as are those of the body's own


@dataclass
class Solved:
    """A minimum.

    Attributes:
        pose: where everything is.
        multipliers: of each constraint, by key [N].
        residual: 2-norm of the unbalanced generalised forces [N].
        history: the residuals of all iterations.
        iterations: number of steps taken.
        assembled: energies and forces there.
        shift: what the Hessian's diagonal needed in the last step [N/m]; more than zero where the body is singular or
            unstable, as one that nothing but contact holds.
    """

    pose: Pose
    multipliers: Multipliers
    residual: float
    history: list[float] = field(repr=False)
    iterations: int
    assembled: Assembled = field(repr=False)
    shift: float


@dataclass(frozen=True)
class _Rise:
    """A whole step that raises the merit function: what the search goes back to unless the next one is lower.

    Attributes:
        pose, step: where it was taken from, and which (size,).
        fraction: what of it is not too far.
        merit: the function [J], of a pose and of what is known there.
        highest: what is not a rise [J].
    """

    pose: Pose
    step: np.ndarray
    fraction: float
    merit: Callable[..., float]
    highest: float


@dataclass
class _Outlook:
    """Whether a search may still find a minimum.

    Attributes:
        rest: where the body is undeformed.
        size: of the body [m].
        far: [m] from its rest, where a body may run away.
        stuck: iterations since it got anywhere.
        indefinite: iterations since the Hessian was definite.
        away: whether the body is far, or has come nowhere near balance since the Hessian was definite.
        least: residual so far [N].
        nearest: residual since the Hessian was definite [N].
    """

    rest: Pose
    size: float
    far: float
    stuck: int = 0
    indefinite: int = 0
    away: bool = False
    least: float = np.inf
    nearest: float = np.inf

    def note(self, before: Pose, after: Pose, residual: float, shifted: bool) -> None:
        """An iteration, with the residual [N] before it; `shifted`: with an indefinite Hessian."""
        rests = moved(before, after) < STILL * self.size and not residual < LESS * self.least
        self.stuck, self.indefinite = self.stuck + 1 if rests else 0, self.indefinite + 1 if shifted else 0
        self.least, self.nearest = min(self.least, residual), min(self.nearest, residual) if shifted else np.inf
        at_rest = self.far < np.inf
        self.away = moved(self.rest, after) > self.far or (at_rest and residual > WORSE * self.nearest)

    @property
    def hopeless(self) -> bool:
        return self.stuck >= STUCK or (self.indefinite >= RUNAWAY and self.away)


class _Descent:
    """A search for a minimum: where it is, and what is known there.

    Attributes:
        history: the residuals of all iterations.
        outlook: whether it may still end at a minimum.
    """

    def __init__(self, model: Model, pose: Pose, increment: Increment, multipliers: Multipliers):
        """From a pose, and from multipliers of each constraint."""
        self._model, self._pose, self._increment = model, pose, increment
        self._multipliers = multipliers.still_pushing(model.rows(pose.points, multipliers), first_penalty(model))
        self._size = float(np.linalg.norm(model.body.mesh.size))
        self._stiffness: float | None = None  # of the rows on the whole [N/m], once that is known
        self._there: Assembled | None = None  # energies, forces and the matrix at the pose
        self._loose, self._shift = False, 0.0  # whether any Hessian was indefinite; shift of the last one
        self._rise: _Rise | None = None
        self._rows: Rows | None = None  # with their multipliers (m,), and what is out of balance without them (size,):
        self._values, self._rest = np.zeros(0), np.zeros(0)  # as `evaluate` has found them
        self.history: list[float] = []
        self.outlook = _Outlook(model.rest, self._size, np.inf if self._moves else FAR * self._size)

    @property
    def _moves(self) -> bool:
        """Whether this is a step in time."""
        return self._increment.mass > 0.0

    @property
    def _penalty(self) -> float:
        """Of broken rows [N/m]."""
        return self._stiffness or first_penalty(self._model)

    def evaluate(self) -> bool:
        """Find what is out of balance here; False: forces are not finite."""
        if self._there is None:
            self._there = self._assemble()
        there = self._there
        if not _finite(there):
            return False
        transform = self._model.unknowns.transform(self._pose)
        self._rows, self._rest = stacked(there.rows, transform), -(transform.T @ there.gradient.ravel())
        self._values = self._multipliers.values(there.rows)
        unbalanced = self._rest if self._rows is None else self._rest + self._rows.jacobian.T @ self._values
        self.history.append(float(np.linalg.norm(unbalanced)))
        return True

    @property
    def balances(self) -> bool:
        """Whether forces balance here, and no row is broken."""
        if self.history[-1] > self._allowed() or self._rise is not None:
            return False
        return broken_by(self._rows, self._values, self._penalty) <= GAP_TOLERANCE * self._size

    def way_down(self) -> np.ndarray | None:
        """Where a body at rest falls that balances at a saddle, (size,) with 1 as the largest entry; else None.

        Raises:
            ConvergenceError: the forces balance without an energy or, at rest, in inverted cells.
        """
        there, matrix = self._there, self._model.unknowns.matrix
        if not np.isfinite(there.energy) or (not self._moves and there.worst <= 0.0):
            raise ConvergenceError(
                f"the forces balance in a body that is inverted: det F = {there.worst:.3g} in cell {there.cell}, "
                f"elastic energy {there.energy:.3g} J",
                tuple(self.history),
                there.cell,
            )
        if self._moves or matrix.shift == 0.0:
            return None
        jacobian = csr_matrix((0, matrix.size))
        if self._rows is not None:
            jacobian = self._rows.jacobian[self._rows.between(self._values)]
        return negative_curvature(matrix, self._assemble, jacobian)

    def fall(self, direction: np.ndarray) -> None:
        """Leave a saddle that way (size,)."""
        self._line_search(self._size * direction, may_rise=False)

    def newton_step(self) -> np.ndarray:
        """The step (size,) of the unknowns from here; the multipliers are those of its end."""
        step, values, self._stiffness = self._solve()
        self._shift = self._model.unknowns.matrix.shift
        self._multipliers, self._loose = Multipliers.of(self._there.rows, values), self._loose or self._shift > 0.0
        return step

    def advance(self, step: np.ndarray) -> None:
        """Take as much of a step (size,) as is good."""
        before = self._pose
        self._line_search(step, may_rise=self._rows is None and not self._moves and not self._loose)
        self.outlook.note(before, self._pose, self.history[-1], self._shift > 0.0)

    def take_whole(self, step: np.ndarray) -> Solved:
        """Take a whole step (size,); forces and energies of the result are those before it."""
        self._pose = self._model.unknowns.move(self._pose, step)
        reached, self._there = self.solved(len(self.history)), None
        return reached

    def solved(self, iterations: int) -> Solved:
        """What is reached, after so many steps."""
        shift = self._model.unknowns.matrix.shift
        return Solved(self._pose, self._multipliers, self.history[-1], self.history, iterations, self._there, shift)

    def failure(self) -> ConvergenceError:
        """What to say of a search that has found no minimum."""
        there = self._there or self._model.assemble(self._pose, self._increment, self._multipliers)
        count = len(self.history)
        if not _finite(there):
            what = f"forces are not finite after {count} steps: a load is no sane number, or the body is inverted"
        else:
            what = f"no minimum after {count} steps: the residual is {self.history[-1]:.3g} N"
        why = f", the body is free to move, or {UNSTABLE}" if self._loose else ""
        return ConvergenceError(
            f"{what}{why}, cell {there.cell} is deformed most (det F = {there.worst:.3g})",
            tuple(self.history),
            there.cell,
        )

    def _assemble(self, **support: float) -> Assembled:
        """Everything here, with the matrix, and with the `support` of rows that push or stick [N/m], if any."""
        return self._model.assemble(
            self._pose, self._increment, self._multipliers, with_matrix=True, penalty=self._stiffness, **support
        )

    def _allowed(self) -> float:
        """Residual [N] at which the forces balance: a part of those at work, and what the arithmetic leaves."""
        model, increment, there = self._model, self._increment, self._there
        forces = np.linalg.norm(there.elastic) + np.linalg.norm(there.loads) + np.abs(self._values).sum()
        inertia = increment.mass * float(np.linalg.norm(model.mass @ self._pose.points))
        tolerance = TOLERANCE * (IN_MOTION if self._moves else 1.0)
        return tolerance * increment.load * forces + model.round_off * increment.elastic + ROUND_OFF * inertia

    def _solve(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Step (size,) of the unknowns, the rows' multipliers (m,), and how stiff the rows are on the whole [N/m]."""
        model, rows, matrix, separate = self._model, self._rows, self._model.unknowns.matrix, self._there.rows
        if rows is None:
            return matrix.factorise_and_solve(self._assemble, self._rest, self._shift), np.zeros(0), 1.0
        right = np.column_stack([self._rest, rows.jacobian.T.toarray()])
        count = len(rows.keys)
        solution, shares, support, base = matrix.solve_definite(right), np.ones(count), 0.0, np.zeros(count)
        if solution is None:
            solution, shares, support, base = self._solve_supported(right)
        solution[:, 1:] *= shares
        reaction = shares[:, None] * (rows.jacobian @ solution)
        W = 0.5 * (reaction[:, 1:] + reaction[:, 1:].T)
        gaps = shares * rows.values + reaction[:, 0] - W @ base
        compliance = float(np.trace(W)) / len(W)
        slack = REGULARISATION * compliance
        W[np.diag_indices_from(W)] += shares * rows.compliance + slack
        before = self._multipliers.values(separate)
        values = solve_coulomb(W, gaps - slack * before, rows, *bounds_of(model.constraints, separate), before)
        stiffness = support / SUPPORT if support else 1.0 / compliance
        return solution[:, 0] + solution[:, 1:] @ (values - base), values, stiffness

    def _solve_supported(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """As `solve_definite` of the right sides (size, 1 + m), where the Hessian is not: with the support of rows that
        push or stick [N/m], which is told, the shares (m,) of each row that are left beside it, and multipliers (m,)
        whose part is in the first solution already: what is nearly balanced is then solved for as exactly."""
        rows, separate, matrix = self._rows, self._there.rows, self._model.unknowns.matrix
        supported = self._model.supported(separate, self._multipliers, self._stiffness)
        which = np.concatenate([own for own in supported if own is not None])
        others = self._model.reaching_far(separate) & rows.between(self._values)
        most = float(((which | others) * rows.compliance).max())
        support = min(SUPPORT * self._penalty, GIVING / max(most, 1e-300))
        right[:, 0] -= support * (rows.jacobian.T @ (which * rows.values))
        self._assemble(support=support)
        solution = matrix.factorise_and_solve(partial(self._assemble, support=support), right, self._shift)
        if matrix.shift > 0.0 and others.any():
            shares = 1.0 - support * (which | others) * rows.compliance
            jacobian, pushed = rows.jacobian[others].toarray(), solution[:, 1:][:, others]
            right[:, 0] += right[:, 1:] @ (shares * self._values) - support * (jacobian.T @ rows.values[others])
            held = solve_held(matrix.solve, matrix.shift, jacobian, pushed, support, right)
            if held is not None:
                return held, shares, support, self._values
        return solution, 1.0 - support * which * rows.compliance, support, np.zeros(len(which))

    def _line_search(self, step: np.ndarray, may_rise: bool) -> None:
        """Take as much of a step (size,) as lowers the merit function, the augmented Lagrangian with the penalty of
        broken rows: the step of the quadratic program that the multipliers come from does.

        What is there is known with the matrix where the first try was good. If it `may_rise`, a whole step is taken
        that raises it: after such a rise it is lower than before that, or as much of the step before as is.
        """
        model, pose, rise = self._model, self._pose, self._rise
        merit = self._merit()
        fraction = longest_fraction(model, pose, model.unknowns.move(pose, step))
        before = merit(pose, self._there.energy)
        highest = before + NOISE * abs(before) + model.round_off * self._size
        if rise is not None:
            merit, highest = rise.merit, rise.highest
        self._pose, self._rise = model.unknowns.move(pose, fraction * step), None
        self._there = self._assemble()
        reached = merit(self._pose, self._there.energy, self._there.rows)
        if reached <= highest:
            return
        if rise is None and may_rise and np.isfinite(reached):
            self._rise = _Rise(pose, step, fraction, merit, highest)
            return
        if rise is not None:
            pose, step, fraction = rise.pose, rise.step, rise.fraction
        for _ in range(HALVINGS - 1):
            fraction *= 0.5
            self._pose = model.unknowns.move(pose, fraction * step)
            if merit(self._pose) <= highest:
                break
        self._there = None

    def _merit(self) -> Callable[..., float]:
        """The merit function [J] of a pose and of what is known there, with friction as it is here."""
        model, increment, multipliers = self._model, self._increment, self._multipliers
        frozen = [force.force(self._pose.points) for force in model.forces]
        touch = Touch.at(self._pose, model.rows(self._pose.points, multipliers), multipliers, self._penalty)

        def merit(trial: Pose, elastic: float | None = None, rows: list[Rows | None] | None = None) -> float:
            value = model.potential(trial.points, increment, frozen, elastic)
            if not np.isfinite(value):
                return np.inf
            return value + touch.merit(trial, model.rows(trial.points, multipliers) if rows is None else rows)

        return merit


def _finite(there: Assembled) -> bool:
    """Whether forces are, and their norm too: beside one that overflows everything would balance."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.linalg.norm(there.gradient)))


def minimise(
    model: Model,
    pose: Pose,
    increment: Increment,
    multipliers: Multipliers | None = None,
    steps: int | None = None,
    limit: int = MAX_ITERATIONS,
) -> Solved:
    """The minimum near `pose`.

    Args:
        model: what is solved.
        pose: to start from.
        increment: the potential.
        multipliers: of each constraint, to start from.
        steps: take so many whole steps and no more, as real-time simulators do: 1 is the linearly implicit method.
            The residual and the forces of the result are then those before the last step.
        limit: number of iterations after which the search is given up.

    Raises:
        ConvergenceError: with the residuals so far and the most deformed cell.
    """
    descent = _Descent(model, pose, increment, model.idle if multipliers is None else multipliers)
    allowed = limit
    while len(descent.history) < allowed and not descent.outlook.hopeless:
        if not descent.evaluate():
            break
        if descent.balances:
            direction = descent.way_down()
            if direction is None:
                return descent.solved(len(descent.history) - 1)
            descent.fall(direction)
            allowed = limit + MORE_ITERATIONS
            continue
        step = descent.newton_step()
        if steps is None:
            descent.advance(step)
        elif (reached := descent.take_whole(step)).iterations == steps:
            return reached
    raise descent.failure()


def likeliest(model: Model, poses: Sequence[Pose], increment: Increment, multipliers: Multipliers | None) -> Pose:
    """The pose where the merit function is lowest, with the penalty of broken rows that is taken as long as none is
    known; friction, which depends on how it is reached, left out."""
    multipliers = model.idle if multipliers is None else multipliers
    frozen = [force.force(poses[0].points) for force in model.forces]
    touch = Touch.at(poses[0], [None] * len(multipliers), multipliers, first_penalty(model))

    def merit(pose: Pose) -> float:
        rows = model.rows(pose.points, multipliers)
        value = model.potential(pose.points, increment, frozen) + touch.merit(pose, rows)
        return value if np.isfinite(value) else np.inf

    return min(poses, key=merit)


def equilibrium(model: Model, pose: Pose | None = None, time: float = 0.0, load_steps: int = 64) -> Solved:
    """The static equilibrium, from the undeformed body or from a pose.

    Loads and prescribed movements are applied at once; where that fails, in steps a quarter as long, and again, down to
    one of `load_steps`.

    Raises:
        InputError: no model, `pose` is none of its, or load_steps are no whole number from 1.
        MeshError: the body floats.
        ConvergenceError: no equilibrium was found.
    """
    checked_kind(model, Model, "a Model: Model(body, forces, constraints, …)", "equilibrium")
    load_steps = checked_count(load_steps, "load_steps")
    pose = model.checked_pose(pose)
    model.check_not_floating()
    model.begin(pose.points)
    reached, size, multipliers = 0.0, 1.0, None
    goal = model.load_factor
    try:
        while True:
            aim = min(reached + size, 1.0)
            model.load_factor = aim * goal
            start = model.prescribe(pose, time, (aim - reached) / (1.0 - reached))
            try:
                solved = minimise(model, start, Increment(), multipliers)
            except ConvergenceError:
                size *= 0.25
                if size * load_steps < 1.0:
                    raise
                continue
            if aim == 1.0:
                model.accept()
                return solved
            reached, pose, multipliers = aim, solved.pose, solved.multipliers
    finally:
        model.load_factor = goal
