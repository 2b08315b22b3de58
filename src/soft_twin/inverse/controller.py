"""Gravity in, what the actuators shall do out, tick by tick: what the node `gravity_to_actuators` calls."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError
from soft_twin.inverse.goals import told_by_coordinate
from soft_twin.inverse.inverse import Inverse, Solution
from soft_twin.inverse.limits import Command
from soft_twin.inverse.targets import TIP, Target, pose_target, rotation_of
from soft_twin.twins.base import CableWords, Twin, read_only
from soft_twin.twins.frames import STATIONS, Frame

SAME = 1e-6  # [m] by which what the tip is led by may differ
UNSURE = "the twin looks whether there is an equilibrium"
FOUND_AGAIN = 1e-3  # [m] a twin that has started again is trusted when no node asks to move further in a tick


@dataclass(frozen=True)
class Tick(CableWords):
    """The twin after one tick, in base_link. Its arrays are those that the loop goes on with, and cannot be written to.

    Attributes:
        coordinates, efforts: (a,) within their limits: of cables displacements [m] and tensions [N], of chambers
            volumes let in [m³] and pressures [Pa].
        tip, tip_direction: (3,) centre [m] and unit normal of the end section.
        tip_rotation: (3, 3) of the tip from the undeformed body; None where the tip is a point.
        reached: (3,) position of the frame that is aimed at [m].
        reached_rotation: (3, 3) its rotation from the undeformed body; None where it is a point.
        points: (n, 3) nodes of the body [m].
        centre_line: (s, 3) centres of cross sections at equal distances from base to tip [m].
        energy: elastic energy [J].
        residual: 2-norm of the unbalanced forces before the tick [N].
        error: distance of the frame that is aimed at from its target, or from where it is led instead [m].
        orientation_error: angle of its orientation to the target [rad]; NaN where only its position counts.
        iterations: linearisations in this tick.
        duration: wall time of the tick [s].
        converged, reachable, active_limits: as in Solution.
        compensating: coordinates and efforts are a command; else all actuators are free and only follow the body.
        holding: the twin has lost its equilibrium and has not found it again, or looks whether there is one:
            coordinates and efforts are the last that were safe.
        reason: why it holds; "" where it does not.
    """

    coordinates: np.ndarray
    efforts: np.ndarray
    tip: np.ndarray
    tip_direction: np.ndarray
    tip_rotation: np.ndarray | None
    reached: np.ndarray
    reached_rotation: np.ndarray | None
    points: np.ndarray
    centre_line: np.ndarray
    energy: float
    residual: float
    error: float
    orientation_error: float
    iterations: int
    duration: float
    converged: bool
    reachable: bool
    active_limits: tuple[str, ...]
    compensating: bool
    holding: bool = False
    reason: str = ""


class Controller:
    """One linearisation of the twin a tick, warm-started from the last.

    Safe is a command in whose tick the twin was near an equilibrium. A tick that finds none (a jump of gravity, a wild
    state, a twin whose process has died) starts again from the undeformed body, with care; until the twin is found
    again, the last safe command is held. So it is while the twin tries a step of which it is not sure, which is told
    when the body has come to rest with it, see `inverse.trust`. Limits of rates count from the command that was told
    last, whatever was held, let go or reset since.
    """

    def __init__(self, inverse: Inverse, target: Sequence[float], reuse: bool = False):
        """`target`: (3,) of the tip in base_link [m]. `reuse`: keep a factorisation for several ticks while the body
        moves slowly, see `Twin.relinearise`.

        Raises:
            InputError: a target of a wrong size, not finite, or out of all reach.
        """
        self.inverse, self.twin, self.reuse = inverse, inverse.twin, reuse
        self._offset = np.zeros(3)
        self.set_target(target)
        self.compensating = False
        self.stations = np.linspace(*self.twin.span, STATIONS)
        self._safe: Tick | None = None
        self._newest: Tick | None = None
        self._lost = ""
        self._command: Command | None = None  # the last one; before the first, where the twin was then

    @property
    def surface(self) -> np.ndarray:
        """(t, 3) nodes of the triangles of the outer surface, outward."""
        return self.twin.surface

    @property
    def target(self) -> np.ndarray:
        """(3,) where the frame that is aimed at shall be in base_link [m]."""
        return self.aimed_at.position.copy()

    @property
    def told(self) -> np.ndarray:
        """(a,) what the actuators have been told last: coordinates of cables [m], efforts of others [Pa]."""
        cables, newest = told_by_coordinate(self.twin), self._newest
        if newest is None:
            return np.where(cables, self.twin.coordinates(), self.twin.efforts)
        return np.where(cables, newest.coordinates, newest.efforts)

    def set_target(self, tip: Sequence[float]) -> None:
        """A new tip target (3,) in base_link [m].

        Raises:
            InputError: wrong size, not finite, or out of all reach.
        """
        self.aim(pose_target(self.inverse, tip))

    def aim(self, target: Target) -> None:
        """A new target, of any frame or of the actuators; see `pose_target` and `actuation_target`.

        Raises:
            InputError: the body cannot be there; the target before it stays.
        """
        self._lead(target)

    def lead_by(self, offset: np.ndarray) -> None:
        """Lead the twin's tip to another place than its target, by (3,) [m], as feedback asks. Targets of other frames,
        and of the actuators, stay."""
        if np.abs(offset - self._offset).max() > SAME:
            self._offset = offset.copy()
            self._lead(self.aimed_at)

    def miss(self, target: Target) -> tuple[float, float]:
        """Distance of a target's frame from it, or from where it is led instead [m], and angle of its orientation to it
        [rad]; NaN where they are not known or do not count."""
        led = target.led_by(self._offset)
        return led.error(self.twin), led.orientation_error(self.twin)

    def _lead(self, target: Target) -> None:
        led = target.led_by(self._offset)
        self._goals, self._led, self.aimed_at = led.goals(self.inverse), led, target

    def enable(self, compensate: bool) -> None:
        """Whether to solve for the target, or to let all actuators go and only follow the body."""
        self.compensating = compensate

    def reset(self) -> None:
        """Back to the undeformed body; rates still count from the command that was told last."""
        self.twin.reset()
        self.inverse.reset()
        self._safe, self._newest, self._lost = None, None, ""

    def update(self, gravity: Sequence[float]) -> Tick:
        """One tick under gravity (3,) in base_link [m/s²].

        Raises:
            InputError: wrong size or not finite; the state is untouched.
            ConvergenceError: no equilibrium was found, and there is no safe command yet that could be held.
        """
        start = time.perf_counter()
        gravity = checked_vector(gravity, 3, "gravity")
        if self.compensating and self._command is None:
            self._command = Command(self.twin.coordinates(), self.twin.efforts.copy())
        try:
            tick = self._tick(self._solve_again(gravity))
        except ConvergenceError as error:
            self._start_again(error)
            if self._safe is None:
                raise
            tick = replace(self._held(self._safe), residual=float("nan"))
        if self.compensating:
            self._command = Command(tick.coordinates, tick.efforts)
        self._newest = replace(tick, duration=time.perf_counter() - start)
        return self._newest

    def _solve_again(self, gravity: np.ndarray) -> Solution:
        """A step, if need be from the undeformed body."""
        try:
            return self._solve(gravity)
        except ConvergenceError as error:
            self._start_again(error)
            return self._solve(gravity)

    def _start_again(self, error: ConvergenceError) -> None:
        self.twin.reset()
        self.inverse.reset(careful=True)
        self._lost = str(error)

    def _solve(self, gravity: np.ndarray) -> Solution:
        if self.compensating:
            step, moved = self.inverse.step(gravity, self._goals, self.reuse, self._command)
        else:
            step, moved = self.inverse.follow(gravity, self.reuse)
        return self.inverse.solution(self._goals, step, moved, 1)

    def _tick(self, solution: Solution) -> Tick:
        """The tick of a step; its command is the last safe one while the twin is not found again."""
        if solution.optimality <= FOUND_AGAIN or self.inverse.at_edge:
            self._lost = ""
        tick = self._at_rates(self._tick_of(solution))
        if self._safe is not None and (self._lost or self.inverse.unsure):
            return self._held(tick)
        if self._safe is None or self.inverse.sound:
            self._safe = tick
        return tick

    def _proven(self, solution: Solution) -> Solution:
        """As a command: one that goes with care is told what it was at rest with, not what it tries."""
        proven = self.inverse.proven if self.compensating else None
        return solution if proven is None else replace(solution, coordinates=proven[0], efforts=proven[1])

    def _held(self, tick: Tick) -> Tick:
        """A tick with the last safe command."""
        safe = self._safe
        held = replace(
            tick,
            coordinates=safe.coordinates,
            efforts=safe.efforts,
            compensating=self.compensating,
            converged=False,
            holding=True,
            reason=self._lost or UNSURE,
        )
        return self._at_rates(held)

    def _at_rates(self, tick: Tick) -> Tick:
        """A tick whose command is no further from the last one than rates allow, and if need be not yet the twin's."""
        if not (self.compensating and self.inverse.has_rates):
            return tick
        coordinates, efforts = self.inverse.within_rates(Command(tick.coordinates, tick.efforts), self._command)
        same = np.array_equal(coordinates, tick.coordinates) and np.array_equal(efforts, tick.efforts)
        return replace(
            tick,
            coordinates=read_only(coordinates),
            efforts=read_only(efforts),
            converged=tick.converged and same,
        )

    def _tick_of(self, solution: Solution) -> Tick:
        twin, points, aimed_at = self.twin, self.twin.points, self.aimed_at
        frame = twin.frames[aimed_at.frame]
        coordinates, efforts = aimed_at.command(self._proven(solution), twin)
        tip_rotation = _turn_of(twin.frames[TIP], twin)
        return Tick(
            coordinates=read_only(coordinates),
            efforts=read_only(efforts),
            tip=read_only(solution.tip),
            tip_direction=read_only(twin.section_normal(twin.span[1])),
            tip_rotation=tip_rotation,
            reached=read_only(frame.position(twin)),
            reached_rotation=tip_rotation if aimed_at.frame == TIP else _turn_of(frame, twin),
            points=points,
            centre_line=read_only(twin.sections(self.stations, points)),
            energy=solution.energy,
            residual=solution.residual,
            error=self._led.error(twin),
            orientation_error=aimed_at.orientation_error(twin),
            iterations=solution.iterations,
            duration=float("nan"),
            converged=solution.converged,
            reachable=solution.reachable,
            active_limits=solution.active_limits,
            compensating=self.compensating,
        )


def _turn_of(frame: Frame, twin: Twin) -> np.ndarray | None:
    rotation = rotation_of(frame, twin)
    return None if rotation is None else read_only(rotation)
