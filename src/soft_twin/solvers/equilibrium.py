"""Minima of a model's potential under its constraints: sequential quadratic programming, Newton's method without them.

SORS, Algorithm 1, with what it lacks: a merit function, checked statuses, and the quadratic program in the multipliers.
With the Hessian K and r = −∂Φ/∂q, a step is dq = K⁻¹ r + K⁻¹ Jᵀ λ, so that the rows' new values are
g + J K⁻¹ r + W λ with W = J K⁻¹ Jᵀ + diag(c): the λ between their bounds that complement them minimise
½ λᵀ W λ + (g + J K⁻¹ r)ᵀ λ. One factorisation and one right-hand side a row; the program is as small as the contact.

K is the Hessian of the merit function but for s JᵀJ of the rows that push or stick, where s is the penalty of broken
rows. K alone may be indefinite where those rows bend, as they do where a body is folded around an edge. Then the step
is of K + s JᵀJ and r − s Jᵀ g: the same one, as long as those rows still do (Bertsekas, *Constrained Optimization and
Lagrange Multiplier Methods*, 1982). Where they give way, g + J dq = −c λ, their Jᵀ λ is taken (1 − s c) times.

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

from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows, stacked
from soft_twin.mechanics.contact.coulomb import bounds_of, solve_coulomb
from soft_twin.mechanics.model import Assembled, Increment, Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.stability import UNSTABLE, negative_curvature

TOLERANCE = 1e-10  # of the forces at work, for the residual of a body at rest
IN_MOTION = 10.0  # times as much for that of a step in time
GAP_TOLERANCE = 1e-8  # of the body's size, for broken rows
LARGEST_STEP = 0.1  # of the body's size: no node moves further in one iteration
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
        rests = _moved(before, after) < STILL * self.size and not residual < LESS * self.least
        self.stuck, self.indefinite = self.stuck + 1 if rests else 0, self.indefinite + 1 if shifted else 0
        self.least, self.nearest = min(self.least, residual), min(self.nearest, residual) if shifted else np.inf
        at_rest = self.far < np.inf
        self.away = _moved(self.rest, after) > self.far or (at_rest and residual > WORSE * self.nearest)

    @property
    def hopeless(self) -> bool:
        return self.stuck >= STUCK or (self.indefinite >= RUNAWAY and self.away)


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
    multipliers = model.idle if multipliers is None else multipliers
    history: list[float] = []
    size = float(np.linalg.norm(model.body.mesh.size))
    multipliers = multipliers.still_pushing(model.rows(pose.points, multipliers), first_penalty(model))
    penalty: float | None = None
    assembled = None
    allowed, loose, shift = limit, False, 0.0
    rise: _Rise | None = None
    outlook = _Outlook(model.rest, size, FAR * size if increment.mass == 0.0 else np.inf)
    while len(history) < allowed and not outlook.hopeless:
        if assembled is None:
            assembled = model.assemble(pose, increment, multipliers, with_matrix=True, penalty=penalty)
        if not np.isfinite(assembled.gradient).all():
            break
        transform = model.unknowns.transform(pose)
        rows = stacked(assembled.rows, transform)
        rest = -(transform.T @ assembled.gradient.ravel())
        values = multipliers.values(assembled.rows)
        history.append(_residual(rest, rows, values))
        balanced = history[-1] <= _allowed(model, pose, increment, assembled, values)
        if (
            balanced
            and rise is None
            and broken_by(rows, values, penalty or first_penalty(model)) <= GAP_TOLERANCE * size
        ):
            _check_sound(assembled, increment, history)
            direction = _instability(model, pose, increment, multipliers, penalty, rows, values)
            if direction is None:
                taken = len(history) - 1
                return Solved(pose, multipliers, history[-1], history, taken, assembled, model.unknowns.matrix.shift)
            pose, assembled, _ = _search(
                model, pose, size * direction, increment, multipliers, penalty or first_penalty(model), assembled
            )
            allowed = limit + MORE_ITERATIONS
            continue
        step, values, penalty = _step(model, pose, increment, multipliers, rest, rows, assembled.rows, penalty, shift)
        shift = model.unknowns.matrix.shift
        multipliers, loose = Multipliers.of(assembled.rows, values), loose or shift > 0.0
        if steps is None:
            before = pose
            may_rise = rows is None and increment.mass == 0.0 and not loose
            pose, assembled, rise = _search(
                model, pose, step, increment, multipliers, penalty, assembled, rise, may_rise
            )
            outlook.note(before, pose, history[-1], shift > 0.0)
            continue
        pose = model.unknowns.move(pose, step)
        if len(history) == steps:
            return Solved(pose, multipliers, history[-1], history, steps, assembled, model.unknowns.matrix.shift)
        assembled = None
    assembled = assembled or model.assemble(pose, increment, multipliers)
    raise _failure(assembled, history, loose)


def _failure(assembled: Assembled, history: list[float], loose: bool) -> ConvergenceError:
    if not np.isfinite(assembled.gradient).all():
        what = f"forces are not finite after {len(history)} steps: a load is not a number, or the body is inverted"
    else:
        what = f"no minimum after {len(history)} steps: the residual is {history[-1]:.3g} N"
    why = f", the body is free to move, or {UNSTABLE}" if loose else ""
    return ConvergenceError(
        f"{what}{why}, cell {assembled.cell} is deformed most (det F = {assembled.worst:.3g})",
        tuple(history),
        assembled.cell,
    )


def _check_sound(assembled: Assembled, increment: Increment, history: list[float]) -> None:
    """Refuse forces that balance without an energy or, at rest, in inverted cells."""
    if not np.isfinite(assembled.energy) or (increment.mass == 0.0 and assembled.worst <= 0.0):
        raise ConvergenceError(
            f"the forces balance in a body that is inverted: det F = {assembled.worst:.3g} in cell {assembled.cell}, "
            f"elastic energy {assembled.energy:.3g} J",
            tuple(history),
            assembled.cell,
        )


def _instability(
    model: Model,
    pose: Pose,
    increment: Increment,
    multipliers: Multipliers,
    penalty: float | None,
    rows: Rows | None,
    values: np.ndarray,
) -> np.ndarray | None:
    """Where a body at rest falls that is at a saddle, (size,) with 1 as the largest entry; else None."""
    matrix = model.unknowns.matrix
    if increment.mass > 0.0 or matrix.shift == 0.0:
        return None
    jacobian = csr_matrix((0, matrix.size))
    if rows is not None:
        jacobian = rows.jacobian[(values > rows.lower) & (values < rows.upper)]
    return negative_curvature(
        matrix, partial(model.assemble, pose, increment, multipliers, with_matrix=True, penalty=penalty), jacobian
    )


def _allowed(model: Model, pose: Pose, increment: Increment, assembled: Assembled, values: np.ndarray) -> float:
    """Residual [N] at which the forces balance: a part of those at work, and what the arithmetic leaves."""
    forces = np.linalg.norm(assembled.elastic) + np.linalg.norm(assembled.loads) + np.abs(values).sum()
    inertia = increment.mass * float(np.linalg.norm(model.mass @ pose.points))
    tolerance = TOLERANCE * (IN_MOTION if increment.mass > 0.0 else 1.0)
    return tolerance * increment.load * forces + model.round_off * increment.elastic + ROUND_OFF * inertia


def _step(
    model: Model,
    pose: Pose,
    increment: Increment,
    multipliers: Multipliers,
    rest: np.ndarray,
    rows: Rows | None,
    separate: list[Rows | None],
    penalty: float | None,
    shift: float,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Step (size,) of the unknowns, the rows' multipliers (m,), and how stiff the rows are on the whole [N/m]. `shift`:
    of the Hessian in the last step."""
    matrix = model.unknowns.matrix
    assemble = partial(model.assemble, pose, increment, multipliers, with_matrix=True, penalty=penalty)
    if rows is None:
        return matrix.factorise_and_solve(assemble, rest, shift), np.zeros(0), 1.0
    right = np.column_stack([rest, rows.jacobian.T.toarray()])
    solution, shares = matrix.solve_definite(right), np.ones(len(rows.keys))
    supported = solution is None
    if supported:
        which = np.concatenate([own for own in model.supported(separate, multipliers, penalty) if own is not None])
        support = min(
            SUPPORT * (penalty or first_penalty(model)), GIVING / max(float((which * rows.compliance).max()), 1e-300)
        )
        shares -= support * which * rows.compliance
        right[:, 0] -= support * (rows.jacobian.T @ (which * rows.values))
        assemble(support=support)
        solution = matrix.factorise_and_solve(partial(assemble, support=support), right, shift)
    solution[:, 1:] *= shares
    reaction = shares[:, None] * (rows.jacobian @ solution)
    W = 0.5 * (reaction[:, 1:] + reaction[:, 1:].T)
    compliance = float(np.trace(W)) / len(W)
    slack = REGULARISATION * compliance
    W[np.diag_indices_from(W)] += shares * rows.compliance + slack
    before = multipliers.values(separate)
    gaps = shares * rows.values + reaction[:, 0] - slack * before
    values = solve_coulomb(W, gaps, rows, *bounds_of(model.constraints, separate), before)
    return solution[:, 0] + solution[:, 1:] @ values, values, support / SUPPORT if supported else 1.0 / compliance


