"""Whether a plate goes where it is pulled: IMUs that are swapped or turned about the plate's axis, or mixed up cables,
agree with each other while the plate stands straight, and a loop that is closed through them runs away.

Three signs. The plate is seen further than FAR from where it is expected. On a way the plate is seen to go elsewhere:
of what is expected e and what is seen s, bends (2,), what has changed within about SPAN and is seen well, ē and s̄,
is compared over the last FORGOTTEN of motion, and

    Σ ē · s̄ dt < FOLLOWS Σ |ē|² dt   though it moves,   Σ min(|ē|, |s̄|)² dt > MOVES² Σ |ē|² dt.

A plate that goes where it is pulled has Σ ē · s̄ dt at least as large as the sum of the least, however much it moves,
and what it did before a rest is no part of a way that begins there: so one that has moved by itself, or is held all at
once where it has followed, is none that goes elsewhere.
Where it is to rest, whatever is integrated makes it worse: while the correction c grew by another GROWN, what is missed
grew by more than WORSE of it. What pushes a plate, or holds it, does neither: what is expected does not depend on it,
and it does not push the harder the more is corrected.

The last two end once the plate is seen to go where it is pulled, by AGAIN of the way.
"""

import numpy as np

from soft_twin.inverse.plate_sight import Sight

SPAN = 1.0  # [s]
KNOWN = 0.003  # [rad² s] of motion from which it is judged: 4° at once …
FORGOTTEN = 0.01  # … and of the last that counts: 8°
FOLLOWS, MOVES = 0.25, 0.5  # shares of what is expected …
AGAIN = 0.6  # … and from which it is right again
STILL, RESTED = np.radians(0.1), 0.3  # [rad] within which what is expected stays for so long [s] before a way begins
RESTS = np.radians(0.5)  # [rad] by which what is expected may creep while the plate is to rest
GROWN, WORSE = np.radians(4.0), 0.3  # [rad] of the correction, and share of that
FAR = 1.0  # [rad]
WELL = 2.0  # times what the IMUs err by, that what is judged of a bend is seen with at the most
CAUSES = "are the IMUs of base and plate swapped, mounted otherwise than described, or cables mixed up?"


class PlateResponse:
    """See the module's docstring."""

    def __init__(self):
        self._slow: np.ndarray | None = None  # (2, 2) averages of what is expected and seen
        self._asked = self._moved = 0.0  # Σ |ē|² dt, Σ min(|ē|, |s̄|)² dt
        self._went = 0j  # Σ conj(ē) s̄ dt of both as complex numbers
        self._still_at, self._rested = np.full(2, np.inf), 0.0  # what is expected while it is still, and for how long
        self._rests_at: np.ndarray | None = None  # what is expected while the plate is to rest
        self._first: np.ndarray | None = None  # correction there
        self._grown: tuple[np.ndarray, np.ndarray] | None = None  # correction and what was missed once it had GROWN
        self._elsewhere = self._worse = False

    def update(self, expected: np.ndarray, correction: np.ndarray, sight: Sight | None, dt: float) -> str:
        """What is wrong, in words, `dt` [s] after the last update; "" where nothing is.

        Args:
            expected: (2,) bend where the plate should be [rad].
            correction: (2,) what is integrated [rad].
            sight: how it stands; None: not seen.
            dt: since the last one [s].
        """
        far = 0.0 if sight is None else how_far(sight, expected)
        if sight is None or far > FAR:
            self._slow = self._rests_at = None
        else:
            well = _well_seen(sight)
            self._judge_ways(expected, sight.bend, well, dt)
            self._judge_correction(expected, correction, expected - sight.bend, well)
        if self._elsewhere:
            aside = abs(np.degrees(np.angle(self._went)))
            return f"the plate turns {aside:.0f}° aside of where it is pulled: {CAUSES}"
        if far > FAR:
            return f"the IMUs have the plate {np.degrees(far):.0f}° away from where it can be: {CAUSES}"
        return f"what is corrected takes the plate further off: {CAUSES}" if self._worse else ""

    def _judge_ways(self, expected: np.ndarray, seen: np.ndarray, well: np.ndarray, dt: float) -> None:
        both = np.array([expected, seen])
        if self._begins_way(expected, dt) or self._slow is None:
            self._slow = both
        self._slow = self._slow - np.expm1(-dt / SPAN) * (both - self._slow)
        asked, moved = (complex(*each) for each in (both - self._slow) @ well)
        kept = FORGOTTEN / (FORGOTTEN + dt * abs(asked) ** 2)
        self._asked = kept * self._asked + dt * abs(asked) ** 2
        self._moved = kept * self._moved + dt * min(abs(asked), abs(moved)) ** 2
        self._went = kept * self._went + dt * asked.conjugate() * moved
        if self._asked < KNOWN:
            return
        if self._went.real < FOLLOWS * self._asked and self._moved > MOVES**2 * self._asked:
            self._elsewhere = True
        elif self._went.real >= AGAIN * self._asked:
            self._elsewhere = self._worse = False

    def _begins_way(self, expected: np.ndarray, dt: float) -> bool:
        """Whether what is expected (2,) [rad] sets off from a rest."""
        if np.abs(expected - self._still_at).max() <= STILL:
            self._rested += dt
            return False
        sets_off = self._rested >= RESTED
        self._still_at, self._rested = expected.copy(), 0.0
        return sets_off

    def _judge_correction(
        self, expected: np.ndarray, correction: np.ndarray, missed: np.ndarray, well: np.ndarray
    ) -> None:
        if self._rests_at is None or np.abs(expected - self._rests_at).max() > RESTS:
            self._rests_at, self._first, self._grown = expected.copy(), correction.copy(), None
        if np.hypot(*(correction - self._first)) < GROWN:
            self._grown = None
            return
        if self._grown is None:
            self._grown = correction.copy(), missed.copy()
        more, off = well @ (correction - self._grown[0]), well @ (missed - self._grown[1])
        size = float(more @ more)
        if size >= GROWN**2 and more @ off > WORSE * size:
            self._worse, self._asked, self._moved, self._went = True, 0.0, 0.0, 0j


def how_far(sight: Sight, expected: np.ndarray) -> float:
    """How far a plate is seen from where it is expected (2,) [rad]."""
    return float(np.hypot(*(sight.bend - expected)))


def _well_seen(sight: Sight) -> np.ndarray:
    """(2, 2) projection onto what is seen well of a bend."""
    sizes, directions = np.linalg.eigh(sight.spread)
    return (directions * (sizes <= WELL**2)) @ directions.T
