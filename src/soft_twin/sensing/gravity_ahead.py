"""Gravity when the motors will have moved: turned on by the gyroscope's rates, less the base's acceleration if asked.

A command that is computed of a sample is where it should be only when motors have followed it, after `lead`. In a base
that turns at ω gravity changes by ġ = −ω × g, so then it is exp(−[ω]× lead) g. What a body feels besides is that its
base accelerates: the effective gravity is g − a = −f, f being the specific force; of a − what the accelerometer says
beyond gravity − what is slower than `smoothing` is taken, since a hand's jerks are over before cables have followed.
"""

import math
from collections import deque

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError

LONGEST_LEAD = 0.5  # [s]
OLDEST = 0.05  # [s] rates that were measured so long before gravity, or longer, are not used
KEPT = 8  # samples


class GravityAhead:
    """See the module's docstring.

    Args:
        lead: by how much gravity is looked ahead [s]; 0: as measured.
        smoothing: time constant of the low-pass of the base's acceleration [s]; infinite: it is left out.

    Raises:
        InputError: a lead that is negative or longer than LONGEST_LEAD, a smoothing that is not positive.
    """

    def __init__(self, lead: float = 0.0, smoothing: float = math.inf):
        if not 0.0 <= lead <= LONGEST_LEAD:
            raise InputError(f"lead {lead!r} s: expected 0 … {LONGEST_LEAD:g}")
        if not smoothing > 0.0:
            raise InputError(f"smoothing {smoothing!r} s: expected more than 0")
        self.lead, self.smoothing = lead, smoothing
        self.reset()

    def reset(self) -> None:
        """Forget the acceleration and all samples."""
        self._acceleration, self._last_time = np.zeros(3), math.nan
        self._samples: deque[tuple[float, np.ndarray, np.ndarray]] = deque(maxlen=KEPT)

    @property
    def looks(self) -> bool:
        """Whether it makes anything else of gravity."""
        return self.lead > 0.0 or math.isfinite(self.smoothing)

    def note(self, time: float, rates: np.ndarray, force: np.ndarray) -> None:
        """Rates (3,) [rad/s] and specific force (3,) [m/s²] of a sample, in base_link, for gravity that comes later."""
        self._samples.append((time, rates, force))

    def look(self, time: float, gravity: np.ndarray) -> np.ndarray:
        """As `update`, with the newest noted sample before `time`, whichever else have come by now; where that is
        missing, older than OLDEST or not finite, gravity (3,) as it is."""
        before = [sample for sample in self._samples if time - OLDEST < sample[0] < time]
        if not self.looks or not before:
            return gravity
        _, rates, force = max(before, key=lambda sample: sample[0])
        if not (np.isfinite(rates).all() and np.isfinite(force).all()):
            return gravity
        return self.update(time, gravity, rates, force)

    def update(self, time: float, gravity: np.ndarray, rates: np.ndarray, force: np.ndarray) -> np.ndarray:
        """What a body will feel at `time` + lead, (3,) in base_link [m/s²].

        Args:
            time: of the sample [s].
            gravity, rates, force: (3,) gravity [m/s²], rates of the base [rad/s] and specific force [m/s²] in
                base_link.

        Raises:
            InputError: wrong sizes or not finite; nothing is remembered.
        """
        gravity, rates = checked_vector(gravity, 3, "gravity"), checked_vector(rates, 3, "rates")
        felt = gravity
        if math.isfinite(self.smoothing):
            felt = gravity - self._smoothed(time, checked_vector(force, 3, "force") + gravity)
        return Rotation.from_rotvec(-self.lead * rates).apply(felt) if self.lead > 0.0 else felt

    def _smoothed(self, time: float, acceleration: np.ndarray) -> np.ndarray:
        dt = max(time - self._last_time, 0.0) if math.isfinite(self._last_time) else 0.0
        self._last_time = time
        self._acceleration = acceleration + (self._acceleration - acceleration) * math.exp(-dt / self.smoothing)
        return self._acceleration


def ahead_of(lead: float, acceleration_smoothing: float) -> GravityAhead:
    """By the parameters of a node [s], whose smoothing is 0 where the base's acceleration is left out."""
    return GravityAhead(lead, acceleration_smoothing or math.inf)