def first_penalty(model: Model) -> float:
    """A penalty of broken rows [N/m] as long as none is known."""
    return model.body.modulus * float(np.linalg.norm(model.body.mesh.size))


def _residual(rest: np.ndarray, rows: Rows | None, values: np.ndarray) -> float:
    return float(np.linalg.norm(rest if rows is None else rest + rows.jacobian.T @ values))


def broken_by(rows: Rows | None, values: np.ndarray, stiffness: float) -> float:
    """How far the rows are from complementing their multipliers [m]: λ = clip(λ − s (g + c λ)) for any s > 0."""
    if rows is None:
        return 0.0
    wanted = np.clip(values - stiffness * (rows.values + rows.compliance * values), rows.lower, rows.upper)
    return float(np.abs(values - wanted).max()) / stiffness


def _search(
    model: Model,
    pose: Pose,
    step: np.ndarray,
    increment: Increment,
    multipliers: Multipliers,
    penalty: float,
    now: Assembled,
    rise: _Rise | None = None,
    may_rise: bool = False,
) -> tuple[Pose, Assembled | None, _Rise | None]:
    """As much of the step as lowers the merit function, the augmented Lagrangian with a `penalty` of broken rows [N/m];
    everything there with the matrix, where the first try was good; and the rise, if it is one, as it may be after none.
    After a `rise` it is lower than before that, or as much of the step before as is.

    It is Φ plus, for a row with its multiplier λ in [l, u], max over μ in [l, u] of −μ g − ½ c μ² − (μ − λ)²/2p with
    the penalty p: smooth, exact at the solution, and lowered by the step of the quadratic program that λ comes from.
    Friction, which has no potential, keeps its directions and its bounds during the step.
    """
    frozen = [force.force(pose.points) for force in model.forces]
    touch = Touch.at(pose, model.rows(pose.points, multipliers), multipliers, penalty)

    def merit(trial: Pose, elastic: float | None = None, rows: list[Rows | None] | None = None) -> float:
        value = model.potential(trial.points, increment, frozen, elastic)
        if not np.isfinite(value):
            return np.inf
        return value + touch.merit(trial, model.rows(trial.points, multipliers) if rows is None else rows)

    fraction = longest_fraction(model, pose, model.unknowns.move(pose, step))
    before = merit(pose, now.energy)
    highest = before + NOISE * abs(before) + model.round_off * float(np.linalg.norm(model.body.mesh.size))
    if rise is not None:
        merit, highest = rise.merit, rise.highest
    trial = model.unknowns.move(pose, fraction * step)
    there = model.assemble(trial, increment, multipliers, with_matrix=True, penalty=penalty)
    reached = merit(trial, there.energy, there.rows)
    if reached <= highest:
        return trial, there, None
    if rise is None and may_rise and np.isfinite(reached):
        return trial, there, _Rise(pose, step, fraction, merit, highest)
    if rise is not None:
        pose, step, fraction = rise.pose, rise.step, rise.fraction
    for _ in range(HALVINGS - 1):
        fraction *= 0.5
        trial = model.unknowns.move(pose, fraction * step)
        if merit(trial) <= highest:
            break
    return trial, None, None


