"""How much the inverse's efforts stay near the last ones, by what that has come to: Levenberg and Marquardt's damping.

Gauss–Newton's steps may go to and fro for ever where goals cannot be reached: what is left of them bends, and no
Jacobian knows. On its way, steps that turn back on the one before make the weight of staying heavier, others make it
lighter. Between states at rest, where what the goals miss is known exactly, it goes by what a step has gained of what
it promised, and one that has lost is taken back (Marquardt 1963).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

STAY = 0.03  # least weight of staying near the last efforts, relative to what they move
HEAVIEST, MOST = 100.0, 1000.0  # times the least weight: on its way, and between states at rest
TURNS_BACK = 0.3  # a step against the last one counts when it is at least so long, relative to it
AT_REST = 1e-3  # tolerances: what goes back on a shorter step does not count, as that of round-off
HEAVIER, LIGHTER = 2.0, 0.8  # factors of the weight after a step that turns back, and after another
POOR, GOOD = 0.25, 0.75  # shares of what was promised
AFTER_POOR, AFTER_GOOD = 4.0, 0.5  # factors of the weight then
NOTICED = 1e-6  # of what was missed, squared, that must have been promised for a step to be judged, …
NOTICED_TOLERANCE = 1e-4  # … and of the squared tolerance


class Asked(NamedTuple):
    """What goals of one priority ask for: they miss by r + J e, r (k,) and J (k, a) with their weights in them, and as
    good as nothing is a miss of `tolerance`."""

    r: np.ndarray
    J: np.ndarray
    tolerance: float

    def missed(self, efforts: np.ndarray) -> float:
        """‖r + J e‖² of efforts (a,)."""
        miss = self.r + self.J @ efforts
        return float(miss @ miss)


@dataclass(frozen=True)
class Promise:
    """What a step from efforts `base` (a,) was for: goals by priority, which were weighed against each other by
    `weight`, or were taken in order where that is 0. `scales`: (a,) what a unit of each effort moved then."""

    goals: Sequence[Asked]
    weight: float
    base: np.ndarray
    scales: np.ndarray

    def outcome(self, now: Sequence[Asked], efforts: np.ndarray) -> tuple[float, float] | None:
        """What the goals have gained with efforts (a,), by what they ask for `now`, over what was promised; and the
        weight of staying whose steps that way are as long as the way to the lowest point of the parabola through slope
        and outcome, limits of efforts apart. None where next to nothing was promised.

        Where what was promised, P, is twice the slope s of ½ ‖r + J e‖², as where limits cut a step short, a share
        1/(2 − gain) of the way leads to that point, and a weight w to the share s/w² ‖D Δe‖² with the scales D.
        """
        triples = [
            np.array([old.missed(self.base), old.missed(efforts), new.missed(efforts)])
            for old, new in zip(self.goals, now, strict=True)
        ]
        tolerances = [each.tolerance for each in self.goals]
        if self.weight > 0.0:
            triples = [triples[0] + self.weight**2 * sum(triples[1:])]
        for (before, promised, after), tolerance in zip(triples, tolerances, strict=False):
            if before - promised > NOTICED * before + NOTICED_TOLERANCE * tolerance**2:
                gain = (before - after) / (before - promised)
                way = self.scales * (efforts - self.base)
                return gain, math.sqrt(0.5 * max(2.0 - gain, 0.0) * (before - promised) / max(way @ way, 1e-300))
        return None


class Damping:
    """See the module's docstring.

    Attributes:
        lightest: least weight.
        weight: of staying.
        judged: whether the last step between states at rest promised enough to be judged.
    """

    def __init__(self, lightest: float, actuators: int):
        self.lightest = self.weight = lightest
        self.judged = False
        self._last, self._lighter = np.zeros(actuators), LIGHTER

    def note(self, change: np.ndarray, tolerance: float, lasting: bool) -> None:
        """The efforts change by (a,), measured by what they move, for goals with a tolerance. At rest they change by
        round-off, to and fro. `lasting`: what turns back within the tolerance lets the weight become lighter more and
        more slowly. The efforts that goals leave open may be least where the body's stiffness jumps, as where a fibre
        slackens: no Jacobian on either side has its lowest point there, and only ever shorter steps end."""
        size = self._last @ self._last
        back = change @ self._last < 0.0 and size > (AT_REST * tolerance) ** 2
        long = change @ change > TURNS_BACK**2 * size
        if back and long and lasting and size < tolerance**2:
            self._lighter = math.sqrt(self._lighter)
        factor = HEAVIER if back and long else self._lighter
        self.weight = min(max(factor * self.weight, self.lightest), max(HEAVIEST * self.lightest, self.lightest))
        self._last = change

    def judge(self, outcome: tuple[float, float] | None) -> bool:
        """Whether a step between states at rest is to stand, see `Promise.outcome`. Limits of efforts may have cut it
        so short that a weight that is only somewhat heavier changes nothing."""
        self.judged = outcome is not None
        if outcome is None:
            return True
        gain, enough = outcome
        if gain < POOR:
            self.weight = min(max(AFTER_POOR * self.weight, enough), MOST * self.lightest)
        elif gain > GOOD:
            self.weight = max(AFTER_GOOD * self.weight, self.lightest)
        return gain >= 0.0

    def worsen(self, factor: float) -> None:
        """Make the weight heavier."""
        self.weight = min(factor * self.weight, HEAVIEST * self.lightest)
