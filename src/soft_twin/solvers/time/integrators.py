"""Motion of a model in time: backward Euler and Crank–Nicolson, with fixed or adaptive steps (SORS, section III-C).

With damping C = α M + β K, and F = loads − ∂W/∂x, a step from (x₀, v₀) to (x₁, v₁) solves

    backward Euler:  M (v₁ − v₀)/h = F₁ − α M v₁ − β (∂W₁ − ∂W₀)/h,                 v₁ = (x₁ − x₀)/h
    Crank–Nicolson:  M (v₁ − v₀)/h = ½ (F₀ + F₁) − α M (x₁ − x₀)/h − β (∂W₁ − ∂W₀)/h,  v₁ = 2 (x₁ − x₀)/h − v₀

with β K v as the rate of the elastic forces, so that each is the minimum of an incremental potential (model.Increment)
and constraints hold at the end of the step. Crank–Nicolson keeps energy and is second order in the step; backward
Euler dissipates and is first order. What a constraint pushes acts during the whole step, as the body lies at its end;
what holds a rigid plate together acts as it lies in the middle of a step of Crank–Nicolson. Prescribed nodes have there
the velocities of their motion: v₁ above would carry each sudden change of these on, to and fro, for ever.
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from soft_twin.checks import check_positive, checked_count, checked_number, checked_numbers
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.model import Assembled, Increment, Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.equilibrium import MAX_ITERATIONS, Solved, likeliest, minimise

SMALLEST_STEP = 1e-3  # of the first step: adaptive steps are not made shorter
GROWTH = 1.5  # of an adaptive step, at most
SAFETY = 0.9
MAX_PASSES = 50  # of a step whose plates turn
SETTLED = 1e-10  # change of a plate's forces, of those at work
CELLS_A_STEP = 0.5  # of the smallest cell's size: no node moves further in an adaptive step (Courant's condition)


class Integrator(ABC):
    """A model that moves. A new one is a class with `increment` and `velocities_after`; derivatives go through its
    steps where it says that they are `differentiable`, and what they depend on.

    Attributes:
        order: of the error, in the step.
        differentiable: whether the two below and `forces_at_start` say all that steps depend on.
        velocity_factors: s and k of v₁ = s (x₁ − x₀)/h − k v₀.
        follows_motions: whether prescribed nodes have the velocities of their motion instead.
        balances_at_midpoint: whether forces on rigid plates balance in the middle of a step, not at its end.
        overstress: (n, 3) forces that fade [N], see `RelaxingCrankNicolson`; None: there are none.
        model: what moves; its forces and constraints may be changed between steps.
        pose: where everything is now.
        velocities: (n, 3) [m/s].
        time: [s].
        solved: how the last step ended; None before the first.
    """

    order: int
    differentiable = False
    velocity_factors: tuple[float, float]
    follows_motions = False
    balances_at_midpoint = False
    overstress: np.ndarray | None = None

    def __init__(
        self,
        model: Model,
        dt: float,
        pose: Pose | None = None,
        velocities: np.ndarray | None = None,
        mass_damping: float = 0.0,
        stiffness_damping: float = 0.0,
        newton_steps: int | None = None,
        max_iterations: int = MAX_ITERATIONS,
    ):
        """`dt`: step [s]. `velocities`: (n, 3) or (3,) at the start [m/s]; prescribed nodes have those of their motion.
        Damping: α [1/s], β [s]. `newton_steps`: take just so many in each step, see `minimise`; the first one is
        linearised where the body coasts to. At the start of the step (Baraff and Witkin 1998), which is the same for a
        linear body, nodes that turn by φ leave their circles along tangents: that stretches by φ²/2, and the tension of
        it, (1 + β/h) times as much with damping, stiffens slender bodies in the next step.
        `max_iterations`: steps that need more fail; with fewer than usual, hard steps are sooner tried in halves.

        Raises:
            InputError: a step, damping or number of iterations that makes no sense, a pose that is none of this
                model's, or velocities of another shape.
        """
        check_positive(dt, "time step", "s")
        for count, what in ((max_iterations, "max_iterations"), (newton_steps, "newton_steps")):
            if count is not None:
                checked_count(count, what)
        mass_damping = checked_number(mass_damping, "mass_damping", "1/s")
        stiffness_damping = checked_number(stiffness_damping, "stiffness_damping", "s")
        if not (0.0 <= mass_damping < np.inf and 0.0 <= stiffness_damping < np.inf):
            raise InputError(
                f"damping: {mass_damping:g} 1/s and {stiffness_damping:g} s must not be negative, and finite"
            )
        self.model, self.dt, self.time = model, dt, 0.0
        self.mass_damping, self.stiffness_damping = mass_damping, stiffness_damping
        self.newton_steps, self.max_iterations = newton_steps, max_iterations
        self.pose = model.checked_pose(pose)
        self.velocities = _checked_velocities(velocities, self.pose.points)
        self._smallest = SMALLEST_STEP * dt
        self.velocities[model.prescribed] = self._motion_velocities(self.time)
        self.solved: Solved | None = None
        self._multipliers: Multipliers | None = None
        self._acceleration: np.ndarray | None = None
        self._note_forces()

    def restart(self, pose: Pose, velocities: np.ndarray, time: float) -> None:
        """Go on from another state: pose, velocities (n, 3) or (3,) [m/s], time [s]; obstacles are where they are now.

        Raises:
            InputError: a pose that is none of this model's, or velocities of another shape.
        """
        self.pose = self.model.checked_pose(pose)
        self.velocities, self.time = _checked_velocities(velocities, self.pose.points), time
        if len(followed := self.followed):
            self.velocities[followed] = self._motion_velocities(time)
        self.solved, self._multipliers, self._acceleration = None, None, None
        self.model.accept()
        self._note_forces()

    @abstractmethod
    def increment(self, dt: float) -> Increment:
        """The incremental potential of a step of `dt` from now."""

    def forces_at_start(self, dt: float) -> tuple[float, float]:
        """Factors of the elastic forces and of the loads at the start of a step, in its increment's `linear`."""
        return 0.0, 0.0

    @abstractmethod
    def velocities_after(self, points: np.ndarray, dt: float) -> np.ndarray:
        """(n, 3) when the step ends at `points` (n, 3)."""

    @property
    def followed(self) -> np.ndarray:
        """(k,) nodes whose velocities are those of their motion."""
        return self.model.prescribed if self.follows_motions else self.model.prescribed[:0]

    def step(self, dt: float | None = None) -> Solved:
        """Advance by one step, of `dt` or the integrator's own.

        Raises:
            InputError: `dt` is not positive.
            ConvergenceError: the step was not found; the state is the one before it.
        """
        dt = self.dt if dt is None else dt
        check_positive(dt, "time step", "s")
        self.model.begin(self.pose.points)
        solved = self._step(dt)
        self.model.accept()
        return solved

    def _step(self, dt: float) -> Solved:
        """A step of `dt` that constraints know of."""
        time = self.time + dt
        solved = self._solve(self.increment(dt), dt, time)
        self.velocities = self.velocities_after(solved.pose.points, dt)
        self.pose, self.time, self.solved, self._multipliers = solved.pose, time, solved, solved.multipliers
        self._elastic, self._loads = solved.assembled.elastic, solved.assembled.loads
        if self.newton_steps is not None and (self.order == 2 or self.stiffness_damping > 0.0):
            self._note_forces()
        return solved

    def advance(self, duration: float, tolerance: float | None = None) -> int:
        """Advance by a duration [s] in steps of `dt`, or in adaptive steps where a `tolerance` [m] is given: the local
        error of each step is held below it (estimated from the change of acceleration), no node moves further than
        half of the smallest cell, and steps that do not converge are halved.

        Returns:
            The number of steps taken.

        Raises:
            InputError: a duration that is negative, or a tolerance that is not positive.
            ConvergenceError: a step failed, in spite of halving where steps are adaptive.
        """
        if not 0.0 <= checked_number(duration, "duration", "s") < np.inf:
            raise InputError(f"duration: {duration} s is negative or not finite")
        if tolerance is not None:
            check_positive(tolerance, "tolerance", "m")
        end, steps = self.time + duration, 0
        while self.time < end - 1e-9 * self.dt:
            dt = min(self.dt, end - self.time)
            if tolerance is None:
                self.step(dt)
            else:
                self._adaptive_step(dt, tolerance)
            steps += 1
        return steps

    def kinetic_energy(self) -> float:
        """[J]"""
        return 0.5 * float((self.velocities * (self.model.mass @ self.velocities)).sum())

    def energy(self) -> float:
        """Kinetic, elastic, and potential of the loads [J]."""
        return self.kinetic_energy() + self.model.energy(self.pose.points)

    def _solve(self, increment: Increment, dt: float, time: float) -> Solved:
        """The end of a step of `dt`, at `time`."""
        model = self.model
        stayed, coasted = (model.prescribe(pose, time) for pose in (self.pose, self._coasted(dt)))
        try:
            guess = coasted
            if self.newton_steps is None:  # where nodes have snapped, they do not coast on
                guess = likeliest(model, (coasted, stayed), increment, self._multipliers)
            return minimise(model, guess, increment, self._multipliers, self.newton_steps, self.max_iterations)
        except ConvergenceError:
            return minimise(model, stayed, increment, limit=self.max_iterations)

    def _coasted(self, dt: float) -> Pose:
        """Where the nodes would be if nothing acted on them. Plates stay, since nodes that coast do not keep them
        rigid."""
        if len(self.pose.centres):
            return self.pose
        return Pose(self.pose.points + dt * self.velocities, self.pose.centres, self.pose.rotations)

    def _adaptive_step(self, dt: float, tolerance: float) -> None:
        state = self.pose, self.velocities, self.time, self.solved, self._multipliers, self._elastic, self._loads
        acceleration = self._acceleration
        self.model.begin(self.pose.points)
        while True:
            try:
                error = self._try_step(dt, tolerance)
            except ConvergenceError:
                if dt <= self._smallest:
                    raise
                error = np.inf
            factor = SAFETY * (tolerance / max(error, 1e-300)) ** (1.0 / (self.order + 1))
            self.dt = max(dt * float(np.clip(factor, 0.5, GROWTH)), self._smallest)
            if error <= tolerance or dt <= self._smallest:
                self.model.accept()
                return
            (self.pose, self.velocities, self.time, self.solved, self._multipliers, self._elastic, self._loads) = state
            self._acceleration = acceleration
            dt = self.dt

    def _try_step(self, dt: float, tolerance: float) -> float:
        """Error of a step [m], in units in which `tolerance` is just allowed; prescribed nodes make none."""
        before, speeds = self.pose.points, self.velocities
        self._step(dt)
        moved = float(np.abs(self.pose.points - before).max())
        now = (self.velocities - speeds) / dt
        last, self._acceleration = self._acceleration, now
        change = now if self.order == 1 or last is None else now - last
        change = np.delete(change, self.model.prescribed, axis=0)
        local = dt**2 * float(np.abs(change).max()) / (2.0 if self.order == 1 else 12.0)
        return max(local, tolerance * moved / (CELLS_A_STEP * self._smallest_cell()))

    def _motion_velocities(self, time: float) -> np.ndarray:
        """(k, 3) with which the prescribed nodes go on at a time, by one-sided differences of second order."""
        nodes, step = self.model.prescribed, self._smallest
        if not len(nodes):
            return np.zeros((0, 3))
        now, soon, later = (self.model.prescribe(self.pose, time + k * step).points[nodes] for k in range(3))
        return (4.0 * (soon - now) - (later - now)) / (2.0 * step)

    def _smallest_cell(self) -> float:
        mesh = self.model.body.mesh
        return float(np.ptp(mesh.nodes[mesh.cells], axis=1).max(axis=1).min())

    def _note_forces(self) -> None:
        assembled = self._at(self.pose)
        self._elastic, self._loads = assembled.elastic, assembled.loads

    def _at(self, pose: Pose) -> Assembled:
        return self.model.assemble(pose, Increment(), self.model.idle)


