"""From gravity and a tip target to the cables' displacements and tensions, on any twin.

Each step linearises the twin (one factorisation), and finds the tensions T that minimise ½ Σ w² ‖r + J T‖² over the
goals, subject to the limits of tensions and displacements: the quadratic program of Coevoet et al. (2017), used by
Lai et al. (2025), "QP-based inverse solving". Far out of reach, Gauss–Newton steps may go to and fro for ever:
steps that turn back on the one before make the proximal goal heavier until they settle, others make it lighter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import InputError
from soft_twin.inverse.goals import Goal, ProximalGoal, SectionGoal, arc_through
from soft_twin.robots.cable_tube import CableLimits
from soft_twin.twin.base import Linearisation, Twin, checked_vector
from soft_twin.twin.qp import solve_qp

LARGEST_STEP = 0.005  # [m] no node moves further in one step
SETTLED = 1e-7  # [m] a step smaller than this ends the iteration
REACHED = 1e-4  # [m] a target closer than this is called reachable
BINDS = 1e-6  # [N] and [m]: a limit closer than this is called active
MAX_ITERATIONS = 200
TURNS_BACK = 0.3  # a step against the last one counts when it is at least so long, relative to it
HEAVIER, LIGHTER = 2.0, 0.8  # factors of the proximal weight
HEAVIEST = 100.0  # times the least proximal weight


@dataclass(frozen=True)
class Solution:
    """What the cables shall do, and what the twin expects of it.

    Attributes:
        displacements: (c,) cables pulled in at the base [m].
        tensions: (c,) cable tensions [N].
        tip: (3,) tip of the twin in base_link [m].
        error: distance of the tip from the target [m].
        converged: the iteration settled.
        reachable: the target is met within 0.1 mm.
        active_limits: limits that bind, such as "cable_3 displacement max"; a slack cable is no limit.
        iterations: linearisations that it took.
        residual: 2-norm of the unbalanced nodal forces at the last linearisation [N].
        energy: elastic energy at the last linearisation [J].
    """

    displacements: np.ndarray
    tensions: np.ndarray
    tip: np.ndarray
    error: float
    converged: bool
    reachable: bool
    active_limits: tuple[str, ...]
    iterations: int
    residual: float
    energy: float


class Inverse:
    """Finds displacements of cables on a twin, warm-started from the twin's current state.

    Args:
        twin: the body.
        limits: of tension and displacement, for every cable.
        cable_names: (c,) names for `active_limits`.
        shape_weight: weight of the middle of the body, relative to the tip, towards the arc through the target:
            it decides between solutions with the same tip, and keeps the body from sagging between base and tip.
        proximal_weight: see ProximalGoal.
        pretension: least tension of every cable [N]; the solver alone wants none, see CableTube.pretension.
    """

    def __init__(
        self,
        twin: Twin,
        limits: CableLimits,
        cable_names: Sequence[str] | None = None,
        shape_weight: float = 0.5,
        proximal_weight: float = 0.03,
        pretension: float = 0.0,
    ):
        self.twin, self.limits = twin, limits
        self.names = list(cable_names or (f"cable_{i + 1}" for i in range(twin.actuator_count)))
        self.shape_weight, self.proximal_weight = shape_weight, proximal_weight
        self.least_tension = max(limits.tension[0], pretension)
        self.reset()

    def reset(self) -> None:
        """Forget the steps so far, which only decide on how careful the next one is."""
        self._weight = self.proximal_weight
        self._last_change = np.zeros(self.twin.actuator_count)

    def solve(self, gravity: Sequence[float], target: Sequence[float]) -> Solution:
        """Iterate until the twin settles.

        Args:
            gravity: (3,) in base_link [m/s²].
            target: (3,) of the tip in base_link [m].

        Raises:
            InputError: wrong sizes, not finite, or a target further from the base than twice the body's length.
            ConvergenceError: the twin's stiffness broke down.
        """
        gravity, target = checked_vector(gravity, 3, "gravity"), self.checked_target(target)
        self.reset()
        iterations, moved = 0, np.inf
        while moved > SETTLED and iterations < MAX_ITERATIONS:
            step, moved = self.step(gravity, target)
            iterations += 1
        return self.solution(target, step, moved, iterations)

    def step(self, gravity: np.ndarray, target: np.ndarray, reuse: bool = False) -> tuple[Linearisation, float]:
        """One linearisation, one quadratic program, one step of the twin.

        Args:
            gravity: (3,) in base_link [m/s²].
            target: (3,) of the tip in base_link [m].
            reuse: with an earlier factorisation where that is good enough, see `Twin.relinearise`.

        Returns:
            The linearisation before the step and the largest node movement that was asked for [m].
        """
        step = self.twin.relinearise(gravity) if reuse else self.twin.linearise(gravity)
        tensions = self._tensions(step, self.goals(target))
        self._adapt(tensions - self.twin.efforts)
        return step, self.twin.advance(step, tensions, LARGEST_STEP)

    def goals(self, target: np.ndarray) -> list[Goal]:
        """The goals for a tip target (3,)."""
        length = self.twin.length
        return [
            SectionGoal(length, target),
            SectionGoal(0.5 * length, arc_through(target, 0.5), self.shape_weight),
            ProximalGoal(self._weight),
        ]

    def solution(self, target: np.ndarray, step: Linearisation, moved: float, iterations: int) -> Solution:
        """The twin's current state as a solution for `target` (3,)."""
        tip, tensions, displacements = self.twin.tip, self.twin.efforts.copy(), self.twin.coordinates()
        error = float(np.linalg.norm(tip - target))
        low, high = self.limits.displacement
        return Solution(
            displacements=np.clip(displacements, low, high),
            tensions=tensions,
            tip=tip,
            error=error,
            converged=moved < max(SETTLED, 1e-3 * LARGEST_STEP),
            reachable=error < REACHED,
            active_limits=self._active_limits(displacements, tensions),
            iterations=iterations,
            residual=step.residual,
            energy=step.energy,
        )

    def checked_target(self, target: Sequence[float]) -> np.ndarray:
        """(3,) a tip target that makes sense.

        Raises:
            InputError: wrong size, not finite, or further from the base than twice the body's length.
        """
        target = checked_vector(target, 3, "target")
        if np.linalg.norm(target) > 2.0 * self.twin.length:
            raise InputError(
                f"target: {target.tolist()} m is {np.linalg.norm(target):.3g} m from the base, "
                f"the body is {self.twin.length:g} m long: is it in metres, in base_link?"
            )
        return target

    def _adapt(self, change: np.ndarray) -> None:
        back = change @ self._last_change < 0.0
        long = np.linalg.norm(change) > TURNS_BACK * np.linalg.norm(self._last_change)
        factor = HEAVIER if back and long else LIGHTER
        heavier = min(factor * self._weight, HEAVIEST * self.proximal_weight)
        self._weight = max(heavier, self.proximal_weight)
        self._last_change = change

    def _tensions(self, step: Linearisation, goals: list[Goal]) -> np.ndarray:
        c = self.twin.actuator_count
        H, f = np.zeros((c, c)), np.zeros(c)
        for goal in goals:
            residual, jacobian = goal.residual_and_jacobian(self.twin, step)
            H += goal.weight**2 * jacobian.T @ jacobian
            f += goal.weight**2 * jacobian.T @ residual
        low, high = self.limits.displacement
        before = step.coordinates + step.free_coordinates
        return solve_qp(H, f, self.least_tension, self.limits.tension[1], step.compliance, low - before, high - before)

    def _active_limits(self, displacements: np.ndarray, tensions: np.ndarray) -> tuple[str, ...]:
        low, high = self.limits.displacement
        binding = (
            ("tension max", tensions > self.limits.tension[1] - BINDS),
            ("displacement min", displacements < low + BINDS),
            ("displacement max", displacements > high - BINDS),
        )
        return tuple(f"{self.names[i]} {what}" for what, binds in binding for i in np.flatnonzero(binds))
