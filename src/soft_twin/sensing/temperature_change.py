"""Changes of the chip's temperature that a filter should know of."""

import math

_LOW_PASS = 1.0  # [s]
_NOTABLE = 0.05  # [K]


class TemperatureChange:
    """Follows the temperature through a low-pass, so that the sensor's noise does not count as change."""

    def __init__(self) -> None:
        self._slow = math.nan
        self._noted = math.nan

    def update(self, temperature: float, dt: float) -> float:
        """The change since the last notable one [K] if it is notable by now, else 0; NaN temperatures are skipped."""
        if not math.isfinite(temperature):
            return 0.0
        if math.isnan(self._slow):
            self._slow = self._noted = temperature
        self._slow += dt / (_LOW_PASS + dt) * (temperature - self._slow)
        change = self._slow - self._noted
        if abs(change) < _NOTABLE:
            return 0.0
        self._noted = self._slow
        return change
