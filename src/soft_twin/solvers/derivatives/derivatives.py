"""Exact derivatives of equilibria and motions by a model's parameters, forward and adjoint.

At a solution the gradient R = ∂Φ/∂x − Jᵀ λ and the active rows G = g + c λ vanish. With the Hessian K in the unknowns,
differentiating both by a parameter θ gives the symmetric system

    ⎡ K   −Jᵀ ⎤ ⎡ dq/dθ ⎤   ⎡ −Tᵀ ∂R/∂θ ⎤
    ⎣ −J  −c  ⎦ ⎣ dλ/dθ ⎦ = ⎣   ∂G/∂θ   ⎦

which is solved by the factorisation of K and one more right-hand side for each active row; an objective's gradient
needs it once for all parameters (adjoint). ∂R/∂θ and ∂G/∂θ, at fixed positions, are taken by central differences of
fourth order: R is smooth in θ, and they are good to about ten digits.

Friction makes the system unsymmetric. Where a point slips, its two rows are turned along its friction and across it.
Along it, λ = μ λ' with λ' the normal force: μ J of its own adds to the row of λ' in the upper Jᵀ. Across it the row is
active with a compliance |s|/μ λ' by the slip s, since friction turns with it. And as the normal turns with the point of
contact, so do the directions t of friction: K loses D = ∂(Σ λ t)/∂x, a block (3, 3) for each node that touches, which
is as many right-hand sides more. So it does for forces whose stiffness leaves something out (`Force.remainder`):
pressure on a rim that moves, cables with friction.

So do rigid plates in steps of Crank–Nicolson, whose forces balance at its midpoint (plates_at_midpoint.py).

Through time, the same system of each step is solved from the last step to the first (`trajectory_gradient`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_matrix, identity, vstack

from soft_twin.checks import checked_kind, checked_list, checked_numbers
from soft_twin.errors import ConvergenceError, InputError, UsageError
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows, stacked
from soft_twin.mechanics.contact.coulomb import bounds_of
from soft_twin.mechanics.model import Assembled, Increment, Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.derivatives.friction import STENCIL, FrictionDerivatives, values_of
from soft_twin.solvers.derivatives.parameters import Parameter
from soft_twin.solvers.derivatives.plates_at_midpoint import PlatesAtMidpoint
from soft_twin.solvers.equilibrium import Solved
from soft_twin.solvers.time.integrators import Integrator

DEPENDENT = 1e-11  # singular values below this, of the largest, are of rows that repeat each other
SOLUTION = "a solution, as equilibrium(model) gives it"
UNCHANGED = 1e-6  # of the forces at work, for the residual of what was solved
POSITION_STEP = 1e-4  # of the body's size, for products with stiffness matrices


@dataclass(frozen=True)
class _Active:
    """The rows of the linear system of one solution.

    Attributes:
        choice: (m, all) which of all rows they are, and of two that slip the one across.
        jacobian, pushing: (m, size) the lower and the upper J.
        sticking: (m, 3 n) J of rows of friction, zero for others.
        compliance: (m,).
        slipping: of each constraint, the keys of rows that slip, with their shares of the friction.
        touching: (d, size) coordinates that friction or what forces leave out acts on, by the unknowns.
        turning: (d, d) the module's D of those.
    """

    choice: csr_matrix
    jacobian: np.ndarray
    pushing: np.ndarray
    sticking: np.ndarray
    compliance: np.ndarray
    slipping: list[dict[int, float]]
    touching: np.ndarray
    turning: np.ndarray


@dataclass(frozen=True)
class _System:
    """The linear system of one solution, factorised: K⁻¹ times the transposes of its `jacobian`, `pushing` and
    `touching`. Nodes move with `transform`, forces balance with `testing`, both (3 n, size); `at_midpoint`: where that
    is not the same."""

    model: Model
    pose: Pose
    transform: csr_matrix
    testing: csr_matrix
    at_midpoint: PlatesAtMidpoint | None
    rows: _Active
    solved_jacobian: np.ndarray
    solved_pushing: np.ndarray
    solved_touching: np.ndarray

    def solve(self, gradient: np.ndarray, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(dq, dλ) for right-hand sides (size, p) and (m, p)."""
        return self._solve(gradient, gaps, self.rows.jacobian, self.solved_pushing, self.rows.turning)

    def solve_adjoint(self, gradient: np.ndarray, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of the transposed system."""
        return self._solve(gradient, gaps, self.rows.pushing, self.solved_jacobian, self.rows.turning.T)

    def _solve(self, gradient, gaps, lower, solved_upper, turning) -> tuple[np.ndarray, np.ndarray]:
        first = self.model.unknowns.matrix.solve(np.ascontiguousarray(gradient))
        columns, turned = np.hstack([solved_upper, self.solved_touching]), turning @ self.rows.touching
        if not columns.shape[1]:
            return first, np.zeros((0, gradient.shape[1]))
        dense = np.vstack([lower @ columns, -turned @ columns])
        dense[np.diag_indices_from(dense)] += np.concatenate([self.rows.compliance, np.ones(len(turned))])
        forces = np.linalg.lstsq(dense, np.vstack([-gaps - lower @ first, turned @ first]), rcond=DEPENDENT)[0]
        return first + columns @ forces, forces[: len(lower)]


def sensitivities(model: Model, solved: Solved, parameters: Sequence[Parameter], time: float = 0.0) -> np.ndarray:
    """dx/dθ (n, 3, p) of a static equilibrium by each parameter: positions of all nodes, multipliers free to follow.

    Raises:
        InputError: the model has changed since it was solved, `solved` is another's, or what are no parameters.
    """
    parameters = checked_list(parameters, Parameter, "parameters, such as an Attribute", "parameters")
    system = _factorised(model, solved, Increment())
    slopes = _by_parameters(model, solved, system, parameters, lambda: Increment(), time)
    step, _ = system.solve(-(system.testing.T @ slopes.gradients), slopes.gaps)
    return (system.transform @ step + slopes.moves).reshape(*solved.pose.points.shape, len(parameters))


def gradient(
    model: Model, solved: Solved, objective: np.ndarray, parameters: Sequence[Parameter], time: float = 0.0
) -> np.ndarray:
    """dL/dθ (p,) of a static equilibrium, for an objective with ∂L/∂x (n, 3), by the adjoint method; `time` [s] is that
    of the equilibrium, where nodes follow prescribed motions.

    Raises:
        InputError: `objective` has another shape, the model has changed since it was solved, `solved` is another's, or
            what are no parameters.
    """
    checked_kind(solved, Solved, SOLUTION, "solved")
    parameters = checked_list(parameters, Parameter, "parameters, such as an Attribute", "parameters")
    objective = checked_field(objective, solved.pose.points)
    system = _factorised(model, solved, Increment())
    slopes = _by_parameters(model, solved, system, parameters, lambda: Increment(), time)
    return _along(system, slopes, *_adjoint(system, objective), objective)


Actuate = Callable[[float], None]


def _steady(time: float) -> None:
    """Nothing changes."""


@dataclass
class Moment:
    """The state before a step: pose, velocities (n, 3) [m/s], time [s], overstress (n, 3) [N] if any. The step [s], and
    how it ended."""

    pose: Pose
    velocities: np.ndarray
    time: float
    overstress: np.ndarray | None
    dt: float
    solved: Solved


def record(integrator: Integrator, steps: int, actuate: Actuate = _steady) -> list[Moment]:
    """Take some steps and keep what their derivatives need. `actuate(time)` sets what forces, constraints and muscles
    do at a time [s], where that changes. The steps go on from the integrator's state, overstress and all."""
    moments = []
    if actuate is not _steady:
        actuate(integrator.time)
        _set_state(integrator, *_state(integrator))
    for _ in range(steps):
        actuate(integrator.time + integrator.dt)
        before = _state(integrator)
        moments.append(Moment(*before, integrator.dt, integrator.step()))
    return moments


def trajectory_gradient(
    integrator: Integrator,
    moments: Sequence[Moment],
    objective: np.ndarray,
    parameters: Sequence[Parameter],
    actuate: Actuate = _steady,
) -> np.ndarray:
    """dL/dθ (p,) through recorded steps, for an objective with ∂L/∂x (steps, n, 3) at the end of each.

    The state before the first step is held fixed. Parameters are those of all steps. What changes from step to step is
    set by the `actuate` that the steps were recorded with: parameters are then the numbers that it makes it of. The
    integrator is left at the last state.

    Raises:
        InputError: `objective` has another shape, the model is not as it was in one of the steps, or what are no
            parameters.
        UsageError: of this kind of integrator no gradients are known, or steps are not solved to their end.
    """
    parameters = checked_list(parameters, Parameter, "parameters, such as an Attribute", "parameters")
    if integrator.newton_steps is not None:
        raise UsageError(
            f"no gradients through steps of {integrator.newton_steps} Newton steps: solve them to their end"
        )
    if not integrator.differentiable:
        raise UsageError(f"no gradients through the steps of a {type(integrator).__name__} are known")
    shape = integrator.pose.points.shape
    if np.shape(objective) != (len(moments), *shape):
        raise InputError(f"objective: expected {(len(moments), *shape)}, found {np.shape(objective)}")
    end = _state(integrator)
    backward, result = _Backward(integrator, parameters, actuate), np.zeros(len(parameters))
    for moment, loss in zip(reversed(moments), reversed(objective), strict=True):
        result += backward.through(moment, loss)
    actuate(end[2])
    _set_state(integrator, *end)
    return result


def _state(integrator: Integrator) -> tuple[Pose, np.ndarray, float, np.ndarray | None]:
    """Pose, velocities (n, 3) [m/s], time [s], overstress (n, 3) [N] if any."""
    return integrator.pose, integrator.velocities, integrator.time, integrator.overstress


def _set_state(
    integrator: Integrator, pose: Pose, velocities: np.ndarray, time: float, overstress: np.ndarray | None
) -> None:
    integrator.restart(pose, velocities, time)
    integrator.overstress = overstress


class _Backward:
    """What later losses change by with the state between two recorded steps, from the last step to the first:
    ∂L/∂x, ∂L/∂v and ∂L/∂q (n, 3) by positions, velocities and overstress."""

    def __init__(self, integrator: Integrator, parameters: Sequence[Parameter], actuate: Actuate):
        self._integrator, self._parameters, self._actuate = integrator, parameters, actuate
        self._relaxing = integrator.overstress is not None
        self._at_midpoint = integrator.balances_at_midpoint and bool(integrator.model.unknowns.plates)
        self._scale, self._keep = integrator.velocity_factors
        zero = np.zeros_like(integrator.pose.points)
        self._by_position, self._by_velocity, self._by_overstress = zero, zero, zero

    def through(self, moment: Moment, loss: np.ndarray) -> np.ndarray:
        """(p,) what a step adds to dL/dθ, its own loss with ∂L/∂x (n, 3); the state is then that before the step."""
        model, solved = self._integrator.model, moment.solved
        increment = partial(self._increment, moment)
        self._actuate(moment.time)
        model.accept()
        self._actuate(moment.time + moment.dt)
        model.begin(moment.pose.points)
        system = _factorised(model, solved, increment(), moment.pose if self._at_midpoint else None)
        slopes = _by_parameters(model, solved, system, self._parameters, increment, moment.time + moment.dt)
        result, wanted = np.zeros(len(self._parameters)), self._wanted(moment, loss)
        if self._relaxing:
            result += self._by_fading(moment)
        adjoint, rows = _adjoint(system, wanted)
        self._actuate(moment.time)
        self._go_before(moment, system, adjoint, rows)
        return result + _along(system, slopes, adjoint, rows, wanted)

    def _increment(self, moment: Moment) -> Increment:
        """The step's, made anew."""
        self._actuate(moment.time)
        _set_state(self._integrator, moment.pose, moment.velocities, moment.time, moment.overstress)
        self._actuate(moment.time + moment.dt)
        return self._integrator.increment(moment.dt)

    def _wanted(self, moment: Moment, loss: np.ndarray) -> np.ndarray:
        """∂L/∂x (n, 3) at the end of a step, by all that follows from it."""
        wanted = self._by_position + loss + self._scale / moment.dt * self._by_velocity
        if not self._relaxing:
            return wanted
        gained, x = self._integrator.factors(moment.dt)[1], moment.solved.pose.points
        return wanted + gained * _stiffness_products(self._integrator.model, x, self._by_overstress)[0]

    def _go_before(self, moment: Moment, system: _System, adjoint: np.ndarray, rows: np.ndarray) -> None:
        """Take the state back over a step with an adjoint (size,) and (m,), actuated as at its start."""
        integrator, dt = self._integrator, moment.dt
        model, shape = integrator.model, moment.pose.points.shape
        nodal = (system.testing @ adjoint).reshape(shape)
        inertia = model.mass @ nodal
        by_position = -self._scale / dt * self._by_velocity - _by_start(integrator, moment, nodal, inertia, self._scale)
        by_position -= (rows @ system.rows.sticking).reshape(shape)  # friction that sticks holds where the step began
        if system.at_midpoint is not None:
            by_position -= np.tensordot(adjoint[model.unknowns.rotations.ravel()], system.at_midpoint.pulled, 1)
        if self._relaxing:
            kept, gained = integrator.factors(dt)
            changed = gained * (0.5 * nodal - self._by_overstress)
            by_position += _stiffness_products(model, moment.pose.points, changed)[0]
            self._by_overstress = kept * self._by_overstress - 0.5 * (1.0 + kept) * nodal
        self._by_position, self._by_velocity = by_position, -self._keep * self._by_velocity + self._scale / dt * inertia
        self._by_velocity[integrator.followed] = 0.0  # functions of time and parameters, which steps are made anew with

    def _by_fading(self, moment: Moment) -> np.ndarray:
        """dL/dθ (p,) by the overstress after a step, at fixed positions."""
        integrator = self._integrator

        def loss() -> float:
            forces = []
            for time, pose in ((moment.time, moment.pose), (moment.time + moment.dt, moment.solved.pose)):
                self._actuate(time)
                forces.append(integrator.elastic_forces(pose))
            return float((self._by_overstress * integrator.overstress_after(*forces, moment.dt)).sum())

        return np.array([parameter.differences(loss) for parameter in self._parameters])


def _along(system: "_System", slopes: "_Slopes", adjoint: np.ndarray, rows: np.ndarray, objective: np.ndarray):
    """dL/dθ (p,) of one solution from its adjoint (size,) and (m,), for an objective with ∂L/∂x (n, 3)."""
    return rows @ slopes.gaps - adjoint @ (system.testing.T @ slopes.gradients) + objective.ravel() @ slopes.moves


def checked_field(field: np.ndarray, like: np.ndarray) -> np.ndarray:
    """`field` as an array of the same shape as another.

    Raises:
        InputError: no numbers, or another shape.
    """
    field = checked_numbers(field, f"{like.shape}", "objective")
    if field.shape != like.shape:
        raise InputError(f"objective: expected {like.shape}, found {field.shape}")
    return field


def _by_start(
    integrator: Integrator, moment: Moment, nodal: np.ndarray, inertia: np.ndarray, scale: float
) -> np.ndarray:
    """(∂R/∂x₀)ᵀ times a nodal field (n, 3): inertia and damping, and the forces at the start of the step."""
    dt, model = moment.dt, integrator.model
    result = -scale / dt**2 * inertia
    result[integrator.followed] = 0.0
    result -= integrator.mass_damping / dt * inertia
    elastic, loads = _stiffness_products(model, moment.pose.points, nodal)
    of_elastic, of_loads = integrator.forces_at_start(dt)
    return result - of_elastic * elastic - of_loads * loads


def _stiffness_products(model: Model, x: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∂/∂x, transposed, of the elastic forces and the loads times a nodal field (n, 3): (n, 3) each."""
    largest = float(np.abs(direction).max())
    if largest == 0.0:
        return np.zeros_like(x), np.zeros_like(x)
    step = POSITION_STEP * float(np.linalg.norm(model.body.mesh.size)) / largest
    elastic, loads = np.zeros_like(x), np.zeros_like(x)
    for shift, weight in STENCIL:
        moved = Pose(x + shift * step * direction, np.zeros((0, 3)), np.zeros((0, 3, 3)))
        assembled = model.assemble(moved, Increment(), model.idle)
        elastic += weight / step * assembled.elastic
        loads += weight / step * assembled.loads
    remainder = model.remainder(x)
    loads += ((remainder - remainder.T) @ direction.ravel()).reshape(x.shape)
    return elastic, loads


def _factorised(model: Model, solved: Solved, increment: Increment, before: Pose | None = None) -> _System:
    """`before`: where a step began whose plates' forces balance at its midpoint."""
    pose, multipliers = model.checked_pose(checked_kind(solved, Solved, SOLUTION, "solved").pose), solved.multipliers

    def assemble() -> None:
        model.assemble(pose, increment, multipliers, with_matrix=True)

    assembled = model.assemble(pose, increment, multipliers, with_matrix=True)
    matrix, transform = model.unknowns.matrix, model.unknowns.transform(pose)
    balance = assembled.gradient - multipliers.reactions(assembled.rows, pose.points)
    at_midpoint = None if before is None else PlatesAtMidpoint(model, before, pose, balance)
    testing = transform if at_midpoint is None else at_midpoint.testing
    _check_unchanged(model, solved, increment, assembled, testing)
    friction = FrictionDerivatives(model, pose.points, multipliers, assembled.rows)
    rows = _active(model, multipliers, assembled.rows, friction, transform, testing)
    _check_stiffness(model, pose.points)
    rows = _with_remainder(rows, increment.load * model.remainder(pose.points), transform)
    if at_midpoint is not None:
        products = np.array([_hessian_product(model, solved, increment, friction, each) for each in at_midpoint.turned])
        rows = _with_lost(rows, at_midpoint.rotations, at_midpoint.lost(products))
    m, alike = len(rows.compliance), rows.pushing is rows.jacobian
    columns = [rows.jacobian, rows.jacobian[:0] if alike else rows.pushing, rows.touching]
    solved = matrix.factorise_and_solve(assemble, np.ascontiguousarray(np.vstack(columns).T))
    if matrix.shift > 0.0:
        raise ConvergenceError("no derivatives: the solution is singular or unstable, its Hessian is not definite")
    pushed = solved[:, :m] if alike else solved[:, m : 2 * m]
    return _System(
        model, pose, transform, testing, at_midpoint, rows, solved[:, :m], pushed, solved[:, m if alike else 2 * m :]
    )


def _hessian_product(
    model: Model, solved: Solved, increment: Increment, friction: FrictionDerivatives, direction: np.ndarray
):
    """(∂b/∂x)ᵀ times a nodal field (n, 3), with b = ∂Φ/∂x − Jᵀ λ."""
    elastic, loads = _stiffness_products(model, solved.pose.points, direction)
    result = increment.mass * (model.mass @ direction) + increment.elastic * elastic - increment.load * loads
    turned = friction.turning.T @ direction[friction.nodes].ravel()
    result[friction.nodes] -= turned.reshape(-1, 3)
    return result - friction.bending(direction)


def _check_unchanged(model: Model, solved: Solved, increment: Increment, assembled: Assembled, testing) -> None:
    """Refuse a solution that is none of the model as it is now.

    Raises:
        InputError: its forces do not balance.
    """
    pushes = solved.multipliers.reactions(assembled.rows, solved.pose.points)
    residual = float(np.linalg.norm(testing.T @ (assembled.gradient - pushes).ravel()))
    inertia = increment.mass * float(np.linalg.norm(model.mass @ (solved.pose.points - model.rest.points)))
    forces = np.linalg.norm(assembled.elastic) + np.linalg.norm(assembled.loads) + np.linalg.norm(pushes) + inertia
    if not residual <= UNCHANGED * forces + 10.0 * solved.residual:
        raise InputError(
            f"no derivatives: the model is not as it was when it was solved, its residual now is {residual:.3g} N, "
            f"not {solved.residual:.3g} N"
        )


def _check_stiffness(model: Model, x: np.ndarray) -> None:
    """Refuse forces that change with the positions and say no stiffness.

    Raises:
        UsageError: with their class.
    """
    moved = x + POSITION_STEP * float(np.linalg.norm(model.body.mesh.size)) * np.cos(np.arange(x.size)).reshape(x.shape)
    for force in model.forces:
        if force.groups is None and not np.array_equal(force.force(x), force.force(moved)):
            raise UsageError(
                f"no derivatives: a {type(force).__name__} changes with the positions and has no stiffness"
            )


def _with_remainder(rows: _Active, remainder: csr_matrix, transform: csr_matrix) -> _Active:
    """The rows with −`remainder` (3 n, 3 n) in the module's D."""
    remainder = remainder.tocsr()
    remainder.eliminate_zeros()
    if not remainder.nnz:
        return rows
    places = np.union1d(*remainder.nonzero())
    touching = np.vstack([rows.touching, transform[places].toarray()])
    return replace(rows, touching=touching, turning=block_diag(rows.turning, -remainder[places][:, places].toarray()))


def _with_lost(rows: _Active, left: np.ndarray, right: np.ndarray) -> _Active:
    """The rows where K loses leftᵀ right, (k, size) each, too."""
    none = np.zeros((len(left), len(left)))
    lost = np.block([[none, np.eye(len(left))], [none, none]])
    touching = np.vstack([rows.touching, left, right])
    return replace(rows, touching=touching, turning=block_diag(rows.turning, lost))


def _active(
    model: Model,
    multipliers: Multipliers,
    separate: list[Rows | None],
    friction: FrictionDerivatives,
    transform,
    testing,
) -> _Active:
    rows, (coordinates, size) = stacked(separate, transform), transform.shape
    if rows is None:
        none, nothing = np.zeros((0, size)), np.zeros((0, coordinates))
        slips: list[dict[int, float]] = [{} for _ in separate]
        return _Active(csr_matrix((0, 0)), none, none, nothing, np.zeros(0), slips, none, np.zeros((0, 0)))
    wanted, stiffness = _wanted(model, rows, multipliers.values(separate))
    active, (bounding, factors) = rows.between(wanted), bounds_of(model.constraints, separate)
    places, first = np.flatnonzero(active), rows.pairs[:, 0]
    slipping = rows.pairs[~active[first] & (rows.upper[first] > 0.0)]
    along, across, giving = _turned(rows, wanted, slipping, stiffness)
    choice = vstack([identity(len(active), format="csr")[places], across]).tocsr()
    jacobian = pushing = (choice @ rows.jacobian).toarray()
    tested = rows.jacobian
    if testing is not transform:
        tested = stacked(separate, testing).jacobian
        pushing = (choice @ tested).toarray()
    sticking = np.zeros((len(jacobian), coordinates))
    if (bounding >= 0).any():
        own = vstack([each.jacobian for each in separate if each is not None and len(each.keys)]).tocsr()
        sticking = (choice @ own.multiply((bounding >= 0)[:, None])).toarray()
        jacobian = (choice @ friction.jacobian() @ transform).toarray()
        by = bounding[slipping[:, 0]]
        driven = active[by]
        shares = factors[slipping[driven, :1]] * (along[driven] @ tested).toarray()
        np.add.at(pushing, np.searchsorted(places, by[driven]), shares)
    touched = (3 * friction.nodes[:, None] + np.arange(3)).ravel()
    slips, touching = _by_constraint(separate, along), transform[touched].toarray()
    compliance = np.concatenate([rows.compliance[places], giving])
    return _Active(choice, jacobian, pushing, sticking, compliance, slips, touching, friction.turning)


def _wanted(model: Model, rows: Rows, values: np.ndarray) -> tuple[np.ndarray, float]:
    """(m,) what rows with multipliers (m,) would push with if nothing bounded them and they were so stiff [N/m]."""
    stiffness = model.body.modulus * float(np.linalg.norm(model.body.mesh.size))
    return values - stiffness * (rows.values + rows.compliance * values), stiffness


def _turned(
    rows: Rows, wanted: np.ndarray, slipping: np.ndarray, stiffness: float
) -> tuple[csr_matrix, csr_matrix, np.ndarray]:
    """Of pairs (s, 2) that slip, by what `_wanted` (m,) says: the rows along what they rub with and across it, (s, m)
    by all rows, and the compliance across (s,)."""
    lengths = np.linalg.norm(wanted[slipping], axis=1)
    ways, starts = wanted[slipping] / lengths[:, None], 2 * np.arange(len(slipping) + 1)
    along, across = (
        csr_matrix((shares.ravel(), slipping.ravel(), starts), shape=(len(slipping), len(wanted)))
        for shares in (ways, ways[:, ::-1] * [-1.0, 1.0])
    )
    return along, across, (lengths / rows.upper[slipping[:, 0]] - 1.0) / stiffness


def _by_constraint(separate: list[Rows | None], along: csr_matrix) -> list[dict[int, float]]:
    """Of each constraint, the keys of the rows that rub, with their shares in that, from those `along` it (s, m)."""
    result, start, shares = [], 0, dict(zip(along.indices.tolist(), along.data.tolist(), strict=True))
    for own in separate:
        keys = [] if own is None else own.keys.tolist()
        result.append({key: shares[start + i] for i, key in enumerate(keys) if start + i in shares})
        start += len(keys)
    return result


def _adjoint(system: _System, objective: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Adjoint of the unknowns (size,) and of the active rows (m,) for ∂L/∂x (n, 3)."""
    right = (system.transform.T @ objective.ravel())[:, None]
    adjoint, rows = system.solve_adjoint(right, np.zeros((len(system.rows.compliance), 1)))
    return adjoint[:, 0], rows[:, 0]


@dataclass(frozen=True)
class _Slopes:
    """∂R/∂θ (3 n, p) and ∂G/∂θ (m, p) at fixed unknowns and multipliers, and ∂x/∂θ (3 n, p) of prescribed nodes."""

    gradients: np.ndarray
    gaps: np.ndarray
    moves: np.ndarray


def _by_parameters(model: Model, solved: Solved, system: _System, parameters, increment, time: float) -> _Slopes:
    """`increment()` is made anew at each θ."""
    x = solved.pose.points
    if np.abs(model.prescribe(solved.pose, time).points - x).max() > 1e-9 * float(np.linalg.norm(model.body.mesh.size)):
        raise InputError(f"no derivatives: prescribed nodes are not where they are to be at {time:g} s")

    def equations() -> np.ndarray:
        pose = model.prescribe(solved.pose, time)
        residual, gaps = _equations(model, replace(solved, pose=pose), increment(), system.rows.slipping)
        return np.concatenate([residual, pose.points.ravel(), system.rows.choice @ gaps])

    columns = np.array([parameter.differences(equations) for parameter in parameters])
    increment()
    slopes = columns.reshape(len(parameters), 2 * x.size + len(system.rows.compliance)).T
    gradients, moves, gaps = np.split(slopes, [x.size, 2 * x.size])
    if not np.isfinite(gaps).all():
        raise ConvergenceError("no derivatives: a contact is lost within the difference that one of them is taken by")
    return _Slopes(gradients, gaps, moves)


def _equations(
    model: Model, solved: Solved, increment: Increment, slipping: list[dict[int, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """R (3 n,) and all rows' G (m,) at fixed positions and multipliers, but for those that slip: μ may change."""
    assembled = model.assemble(solved.pose, increment, solved.multipliers)
    pushing, giving = [], []
    for own, rows, shares in zip(solved.multipliers, assembled.rows, slipping, strict=True):
        giving.append(rows and replace(rows, values=rows.values + rows.compliance * rows.multipliers(own)))
        bounds = dict(zip(rows.keys.tolist(), rows.upper, strict=True)) if shares else {}
        pushing.append(own | {key: share * bounds[key] for key, share in shares.items()})
    residual = assembled.gradient - Multipliers(pushing).reactions(assembled.rows, solved.pose.points)
    return residual.ravel(), values_of(giving, solved.assembled.rows)
