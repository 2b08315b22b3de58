"""Steps with the factorisation of an earlier state, for as long as they are good: the chord method.

Its steps dx = K₀⁻¹ r(x) have the exact residual r, so that it can only settle where Newton's method does. What a step
left undone shows in the next one: K₀⁻¹ r again, at the loads and tensions of the step before. That over the size of
the step before is the contraction of the method, in a measure that no stiff direction dominates (Deuflhard, *Newton
Methods for Nonlinear Problems*, 2011, the simplified Newton correction). It grows with the distance from the state
that was factorised, and tells when that has been used for too long.

The same shows how far the sensitivities J of that state are out: what a change Δe of the efforts has moved the body by
beyond J Δe is put right along Δe (Broyden, *Math. Comp.* 19, 1965). Where goals can be reached, J only decides on how
fast; where not, the best efforts are those where Jᵀ r vanishes with a residual r that stays, and they are only as right
as J is.
"""

import math
from dataclasses import dataclass

import numpy as np

from soft_twin.linear_algebra.compiled import kernel

CONTRACTION = 0.3  # of a step may be left undone, whatever its size
SLOW_CONTRACTION = 0.8  # of a step may be left undone if that is less than SLOW
SLOW = 0.002  # of the body's length
SETTLED = 1e-5  # of the body's length, left undone, is always good enough
TURNED = 0.1  # of what the efforts' change moves in a step, that gravity's may for the step to teach anything
PAUSE = 5  # steps without a chord when not even the first one was good


@dataclass
class Chord:
    """What is kept of a factorisation.

    Attributes:
        step_per_effort: (n, 3, a) step for a unit of each actuator's effort [m/N] or [m/Pa].
        steps: (size, a) the same in the model's unknowns.
        step_per_gravity: (n, 3, 3) step for each component of gravity [s²].
        steps_of_gravity: (size, 3) the same in the model's unknowns.
        gravity: (3,) of the last step [m/s²].
        used: whether it has been good for a step.
    """

    step_per_effort: np.ndarray
    steps: np.ndarray
    step_per_gravity: np.ndarray
    steps_of_gravity: np.ndarray
    gravity: np.ndarray
    used: bool = False

    def __post_init__(self) -> None:
        self._squares = (self.step_per_effort**2).sum(axis=(0, 1))
        self._gravity_squares = (self.step_per_gravity**2).sum(axis=(0, 1))
        self._turned, self._shares = np.zeros(3), np.zeros(len(self._squares))

    def left_undone(self, correction: np.ndarray, gravity: np.ndarray) -> np.ndarray:
        """What of a correction (n, 3) is not the change of gravity's doing [m]."""
        return correction - product(self.step_per_gravity, gravity - self.gravity)

    def use(self, gravity: np.ndarray) -> None:
        """It is good for a step under gravity (3,)."""
        self._turned, self.gravity, self.used = gravity - self.gravity, gravity, True

    def taken(self, change: np.ndarray, move: np.ndarray, whole: bool) -> None:
        """A step has moved the nodes by (n, 3) [m], with a change of the efforts (a,). It teaches nothing if it is not
        `whole`, or if gravity has had a hand in it."""
        driven, turned = self._squares @ change**2, self._gravity_squares @ self._turned**2
        teaches = whole and turned <= TURNED**2 * driven
        self._shares = self._squares * change * (teaches / max(driven, np.vdot(move, move), 1e-300))

    def learn(self, correction: np.ndarray, corrected: np.ndarray, gravity: np.ndarray) -> None:
        """Put the sensitivities right by what the last step has left undone: of a correction (n, 3) [m], that is
        `corrected` (size,) in the model's unknowns."""
        left = self.left_undone(correction, gravity)
        self.step_per_effort = self.step_per_effort + left[:, :, None] * self._shares
        reduced = corrected - self.steps_of_gravity @ (gravity - self.gravity)
        self.steps = self.steps + np.outer(reduced, self._shares)


def product(steps: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """steps (n, 3, c) times factors (c,): (n, 3). It is one product, not one for each node."""
    return (steps.reshape(-1, len(factors)) @ factors).reshape(-1, 3)


def largest_movement(step: np.ndarray) -> float:
    """The length [m] of the longest of (n, 3)."""
    return math.sqrt(_largest_square(step))


def is_good(left: float, moved: float, length: float) -> bool:
    """Whether a step that moved the nodes of a body of `length` by `moved` and left `left` of it undone, all in the
    same unit, may be followed by another with the same factorisation."""
    return left <= max(CONTRACTION * moved, min(SLOW_CONTRACTION * moved, SLOW * length), SETTLED * length)


@kernel()
def _largest_square(step):
    largest = 0.0
    for n in range(len(step)):
        square = step[n, 0] * step[n, 0] + step[n, 1] * step[n, 1] + step[n, 2] * step[n, 2]
        if square > largest or np.isnan(square):
            largest = square
    return largest