def _checked_velocities(velocities: np.ndarray | None, like: np.ndarray) -> np.ndarray:
    """(n, 3) [m/s], zero where none are given."""
    given = np.zeros(3) if velocities is None else checked_numbers(velocities, f"(3,) or {like.shape}", "velocities")
    if given.shape not in ((3,), like.shape) or not np.isfinite(given).all():
        raise InputError(f"velocities: expected finite numbers, (3,) or {like.shape}, found {given.shape}")
    return np.zeros_like(like) + given


class BackwardEuler(Integrator):
    """First order, dissipates: for statics reached through time, and for contact."""

    order, differentiable = 1, True
    velocity_factors = 1.0, 0.0

    def increment(self, dt: float) -> Increment:
        inertia, damping = 1.0 / dt**2, self.mass_damping / dt
        viscous = self.stiffness_damping / dt
        x, v = self.pose.points, self.velocities
        coasted = x + inertia * dt / (inertia + damping) * v
        return Increment(1.0 + viscous, 1.0, inertia + damping, coasted, viscous * self._elastic)

    def forces_at_start(self, dt: float) -> tuple[float, float]:
        return self.stiffness_damping / dt, 0.0

    def velocities_after(self, points: np.ndarray, dt: float) -> np.ndarray:
        return (points - self.pose.points) / dt


