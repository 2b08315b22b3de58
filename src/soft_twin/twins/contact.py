"""The finite element twin of a body that may press on rigid obstacles.

A contact is rows g(x) ≥ 0 with multipliers λ ≥ 0, the forces, and J = ∂g/∂x. A Newton step with efforts e, X(e) of the
free body, becomes X(e) + Y λ with Y = K⁻¹ Jᵀ, where 0 ≤ λ ⟂ g + J X(e) + W λ ≥ 0, W = J Y: a quadratic program as
small as the contact. As long as the same rows A push, λ = −W_AA⁻¹ (g + J X(e))_A is affine in the efforts, and so is
the step: free step, step per effort and compliance are those of the free body, projected on what A lets happen. Which
rows push depends on the efforts: `revised` says what the step is for those that somebody has found.

Friction is left out: what sticks depends on how a body came to where it is, and a twin is asked for where it comes to
rest under any gravity and efforts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows, stacked
from soft_twin.solvers.chord import largest_movement, product
from soft_twin.solvers.equilibrium import GAP_TOLERANCE, REGULARISATION, equilibrium
from soft_twin.twins.base import Equilibrium, Linearisation
from soft_twin.twins.finite_element import FemLinearisation, FemTwin
from soft_twin.twins.statics import LARGEST_STEP, Actuation

ROUNDS = 20  # in which rows that a step would break are found
TRIALS = 60  # of efforts that bring prescribed actuators to their coordinates


class Pressing:
    """The rows near a body in one step, and what they make of it.

    Attributes:
        rows: all of them, in the model's unknowns.
        before: (m,) their multipliers before the step [N].
    """

    def __init__(
        self,
        rows: Rows,
        before: np.ndarray,
        free: np.ndarray,
        solve: Callable[[np.ndarray], np.ndarray],
        tolerance: float,
    ):
        """`free`: (size, 1 + a) step of the free body. `solve`: K⁻¹ of (size, r).
        `tolerance`: [m] by which a row may be broken."""
        self.rows, self.before, self._free, self._solve = rows, before, free, solve
        self._tolerance = tolerance
        self._gaps = rows.jacobian @ free
        self._gaps[:, 0] += rows.values
        self._chosen = np.zeros(0, dtype=np.int64)
        self._columns = np.zeros((len(free), 0))
        self._add(np.flatnonzero(before > 0.0))

    def multipliers(self, efforts: np.ndarray) -> np.ndarray:
        """(m,) of all rows [N] in a step with efforts (a,)."""
        gaps = self._gaps[:, 0] + self._gaps[:, 1:] @ efforts
        for _ in range(ROUNDS):
            values = self._of_chosen(gaps)
            after = gaps + self.rows.jacobian @ (self._columns @ values)
            broken = np.setdiff1d(np.flatnonzero(after < -self._tolerance), self._chosen)
            if not len(broken):
                break
            self._add(broken)
        result = np.zeros(len(gaps))
        if len(values):  # what the program leaves above zero by round-off pushes less than its gap is open
            result[self._chosen] = np.where(
                values * self._compliance()[0].diagonal() > after[self._chosen], values, 0.0
            )
        return result

    def projected(self, pushing: np.ndarray) -> np.ndarray:
        """(size, 1 + a) the step where the rows `pushing` (m,) bool do."""
        own = np.flatnonzero(pushing[self._chosen])
        rows = self._chosen[own]
        if not len(own):
            return self._free
        W, slack = self._compliance()
        wanted = self._gaps[rows].copy()
        wanted[:, 0] -= slack * self.before[rows]
        return self._free - self._columns[:, own] @ np.linalg.solve(W[np.ix_(own, own)], wanted)

    def _of_chosen(self, gaps: np.ndarray) -> np.ndarray:
        if not len(self._chosen):
            return np.zeros(0)
        W, slack = self._compliance()
        return solve_box_qp(W, gaps[self._chosen] - slack * self.before[self._chosen], 0.0, np.inf)

    def _compliance(self) -> tuple[np.ndarray, float]:
        """W of the chosen rows, which may repeat each other, with some slack for changes of the multipliers [m/N]."""
        W = self.rows.jacobian[self._chosen] @ self._columns
        W = 0.5 * (W + W.T)
        slack = REGULARISATION * float(np.trace(W)) / len(W)
        W[np.diag_indices_from(W)] += slack + self.rows.compliance[self._chosen]
        return W, slack

    def _add(self, rows: np.ndarray) -> None:
        if len(rows):
            self._columns = np.hstack([self._columns, self._solve(self.rows.jacobian[rows].T.toarray())])
            self._chosen = np.concatenate([self._chosen, rows])


@dataclass(frozen=True)
class ContactLinearisation(FemLinearisation):
    """As FemLinearisation, where the rows `pushing` (m,) of `pressing` do; `free` is that of the body without them,
    `separate` are the rows of each constraint."""

    free: FemLinearisation
    pressing: Pressing
    pushing: np.ndarray
    separate: list[Rows | None]


class ContactTwin(FemTwin):
    """See the module's docstring; the model's constraints are rigid plates and contacts without friction."""

    def reset(self) -> None:
        super().reset()
        self._multipliers = self.model.idle

    def state(self):
        return super().state(), self._multipliers

    def restore(self, state) -> None:
        state, self._multipliers = state
        super().restore(state)

    @property
    def contact_force(self) -> np.ndarray:
        """(3,) what all obstacles together push the body with in the current state [N]."""
        rows = self.model.rows(self.points, self._multipliers)
        return self._multipliers.reactions(rows, self.points).sum(axis=0)

    def linearise(self, gravity: np.ndarray) -> FemLinearisation:
        free = super().linearise(gravity)
        separate = self.model.rows(self.points, self._multipliers)
        rows = stacked(separate, self.model.unknowns.transform(self._pose))
        if rows is None:
            return free
        before = self._multipliers.values(separate)
        tolerance = GAP_TOLERANCE * float(np.linalg.norm(self.body.mesh.size))
        pressing = Pressing(rows, before, free.steps, self.model.unknowns.matrix.solve, tolerance)
        residual = float(np.linalg.norm(free.unbalanced + rows.jacobian.T @ before))
        pushing = pressing.multipliers(self.efforts) > 0.0
        return self._projected(replace(free, residual=residual), pressing, pushing, separate)

    def relinearise(self, gravity: np.ndarray) -> FemLinearisation:
        """As `linearise` where an obstacle is near: which rows push may change with every step."""
        near = any(own is not None and len(own.keys) for own in self.model.rows(self.points, self._multipliers))
        return self.linearise(gravity) if near else super().relinearise(gravity)

    def revised(self, step: Linearisation, efforts: np.ndarray) -> Linearisation:
        if not isinstance(step, ContactLinearisation):
            return step
        pushing = step.pressing.multipliers(efforts) > 0.0
        same = np.array_equal(pushing, step.pushing)
        return step if same else self._projected(step.free, step.pressing, pushing, step.separate)

    def advance(self, step: FemLinearisation, efforts: np.ndarray, largest_step: float) -> float:
        touching = isinstance(step, ContactLinearisation)
        asked = super().advance(self.revised(step, efforts), efforts, largest_step)
        if not touching:
            self._multipliers = self.model.idle
            return asked
        share = self._moved / max(asked, 1e-300)
        before = step.pressing.before
        after = before + share * (step.pressing.multipliers(efforts) - before)
        self._multipliers = Multipliers.of(step.separate, after)
        return asked

    def equilibrium(self, gravity, displacements=None, tensions=None, *, coordinates=None, efforts=None) -> Equilibrium:
        gravity = checked_vector(gravity, 3, "gravity")
        actuation = self._actuation(
            {"displacements": displacements, "coordinates": coordinates}, {"tensions": tensions, "efforts": efforts}
        )
        self.reset()
        wanted, iterations = actuation.loads, 0
        for _ in range(TRIALS):
            solved = self._settle(gravity, wanted)
            iterations += solved.iterations
            if self._is_met(wanted, actuation):
                coordinates = self.coordinates()
                return Equilibrium(self.points.copy(), self.tip, coordinates, wanted, solved.residual, iterations)
            wanted = self._nearer(wanted, gravity, actuation)
        raise ConvergenceError(f"no equilibrium in contact: {TRIALS} trials of efforts have not met the coordinates")

    def _settle(self, gravity: np.ndarray, efforts: np.ndarray):
        """Go to the equilibrium at efforts (a,), from the current pose."""
        self._gravity.vector, self.efforts = gravity, efforts
        solved = equilibrium(self.model, self._pose)
        self._pose, self._multipliers = solved.pose, solved.multipliers
        return solved

    def _nearer(self, efforts: np.ndarray, gravity: np.ndarray, actuation: Actuation) -> np.ndarray:
        """Efforts (a,) that bring prescribed actuators nearer to their coordinates."""
        step = self.linearise(gravity)
        change = self._goal(step, actuation) - efforts
        longest = largest_movement(product(step.step_per_effort, change))
        return efforts + min(1.0, LARGEST_STEP / max(longest, 1e-300)) * change

    def _projected(
        self, free: FemLinearisation, pressing: Pressing, pushing: np.ndarray, separate: list[Rows | None]
    ) -> ContactLinearisation:
        steps = pressing.projected(pushing)
        moves = self._spread(steps)
        free_step, per_effort = moves[:, :, 0], np.ascontiguousarray(moves[:, :, 1:])
        changes = self.actuators.changes(self.points, free_step[:, :, None], per_effort)
        return ContactLinearisation(
            free_step=free_step,
            step_per_effort=per_effort,
            coordinates=free.coordinates,
            free_coordinates=changes[0][:, 0],
            compliance=changes[1] + self._softness_matrix,
            residual=free.residual,
            energy=free.energy,
            steps=steps,
            unbalanced=free.unbalanced,
            free=free,
            pressing=pressing,
            pushing=pushing,
            separate=separate,
        )
