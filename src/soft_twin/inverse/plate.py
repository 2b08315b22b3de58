"""Pitch and roll of a plate by finite elements: cables in, orientation out, and the way back."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import InputError
from soft_twin.inverse.goals import DirectionGoal, EffortGoal, Goal
from soft_twin.inverse.inverse import STEADY, Inverse, Solution
from soft_twin.twins.constant_curvature.orientation import axis_of, pitch_roll_of
from soft_twin.twins.plate_model import PlateModel

NEAREST = 0.005  # [rad] to which the largest tilt is found
MOST_ITERATIONS = 60
AXIS = (0.0, 0.0, 1.0)  # of the undeformed body


class FemPlate(PlateModel):
    """A finite element twin asked for the orientation of its frame "tip", which is a plate's.

    Pitch and roll are two, cables are three or more: of all tensions that hold the plate the smallest are taken, down
    to the pretension that the robot's limits keep. So the answer is one, however the plate came there.

    Attributes:
        gravity: (3,) in base_link [m/s²].
        payload: hung on the plate beside what the description says [kg].
    """

    def __init__(self, inverse: Inverse, hang: Callable[[float], None]):
        """`inverse`: on a twin of its own. `hang`: what hangs more mass [kg] on the plate, or takes it off again."""
        self.inverse, self.twin = inverse, inverse.twin
        self.gravity, self.payload, self._hang = np.array(UPRIGHT_GRAVITY), 0.0, hang
        self.frame = self.twin.frames["tip"]
        self.frame.rotation(self.twin)  # which says why it has none, where it has none

    def bear(self, gravity: np.ndarray, payload: float = 0.0) -> None:
        """As PlateModel.

        Raises:
            InputError: gravity of a wrong size or not finite, or a payload that is negative or not finite.
        """
        gravity = checked_vector(gravity, 3, "gravity")
        if not 0.0 <= payload < np.inf:
            raise InputError(f"payload: {payload:g} kg is not a finite mass of 0 or more")
        if payload != self.payload:
            self._hang(payload - self.payload)
        self.gravity, self.payload = gravity, payload

    def orientation(self, displacements: np.ndarray) -> tuple[float, float]:
        """As PlateModel, cables slack where they would have to push.

        Raises:
            InputError: wrong size or not finite.
            ConvergenceError: no equilibrium was found.
        """
        self.twin.equilibrium(self.gravity, coordinates=displacements)
        return self.now

    @property
    def now(self) -> tuple[float, float]:
        """Pitch and roll [rad] of the twin as it stands."""
        return pitch_roll_of(self.frame.rotation(self.twin) @ AXIS)

    def displacements(self, pitch: float, roll: float) -> np.ndarray:
        """As PlateModel, from where the twin stands.

        Raises:
            InputError: not finite, or out of reach: the message names how far towards it the plate can be tilted, which
                is where the twin then stands.
            ConvergenceError: the twin's stiffness broke down.
        """
        found = self.solve(pitch, roll)
        if not found.reachable:
            nearest, asked = np.degrees(self.now), np.degrees([pitch, roll])
            raise InputError(
                f"pitch {asked[0]:.4g}°, roll {asked[1]:.4g}° is out of reach: as far as it goes that way is "
                f"{nearest[0]:.4g}°, {nearest[1]:.4g}°" + "".join(f", where {each}" for each in self.twin.stops)
            )
        return found.coordinates

    def solve(self, pitch: float, roll: float) -> Solution:
        """The solution; out of reach the one that tilts the plate as far as it goes that way, said not reachable.

        Raises:
            InputError: not finite.
            ConvergenceError: the twin's stiffness broke down.
        """
        axis = _axis(pitch, roll)
        found = self._solve(axis)
        return found if found.reachable else replace(self._furthest(axis), reachable=False)

    def _furthest(self, axis: np.ndarray) -> Solution:
        """The most tilted axis on the way to one that is out of reach, by bisection."""
        tilt, across = np.arccos(axis[2]), axis[:2] / np.hypot(*axis[:2])
        low, high = 0.0, tilt
        while high - low > NEAREST:
            middle = 0.5 * (low + high)
            found = self._solve(_tilted(middle, across))
            low, high = (middle, high) if found.reachable else (low, middle)
        return self._solve(_tilted(low, across))

    def _solve(self, axis: np.ndarray) -> Solution:
        goals = self._goals(axis)
        return self.inverse.solve(self.gravity, goals=goals, settled=STEADY, max_iterations=MOST_ITERATIONS)

    def step(self, pitch: float, roll: float) -> np.ndarray:
        """As PlateModel: one tick, within the limits also where the target is out of reach."""
        return self.tick(pitch, roll).coordinates

    def tick(self, pitch: float, roll: float) -> Solution:
        """One linearisation towards it: what a control loop calls.

        Raises:
            InputError, ConvergenceError: as solve.
        """
        goals = self._goals(_axis(pitch, roll))
        step, moved = self.inverse.step(self.gravity, goals)
        return self.inverse.solution(goals, step, moved, 1)

    def _goals(self, axis: np.ndarray) -> list[Goal]:
        return [DirectionGoal(self.frame, AXIS, axis), EffortGoal(np.zeros(self.twin.actuator_count), priority=2)]


def _axis(pitch: float, roll: float) -> np.ndarray:
    return checked_vector(axis_of(pitch, roll), 3, "pitch and roll")


def _tilted(tilt: float, across: np.ndarray) -> np.ndarray:
    """(3,) the axis of that tilt [rad] towards `across` (2,), a unit vector."""
    return np.array([*(np.sin(tilt) * across), np.cos(tilt)])
