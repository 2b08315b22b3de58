"""What a pressure command must keep to, whoever gives it: range, rate and acceleration of every chamber."""

from collections.abc import Sequence
from dataclasses import dataclass

from soft_twin.driving.limits import CommandLimiter, Quantity
from soft_twin.errors import DescriptionError


@dataclass(frozen=True)
class ChamberLimits:
    """What every chamber must keep to.

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
        if not low < high:
            raise DescriptionError(f"pressure limits {low:g}…{high:g} Pa: the lower is not below the upper")
        if not low <= self.vented <= high:
            raise DescriptionError(f"vented pressure {self.vented:g} Pa is outside the limits {low:g}…{high:g} Pa")
        if not (self.rate > 0.0 and self.vent_rate > 0.0):
            raise DescriptionError(f"pressure rates {self.rate:g} and {self.vent_rate:g} Pa/s: expected above 0")
        if not self.acceleration > 0.0:
            raise DescriptionError(f"acceleration of pressure {self.acceleration:g} Pa/s²: expected above 0")


def chamber_limiter(names: Sequence[str], limits: ChamberLimits) -> CommandLimiter:
    """For gauge pressures of chambers [Pa]."""
    quantity = Quantity("pressure", "pressures", "chambers", "pascals")
    return CommandLimiter(names, quantity, limits.pressure, rest=limits.vented)
