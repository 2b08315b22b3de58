"""What pressure sensors say, as far as it can be: the newest values without single wrong ones, and who is silent."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from soft_twin.driving.valves.pressures import HIGHEST, VACUUM

MEDIAN_OF = 3  # measurements: not every device's line has a checksum
AGREEING = 4  # of them leave no doubt
OFFSET = 5e3  # [Pa] that a sensor may read below a vacuum


class PressureSensors:
    """The measured pressures of chambers.

    Attributes:
        newest: (n,) the last that came, NaN where it is no pressure [Pa].
        pressures: (n,) the median of the last few, NaN where not known [Pa].
        lowest, highest: (n,) of some more, NaN where that is not known: no few wrong ones make a chamber seem to have
            fallen [Pa].
        age: of the newest [s].
        pausing: nothing was measured since a pause began: what was before is long over.
        resumed: the newest, of the last update, came after too long a silence to belong to those before.
    """

    def __init__(self, names: Sequence[str], stale_after: float, silent_after: float):
        """Chambers of these names; measurements belong together for so long, and may stay away for so long [s]."""
        self._names = list(names)
        self._stale_after, self._silent_after = stale_after, silent_after
        self._recent: deque[np.ndarray] = deque(maxlen=AGREEING)
        self._unknown = np.zeros(len(self._names))  # for how long each has said no pressure [s]
        self.newest = self.pressures = self.lowest = self.highest = self._unseen = np.full(len(self._names), np.nan)
        self.age = 0.0
        self.pausing = self.resumed = False

    @property
    def present(self) -> np.ndarray:
        """(n,) the pressures, NaN where what was measured last is long over [Pa]."""
        return self._unseen if self.pausing or self.age > self._silent_after else self.pressures

    @property
    def fault(self) -> str:
        """Who has been silent, or has said what is no pressure, for too long; "" if nobody."""
        if self.age > self._silent_after:
            what = "check the device and its line, the baud rate of a serial one, too"
            return f"no measured pressure for {self._silent_after:g} s; {what}"
        broken = np.flatnonzero(self._unknown > self._silent_after)
        if len(broken):
            who = ", ".join(self._names[i] for i in broken)
            return f"no plausible pressure of {who} for {self._silent_after:g} s: check its sensor, wire and unit"
        return ""

    def pause(self) -> None:
        """Nothing is measured, on purpose: that is nobody's fault, and what comes after it is new."""
        self._recent.clear()
        self.lowest = self.highest = self._unseen
        self.age = 0.0
        self.pausing = True

    def update(self, measured: np.ndarray | None, dt: float) -> None:
        """Take the pressures (n,) measured in the last `dt` seconds, if any."""
        self.age += dt
        self.resumed = measured is not None and self.age > self._stale_after
        if measured is None:
            return
        if self.resumed:
            self._recent.clear()
            self.lowest = self.highest = self._unseen
        first = (
            self.age > self._silent_after
        )  # after so long a chamber may be anywhere: one measurement is all there is
        self.pausing = False
        known = (measured >= VACUUM - OFFSET) & (measured <= HIGHEST)  # false for NaN
        self._unknown = np.where(known, 0.0, self._unknown + self.age)
        self.age = 0.0
        self.newest = np.where(known, measured, np.nan)
        self._recent.extend([self.newest] * (AGREEING if first else 1))
        samples = np.array(self._recent)
        self.pressures = _median_of_known(samples[-MEDIAN_OF:])
        enough = len(samples) == AGREEING
        self.lowest = samples.min(axis=0) if enough else self._unseen
        self.highest = samples.max(axis=0) if enough else self._unseen


def _median_of_known(samples: np.ndarray) -> np.ndarray:
    """(n,) lower medians of the finite values in each column of `samples` (k, n); NaN where there is none."""
    ordered = np.sort(samples, axis=0)  # NaN last
    middle = np.maximum(np.isfinite(samples).sum(axis=0) - 1, 0) // 2
    return ordered[middle, np.arange(samples.shape[1])]
