"""What a pressure command must keep to, whoever gives it: range, rate and acceleration of every chamber."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.descriptions.valve_devices import LONGEST_BRAKING, LONGEST_VENTING
from soft_twin.driving.limits import CommandLimiter, Quantity
from soft_twin.errors import DescriptionError

VACUUM, HIGHEST = -101_325.0, 2e6  # [Pa] gauge, of any chamber


@dataclass(frozen=True)
class ChamberLimits:
    """What every chamber must keep to.

    Raises:
        DescriptionError: a value is no number, not finite or not sane, or the values contradict each other.

    Attributes:
        pressure: lowest and highest gauge pressure, each one for all chambers, or a row of one for each [Pa].
        rate: of change while driven [Pa/s].
        vent_rate: of change while the chambers are vented [Pa/s].
        vented: the pressure of a relaxed chamber [Pa].
        acceleration: of change of these rates [Pa/s²].
    """

    pressure: tuple[float | Sequence[float], float | Sequence[float]]
    rate: float
    vent_rate: float
    vented: float = 0.0
    acceleration: float = 4e6

    def __post_init__(self):
        self._require_numbers()
        low, high = self.lowest, self.highest
        if len(low) > 1 < len(high) and len(low) != len(high):
            raise DescriptionError(f"pressure limits: {len(low)} lowest and {len(high)} highest, expected one of each")
        if not (low < high).all():
            raise DescriptionError(f"pressure limits {self.words}: the lower is not below the upper")
        if low.min() < VACUUM or high.max() > HIGHEST:
            raise DescriptionError(
                f"pressure limits {self.words}: expected gauge pressures of {VACUUM:g}…{HIGHEST:g} Pa"
            )
        if not low.max() <= self.vented <= high.min():
            raise DescriptionError(f"vented pressure {self.vented:g} Pa is outside the limits {self.words}")
        if not (self.rate > 0.0 and self.vent_rate > 0.0):
            raise DescriptionError(f"pressure rates {self.rate:g} and {self.vent_rate:g} Pa/s: expected above 0")
        if not self.acceleration > 0.0:
            raise DescriptionError(f"acceleration of pressure {self.acceleration:g} Pa/s²: expected above 0")
        self._require_vented_in_time()

    @property
    def lowest(self) -> np.ndarray:
        """(1,) for all, or (n,) [Pa]."""
        return np.atleast_1d(np.asarray(self.pressure[0], dtype=float))

    @property
    def highest(self) -> np.ndarray:
        """(1,) for all, or (n,) [Pa]."""
        return np.atleast_1d(np.asarray(self.pressure[1], dtype=float))

    @property
    def vent_time(self) -> float:
        """In which a chamber is vented from the farthest limit, above or below, but for what acceleration takes [s]."""
        return float(max(self.highest.max() - self.vented, self.vented - self.lowest.min())) / self.vent_rate

    @property
    def words(self) -> str:
        """The limits of pressure, of those chambers that have unlike ones in a row."""
        pairs = dict.fromkeys(np.broadcast(self.lowest, self.highest))
        return ", ".join(f"{low:g}…{high:g}" for low, high in pairs) + " Pa"

    def require_fit(self, count: int) -> None:
        """See that there are limits for so many chambers.

        Raises:
            DescriptionError: there are more or fewer.
        """
        given = max(len(self.lowest), len(self.highest))
        if given not in (1, count):
            raise DescriptionError(
                f"pressure limits of {given} chambers for {count}: give one for each, or one for all"
            )

    def _require_numbers(self) -> None:
        if not isinstance(self.pressure, tuple | list) or len(self.pressure) != 2:
            raise DescriptionError(f"pressure limits {self.pressure!r:.60}: expected the lowest and the highest, in Pa")
        given = {
            "lowest pressure": self.pressure[0],
            "highest pressure": self.pressure[1],
            "vented pressure": self.vented,
            "pressure rate": self.rate,
            "rate of venting": self.vent_rate,
            "acceleration of pressure": self.acceleration,
        }
        for name, value in given.items():
            rows = name in ("lowest pressure", "highest pressure")
            if not _is_finite(value, rows):
                said = f"{value:g}" if isinstance(value, float) else f"{value!r:.60}"
                raise DescriptionError(f"{name} {said}: expected a finite number{', or one for each' if rows else ''}")

    def _require_vented_in_time(self) -> None:
        """Rates and their acceleration must get a chamber empty, and a filling one to a standstill, in a sane time."""
        if self.vent_time > LONGEST_VENTING:
            raise DescriptionError(
                f"rate of venting {self.vent_rate:g} Pa/s: from the farthest limit that takes {self.vent_time:.0f} s; "
                f"expected at least {self.vent_rate * self.vent_time / LONGEST_VENTING:g} Pa/s"
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
    return CommandLimiter(names, quantity, (limits.lowest, limits.highest), rest=limits.vented)


def _is_finite(value, rows: bool) -> bool:
    """Whether it is a finite number, or where `rows` may be, a row of them."""
    try:
        values = np.ma.asarray(value)
    except ValueError:
        return False
    if values.dtype.kind not in "iuf" or values.ndim > rows or not values.size:
        return False
    return bool(np.isfinite(values.astype(float).filled(np.nan)).all())
