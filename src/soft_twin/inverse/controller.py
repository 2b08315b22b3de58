"""Gravity in, what the actuators shall do out, tick by tick: what the node `gravity_to_cables` calls."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError
from soft_twin.inverse.inverse import LARGEST_STEP, Inverse, Solution
from soft_twin.twins.base import CableWords

STATIONS = 11  # cross sections of the centre line, base and tip included


@dataclass(frozen=True)
class Tick(CableWords):
    """The twin after one tick, in base_link.

    Attributes:
        coordinates, efforts: (a,) within their limits: of cables displacements [m] and tensions [N].
        tip, tip_direction: (3,) centre [m] and unit normal of the end section.
        points: (n, 3) nodes of the body [m].
        centre_line: (s, 3) centres of cross sections at equal distances from base to tip [m].
        energy: elastic energy [J].
        residual: 2-norm of the unbalanced forces before the tick [N].
        error: distance of the tip from the target [m].
        iterations: linearisations in this tick.
        duration: wall time of the tick [s].
        converged, reachable, active_limits: as in Solution.
        compensating: the displacements are a command; else all cables are free and they only follow the body.
    """

    coordinates: np.ndarray
    efforts: np.ndarray
    tip: np.ndarray
    tip_direction: np.ndarray
    points: np.ndarray
    centre_line: np.ndarray
    energy: float
    residual: float
    error: float
    iterations: int
    duration: float
    converged: bool
    reachable: bool
    active_limits: tuple[str, ...]
    compensating: bool


class Controller:
    """One linearisation of the twin a tick, warm-started from the last.

    A tick whose step would tear the body (a jump of gravity, a wild state) starts again from the undeformed body.
    """

    def __init__(self, inverse: Inverse, target: Sequence[float], reuse: bool = False):
        """`target`: (3,) of the tip in base_link [m]. `reuse`: keep a factorisation for several ticks while the body
        moves slowly, see `Twin.relinearise`.

        Raises:
            InputError: a target of a wrong size, not finite, or out of all reach.
        """
        self.inverse, self.twin, self.reuse = inverse, inverse.twin, reuse
        self.set_target(target)
        self.compensating = False
        self.stations = np.linspace(0.0, self.twin.length, STATIONS)

    @property
    def surface(self) -> np.ndarray:
        """(t, 3) nodes of the triangles of the outer surface, outward."""
        return self.twin.surface

    def set_target(self, tip: Sequence[float]) -> None:
        """A new tip target (3,) in base_link [m].

        Raises:
            InputError: wrong size, not finite, or out of all reach.
        """
        self.target = self.inverse.checked_target(tip)
        self._goals = self.inverse.goals(self.target)

    def enable(self, compensate: bool) -> None:
        """Whether to solve for the target, or to let all cables go and only follow the body."""
        self.compensating = compensate

    def reset(self) -> None:
        """Back to the undeformed body."""
        self.twin.reset()
        self.inverse.reset()

    def update(self, gravity: Sequence[float]) -> Tick:
        """One tick under gravity (3,) in base_link [m/s²].

        Raises:
            InputError: wrong size or not finite; the state is untouched.
        """
        start = time.perf_counter()
        gravity = checked_vector(gravity, 3, "gravity")
        try:
            solution = self._solve(gravity)
        except ConvergenceError:
            self.reset()
            solution = self._solve(gravity)
        return self._tick(solution, time.perf_counter() - start)

    def _solve(self, gravity: np.ndarray) -> Solution:
        if self.compensating:
            step, moved = self.inverse.step(gravity, self._goals, self.reuse)
        else:
            step = self.twin.relinearise(gravity) if self.reuse else self.twin.linearise(gravity)
            moved = self.twin.advance(step, np.zeros(self.twin.actuator_count), LARGEST_STEP)
        return self.inverse.solution(self._goals, step, moved, 1)

    def _tick(self, solution: Solution, duration: float) -> Tick:
        points = self.twin.points
        return Tick(
            coordinates=solution.coordinates,
            efforts=solution.efforts,
            tip=solution.tip,
            tip_direction=self.twin.section_normal(self.twin.length),
            points=points,
            centre_line=self.twin.sections(self.stations, points),
            energy=solution.energy,
            residual=solution.residual,
            error=solution.error,
            iterations=solution.iterations,
            duration=duration,
            converged=solution.converged,
            reachable=solution.reachable,
            active_limits=solution.active_limits,
            compensating=self.compensating,
        )
