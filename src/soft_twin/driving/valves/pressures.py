"""What a pressure command must keep to, whoever gives it: range, rate and acceleration of every chamber."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from soft_twin.driving.limits import CommandLimiter, Quantity
from soft_twin.errors import DescriptionError

VACUUM, HIGHEST = -101_325.0, 2e6  # [Pa] gauge, of any chamber
LONGEST_VENTING = 60.0  # [s]
LONGEST_BRAKING = 1.0  # [s]


@dataclass(frozen=True)
class ChamberLimits:
    """What every chamber must keep to.

    Raises:
        DescriptionError: a value is not finite or not sane, or the values contradict each other.

    Attributes:
        pressure: lowest and highest gauge pressure [Pa].
        rate: of change while driven [Pa/s].
        vent_rate: of change while the chambers are vented [Pa/s].
        vented: the pressure of a relaxed chamber [Pa].
        acceleration: of change of these rates [Pa/s²].
    """

    pressure: tuple[float, float]
    rate: float
    vent_rate: float
    vented: float = 0.0
    acceleration: float = 4e6

    def __post_init__(self):
        low, high = self.pressure
        self._require_finite()
        if not low < high:
            raise DescriptionError(f"pressure limits {low:g}…{high:g} Pa: the lower is not below the upper")
        if low < VACUUM or high > HIGHEST:
            raise DescriptionError(
                f"pressure limits {low:g}…{high:g} Pa: expected gauge pressures of {VACUUM:g}…{HIGHEST:g} Pa"
            )
        if not low <= self.vented <= high:
            raise DescriptionError(f"vented pressure {self.vented:g} Pa is outside the limits {low:g}…{high:g} Pa")
        if not (self.rate > 0.0 and self.vent_rate > 0.0):
            raise DescriptionError(f"pressure rates {self.rate:g} and {self.vent_rate:g} Pa/s: expected above 0")
        if not self.acceleration > 0.0:
            raise DescriptionError(f"acceleration of pressure {self.acceleration:g} Pa/s²: expected above 0")
        self._require_vented_in_time()

    def _require_finite(self) -> None:
        given = {
            "lowest pressure": self.pressure[0],
            "highest pressure": self.pressure[1],
            "vented pressure": self.vented,
            "pressure rate": self.rate,
            "rate of venting": self.vent_rate,
            "acceleration of pressure": self.acceleration,
        }
        for name, value in given.items():
            if not math.isfinite(value):
                raise DescriptionError(f"{name} {value:g}: expected a finite number")

    def _require_vented_in_time(self) -> None:
        """Rates and their acceleration must get a chamber empty, and a filling one to a standstill, in a sane time."""
        way = max(self.pressure[1] - self.vented, self.vented - self.pressure[0])
        if way > self.vent_rate * LONGEST_VENTING:
            raise DescriptionError(
                f"rate of venting {self.vent_rate:g} Pa/s: from the farthest limit that takes "
                f"{way / self.vent_rate:.0f} s; expected at least {way / LONGEST_VENTING:g} Pa/s"
            )
        fastest = max(self.rate, self.vent_rate)
        if fastest > self.acceleration * LONGEST_BRAKING:
            raise DescriptionError(
                f"acceleration of pressure {self.acceleration:g} Pa/s²: to stop from {fastest:g} Pa/s takes "
                f"{fastest / self.acceleration:.2g} s; expected at least {fastest / LONGEST_BRAKING:g} Pa/s²"
            )


def chamber_limiter(names: Sequence[str], limits: ChamberLimits) -> CommandLimiter:
    """For gauge pressures of chambers [Pa]."""
    quantity = Quantity("pressure", "pressures", "chambers", "pascals")
    return CommandLimiter(names, quantity, limits.pressure, rest=limits.vented)
