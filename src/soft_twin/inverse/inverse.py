"""From gravity and goals to the actuators' efforts and coordinates, on any twin.

Bounded least squares on the manifold of equilibria. The forces f(x, e) that are left at nodes x with efforts e vanish
on it, so by the implicit function theorem dx/de = −(∂f/∂x)⁻¹ ∂f/∂e there. Each step linearises the twin (one
factorisation gives Newton's step towards the manifold and dx/de along it), and finds the efforts that minimise
½ Σ w² ‖r + J e‖² over the goals, in order of their priorities, subject to the limits of efforts and coordinates:
Gauss–Newton, with an active set for the limits. (Lai et al. 2025 solve theirs with SOFA's plugin, a quadratic program
with complementarity constraints by Coevoet et al. 2017; no code of it is here.) Far out of reach, Gauss–Newton steps
may go to and fro for ever: steps that turn back on the one before make the weight of staying heavier until they settle,
others make it lighter. So may Newton's steps towards the manifold, which no line search shortens: a body that jumps
back is allowed half as far with each step, one that goes on further again.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError
from soft_twin.inverse.goals import Goal, PositionGoal, StayGoal, arc_through, told_by_coordinate
from soft_twin.inverse.limits import Limit, together
from soft_twin.inverse.priorities import NEARLY, Bounds, Level, solve_levels
from soft_twin.twins.base import CableWords, Linearisation, Twin
from soft_twin.twins.frames import SectionFrame

LARGEST_STEP = 0.005  # [m] no node moves further in one step …
LEAST_STEP = 2e-5  # [m] … and is always allowed so far
FADING = 0.5  # of the last long way, with every short one since
SHORTER, LONGER = 0.5, 1.25  # factors of what is allowed, where the tip jumps back, and where it does not
JUMP, ACROSS = 1e-5, 0.1  # [m] and cosine: a tip that goes back by less, or rather aside, jumps not
SETTLED = 1e-7  # [m] a step in which no node asks to move further ends the iteration: that is "converged"
STEADY = 5e-6  # [m] the same for the last of a limited number of steps, as those of a control loop are
STAY = 0.03  # weight of staying near the last efforts, relative to what they move
MAX_ITERATIONS = 200
TURNS_BACK = 0.3  # a step against the last one counts when it is at least so long, relative to it
HEAVIER, LIGHTER = 2.0, 0.8  # factors of the weight of staying
FAR = 10.0  # times the least weight of staying, at the start of a whole solve
WORSE, NOTICED = 4.0, 2e-5  # factor of the weight of staying where the first goals are missed by more than before [m]
PATIENCE, SLOWER = 80, 15  # iterations after which the least weight of staying doubles, and each so many again
REVISIONS = 5  # of a step that is linear in the efforts only from piece to piece, as in contact
HEAVIEST = 100.0  # times the least weight of staying


class Stride:
    """How far a body may move in a step.

    Attributes:
        length: [m] for its furthest node.
    """

    def __init__(self) -> None:
        self.length = LARGEST_STEP
        self._last = np.zeros(3)

    def note(self, way: np.ndarray) -> None:
        """The tip has gone (3,) in a step [m]."""
        size, before = math.sqrt(way @ way), math.sqrt(self._last @ self._last)
        long = size > TURNS_BACK * before
        back = long and size > JUMP and way @ self._last < -ACROSS * size * before
        self.length = max(SHORTER * self.length, LEAST_STEP) if back else min(LONGER * self.length, LARGEST_STEP)
        self._last = way if long else FADING * self._last


@dataclass(frozen=True)
class Solution(CableWords):
    """What the actuators shall do, and what the twin expects of it.

    Attributes:
        coordinates: (a,) cable pulled in at the base [m], volume let in [m³].
        efforts: (a,) cable tensions [N], chamber pressures [Pa].
        tip: (3,) tip of the twin in base_link [m].
        error: how far the worst of the first goals is missed [m] or [rad]: the distance of the tip from a target.
        converged: the iteration settled: the next step would move no node by more than STEADY.
        reachable: the first goals are met within their tolerances, 0.1 mm for a place.
        active_limits: limits that bind, such as "cable_3 displacement max"; a body that presses on itself counts, a
            slack cable does not.
        iterations: linearisations that it took.
        residual: 2-norm of the unbalanced nodal forces at the last linearisation [N].
        optimality: what the last step asked the furthest node to move [m]; 0 at an optimum.
        energy: elastic energy at the last linearisation [J].
    """

    coordinates: np.ndarray
    efforts: np.ndarray
    tip: np.ndarray
    error: float
    converged: bool
    reachable: bool
    active_limits: tuple[str, ...]
    iterations: int
    residual: float
    optimality: float
    energy: float


def arc_posture(twin: Twin, target: np.ndarray) -> list[Goal]:
    """The middle of a slender body on the arc from its base to the target (3,), as far as the tip leaves it free: it
    decides between solutions with the same tip, and keeps the body from sagging between base and tip."""
    return [PositionGoal(SectionFrame(0.5 * twin.length), arc_through(target, 0.5), priority=2)]


class Inverse:
    """Finds what the actuators of a twin shall do, warm-started from the twin's current state.

    Args:
        twin: the body.
        limits: of efforts and coordinates.
        names: (a,) of the actuators, for `active_limits`.
        posture: further goals for a tip target; None: none.
    """

    def __init__(
        self,
        twin: Twin,
        limits: Sequence[Limit],
        names: Sequence[str],
        posture: Callable[[Twin, np.ndarray], list[Goal]] | None = arc_posture,
    ):
        self.twin, self.limits, self.names, self.posture = twin, list(limits), list(names), posture
        still = [each for each in self.limits if not each.moves] or [Limit()]
        self._moving = [each for each in self.limits if each.moves]
        self._efforts = together([each.efforts(twin) for each in still])
        self._coordinates = together([each.coordinates(twin) for each in still])
        units = list(twin.effort_units)
        self._lightest = STAY
        self._kinds = [np.array([i for i, each in enumerate(units) if each == unit]) for unit in sorted(set(units))]
        self.reset()

    @property
    def stay(self) -> float:
        """Least weight of staying near the last efforts, relative to what they move: more of it is calmer and slower.

        Raises:
            InputError: when it is set to less than 0.03, with which efforts go to and fro, or not a finite number.
        """
        return self._lightest

    @stay.setter
    def stay(self, weight: float) -> None:
        if not STAY <= weight < np.inf:
            raise InputError(f"weight of staying {weight!r}: expected a finite number, {STAY} or more")
        self._lightest = self._least_stay = self._stay = float(weight)

    def reset(self) -> None:
        """Forget the steps so far, which only decide on how careful the next one is."""
        self._stay = self._least_stay = self._lightest
        self._last_change = np.zeros(self.twin.actuator_count)
        self._miss, self._short, self._strict = np.inf, False, False
        self._stride = Stride()

    def solve(
        self,
        gravity: Sequence[float],
        target: Sequence[float] | None = None,
        *,
        goals: Sequence[Goal] | None = None,
        settled: float = SETTLED,
        max_iterations: int = MAX_ITERATIONS,
    ) -> Solution:
        """Iterate until the twin settles: strictly by priority; out of reach, from there on as the control loop does.

        Args:
            gravity: (3,) in base_link [m/s²].
            target: (3,) of the tip in base_link [m]; or
            goals: what to reach.
            settled: largest movement [m] that ends the iteration.
            max_iterations: linearisations after which it is given up; the solution then is not converged.

        Raises:
            InputError: wrong sizes, not finite, a target further from the base than twice the body's length, or not
                one of target and goals.
            ConvergenceError: the twin's stiffness broke down.
        """
        if (target is None) == (not goals):
            raise InputError("inverse: give a target of the tip or goals")
        if not (settled > 0.0 and max_iterations >= 1):
            raise InputError(f"inverse: settled {settled:g} m and {max_iterations} iterations must be positive")
        gravity = checked_vector(gravity, 3, "gravity")
        goals = self.goals(self.checked_target(target)) if target is not None else list(goals)
        self.reset()
        self._stay, self._strict = FAR * self._lightest, True
        step, moved, iterations = self._settle(gravity, goals, settled, max_iterations)
        found = self.solution(goals, step, moved, iterations)
        self._strict = False
        if found.reachable:
            return found
        step, moved, more = self._settle(gravity, goals, settled, max_iterations)
        return self.solution(goals, step, moved, iterations + more)

    def _settle(
        self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int
    ) -> tuple[Linearisation, float, int]:
        """Steps until one moves no node by more than `settled` [m]: the last one, what it asked for, their number."""
        iterations, moved, miss = 0, np.inf, np.inf
        while moved > settled and iterations < limit:
            step, moved = self.step(gravity, goals)
            iterations += 1
            self._least_stay = self._lightest * min(2.0 ** max(0.0, (iterations - PATIENCE) / SLOWER), HEAVIEST)
            if self._miss > miss + NOTICED:
                self._stay = min(WORSE * self._stay, HEAVIEST * self._lightest)
            miss = self._miss
        self._least_stay = self._lightest
        return step, moved, iterations

    def step(self, gravity: np.ndarray, goals: Sequence[Goal], reuse: bool = False) -> tuple[Linearisation, float]:
        """One linearisation, one cascade of quadratic programs, one step of the twin.

        Args:
            gravity: (3,) in base_link [m/s²].
            goals: what to reach.
            reuse: with an earlier factorisation where that is good enough, see `Twin.relinearise`.

        Returns:
            The linearisation before the step and the largest node movement that was asked for [m].
        """
        step = self.twin.relinearise(gravity, learn=self._short) if reuse else self.twin.linearise(gravity)
        efforts, scales = self._best(step, goals)
        for _ in range(REVISIONS):
            before, step = step, self.twin.revised(step, efforts)
            if step is before:
                break
            efforts, scales = self._best(step, goals)
        self._adapt(scales * (efforts - self.twin.efforts))
        return step, self._advance(step, efforts)

    def follow(self, gravity: np.ndarray, reuse: bool = False) -> tuple[Linearisation, float]:
        """As `step`, of a body whose actuators are free."""
        step = self.twin.relinearise(gravity) if reuse else self.twin.linearise(gravity)
        return step, self._advance(step, np.zeros(self.twin.actuator_count))

    def _advance(self, step: Linearisation, efforts: np.ndarray) -> float:
        return self._tracked(partial(self.twin.advance, step, efforts))

    def _tracked(self, advance: Callable[[float], float]) -> float:
        """What a step of the twin asks for [m], which takes the largest movement [m]; where the tip went is noted."""
        before = self.twin.tip
        moved = advance(self._stride.length)
        self._stride.note(self.twin.tip - before)
        return moved

    def goals(self, target: np.ndarray) -> list[Goal]:
        """The goals for a tip target (3,)."""
        further = [] if self.posture is None else self.posture(self.twin, target)
        return [PositionGoal(self.twin.frames["tip"], target), *further]

    def solution(self, goals: Sequence[Goal], step: Linearisation, moved: float, iterations: int) -> Solution:
        """The twin's current state as a solution."""
        efforts, coordinates = self.twin.efforts.copy(), self.twin.coordinates()
        first = min(goal.priority for goal in goals)
        misses = [(goal.miss(self.twin), goal.tolerance) for goal in goals if goal.priority == first]
        binding = [each.active(self.names, efforts, coordinates) for each in self.limits]
        return Solution(
            coordinates=np.minimum(np.maximum(coordinates, self._coordinates[0]), self._coordinates[1]),
            efforts=efforts,
            tip=self.twin.tip,
            error=max(miss for miss, _ in misses),
            converged=moved < STEADY,
            reachable=all(miss < tolerance for miss, tolerance in misses),
            active_limits=(*(name for names in binding for name in names), *self.twin.stops),
            iterations=iterations,
            residual=step.residual,
            optimality=moved,
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

    @property
    def told_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest (a,) of what actuators are told: coordinates of cables [m], efforts of others [Pa]."""
        pairs = zip(self._coordinates, self._efforts, strict=True)
        low, high = (np.where(told_by_coordinate(self.twin), *pair) for pair in pairs)
        return low, high

    def _adapt(self, change: np.ndarray) -> None:
        last = self._last_change
        back = change @ last < 0.0
        long = change @ change > TURNS_BACK**2 * (last @ last)
        factor = HEAVIER if back and long else LIGHTER
        self._stay = min(max(factor * self._stay, self._least_stay), HEAVIEST * self._lightest)
        self._last_change = change

    def _best(self, step: Linearisation, goals: Sequence[Goal]) -> tuple[np.ndarray, np.ndarray]:
        """The efforts (a,) that the linearised twin asks for, and what a unit of each moves (a,)."""
        asked = self._asked(step, goals)
        r, J, _ = asked[0]
        scales = self._scales(J)
        miss = r + J @ self.twin.efforts
        self._miss = math.sqrt(miss @ miss)
        stay = StayGoal(scales, self._stay).cost(self.twin)
        unit = None if len(self._kinds) == 1 else scales.max() / scales  # so that newtons and pascals weigh alike
        levels = [_level(r, J, *stay, tolerance, unit) for r, J, tolerance in asked]
        efforts = solve_levels(levels, self._bounds(step, unit), self._strict)
        self._short = levels[0].missed_by(efforts) > NEARLY
        return efforts if unit is None else unit * efforts, scales

    def _asked(self, step: Linearisation, goals: Sequence[Goal]) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Of each priority, the first one first: weighted residual and Jacobian of its goals, and their tolerance."""
        asked = []
        for priority in sorted({goal.priority for goal in goals}):
            own = [goal for goal in goals if goal.priority == priority]
            answers = [goal.residual_and_jacobian(self.twin, step) for goal in own]
            residual = _stacked([goal.weight * r for goal, (r, _) in zip(own, answers, strict=True)])
            jacobian = _stacked([goal.weight * J for goal, (_, J) in zip(own, answers, strict=True)])
            asked.append((residual, jacobian, max(goal.weight * goal.tolerance for goal in own)))
        return asked

    def _scales(self, jacobian: np.ndarray) -> np.ndarray:
        """(a,) what a unit of each actuator's effort moves, alike for all of one kind."""
        squares, scales = (jacobian * jacobian).sum(axis=0), np.empty(self.twin.actuator_count)
        for own in self._kinds:
            scales[own] = max(math.sqrt(squares[own].sum() / len(own)), 1e-300)
        return scales

    def _bounds(self, step: Linearisation, unit: np.ndarray | None) -> Bounds:
        low, high = self._effort_bounds()
        lowest, highest = self._coordinate_bounds()
        before = step.coordinates + step.free_coordinates
        compliance = step.compliance
        if unit is not None:
            low, high, compliance = low / unit, high / unit, compliance * unit
        return Bounds(low, high, compliance, lowest - before, highest - before)

    def _effort_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        if not self._moving:
            return self._efforts
        return together([self._efforts, *(each.efforts(self.twin) for each in self._moving)])

    def _coordinate_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        if not self._moving:
            return self._coordinates
        return together([self._coordinates, *(each.coordinates(self.twin) for each in self._moving)])


def _level(
    r: np.ndarray,
    J: np.ndarray,
    stay: np.ndarray,
    pull: np.ndarray,
    tolerance: float,
    unit: np.ndarray | None,
) -> Level:
    """The cost of a priority's weighted residuals, and of staying with its curvature and slope (a,) for each effort, in
    efforts over `unit` (a,), if there is one."""
    if unit is not None:
        J, stay, pull = J * unit, stay * unit**2, pull * unit
    H = J.T @ J
    H.flat[:: len(H) + 1] += stay
    return Level(H, J.T @ r + pull, r, J, tolerance)


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
