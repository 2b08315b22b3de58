"""Exact derivatives of equilibria and motions by a model's parameters, forward and adjoint.

At a solution the gradient R = ∂Φ/∂x − Jᵀ λ and the active rows G = g + c λ vanish. With the Hessian K in the unknowns,
differentiating both by a parameter θ gives the symmetric system

    ⎡ K   −Jᵀ ⎤ ⎡ dq/dθ ⎤   ⎡ −Tᵀ ∂R/∂θ ⎤
    ⎣ −J  −c  ⎦ ⎣ dλ/dθ ⎦ = ⎣   ∂G/∂θ   ⎦

which is solved by the factorisation of K and one more right-hand side for each active row; an objective's gradient
needs it once for all parameters (adjoint). ∂R/∂θ and ∂G/∂θ, at fixed positions, are taken by central differences of
fourth order: R is smooth in θ, and they are good to about ten digits. Friction that slips counts as a constant force.

Through time, the same system of each step is solved from the last step to the first (`trajectory_gradient`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.errors import ConvergenceError, InputError, UsageError
from soft_twin.twin.integrators import BackwardEuler, Integrator
from soft_twin.twin.model import Increment, Model, reactions, stacked
from soft_twin.twin.parameters import Parameter
from soft_twin.twin.solve import Solved
from soft_twin.twin.unknowns import Pose

STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -8.0 / 12.0), (1.0, 8.0 / 12.0), (2.0, -1.0 / 12.0))
RELATIVE_STEP = 1e-3  # of a parameter's value; the error is of fourth order
SMALLEST_STEP = 1e-4  # of parameters that are about zero
POSITION_STEP = 1e-4  # of the body's size, for products with stiffness matrices


@dataclass(frozen=True)
class _System:
    """The linear system of one solution, factorised: Jacobian (m, size) and compliance (m,) of the active rows."""

    model: Model
    pose: Pose
    transform: csr_matrix
    jacobian: np.ndarray
    active: np.ndarray
    solved_rows: np.ndarray
    schur: np.ndarray

    def solve(self, gradient: np.ndarray, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(dq, dλ) for right-hand sides (size, p) and (m, p)."""
        first = self.model.unknowns.matrix.solve(np.ascontiguousarray(gradient))
        if not len(self.schur):
            return first, np.zeros((0, gradient.shape[1]))
        multipliers = np.linalg.solve(self.schur, -gaps - self.jacobian @ first)
        return first + self.solved_rows @ multipliers, multipliers


def sensitivities(model: Model, solved: Solved, parameters: Sequence[Parameter]) -> np.ndarray:
    """dx/dθ (n, 3, p) of a static equilibrium by each parameter: positions of all nodes, multipliers free to follow."""
    system = _factorised(model, solved.pose, Increment(), solved.multipliers)
    gradients, gaps = _by_parameters(model, solved, system, parameters, lambda: Increment())
    step, _ = system.solve(-(system.transform.T @ gradients), gaps)
    return (system.transform @ step).reshape(*solved.pose.points.shape, len(parameters))


