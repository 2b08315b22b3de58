"""Pitch and roll of a plate by finite elements: cables in, orientation out, and the way back."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from soft_twin.checks import checked_numbers, checked_vector, in_words
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.goals import DirectionGoal, EffortGoal, Goal
from soft_twin.inverse.inverse import STEADY, Inverse, Solution
from soft_twin.inverse.plate_sight import twist_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.plate_model import PlateModel, PlateStep
from soft_twin.twins.plate_orientation import axis_of, checked_pitch_roll, pitch_roll_of

SMALL = 1e-3  # [N] by which efforts are varied
RAMP, NEAREST = 0.1, 0.005  # [rad] steps in which the largest tilt is looked for, and to which it is found
MOST_ITERATIONS = 60
HEAVIEST = 100.0  # [kg] more is a payload in grams
ARRIVED = 2e-3  # [m] that a tick asks of the furthest node at the most where the body follows what is asked of it …
ELSEWHERE = 0.3  # [rad] … and by which it does not, as where it hangs upside down
AXIS = (0.0, 0.0, 1.0)  # of the undeformed body


class FemPlate(PlateModel):
    """A finite element twin asked for the orientation of its frame "tip", which is a plate's.

    Pitch and roll are two, cables are three or more: of all tensions that hold the plate the smallest are taken, down
    to the pretension that the robot's limits keep. So the answer is one, however the plate came there.

    Attributes:
        gravity: (3,) in base_link [m/s²].
        payload: hung on the plate beside what the description says [kg].
    """

    moves = True
    error_share, first_error = 0.03, 0.01

    def __init__(self, inverse: Inverse, hang: Callable[[float], None]):
        """`inverse`: on a twin of its own. `hang`: what hangs more mass [kg] on the plate, or takes it off again."""
        self.inverse, self.twin = inverse, inverse.twin
        self.gravity, self.payload, self._hang = np.array(UPRIGHT_GRAVITY), 0.0, hang
        self.frame = self.twin.frames["tip"]
        self.frame.rotation(self.twin)  # which says why it has none, where it has none

    def bear(self, gravity: np.ndarray, payload: float = 0.0) -> None:
        """As PlateModel.

        Raises:
            InputError: gravity of a wrong size or not finite, or a payload that is not from 0 to 100 kg.
        """
        gravity = checked_vector(gravity, 3, "gravity")
        payload = checked_payload(payload)
        if payload != self.payload:
            self._hang(payload - self.payload)
        self.gravity, self.payload = gravity, payload

    def orientation(self, displacements: np.ndarray) -> tuple[float, float]:
        """As PlateModel, cables slack where they would have to push.

        Raises:
            InputError: wrong size or not finite.
            ConvergenceError: no equilibrium was found, neither from where the twin stood nor from its undeformed shape.
        """
        displacements = checked_vector(displacements, self.twin.actuator_count, "displacements")
        try:
            self.twin.equilibrium(self.gravity, coordinates=displacements)
        except ConvergenceError:
            self.reset()
            self.twin.equilibrium(self.gravity, coordinates=displacements)
        return self.now

    @property
    def now(self) -> tuple[float, float]:
        """Pitch and roll [rad] of the twin as it stands."""
        return pitch_roll_of(self.frame.rotation(self.twin) @ AXIS)

    @property
    def twist(self) -> float:
        """As PlateModel: by what pulls at the bent body beside its axis."""
        return twist_of(self.frame.rotation(self.twin))

    @property
    def tensions(self) -> np.ndarray:
        """As PlateModel."""
        return self.twin.efforts

    def displacements(self, pitch: float, roll: float) -> np.ndarray:
        """As PlateModel, from where the twin stands.

        Raises:
            InputError: not finite, no orientation, or out of reach: the message names the nearest, which is where the
                twin then stands.
            ConvergenceError: the twin's stiffness broke down.
        """
        found = self.solve(pitch, roll)
        if not found.reachable:
            raise InputError(out_of_reach((pitch, roll), self.now) + "".join(f", where {at}" for at in self.twin.stops))
        return found.coordinates

    def nearest(self, pitch: float, roll: float) -> tuple[float, float]:
        """As PlateModel; the twin stands there then."""
        return (pitch, roll) if self.solve(pitch, roll).reachable else self.now

    def solve(self, pitch: float, roll: float) -> Solution:
        """The solution; out of reach the one whose axis is nearest to the one asked for, said not reachable.

        A twin that does not come there from where it stands begins anew from its undeformed shape: it may have broken
        down.

        Raises:
            InputError: not finite, or no orientation (pitch beyond ±π/2, roll beyond ±π).
            ConvergenceError: the twin's stiffness broke down.
        """
        axis = _axis(pitch, roll)
        try:
            found = self._solve(axis)
        except ConvergenceError:
            found = None
        if found is None or not found.reachable:
            self.reset()
            found = self._solve(axis)
        if found.reachable or found.converged:
            return found
        return self._furthest(axis)

    def reset(self) -> None:
        """The twin begins anew from its undeformed shape."""
        self.twin.reset()
        self.inverse.reset()

    def _furthest(self, axis: np.ndarray) -> Solution:
        """On the way from a straight body to an axis that a single solve does not come to: that axis, where it is come
        to so, or the most tilted one. Each solve goes on from the last that met its axis, by a shorter step where it
        does not meet its own."""
        self.reset()
        tilt, across = np.arccos(axis[2]), axis[:2] / max(np.hypot(*axis[:2]), 1e-300)  # straight: no way to it
        found, reached, step, state = self._solve(_tilted(0.0, across)), 0.0, RAMP, self.twin.state()
        while reached < tilt and step > NEAREST:
            aimed = min(reached + step, tilt)
            with suppress(ConvergenceError):
                further = self._solve(_tilted(aimed, across))
                if further.reachable:
                    found, reached, state = further, aimed, self.twin.state()
                    continue
            self.twin.restore(state)
            self.inverse.reset()
            step *= 0.5
        return replace(found, reachable=found.reachable and reached == tilt)

    def _solve(self, axis: np.ndarray) -> Solution:
        goals = self._goals(axis)
        return self.inverse.solve(self.gravity, goals=goals, settled=STEADY, max_iterations=MOST_ITERATIONS)

    def step(self, pitch: float, roll: float) -> PlateStep:
        """As PlateModel: one tick, within the limits also where the target is out of reach."""
        found = self.tick(pitch, roll)
        away = np.subtract(bend_of(pitch, roll), bend_of(*self.now))
        settled = bool(found.optimality < ARRIVED and np.hypot(*away) < ELSEWHERE)
        step = PlateStep(found.coordinates, sure=not self.inverse.unsure, settled=settled)
        if found.reachable or not found.active_limits:
            return step
        return replace(step, short=away, active_limits=found.active_limits)

    def tick(self, pitch: float, roll: float) -> Solution:
        """One linearisation towards it: what a control loop calls.

        Raises:
            InputError, ConvergenceError: as solve.
        """
        goals = self._goals(_axis(pitch, roll))
        step, moved = self.inverse.step(self.gravity, goals)
        return self.inverse.solution(goals, step, moved, 1)

    def slopes(self, bend: np.ndarray) -> np.ndarray:
        """As PlateModel, where the twin stands: by the smallest efforts that turn the plate there."""
        step, axis = self.twin.linearise(self.gravity), self.frame.rotation(self.twin) @ AXIS
        turns = self.frame.turn(self.twin, step.step_per_effort)
        moved = [bend_of(*pitch_roll_of(axis + SMALL * np.cross(turn, axis))) for turn in turns.T]
        by_effort = (np.array(moved) - bend_of(*pitch_roll_of(axis))).T / SMALL
        return step.compliance @ np.linalg.pinv(by_effort)

    def _goals(self, axis: np.ndarray) -> list[Goal]:
        return [DirectionGoal(self.frame, AXIS, axis), EffortGoal(np.zeros(self.twin.actuator_count), priority=2)]


def checked_payload(payload: float) -> float:
    """A mass on a plate [kg].

    Raises:
        InputError: it is no number from 0 to 100 kg.
    """
    mass = checked_numbers(payload, "a mass in kg", "payload")
    if mass.ndim or not 0.0 <= mass <= HEAVIEST:
        raise InputError(f"payload: {in_words(payload)} kg, expected a mass from 0 to {HEAVIEST:g} kg")
    return float(mass)


def out_of_reach(asked: tuple[float, float], nearest: tuple[float, float]) -> str:
    """That an orientation [rad] is out of reach, and which is the nearest, in words and degrees."""
    angles = [f"{round(angle, 1) + 0.0:g}°" for angle in np.degrees([*asked, *nearest])]  # and no sign of zero
    return f"pitch {angles[0]}, roll {angles[1]} is out of reach: the nearest is {angles[2]}, {angles[3]}"


def _axis(pitch: float, roll: float) -> np.ndarray:
    return axis_of(*checked_pitch_roll(pitch, roll))


def _tilted(tilt: float, across: np.ndarray) -> np.ndarray:
    """(3,) the axis of that tilt [rad] towards `across` (2,), a unit vector."""
    return np.array([*(np.sin(tilt) * across), np.cos(tilt)])