def _moved(before: Pose, after: Pose) -> float:
    """Largest coordinate that a node has moved by [m]."""
    return float(np.abs(after.points - before.points).max())


def merit_of(rows: Rows, multipliers: dict, penalty: float, which: np.ndarray | slice = slice(None)) -> float:
    """What rows, or some of them, with multipliers by key add to the merit function [J], with a `penalty` [N/m] of
    broken ones."""
    best, values = rows.estimates(multipliers, penalty), rows.multipliers(multipliers)
    elastic = 0.5 * rows.compliance * best**2
    return float((-best * rows.values - elastic - 0.5 * (best - values) ** 2 / penalty)[which].sum())


@dataclass(frozen=True)
class Touch:
    """What rows do during a step: `multipliers` and `penalty` [N/m] of the augmented Lagrangian; `friction` keeps its
    directions and bounds as at `origin` (n, 3)."""

    multipliers: Multipliers
    penalty: float
    friction: list[Rows | None]
    origin: np.ndarray

    @classmethod
    def at(cls, pose: Pose, rows: list[Rows | None], multipliers: Multipliers, penalty: float) -> "Touch":
        """With friction as it is at a pose with its rows; None for those without."""
        friction = [own and own.take(np.isfinite(own.upper)) for own in rows]
        return cls(multipliers, penalty, friction, pose.points)

    def merit(self, pose: Pose, rows: list[Rows | None]) -> float:
        """Of the rows at a pose [J]."""
        total = 0.0
        for own, frictional, known in zip(rows, self.friction, self.multipliers, strict=True):
            if own is not None:
                total += merit_of(own, known, self.penalty, np.isinf(own.upper))
            if frictional is not None:
                total += merit_of(frictional.moved((pose.points - self.origin).ravel()), known, self.penalty)
        return total


def longest_fraction(model: Model, pose: Pose, whole: Pose) -> float:
    """How much of the way to a whole step's end is not too far for any node."""
    return min(1.0, LARGEST_STEP * float(np.linalg.norm(model.body.mesh.size)) / max(_moved(pose, whole), 1e-300))


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
        MeshError: the body floats.
        ConvergenceError: no equilibrium was found.
    """
    model.check_not_floating()
    pose = model.rest if pose is None else pose
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