def gradient(model: Model, solved: Solved, objective: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
    """dL/dθ (p,) of a static equilibrium, for an objective with ∂L/∂x (n, 3), by the adjoint method.

    Raises:
        InputError: `objective` has another shape.
    """
    system = _factorised(model, solved.pose, Increment(), solved.multipliers)
    gradients, gaps = _by_parameters(model, solved, system, parameters, lambda: Increment())
    adjoint, rows = _adjoint(system, checked_field(objective, solved.pose.points))
    return -(adjoint @ (system.transform.T @ gradients)) + rows @ gaps


@dataclass
class Moment:
    """The state before a step: pose, velocities (n, 3) [m/s], time [s]; and the step [s] and how it ended."""

    pose: Pose
    velocities: np.ndarray
    time: float
    dt: float
    solved: Solved


def record(integrator: Integrator, steps: int) -> list[Moment]:
    """Take some steps and keep what their derivatives need."""
    moments = []
    for _ in range(steps):
        before = integrator.pose, integrator.velocities, integrator.time
        moments.append(Moment(*before, integrator.dt, integrator.step()))
    return moments


def trajectory_gradient(
    integrator: Integrator, moments: Sequence[Moment], objective: np.ndarray, parameters: Sequence[Parameter]
) -> np.ndarray:
    """dL/dθ (p,) through recorded steps, for an objective with ∂L/∂x (steps, n, 3) at the end of each.

    The state before the first step is held fixed. The integrator is left at the last state.

    Raises:
        InputError: `objective` has another shape.
        UsageError: of this kind of integrator no gradients are known.
    """
    if not integrator.differentiable:
        plates = " with rigid plates" if integrator.model.unknowns.plates else ""
        raise UsageError(f"no gradients through the steps of a {type(integrator).__name__}{plates} are known")
    model, end = integrator.model, (integrator.pose, integrator.velocities, integrator.time)
    result = np.zeros(len(parameters))
    shape = integrator.pose.points.shape
    by_position, by_velocity = np.zeros(shape), np.zeros(shape)
    if np.shape(objective) != (len(moments), *shape):
        raise InputError(f"objective: expected {(len(moments), *shape)}, found {np.shape(objective)}")
    scale, keep = (1.0, 0.0) if isinstance(integrator, BackwardEuler) else (2.0, 1.0)
    for moment, loss in zip(reversed(moments), reversed(objective), strict=True):
        dt, solved = moment.dt, moment.solved

        def increment(moment=moment) -> Increment:
            integrator.restart(moment.pose, moment.velocities, moment.time)
            return integrator.increment(moment.dt)

        model.begin(moment.pose.points)
        system = _factorised(model, solved.pose, increment(), solved.multipliers)
        gradients, gaps = _by_parameters(model, solved, system, parameters, increment)
        adjoint, rows = _adjoint(system, by_position + loss + scale / dt * by_velocity)
        result += -(adjoint @ (system.transform.T @ gradients)) + rows @ gaps
        nodal = (system.transform @ adjoint).reshape(shape)
        inertia = model.mass @ nodal
        by_position = -scale / dt * by_velocity - _by_start(integrator, moment, nodal, inertia, scale)
        by_velocity = -keep * by_velocity + scale / dt * inertia
    integrator.restart(*end)
    return result


def checked_field(field: np.ndarray, like: np.ndarray) -> np.ndarray:
    """`field` as an array of the same shape as another.

    Raises:
        InputError: another shape.
    """
    field = np.asarray(field, dtype=float)
    if field.shape != like.shape:
        raise InputError(f"objective: expected {like.shape}, found {field.shape}")
    return field


def _by_start(
    integrator: Integrator, moment: Moment, nodal: np.ndarray, inertia: np.ndarray, scale: float
) -> np.ndarray:
    """(∂R/∂x₀)ᵀ times a nodal field (n, 3): inertia and damping, and the forces at the start of the step."""
    dt, model = moment.dt, integrator.model
    result = -(scale / dt**2 + integrator.mass_damping / dt) * inertia
    elastic, loads = _stiffness_products(model, moment.pose.points, nodal)
    viscous = integrator.stiffness_damping / dt
    if isinstance(integrator, BackwardEuler):
        return result - viscous * elastic
    return result + (0.5 - viscous) * elastic - 0.5 * loads


def _stiffness_products(model: Model, x: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the elastic forces and the loads (n, 3) along a nodal field (n, 3)."""
    largest = float(np.abs(direction).max())
    if largest == 0.0:
        return np.zeros_like(x), np.zeros_like(x)
    step = POSITION_STEP * float(np.linalg.norm(model.body.mesh.size)) / largest
    elastic, loads = np.zeros_like(x), np.zeros_like(x)
    for shift, weight in STENCIL:
        moved = Pose(x + shift * step * direction, np.zeros((0, 3)), np.zeros((0, 3, 3)))
        assembled = model.assemble(moved, Increment(), [{} for _ in model.constraints])
        elastic += weight / step * assembled.elastic
        loads += weight / step * assembled.loads
    return elastic, loads


def _factorised(model: Model, pose: Pose, increment: Increment, multipliers: list[dict]) -> _System:
    def assemble() -> None:
        model.assemble(pose, increment, multipliers, with_matrix=True)

    assembled = model.assemble(pose, increment, multipliers, with_matrix=True)
    matrix, transform = model.unknowns.matrix, model.unknowns.transform(pose)
    rows = stacked(assembled.rows, transform)
    jacobian, active, compliance = np.zeros((0, model.unknowns.size)), np.zeros(0, dtype=np.int64), np.zeros(0)
    if rows is not None:
        pairs = zip(assembled.rows, multipliers, strict=True)
        values = np.concatenate([own.multipliers(known) for own, known in pairs if own is not None])
        stiffness = model.body.modulus * float(np.linalg.norm(model.body.mesh.size))
        wanted = values - stiffness * (rows.values + rows.compliance * values)
        active = np.flatnonzero((wanted > rows.lower) & (wanted < rows.upper))
        jacobian, compliance = rows.jacobian[active].toarray(), rows.compliance[active]
    solved_rows = matrix.factorise_and_solve(assemble, np.ascontiguousarray(jacobian.T))
    if matrix.shift > 0.0:
        raise ConvergenceError("no derivatives: the solution is singular or unstable, its Hessian is not definite")
    schur = jacobian @ solved_rows + np.diag(compliance)
    return _System(model, pose, transform, jacobian, active, solved_rows, schur)


def _adjoint(system: _System, objective: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Adjoint of the unknowns (size,) and of the active rows (m,) for ∂L/∂x (n, 3)."""
    right = (system.transform.T @ objective.ravel())[:, None]
    adjoint, rows = system.solve(right, np.zeros((len(system.schur), 1)))
    return adjoint[:, 0], rows[:, 0]


def _by_parameters(
    model: Model, solved: Solved, system: _System, parameters, increment
) -> tuple[np.ndarray, np.ndarray]:
    """∂R/∂θ (3 n, p) and ∂G/∂θ (m, p) at fixed positions and multipliers; `increment()` is made anew at each θ."""
    x = solved.pose.points
    gradients, gaps = np.zeros((x.size, len(parameters))), np.zeros((len(system.active), len(parameters)))
    for column, parameter in enumerate(parameters):
        value = parameter.value
        step = max(RELATIVE_STEP * abs(value), SMALLEST_STEP * (abs(value) < SMALLEST_STEP))
        try:
            for shift, weight in STENCIL:
                parameter.set(value + shift * step)
                residual, gap = _equations(model, solved, increment())
                gradients[:, column] += weight / step * residual
                gaps[:, column] += weight / step * gap[system.active]
        finally:
            parameter.set(value)
    increment()
    return gradients, gaps


def _equations(model: Model, solved: Solved, increment: Increment) -> tuple[np.ndarray, np.ndarray]:
    """R (3 n,) and all rows' g (m,) at fixed positions and multipliers."""
    assembled = model.assemble(solved.pose, increment, solved.multipliers)
    residual = assembled.gradient - reactions(assembled.rows, solved.multipliers, solved.pose.points)
    return residual.ravel(), np.concatenate(
        [np.zeros(0)] + [rows.values for rows in assembled.rows if rows is not None]
    )
