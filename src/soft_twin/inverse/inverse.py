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
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real

import numpy as np

from soft_twin.checks import checked_gravity, checked_list, checked_vector, in_words
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.damping import STAY, Asked, Damping, Promise
from soft_twin.inverse.goals import REACHED, Goal, PositionGoal, arc_through, check_distance, told_by_coordinate
from soft_twin.inverse.limits import Command, Limit, together
from soft_twin.inverse.priorities import NEARLY, Bounds, Level, repeat_each_other, solve_levels
from soft_twin.inverse.stride import Stride
from soft_twin.inverse.trust import Trust
from soft_twin.twins.base import CableWords, Linearisation, Twin
from soft_twin.twins.frames import SectionFrame

SETTLED = 1e-7  # [m] a step in which no node asks to move further ends the iteration: that is "converged"
STEADY = 5e-6  # [m] the same for the last of a limited number of steps, as those of a control loop are
MAX_ITERATIONS = 400
FAR = 10.0  # times the least weight of staying, at the start of a whole solve
LEAST_SCALE = 0.1  # of what a unit of effort has moved at the most, that staying weighs at the least
NEAREST = 0.01  # least share of the weight of staying, of a whole solve that has all but met its first goals
WORSE, NOTICED = 4.0, 2e-5  # factor of the weight of staying where the first goals are missed by more than before [m]
GIVES_WAY = "the body would balloon or buckle"  # what keeps one from going on that has no equilibrium there
CONTRADICT = "its efforts' limits leave no coordinate within its own"  # what is told of actuators
BEYOND = 1e-3  # of a coordinate's range: a smaller way beyond it is none
AWAY = 20.0  # tolerances by which goals are missed where lowest efforts are told to be in the way, and within which a
# body that is still on its way comes to rest
INNER = 0.5  # of the efforts' range: where a search for a nearer tip sets out from
TRIED = 3  # efforts at their lowest that it raises, one after the other
WANTS = 1e-3  # cosine of what an effort moves and what is missed: a body hardly shortens by what bends it
EASED = 10.0  # times what ends the iteration: efforts that would move so little, each alone, are as little as can be
FINISH = 30  # steps at most in which a body comes to rest whose other efforts stay where they are
EASING = 100  # steps at most in which they are led there
AFTER, MET = 0.5, 0.1  # tolerances by which goals are missed where these are led more slowly, and faster
SLOWEST_REST = 1000.0  # times the least weight of staying
REST = 0.1  # weight of little effort, next to that of staying: so fast what goals leave open comes to rest
REVISIONS = 5  # of a step that is linear in the efforts only from piece to piece, as in contact


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
        active_limits: limits that bind, such as "cable_3 displacement max"; a body that presses on itself counts.
            Lowest efforts are named where they keep the first goals from being reached by more than 20 tolerances: a
            slack cable, or a body that cannot push itself straight, is no news. Rates are, of the last step alone.
        iterations: linearisations that it took.
        residual: 2-norm of the unbalanced nodal forces at the last linearisation [N].
        optimality: what the last step asked the furthest node to move [m]; 0 at an optimum.
        energy: elastic energy at the last linearisation [J].
        complete: no limit of time ended the search, which may have found a nearer place, nor one of steps the way of
            efforts that the first goals leave open, which may become less.
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
    complete: bool = True


def arc_posture(twin: Twin, target: np.ndarray) -> list[Goal]:
    """The middle of a slender body on the arc from its base to the target (3,), as far as the tip leaves it free: it
    decides between solutions with the same tip, and keeps the body from sagging between base and tip."""
    (low, high), base = twin.span, twin.base
    return [PositionGoal(SectionFrame(0.5 * (low + high)), base + arc_through(target - base, 0.5), priority=2)]


