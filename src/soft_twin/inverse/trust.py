"""Whether a body still stands on its equilibria while its efforts change, and where it goes back to when it does not.

Where a limit point is passed, as of a chamber that balloons, there is no equilibrium any more: the tangent stiffness is
no longer positive definite, Newton's corrections lead nowhere, and the body inflates as long as somebody watches. So
the last state at rest is kept, in which the tangent is definite and the correction next to nothing. A body that loses
its stiffness, or does not come to rest again, goes back to it, and goes on with care: the efforts move on by a step of
limited length, then stay until the body has come to rest, in few corrections, or the step is taken back and the next is
half as long (predictor and corrector; Allgower and Georg, *Introduction to Numerical Continuation Methods*, 2003). It
comes as close to a limit point as it likes, and not beyond.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import ConvergenceError

AT_REST = 1e-4  # of the body's length: the correction of a body at rest
NEARLY = 0.01  # likewise, of one that is on its way but not lost
WILD, BRIEFLY = 0.1, 1  # likewise, of one that may be lost, and steps for which a jump of gravity leaves it so
ON_ITS_WAY = 20  # steps that a long way to an ordinary target takes
SAG = 1.0  # of the body's length, that it sags by as gravity turns by one radian
TURNED = 0.05  # [rad] by which gravity may have turned since the state that is gone back to
FLICKER, SOFT_AT_FIRST = 2, 10  # steps without stiffness, as contacts that come and go have them, and in which a body
# that was never at rest has to find it
NEW = 0.02  # [rad] by which gravity has turned where the task is another one
RESTLESS = 40  # steps for one task, after which the body goes with care until there is another
PATIENCE = 100  # steps in which a body that was never at rest, or is driven fast, has to come near it
CORRECTIONS = 6  # steps in which one that goes with care has to be at rest again
FALLS = 8  # times that it goes back without having been at rest in between
LONGEST = 0.05  # of the body's length, that efforts move it by in one step with care
RENEWED = 0.005  # of the body's length, the least of that for something new
FURTHER, SHORTER = 2.0, 0.5  # factors of that, after a step that was good, and after one that was not
LEAST, EDGE = 1e-6, 1e-5  # of the body's length: the shortest, and what is so short leads nowhere


@dataclass(frozen=True)
class Rest:
    """A state at rest, under gravity (3,) [m/s²]."""

    state: Any
    gravity: np.ndarray


class Trust:
    """See the module's docstring.

    Attributes:
        careful: the body goes with care.
    """

    def __init__(self, size: float, careful: bool = False):
        """`size`: length of the body [m]."""
        self.careful, self._size, self._length = careful, size, SHORTER * LONGEST if careful else LONGEST
        self._settling, self._steps = False, 0
        self._task: Any = None
        self._since: np.ndarray | None = None
        self._rest: Rest | None = None
        self._gravity: np.ndarray | None = None
        self._driven, self._resting = False, False
        self._waiting = self._soft = self._far = self._falls = 0

    @property
    def allowance(self) -> float:
        """How far new efforts may move the body in this step [m]."""
        if not self.careful:
            return math.inf
        return self._length * self._size if self._resting else 0.0

    @property
    def at_edge(self) -> bool:
        """The body is at rest, and has no equilibrium where its goals want it to go."""
        return self.careful and self._length < EDGE

    @property
    def sound(self) -> bool:
        """The body was near an equilibrium when it was last looked at; one that goes with care, at rest."""
        return self._waiting == 0

    @property
    def wild(self) -> bool:
        """Nobody knows whether there is an equilibrium with the efforts of the last step: the body has no stiffness, is
        far from rest and has not come near it since, or has been on its way for long."""
        return self._soft > 0 or self._far > BRIEFLY or self._waiting > ON_ITS_WAY

    def attend(self, task: Any, gravity: np.ndarray) -> None:
        """The next step is for a task, under gravity (3,) [m/s²]."""
        same = task is self._task and (self._since is None or _turned(gravity, self._since) <= NEW)
        if self._since is not None and not same:
            self._settling, self._length = False, max(self._length, RENEWED)
            self.careful = self.careful and self._length < LONGEST
        if self._since is None or not same:
            self._task, self._since, self._steps = task, gravity, 0
        self._steps += 1
        if self._steps > RESTLESS:
            self.stay_careful()

    def stay_careful(self) -> None:
        """Go with care until there is another task: this one's goals are lost again between states at rest. One that is
        on its way comes to rest first, with as many corrections as any."""
        if not self.careful:
            self._waiting = 0
        self.careful = self._settling = True

    def settled(self) -> None:
        """The task is done."""
        self._steps = 0

    def stands(self, correction: float, definite: bool, gravity: np.ndarray, state: Any) -> bool:
        """Whether a body in this state can go on.

        Args:
            correction: [m] that its furthest node has to move by to be at rest with the efforts that it has.
            definite: its tangent stiffness is.
            gravity: (3,) that it is under [m/s²].
            state: to come back to.
        """
        turned = 0.0 if self._gravity is None else _turned(gravity, self._gravity)
        allowed, self._gravity = AT_REST + SAG * turned, gravity
        self._resting = definite and correction <= allowed * self._size
        self._soft = 0 if definite else self._soft + 1
        near = self._resting or (not self.careful and definite and correction <= NEARLY * self._size)
        self._waiting = 0 if near else self._waiting + 1
        if not self._resting and correction > WILD * self._size:
            self._far += 1
        elif near or self._far <= BRIEFLY:
            self._far = 0
        if self._resting and turned <= TURNED:
            self._rest_in(Rest(state, gravity))
        return math.isfinite(correction) and self._soft <= self._softness and self._waiting <= self._patience

    def fall_back(self, gravity: np.ndarray) -> Any:
        """The state to go back to, and on from with care.

        Raises:
            ConvergenceError: there is none under gravity (3,), or it does not help.
        """
        self._falls += 1
        if self._rest is None or _turned(gravity, self._rest.gravity) > TURNED or self._falls > FALLS:
            raise ConvergenceError(self._why())
        self._length = max(SHORTER * self._length, LEAST) if self.careful else SHORTER * LONGEST
        self.careful, self._driven = True, False
        self._waiting = self._soft = self._far = 0
        return self._rest.state

    def drive(self, distance: float) -> None:
        """New efforts have moved the body [m]."""
        self._driven = self._driven or distance > 0.0

    @property
    def _patience(self) -> int:
        return CORRECTIONS if self.careful and self._rest is not None else PATIENCE

    @property
    def _softness(self) -> int:
        if self._rest is None:
            return SOFT_AT_FIRST
        return 0 if self.careful else FLICKER

    def _rest_in(self, rest: Rest) -> None:
        self._rest, self._falls = rest, 0
        if self.careful and self._driven:
            self._length = min(FURTHER * self._length, LONGEST)
            self.careful = self._settling or self._length < LONGEST
        self._driven = False

    def _why(self) -> str:
        if self._soft:
            return f"the body has lost its stiffness for {self._soft} steps: it balloons or buckles"
        return f"the body does not come to rest within {self._waiting - 1} steps"


def _turned(gravity: np.ndarray, before: np.ndarray) -> float:
    """[rad]"""
    change = gravity - before
    return math.sqrt(change @ change) / STANDARD_GRAVITY
