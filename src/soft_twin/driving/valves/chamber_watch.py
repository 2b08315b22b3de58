"""Do chambers have the pressures that they were told? What is wrong with those that have not, in words."""

from collections import deque
from collections.abc import Sequence

import numpy as np

WEAK = 0.5  # of the tolerance: a chamber that stands so far off does its work badly
CALM = 0.2  # [s] over which what is told is smoothed: a sensor's noise is no news
ATMOSPHERE = (70e3, 106e3)  # [Pa] from the heights to the sea: by so much absolute pressures exceed gauge ones
FEW = 10e3  # [Pa] less is told to a digit behind the point


class ChamberWatch:
    """Compares measured pressures with what was asked for lately.

    A chamber that fills or empties at a rate of its own has a pressure somewhere between the lowest and the highest
    that it was told within the time it takes to respond. One that stays farther from there than a tolerance is at
    fault; not so one that is relaxed and nearer to the vented pressure than its valve has come yet. What people ask for
    meanwhile excuses nothing: a sensor that reads nonsense does so whoever drives. One that stands off by less, while
    it is told the same, is worth saying.

    Attributes:
        standing_off: driven chambers that stand off by more than WEAK tolerances, in words; "" if none does.
    """

    def __init__(
        self,
        names: Sequence[str],
        tolerance: float | np.ndarray,
        response: float,
        patience: float,
        vented: float = 0.0,
        lowest: float | np.ndarray = 0.0,
    ):
        """Tolerance [Pa], one for all or (n,), time to respond [s], for how long a chamber may be astray [s], the
        vented pressure, and the lowest that chambers can be sucked to, one for all or (n,) [Pa]."""
        self._names = list(names)
        self._tolerance, self._response, self._patience = tolerance, response, patience
        self._vented, self._lowest = vented, lowest
        self._told: deque[tuple[float, np.ndarray]] = deque()
        self._now = 0.0
        self._astray = np.zeros(len(self._names))  # [s]
        self._off = np.zeros(len(self._names))  # [s]
        self._measured = self._deviation = np.zeros(len(self._names))  # as last known [Pa]
        self._smooth = self._said = np.zeros(len(self._names))  # the deviation, and what people are told of it [Pa]
        self.standing_off = ""

    def update(self, measured: np.ndarray, told: np.ndarray, dt: float, driven: bool) -> tuple[str, str]:
        """What is at fault ("supply", "chambers", "pressed", "sucked" or "") and what to say, after `dt` more seconds.

        A chamber that nothing is known of is neither longer astray nor back: its sensor may be at its end.

        Args:
            measured: (n,) [Pa], NaN where not known.
            told: (n,) what the valves are told to hold now [Pa].
            dt: [s].
            driven: whether the chambers are driven, not relaxed.
        """
        self._now += dt
        self._told.append((self._now, told))
        while self._told[0][0] < self._now - self._response:
            self._told.popleft()
        lately = np.array([pressures for _, pressures in self._told])
        known = np.isfinite(measured)
        low, high = lately.min(axis=0), lately.max(axis=0)
        if not driven:
            low, high = np.minimum(low, self._vented), np.maximum(high, self._vented)
        away = measured - np.clip(measured, low, high)
        self._measured = np.where(known, measured, self._measured)
        self._deviation = deviation = np.where(known, away, self._deviation)
        self._say(known * min(dt / CALM, 1.0))
        far = np.abs(deviation) > self._tolerance
        self._astray = np.where(far, self._astray + known * dt, 0.0)
        self._see_standing(known, high - low, dt, driven)
        faulty = np.flatnonzero(self._astray > self._patience)
        over = faulty[deviation[faulty] > 0.0]
        if len(over) and not driven:
            where = ", ".join(f"{self._names[i]} by {_in_kpa(self._said[i])} kPa" for i in over)
            return (
                "pressed",
                f"still under pressure though vented: {where}; close the supply and let the air out by hand"
                f"{self._absolute(over)}",
            )
        under = faulty[((deviation < 0.0) & (measured < 0.0) & (self._lowest < 0.0))[faulty]]
        if len(under) and not driven:
            where = ", ".join(f"{self._names[i]} by {_in_kpa(-self._said[i])} kPa" for i in under)
            return "sucked", f"still under vacuum though vented: {where}; close the vacuum and let air in by hand"
        return self._verdict(faulty, told)

    def _say(self, share: np.ndarray) -> None:
        """What is told follows the deviation by a `share` (n,) of what is left, and only in digits that are told."""
        self._smooth = self._smooth + share * (self._deviation - self._smooth)
        digit = np.where(np.abs(self._smooth) < FEW, 100.0, 1e3)
        self._said = np.where(np.abs(self._smooth - self._said) > 0.5 * digit, self._smooth, self._said)

    def _see_standing(self, known: np.ndarray, moved: np.ndarray, dt: float, driven: bool) -> None:
        """Which chambers are off while what they are told has `moved` (n,) by little lately [Pa]."""
        least = WEAK * self._tolerance
        off = driven & (np.abs(self._deviation) > least) & (moved < least)
        self._off = np.where(off, self._off + known * dt, 0.0)
        weak = np.flatnonzero(self._off > self._patience)
        self.standing_off = f"{self._where(weak)}: leak, tube or sensor? Check them" if len(weak) else ""

    def _absolute(self, over: np.ndarray) -> str:
        """What else may be where chambers are `over` the vented pressure: all of them by an atmosphere."""
        low, high = ATMOSPHERE
        if len(over) < len(self._names) or not ((low <= self._said) & (self._said <= high)).all():
            return ""
        return ", or do the sensors read absolute pressures, not gauge ones?"

    def _verdict(self, faulty: np.ndarray, told: np.ndarray) -> tuple[str, str]:
        if not len(faulty):
            return "", ""
        far = np.abs(self._deviation) > self._tolerance
        short = self._deviation * told < 0.0  # between the ambient pressure and what it is told
        lost = np.count_nonzero(far & short)
        if lost > 1 and lost > 0.5 * len(far):
            i = faulty[np.argmax(np.abs(self._deviation[faulty]))]
            has = f"{self._names[i]} has {self._measured[i] / 1e3:.3g} of {told[i] / 1e3:.3g} kPa"
            return (
                "supply",
                f"{lost} chambers do not reach their pressure ({has}): is the supply of pressure or vacuum lost, or do "
                "valves or sensors count in another unit? Check them",
            )
        who = np.flatnonzero(far & (self._astray > 0.5 * self._patience))
        if short[who].all():
            why = "valve stuck, tube blocked, or chamber leaks; check them"
        elif short[who].any():
            why = "are their tubes swapped? Check them, valves and sensors"
        elif 1 < len(who) == len(far):
            why = "valves or sensors stuck, or do they count in another unit? Check them"
        else:
            why = "valve or sensor stuck; check both"
        return "chambers", f"{self._where(who)}: {why}"

    def _where(self, who: np.ndarray) -> str:
        """How far these chambers are off."""
        return ", ".join(
            f"{self._names[i]} is {_in_kpa(self._said[i], '+')} kPa from what its valve is told" for i in who
        )


def _in_kpa(pressure: float, sign: str = "") -> str:
    """To a digit behind the point where that matters."""
    return f"{pressure / 1e3:{sign}.{int(abs(pressure) < FEW)}f}"
