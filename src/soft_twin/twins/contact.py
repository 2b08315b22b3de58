"""The finite element twin of a body that may press on rigid obstacles, or on itself.

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
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows, stacked
from soft_twin.solvers.equilibrium import GAP_TOLERANCE, REGULARISATION
from soft_twin.twins.base import Linearisation
from soft_twin.twins.finite_element import FemLinearisation, FemTwin, NewtonStep

ROUNDS = 20  # in which rows that a step would break are found


class Pressing:
    """The rows near a body in one step, and what they make of it.

    Attributes:
        rows: all of them, in the model's unknowns.
        before: (m,) their multipliers before the step [N].
        free: (size, 1 + a) the step of the free body, and those per effort.
    """

    def __init__(
        self,
        rows: Rows,
        before: np.ndarray,
        free: np.ndarray,
        pushed: np.ndarray,
        solve: Callable[[np.ndarray], np.ndarray],
        tolerance: float,
    ):
        """`pushed`: K⁻¹ (size, r) of the gradients of the rows that have pushed. `solve`: K⁻¹ of (size, r).
        `tolerance`: [m] by which a row may be broken."""
        self.rows, self.before, self.free, self._solve = rows, before, free, solve
        self._tolerance = tolerance
        self._gaps = rows.jacobian @ free
        self._gaps[:, 0] += rows.values
        self._chosen = np.zeros(0, dtype=np.int64)
        self._columns, self._reactions = np.zeros((len(free), 0)), np.zeros((len(before), 0))
        self._add(np.flatnonzero(before > 0.0), pushed)

    def multipliers(self, efforts: np.ndarray) -> np.ndarray:
        """(m,) of all rows [N] in a step with efforts (a,)."""
        gaps = self._gaps[:, 0] + self._gaps[:, 1:] @ efforts
        for _ in range(ROUNDS):
            own = self._chosen
            values = solve_box_qp(self._W, gaps[own] - self._slack * self.before[own], 0.0, np.inf)
            after = gaps + self._reactions @ values
            broken = np.setdiff1d(np.flatnonzero(after < -self._tolerance), own)
            if not len(broken):
                break
            self._add(broken, self._solve(self.rows.jacobian[broken].T.toarray()))
        result = np.zeros(len(gaps))  # what the program leaves above zero by round-off pushes less than its gap is open
        result[own] = np.where(values * self._W.diagonal() > after[own], values, 0.0)
        return result

    def projected(self, pushing: np.ndarray) -> np.ndarray:
        """(size, 1 + a) the step where the rows `pushing` (m,) bool do."""
        own = np.flatnonzero(pushing[self._chosen])
        if not len(own):
            return self.free
        rows = self._chosen[own]
        wanted = self._gaps[rows].copy()
        wanted[:, 0] -= self._slack * self.before[rows]
        return self.free - self._columns[:, own] @ np.linalg.solve(self._W[np.ix_(own, own)], wanted)

    def _add(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """Take rows (r,), with K⁻¹ of their gradients (size, r), among those that may push.

        W is the compliance of all of them, which may repeat each other, with some slack for changes of the multipliers
        [m/N].
        """
        self._chosen = np.concatenate([self._chosen, rows])
        self._columns = np.hstack([self._columns, columns])
        self._reactions = np.hstack([self._reactions, self.rows.jacobian @ columns])
        W = self._reactions[self._chosen]
        self._W = 0.5 * (W + W.T)
        self._slack = REGULARISATION * float(np.trace(W)) / max(len(W), 1)
        self._W[np.diag_indices_from(W)] += self._slack + self.rows.compliance[self._chosen]


@dataclass(frozen=True)
class ContactLinearisation(FemLinearisation):
    """As FemLinearisation, where the rows `pushing` (m,) of `pressing` do; `newton` is the step of the free body,
    `separate` are the rows of each constraint."""

    newton: NewtonStep
    pressing: Pressing
    pushing: np.ndarray
    separate: list[Rows | None]


class ContactTwin(FemTwin):
    """See the module's docstring; the model's constraints are rigid plates and contacts without friction."""

    @property
    def contact_force(self) -> np.ndarray:
        """(3,) what all obstacles together push the body with in the current state [N]."""
        rows = self.model.rows(self.points, self._multipliers)
        return self._multipliers.reactions(rows, self.points).sum(axis=0)

    @property
    def stops(self) -> tuple[str, ...]:
        pairs = zip(self.model.constraints, self._multipliers, strict=True)
        return tuple(each.stop for each, known in pairs if each.stop and any(known.values()))

    def linearise(self, gravity: np.ndarray) -> FemLinearisation:
        self._chord = None
        gravity = checked_vector(gravity, 3, "gravity")
        assembled = self._assemble(gravity, with_matrix=True)
        rows = stacked(assembled.rows, self.model.unknowns.transform(self._pose))
        if rows is None:
            return self._linearisation(self._newton_step(gravity, assembled)[0])
        before = self._multipliers.values(assembled.rows)
        pushed = rows.jacobian[np.flatnonzero(before > 0.0)].T.toarray()
        newton, columns = self._newton_step(gravity, assembled, pushed)
        newton = newton._replace(unbalanced=newton.unbalanced + rows.jacobian.T @ before)
        tolerance = GAP_TOLERANCE * float(np.linalg.norm(self.body.mesh.size))
        pressing = Pressing(rows, before, newton.steps, columns, self.model.unknowns.matrix.solve, tolerance)
        pushing = pressing.multipliers(self.efforts) > 0.0
        return self._projected(newton, pressing, pushing, assembled.rows)

    def relinearise(self, gravity: np.ndarray, learn: bool = False) -> FemLinearisation:
        """As `linearise` where an obstacle is near: which rows push may change with every step."""
        near = any(own is not None and len(own.keys) for own in self.model.rows(self.points, self._multipliers))
        return self.linearise(gravity) if near else super().relinearise(gravity, learn)

    def revised(self, step: Linearisation, efforts: np.ndarray) -> Linearisation:
        if not isinstance(step, ContactLinearisation):
            return step
        pushing = step.pressing.multipliers(efforts) > 0.0
        same = np.array_equal(pushing, step.pushing)
        return step if same else self._projected(step.newton, step.pressing, pushing, step.separate)

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

    def _projected(
        self, newton: NewtonStep, pressing: Pressing, pushing: np.ndarray, separate: list[Rows | None]
    ) -> ContactLinearisation:
        own = self._linearisation(newton._replace(steps=pressing.projected(pushing)))
        if pushing.any():  # which hold a body that is unstable without them
            own = replace(own, definite=True)
        return ContactLinearisation(**vars(own), newton=newton, pressing=pressing, pushing=pushing, separate=separate)