class Inverse:
    """Finds what the actuators of a twin shall do, warm-started from the twin's current state.

    Args:
        twin: the body.
        limits: of efforts and coordinates.
        names: (a,) of the actuators, for `active_limits`.
        posture: further goals for a tip target; None: none.
        free: (a,) efforts of actuators that are let go, such as of chambers that are vented above the ambient pressure
            [N], [Pa]; None: none.

    Raises:
        InputError: names, limits or efforts are for another number of actuators than the twin has, limits contradict
            each other, or efforts are not finite.
    """

    def __init__(
        self,
        twin: Twin,
        limits: Sequence[Limit],
        names: Sequence[str],
        posture: Callable[[Twin, np.ndarray], list[Goal]] | None = arc_posture,
        free: Sequence[float] | None = None,
    ):
        if len(names) != twin.actuator_count:
            raise InputError(
                f"inverse: the twin has {twin.actuator_count} actuators, not {len(names)} ({', '.join(names)}): "
                "is it another robot's?"
            )
        self.twin, self.names, self.posture = twin, list(names), posture
        free = np.zeros(twin.actuator_count) if free is None else free
        self._free = checked_vector(free, twin.actuator_count, "efforts of free actuators")
        self.limits = checked_list(limits, Limit, "limits, such as an EffortLimit", "limits")
        still = [each for each in self.limits if not each.moves] or [Limit()]
        self._moving = [each for each in self.limits if each.moves]
        self._efforts = self._agreed([each.efforts(twin) for each in still], "efforts")
        self._coordinates = self._agreed([each.coordinates(twin) for each in still], "coordinates")
        units = list(twin.effort_units)
        self._stay, self._inner = STAY, 0.0  # share of their range that efforts are led to that goals leave open
        self._taut = True  # whether cables keep their least tension
        self._told: Command | None = None  # before the step that is on, where that is a control loop's
        self._deadline = np.inf  # of a whole solve, on a clock that never jumps [s]
        self._kinds = [np.array([i for i, each in enumerate(units) if each == unit]) for unit in sorted(set(units))]
        self.reset()

    def _agreed(self, intervals: Sequence[tuple[np.ndarray, np.ndarray]], what: str) -> tuple[np.ndarray, np.ndarray]:
        """What lies in all intervals.

        Raises:
            InputError: limits contradict each other.
        """
        low, high = (np.broadcast_arrays(*each) for each in zip(*intervals, strict=True))
        lowest, highest = np.max(low, axis=0), np.min(high, axis=0)
        for i in np.flatnonzero(lowest > highest)[:1]:
            raise InputError(
                f"limits of {what} of {self.names[i]}: one is not below {lowest[i]:g}, another not above {highest[i]:g}"
            )
        return together(intervals)

    @property
    def stay(self) -> float:
        """Least weight of staying near the last efforts, relative to what they move: more of it is calmer and slower.

        Raises:
            InputError: when it is set to less than 0.03, with which efforts go to and fro, or not a finite number.
        """
        return self._stay

    @stay.setter
    def stay(self, weight: float) -> None:
        if not STAY <= weight < np.inf:
            raise InputError(f"weight of staying {weight!r}: expected a finite number, {STAY} or more")
        self._stay = float(weight)
        self._damping = Damping(self._stay, self.twin.actuator_count)

    @property
    def sound(self) -> bool:
        """Whether the twin's state was near an equilibrium before the last step, as far as could be seen."""
        return self._trust.sound

    @property
    def unsure(self) -> bool:
        """Whether it is not, and the twin looks whether there is an equilibrium with the efforts that it tries: as one
        that goes with care, or is wild, see Trust."""
        return self._trust.wild or (self._trust.careful and not self._trust.sound)

    @property
    def proven(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Coordinates and efforts (a,) with which a twin that goes with care was at rest, before it tried the last
        step; None where it does not go so, or was not."""
        return self._proven

    @property
    def at_edge(self) -> bool:
        """Whether the twin is kept where it is since there is no equilibrium where its goals want it to go."""
        return self._trust.at_edge

    @property
    def has_rates(self) -> bool:
        """Whether a command depends on the one before it."""
        return bool(self._moving)

    def within_rates(self, command: Command, told: Command) -> Command:
        """The nearest to a command that may be told after what was told last."""
        coordinates, efforts = command
        for limit in self._moving:
            coordinates = np.clip(coordinates, *limit.coordinates(self.twin, told))
            efforts = np.clip(efforts, *limit.efforts(self.twin, told))
        return Command(coordinates, efforts)

    def reset(self, careful: bool = False) -> None:
        """Forget the steps so far, which only decide on how careful the next one is; `careful`: go with care, see
        Trust."""
        self._damping = Damping(self._stay, self.twin.actuator_count)
        self._stride, self._trust = Stride(self.twin.length), Trust(self.twin.length, careful)
        self._promise: Promise | None = None
        self._proven: tuple[np.ndarray, np.ndarray] | None = None
        self._miss, self._wanted, self._most = np.inf, np.inf, np.zeros(len(self._kinds))
        self._short, self._strict, self._open = False, False, False
        self._undecided, self._easing, self._leads = False, False, True
        self._rest, self._change = self._stay, np.zeros(self.twin.actuator_count)
        self._lower, self._hurried = np.zeros(self.twin.actuator_count, dtype=bool), []

    def solve(
        self,
        gravity: Sequence[float],
        target: Sequence[float] | None = None,
        *,
        goals: Sequence[Goal] | None = None,
        settled: float = SETTLED,
        max_iterations: int = MAX_ITERATIONS,
        time_limit: float = math.inf,
    ) -> Solution:
        """Iterate until the twin settles: strictly by priority; out of reach, from there on as the control loop does.
        Where goals leave efforts open and the first are missed, a nearer place is searched for, from the undeformed
        body and with efforts at their lowest raised; so it is from the undeformed body where the way ends because the
        body would balloon or buckle. The loop takes no such search, and may rest beside a target that a whole solve
        reaches. Limits that leave no room for each other are named, and such a solution is not converged.

        Args:
            gravity: (3,) in base_link [m/s²].
            target: (3,) of the tip in base_link [m]; or
            goals: what to reach.
            settled: largest movement [m] that ends the iteration.
            max_iterations: linearisations after which it is given up; the solution then is not converged.
            time_limit: after which the step that is on is the last one [s]; the solution then is the nearest so far,
                and not complete.

        Raises:
            InputError: wrong sizes, not finite, gravity in another unit, a limit that is not positive, a target further
                from the base than twice the body's length or behind the base of a body on an arc, goals of another
                mesh, what is no list of goals, or not one of target and goals.
            ConvergenceError: no equilibrium was found, not from the undeformed body either.
        """
        if (target is None) == (not goals):
            raise InputError("inverse: give a target of the tip or goals")
        if not (_is_positive(settled) and _is_positive(max_iterations) and max_iterations % 1 == 0):
            raise InputError(
                f"inverse: settled {in_words(settled)} m and {in_words(max_iterations)} iterations must be positive, "
                "and these whole"
            )
        if not _is_positive(time_limit):
            raise InputError(f"inverse: a time limit of {in_words(time_limit)} s: it must be positive")
        gravity = checked_gravity(gravity)
        goals = self.goals(self.checked_tip(target)) if target is not None else self._checked_goals(goals)
        self._deadline = time.monotonic() + time_limit
        try:
            found = self._solved(gravity, goals, settled, max_iterations)
            if _is_at_edge(found) and not found.reachable:
                found = self._from_undeformed(gravity, goals, settled, max_iterations, found)
        except ConvergenceError:  # from where it was; its undeformed body may find its way
            self.twin.reset()
            found = self._solved(gravity, goals, settled, max_iterations, careful=True)
        finally:
            self._deadline = np.inf
        return self._judged(self._finished(gravity, goals, settled, found))

    def _from_undeformed(
        self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int, found: Solution
    ) -> Solution:
        """The nearest of `found`, which has ended where the body would balloon or buckle, and of where the undeformed
        body comes to, with care and without, in as many steps as are left: from where it was, the body may have gone
        astray."""
        here, iterations = self.twin.state(), found.iterations
        for careful in (True, False):
            if found.reachable or self._late or iterations >= limit:
                break
            self.twin.reset()
            try:
                nearer = self._solved(gravity, goals, settled, limit - iterations, careful)
            except ConvergenceError:
                continue
            iterations += nearer.iterations
            if nearer.error < found.error and (nearer.converged or _is_at_edge(nearer)):
                found, here = nearer, self.twin.state()
        self.twin.restore(here)
        return replace(found, iterations=iterations, complete=found.complete and (found.reachable or not self._late))

    def _finished(self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, found: Solution) -> Solution:
        """A solution that was still on its way through efforts that goals leave open, which may be a long one: these
        stay where they are, and the body comes to rest where it meets the first goals."""
        highest = min(goal.priority for goal in goals)
        first = [goal for goal in goals if goal.priority == highest]
        near = all(goal.miss(self.twin) < AWAY * goal.tolerance for goal in first)
        if found.converged or _is_at_edge(found) or not (self._open and near):
            return found
        here, self._leads, self._strict = self.twin.state(), False, True
        try:
            step, moved, more = self._settle(gravity, first, settled, FINISH)
        except ConvergenceError:
            self.twin.restore(here)
            return found
        finally:
            self._leads, self._strict = True, False
        return replace(self.solution(first, step, moved, found.iterations + more, settled), complete=False)

    def _judged(self, found: Solution) -> Solution:
        """A solution; not a converged one where efforts within their limits leave those of the coordinates, which give
        way then."""
        (low, high), now = self._coordinates, self.twin.coordinates()
        beyond = np.flatnonzero(np.maximum(low - now, now - high) > BEYOND * (high - low))
        if not len(beyond):
            return found
        words = f"{CONTRADICT}: {', '.join(self.names[i] for i in beyond)}"
        return replace(found, converged=False, reachable=False, active_limits=(*found.active_limits, words))

    def _solved(
        self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int, careful: bool = False
    ) -> Solution:
        """As `solve`, from where the twin is, in at most so many steps."""
        step, moved, iterations = self._settle_strictly(gravity, goals, settled, max(limit // 2, 1), careful)
        if self._misses_only_later(goals, moved, settled) and iterations < limit:
            step, moved, more = self._settle_strictly(gravity, goals, settled, limit - iterations, careful, anew=False)
            iterations += more
        found = self.solution(goals, step, moved, iterations, settled)
        if found.reachable or iterations == limit:
            return self._eased(gravity, goals, settled, limit, found)
        found = self._searched(gravity, goals, settled, limit, found)
        if found.reachable or found.iterations == limit:
            return self._eased(gravity, goals, settled, limit, found)
        if self._late:
            return replace(found, complete=False)
        step, moved, more = self._settle(gravity, goals, settled, limit - found.iterations)
        return replace(self.solution(goals, step, moved, found.iterations + more, settled), complete=not self._late)

    def _eased(
        self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int, found: Solution
    ) -> Solution:
        """A solution with as little effort as meets the goals, from one that may meet them with more: where actuators
        cannot move the body in all ways that goals ask for, as cables in one plane, steps end though efforts have a way
        to go that moves nothing. `found`, and the twin there, where that leads nowhere, as to where a body buckles."""
        limit = min(limit - found.iterations, EASING)
        if self._late or not (self._undecided and found.reachable and found.converged and limit > 0):
            return found
        here, taken = self.twin.state(), limit
        self._strict = self._easing = True
        try:
            step, moved, taken = self._ease(gravity, goals, settled, limit)
            eased = self.solution(goals, step, moved, found.iterations + taken, settled)
            if eased.reachable and eased.converged and not self.at_edge:
                return eased
        except ConvergenceError:
            pass
        finally:
            self._strict = self._easing = False
        self.twin.restore(here)
        self._promise = None
        return replace(found, iterations=found.iterations + taken)

    def _ease(
        self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int
    ) -> tuple[Linearisation, float, int]:
        """Steps until neither the body nor efforts that goals leave open have far to go: as `_settle`."""
        iterations, moved, drift, miss, self._rest = 0, np.inf, np.inf, 0.0, self._stay
        while (moved > settled or drift > EASED * settled) and iterations < limit and not (iterations and self._late):
            step, moved = self.step(gravity, goals)
            iterations += 1
            if self.at_edge:
                break
            self._pace_rest(miss)
            miss = self._miss
            drift = (1.0 + (self._rest / REST) ** 2) * np.abs(self._change).max()
        return step, moved, iterations

    def _pace_rest(self, before: float) -> None:
        """Lead efforts that goals leave open more slowly where the first goals are missed by more than `before` [m] for
        it, as no Jacobian knows how their way bends, and faster where goals are met."""
        tolerance = self._promise.goals[0].tolerance
        if before < self._miss and self._miss > AFTER * tolerance:
            self._rest = min(WORSE * self._rest, SLOWEST_REST * self._stay)
        elif self._miss < MET * tolerance:
            self._rest = max(self._rest / WORSE, self._stay)

    def _misses_only_later(self, goals: Sequence[Goal], moved: float, settled: float) -> bool:
        """Whether the first goals are met and the others, on which a step is still spent, have not come to rest."""
        first = min(goal.priority for goal in goals)
        met = all(goal.miss(self.twin) < goal.tolerance for goal in goals if goal.priority == first)
        return met and moved > settled and not self._late

    @property
    def _late(self) -> bool:
        """Whether a whole solve has taken all of its time."""
        return time.monotonic() > self._deadline

    def _searched(
        self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int, found: Solution
    ) -> Solution:
        """Another place than `found` that is nearer to the first goals, where goals leave efforts open and efforts at
        their lowest may have kept it from there: by one way after the other, until one meets them. Without a nearer
        one, `found`, and the twin there."""
        low, high = self._efforts
        if self._promise is None or not (self._open and found.converged and np.isfinite(high - low).all()):
            return found
        here, iterations = self.twin.state(), found.iterations
        for taken in self._starts(gravity, goals, max(settled, STEADY), (limit - iterations) // 2, found):
            iterations += taken
            try:
                step, moved, more = self._settle_strictly(gravity, goals, settled, limit - iterations)
            except ConvergenceError:
                continue
            iterations += more
            if self._late:
                break
            nearer = self.solution(goals, step, moved, iterations, settled)
            if nearer.error < found.error:
                found, here = nearer, self.twin.state()
            if found.reachable or iterations == limit:
                break
        self.twin.restore(here)
        return replace(found, iterations=iterations)

    def _starts(
        self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int, found: Solution
    ) -> Iterator[int]:
        """Bring the twin to one start after the other for a way that may end nearer than `found`, where it is now, and
        tell in how many steps: towards the goals with efforts near a share of their range, from the undeformed body in
        at most `limit` steps; then to rest with one more of the efforts at their lowest in the middle of its range."""
        here, (low, high) = self.twin.state(), self._efforts
        middle, idle = low + INNER * (high - low), self._idle(found.efforts)
        if limit > 0:
            with suppress(ConvergenceError):
                yield self._inside(gravity, goals, settled, limit)
        for i in idle:
            self.twin.restore(here)
            with suppress(ConvergenceError):
                self.twin.equilibrium(gravity, efforts=np.where(np.arange(len(low)) == i, middle, found.efforts))
                yield 0

    def _inside(self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int) -> int:
        """Steps towards the goals with efforts near a share of their range, from the undeformed body: how many."""
        self.twin.reset()
        self._inner = INNER
        try:
            return self._settle_strictly(gravity, goals, settled, limit)[2]
        finally:
            self._inner = 0.0

    def _idle(self, efforts: np.ndarray) -> np.ndarray:
        """Which efforts (a,) are at their lowest, the one first that leads least away from the first goals."""
        first, low = self._promise.goals[0], self._efforts[0]
        away = (first.r + first.J @ efforts) @ first.J / np.maximum(np.linalg.norm(first.J, axis=0), 1e-300)
        order = np.argsort(away)
        return order[(efforts <= low)[order]][:TRIED]

    def _settle_strictly(
        self,
        gravity: np.ndarray,
        goals: Sequence[Goal],
        settled: float,
        limit: int,
        careful: bool = False,
        anew: bool = True,
    ) -> tuple[Linearisation, float, int]:
        """As `_settle`, by priority; `anew`: with nothing known of the steps so far."""
        if anew:
            self.reset(careful)
            self._damping.weight = FAR * self._stay
        self._strict = True
        try:
            return self._settle(gravity, goals, settled, limit)
        finally:
            self._strict = False

    def _settle(
        self, gravity: np.ndarray, goals: Sequence[Goal], settled: float, limit: int
    ) -> tuple[Linearisation, float, int]:
        """Steps until one moves no node by more than `settled` [m]: the last one, what it asked for, their number."""
        iterations, moved, miss = 0, np.inf, np.inf
        while moved > settled and iterations < limit and not (iterations and self._late):
            step, moved = self.step(gravity, goals)
            iterations += 1
            if self.at_edge:
                break
            if self._miss > miss + NOTICED:
                self._damping.worsen(WORSE)
            miss = self._miss
        return step, moved, iterations

    def step(
        self, gravity: np.ndarray, goals: Sequence[Goal], reuse: bool = False, told: Command | None = None
    ) -> tuple[Linearisation, float]:
        """One linearisation, one cascade of quadratic programs, one step of the twin.

        Args:
            gravity: (3,) in base_link [m/s²].
            goals: what to reach.
            reuse: with an earlier factorisation where that is good enough, see `Twin.relinearise`.
            told: what the actuators were told last, from which their rates count; None: from where the twin is.

        Returns:
            The linearisation before the step and the largest node movement that was asked for [m].
        """
        self._told = told
        self._trust.attend(goals, gravity)
        step, correction = self._linearised(gravity, reuse)
        if self._trust.allowance == 0.0:
            return step, max(self._advance(step, self.twin.efforts, correction), self._wanted)
        efforts, scales = self._best(step, goals)
        for _ in range(REVISIONS):
            before, step = step, self.twin.revised(step, efforts)
            if step is before:
                break
            efforts, scales = self._best(step, goals)
        self._change = scales * (efforts - self.twin.efforts)
        if not self._trust.careful or (self._strict and not self._damping.judged):
            tolerance = self._promise.goals[0].tolerance
            self._damping.note(self._change, tolerance, lasting=self._strict)
        return step, self._noted(self._advance(step, efforts, correction))

    def follow(self, gravity: np.ndarray, reuse: bool = False) -> tuple[Linearisation, float]:
        """As `step`, of a body whose actuators are free."""
        self._trust.attend(None, gravity)
        self._lower, self._hurried = np.zeros(self.twin.actuator_count, dtype=bool), []
        step, correction = self._linearised(gravity, reuse)
        return step, self._noted(self._advance(step, self._free, correction))

    def _noted(self, wanted: float) -> float:
        """What a step has asked for [m]."""
        self._wanted = wanted
        if wanted < STEADY:
            self._trust.settled()
        return wanted

    def _linearised(self, gravity: np.ndarray, reuse: bool) -> tuple[Linearisation, float]:
        """The step of a body that stands, if need be after it went back to where it did, and its correction: what it
        asks the furthest node to move with the efforts as they are [m]."""
        twin, trust = self.twin, self._trust
        fresh = trust.careful or not reuse
        step = twin.linearise(gravity) if fresh else twin.relinearise(gravity, learn=self._short)
        correction = step.asked(twin.efforts)
        if not trust.stands(correction, step.definite, gravity, twin.state()):
            twin.restore(trust.fall_back(gravity))
            self._promise, step = None, twin.linearise(gravity)
            correction = step.asked(twin.efforts)
            trust.stands(correction, step.definite, gravity, twin.state())
        self._proven = (self._within(twin.coordinates()), twin.efforts) if trust.careful and trust.sound else None
        return step, correction

    def _advance(self, step: Linearisation, efforts: np.ndarray, correction: float) -> float:
        """Go on to efforts (a,), as far as the body can be trusted to follow; what they all ask for [m]."""
        now, allowance = self.twin.efforts, self._trust.allowance
        if allowance == math.inf:
            return self._tracked(partial(self.twin.advance, step, efforts))
        drive = step.driven(efforts - now)
        share = min(1.0, allowance / max(drive, 1e-300))
        self._tracked(partial(self.twin.advance, step, now + share * (efforts - now)))
        self._trust.drive(share * drive)
        return correction + drive

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

    def solution(
        self, goals: Sequence[Goal], step: Linearisation, moved: float, iterations: int, settled: float = STEADY
    ) -> Solution:
        """The twin's current state as a solution, after a step that asked for a movement [m]."""
        efforts, coordinates = self.twin.efforts.copy(), self.twin.coordinates()
        first = min(goal.priority for goal in goals)
        misses = [(goal.miss(self.twin), goal.tolerance) for goal in goals if goal.priority == first]
        reachable = all(miss < tolerance for miss, tolerance in misses)
        binding = [*(each.active(self.names, efforts, coordinates) for each in self.limits), self._hurried]
        if not any(binding) and any(miss > AWAY * tolerance for miss, tolerance in misses):
            binding += [each.in_the_way(self.names, efforts, self._lower) for each in self.limits]
        return Solution(
            coordinates=self._within(coordinates),
            efforts=efforts,
            tip=self.twin.tip,
            error=max(miss for miss, _ in misses),
            converged=moved <= settled,
            reachable=reachable,
            active_limits=(*(name for names in binding for name in names), *self.twin.stops, *self._edge()),
            iterations=iterations,
            residual=step.residual,
            optimality=moved,
            energy=step.energy,
        )

    def _within(self, coordinates: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(coordinates, self._coordinates[0]), self._coordinates[1])

    def _edge(self) -> tuple[str, ...]:
        return (GIVES_WAY,) if self.at_edge else ()

    def _checked_goals(self, goals: Sequence[Goal]) -> list[Goal]:
        """Goals that make sense for the twin.

        Raises:
            InputError: what is no list of goals, a place out of all reach, or a frame or nodes of another mesh.
        """
        goals = checked_list(goals, Goal, "goals, such as a PositionGoal", "goals")
        for goal in goals:
            goal.check_reach(self.twin)
            if not goal.is_of(self.twin):
                raise InputError(
                    f"{type(goal).__name__}: its nodes are none of the twin's {len(self.twin.points)}: is its frame of "
                    "another mesh?"
                )
        return goals

    def checked_target(self, target: Sequence[float]) -> np.ndarray:
        """(3,) a tip target that makes sense.

        Raises:
            InputError: wrong size, not finite, or further from the base than twice the body's length.
        """
        target = checked_vector(target, 3, "target")
        check_distance(target, self.twin)
        return target

    def checked_tip(self, target: Sequence[float]) -> np.ndarray:
        """As `checked_target`, of the tip.

        Raises:
            InputError: as there; or behind the base, of a body that shall lie on an arc, which would have to turn by
                more than a half circle.
        """
        target = self.checked_target(target)
        if self.posture is arc_posture and target[2] < (lowest := float(self.twin.base[2])):
            raise InputError(
                f"target: {target.tolist()} m is behind the base: expected z ≥ {lowest:g} m of a body on an arc"
            )
        return target

    @property
    def told_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest (a,) of what actuators are told: coordinates of cables [m], efforts of others [Pa]."""
        pairs = zip(self._coordinates, self._efforts, strict=True)
        low, high = (np.where(told_by_coordinate(self.twin), *pair) for pair in pairs)
        return low, high

    def _best(self, step: Linearisation, goals: Sequence[Goal]) -> tuple[np.ndarray, np.ndarray]:
        """The efforts (a,) that the linearised twin asks for, and what a unit of each moves (a,)."""
        asked = self._asked(step, goals)
        first, self._open = asked[0], sum(len(each.r) for each in asked) < self.twin.actuator_count
        self._taut = all(goal.keeps_taut for goal in goals)
        scales = self._scales(first.J)
        self._miss = math.sqrt(first.missed(self.twin.efforts))
        base = self._base(asked)
        stay = (self._damping.weight * scales) ** 2
        unit = None if len(self._kinds) == 1 else scales.max() / scales  # so that newtons and pascals weigh alike
        nearer = _level(first, self._nearness(first.tolerance) ** 2 * stay, base, unit)
        levels = [nearer, *(_level(each, stay, base, unit) for each in asked[1:])]
        self._undecided = self._strict and repeat_each_other(levels)
        rest = None
        if self._leads and (self._open or self._easing):
            slowly = (self._rest * scales) ** 2 if self._easing else stay
            rest = _level(self._at_rest(scales), slowly, base, unit)
        efforts, weight = solve_levels(levels, self._bounds(step, unit), self._strict, rest)
        self._short = levels[0].missed_by(efforts) > NEARLY
        self._promise = Promise(asked, weight, base, scales)
        efforts = efforts if unit is None else unit * efforts
        self._lower, self._hurried = _wanted_lower(first, efforts), self._at_rates(step, efforts)
        return efforts, scales

    def _nearness(self, tolerance: float) -> float:
        """Share of the weight of staying that a whole solve takes for the first goals. With all of it, steps shrink by
        a constant factor where the body hardly answers, as near the edge of its reach; with a share as large as what
        is missed, ever faster (Yamashita and Fukushima 2001). A loop's gravity is noisy, and it takes all."""
        return min(max(self._miss / tolerance, NEAREST), 1.0) if self._strict else 1.0

    def _at_rates(self, step: Linearisation, efforts: np.ndarray) -> list[str]:
        """In words, which rates bind a step to efforts (a,)."""
        if not self._moving:
            return []
        coordinates = step.coordinates + step.free_coordinates + step.compliance @ efforts
        words = [each.active_in_step(self.names, self.twin, efforts, coordinates, self._told) for each in self._moving]
        return [name for each in words for name in each]

    def _at_rest(self, scales: np.ndarray) -> Asked:
        """Efforts as near to none as their limits are, measured by what they move: what decides where goals leave them
        open, so that the answer does not depend on the way there."""
        weights, (low, high) = REST * scales, self._efforts
        near = low + self._inner * (high - low) if self._inner > 0.0 else np.clip(0.0, low, high)
        return Asked(-weights * near, np.diag(weights), REACHED)

    def _base(self, asked: Sequence[Asked]) -> np.ndarray:
        """The efforts (a,) to stay near: those of the last step, or, between states at rest, those before it, if it has
        not kept what it promised."""
        now, promise = self.twin.efforts, self._promise
        if promise is None or not self._trust.careful or len(promise.goals) != len(asked):  # of another kind of target
            return now
        if self._damping.judge(promise.outcome(asked, now)):
            return now
        self._trust.stay_careful()
        return promise.base

    def _asked(self, step: Linearisation, goals: Sequence[Goal]) -> list[Asked]:
        """Of each priority, the first one first."""
        asked = []
        for priority in sorted({goal.priority for goal in goals}):
            own = [goal for goal in goals if goal.priority == priority]
            answers = [goal.residual_and_jacobian(self.twin, step) for goal in own]
            residual = _stacked([goal.weight * r for goal, (r, _) in zip(own, answers, strict=True)])
            jacobian = _stacked([goal.weight * J for goal, (_, J) in zip(own, answers, strict=True)])
            asked.append(Asked(residual, jacobian, max(goal.weight * goal.tolerance for goal in own)))
        return asked

    def _scales(self, jacobian: np.ndarray) -> np.ndarray:
        """(a,) what a unit of each actuator's effort moves, alike for all of one kind. Where it hardly moves anything,
        as where a chamber that lengthens a body begins to shorten it, what it moved before says what staying weighs."""
        squares, scales = (jacobian * jacobian).sum(axis=0), np.empty(self.twin.actuator_count)
        for i, own in enumerate(self._kinds):
            now = math.sqrt(squares[own].sum() / len(own))
            self._most[i] = max(self._most[i], now)
            scales[own] = max(now, LEAST_SCALE * self._most[i], 1e-300)
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
        low, high = self._efforts
        if not self._taut:
            low = np.where(told_by_coordinate(self.twin), np.minimum(low, self.twin.least_effort), low)
        if not self._moving:
            return low, high
        return together([(low, high), *(each.efforts(self.twin, self._told) for each in self._moving)])

    def _coordinate_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        if not self._moving:
            return self._coordinates
        return together([self._coordinates, *(each.coordinates(self.twin, self._told) for each in self._moving)])


def _is_positive(value: object) -> bool:
    return isinstance(value, Real) and value > 0.0


def _is_at_edge(found: Solution) -> bool:
    """Whether a solution ended where there is no equilibrium further on."""
    return GIVES_WAY in found.active_limits


def _level(asked: Asked, stay: np.ndarray, base: np.ndarray, unit: np.ndarray | None) -> Level:
    """The cost of what a priority asks for, and of staying near efforts `base` (a,) with its curvature (a,), in
    efforts over `unit` (a,), if there is one."""
    J, pull = asked.J, -stay * base
    if unit is not None:
        J, stay, pull = J * unit, stay * unit**2, pull * unit
    H = J.T @ J
    H.flat[:: len(H) + 1] += stay
    return Level(H, J.T @ asked.r + pull, asked.r, J, asked.tolerance)


def _wanted_lower(asked: Asked, efforts: np.ndarray) -> np.ndarray:
    """(a,) which efforts would have to be lower for a goal to be missed by less, where it is, even after the step."""
    miss = asked.r + asked.J @ efforts
    if miss @ miss <= (AWAY * asked.tolerance) ** 2:
        return np.zeros(len(efforts), dtype=bool)
    sizes = np.sqrt((asked.J**2).sum(axis=0)) * math.sqrt(miss @ miss)
    return miss @ asked.J > WANTS * sizes


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