class CrankNicolson(Integrator):
    """Second order, keeps energy: for oscillations.

    With b = ∂Φ/∂x − Jᵀ λ, what holds a rigid plate together is b of its nodes. At the minimum it has no moment about
    the arms r₁ at the end of the step, Σ r₁ × b = 0, which alone would be of first order. Of second order, and
    symmetric in time, is Σ ½ (r₀ + r₁) × b = 0: with linear forces a on the plate of the moment Σ r₁ × a =
    Σ ½ (r₁ − r₀) × b, which the step is solved with until they no longer change. A plate that is alone then keeps its
    angular momentum. Where `newton_steps` is given, they are left out.
    """

    order, differentiable, balances_at_midpoint, follows_motions = 2, True, True, True
    velocity_factors = 2.0, 1.0

    def increment(self, dt: float) -> Increment:
        inertia, damping = 2.0 / dt**2, self.mass_damping / dt
        viscous = self.stiffness_damping / dt
        x, v = self.pose.points, self.velocities
        coasted = x + inertia * dt / (inertia + damping) * v
        linear = (viscous - 0.5) * self._elastic + 0.5 * self._loads
        if len(held := self.followed):  # M (v₁ − v₀)/h + α M (x₁ − x₀)/h of these, whatever v₁ and x₁ are
            time = self.time + dt
            end = self.model.prescribe(self.pose, time).points[held]
            gained = (self._motion_velocities(time) - v[held]) / dt + damping * (end - x[held])
            coasted[held] = end - gained / (inertia + damping)
        return Increment(0.5 + viscous, 0.5, inertia + damping, coasted, linear)

    def forces_at_start(self, dt: float) -> tuple[float, float]:
        return self.stiffness_damping / dt - 0.5, 0.5

    def velocities_after(self, points: np.ndarray, dt: float) -> np.ndarray:
        velocities = 2.0 * (points - self.pose.points) / dt - self.velocities
        if len(held := self.followed):
            velocities[held] = self._motion_velocities(self.time + dt)
        return velocities

    def _solve(self, increment: Increment, dt: float, time: float) -> Solved:
        solved = super()._solve(increment, dt, time)
        if not self.model.unknowns.plates or self.newton_steps is not None:
            return solved
        forces = np.zeros_like(increment.linear)
        for _ in range(MAX_PASSES):
            before, forces = forces, self._plate_forces(solved, forces)
            if np.linalg.norm(forces - before) <= SETTLED * np.linalg.norm(solved.assembled.gradient):
                return solved
            turned = replace(increment, linear=increment.linear + forces)
            solved = minimise(self.model, solved.pose, turned, solved.multipliers)
        raise ConvergenceError(f"plates turn too far in a step of {dt:g} s", tuple(solved.history), 0)

    def _plate_forces(self, solved: Solved, forces: np.ndarray) -> np.ndarray:
        """The docstring's a (n, 3) [N], of a step that was solved with other `forces` (n, 3)."""
        assembled, before, after = solved.assembled, self.pose, solved.pose
        balance = assembled.gradient + forces - solved.multipliers.reactions(assembled.rows, after.points)
        result = np.zeros_like(forces)
        for index, plate in enumerate(self.model.unknowns.plates):
            arms = after.points[plate] - after.centres[index]
            turned = arms - (before.points[plate] - before.centres[index])
            moment = 0.5 * np.cross(turned, balance[plate]).sum(axis=0)
            inertia = (arms**2).sum() * np.eye(3) - arms.T @ arms
            result[plate] = np.cross(np.linalg.pinv(inertia) @ moment, arms)
        return result
