"""Temperature control of the IMU chip: a steady temperature is a steady gyroscope bias.

Lai et al. (IJRR 2025), "Filters for IMU drifts": the target is the temperature read at the start plus 15 °C.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from soft_twin.errors import InputError

TEMPERATURE_KEPT = 3.0  # [s] that a temperature counts where it is told apart from the samples
GAP = 1.0  # [s] between two samples from which on nobody knows what the chip did meanwhile
FALLING = 0.05  # [K/s] from which on a chip that is not heated cools down
MARGIN = 5.0  # [K] that a target is below the highest temperature of the chip: what thermometers are off by
ROOM = 3.0  # [K] that a target is above a chip that is not heated, at least: air that warms makes it as warm
COOLED = 4.0  # reset times, the board's time constants, after which a chip that was heated counts as cold


@dataclass(frozen=True)
class HeaterParameters:
    """Settings of the temperature control.

    Attributes:
        rise: target above the temperature read at the start, of a chip that is not heated [K]; less where the target
            would be nearer to the highest of `chip_range` than 5 K.
        target: target [°C] instead of `rise`, or None; within `chip_range`, and 5 K below its highest.
        proportional: gain [1/K].
        reset_time: time constant of the integral [s]; best that of the board, heater to air.
        derivative: gain on the temperature's rate [s/K]; 0 on boards whose sensor is coarse.
        duty_limits: lowest and highest duty.
        tolerance: deviation that counts as steady [K].
        settling_time: how long the deviation must be within the tolerance to be steady [s].
        reading_time: over which the temperature at the start is read, twice [s].
        patience: how long the heater may be at its limit without coming nearer to the target [s].
        chip_range: temperatures that a working sensor can report [°C].

    Raises:
        InputError: limits, gains, a rise or a target that cannot be.
    """

    rise: float = 15.0
    target: float | None = None
    proportional: float = 1.0
    reset_time: float = 20.0
    derivative: float = 0.0
    duty_limits: tuple[float, float] = (0.0, 1.0)
    tolerance: float = 0.3
    settling_time: float = 2.0
    reading_time: float = 1.0
    patience: float = 20.0
    chip_range: tuple[float, float] = (-40.0, 85.0)

    def __post_init__(self) -> None:
        low, high = self.duty_limits
        if not 0.0 <= low < high <= 1.0:
            raise InputError(f"heater duty limits {self.duty_limits}: expected 0 <= low < high <= 1")
        if not (self.proportional > 0.0 and self.reset_time > 0.0 and self.derivative >= 0.0):
            raise InputError(
                f"heater gains {self.proportional!r} 1/K, {self.reset_time!r} s, {self.derivative!r} s/K: "
                "expected > 0, > 0 and >= 0"
            )
        if not 0.0 < self.rise < math.inf:
            raise InputError(f"heater rise {self.rise!r} K: expected more than 0")
        if self.target is not None and not self.chip_range[0] <= self.target <= self.highest_target:
            raise InputError(
                f"heater target {self.target!r} °C: expected {self.chip_range[0]:g}…{self.highest_target:g} °C"
            )

    @property
    def highest_target(self) -> float:
        """[°C], with a margin to what the chip stands."""
        return self.chip_range[1] - MARGIN


def heating_of(choices: Mapping[str, Any]) -> HeaterParameters:
    """As the parameters of the node imu_to_gravity have it; those that are not among `choices` are the defaults.

    Raises:
        InputError: gains that are not positive, or a target that is too hot or too cold.
    """
    usual = HeaterParameters()
    return HeaterParameters(
        target=choices.get("heater_target") or None,
        proportional=choices.get("heater_gain", usual.proportional),
        reset_time=choices.get("heater_reset_time", usual.reset_time),
    )


class TemperatureControl:
    """PI(D) controller of the heater's duty with named states.

    The duty is u = clip(K_p e + I − K_d Ṫ); the integral I is the clipped duty through a first-order lag of the reset
    time ("automatic reset"). It cannot wind up: at a limit it follows the board's own warming, whose time constant is
    alike, and is right when the target comes near.

    The target stands above the temperature of a chip that is not heated. One that was heated until now, by a process
    that was started anew, or before a `reset`, is hotter: as long as it cools down it is not read, and after a reset
    the target is at most what it was. It would rise by 15 °C with every start, else.

    Attributes:
        state: "cold" (the temperature at the start is being read, or falls), "heating", "steady", "failed" (given up,
            see `fault`; the heater is off until `reset`), "off" (no temperature is measured, the heater is off).
        duty: 0…1.
        target: [°C], None while cold.
        fault: why it has failed, in words, or empty.
    """

    def __init__(self, parameters: HeaterParameters | None = None):
        self.parameters = parameters or HeaterParameters()
        self._now = self._heated = math.nan
        self.target: float | None = None
        self._highest_target = math.inf
        self.reset()

    def reset(self) -> None:
        """Start over: read the temperature, set the target anew; no higher, where the chip was heated lately."""
        if not self._now - self._heated < COOLED * self.parameters.reset_time:  # or it was never heated
            self._highest_target = math.inf
        elif self.target is not None:
            self._highest_target = self.target
        self.state = "cold"
        self.duty = 0.0
        self.target = None
        self.fault = ""
        self._time = math.nan
        self._started = self._mean_began = math.nan
        self._before, self._sum, self._count = math.nan, 0.0, 0
        self._temperature = math.nan
        self._integral = 0.0
        self._settled_since = math.nan
        self._best_error = math.inf
        self._struggled = 0.0

    def update(self, time: float, temperature: float) -> float:
        """The duty for a temperature [°C] measured at `time` [s]; NaN switches the heater off while it lasts."""
        self._now = time
        if self.state == "failed":
            return 0.0
        if math.isnan(temperature):
            return self._switch("off", 0.0)
        low, high = self.parameters.chip_range
        if not low <= temperature <= high:
            found = f"chip temperature {temperature:.4g} °C is outside {low:g}…{high:g} °C"
            return self._fail(f"{found}; look at the board's cable, or change the board, then reset")
        if time < self._time:
            self._set_clock_back(time)
        if time - self._time > GAP:
            self._watch_anew()
        dt = min(time - self._time, GAP) if math.isfinite(self._time) else 0.0
        slope = (temperature - self._temperature) / dt if dt > 0.0 and math.isfinite(self._temperature) else 0.0
        self._time, self._temperature = time, temperature
        if self.target is None:
            return self._read_start(time, temperature)
        return self._control(time, self.target - temperature, slope, dt)

    def _set_clock_back(self, time: float) -> None:
        self._started = self._mean_began = self._time = self._heated = time
        self._settled_since = math.nan

    def _watch_anew(self) -> None:
        """The chip was on its own for a while, and may have cooled down."""
        self._started = self._before = self._settled_since = math.nan
        self._sum, self._count = 0.0, 0
        self._best_error = math.inf

    def _read_start(self, time: float, temperature: float) -> float:
        """Means over reading times, until one is no colder than the one before: a chip that was heated cools down."""
        p = self.parameters
        if math.isnan(self._started):
            self._started = self._mean_began = time
        self._sum, self._count = self._sum + temperature, self._count + 1
        if time - self._mean_began >= p.reading_time:
            mean, waited = self._sum / self._count, time - self._started >= COOLED * p.reset_time
            if mean - self._before >= -FALLING * p.reading_time or waited or p.target is not None:
                return self._aim(mean)
            self._before, self._mean_began, self._sum, self._count = mean, time, 0.0, 0
        return self._switch("cold", 0.0)

    def _aim(self, start: float) -> float:
        """Set the target above the temperature at the start, where there is room for it."""
        p = self.parameters
        heated_lately = math.isfinite(self._highest_target)
        if p.target is None and not heated_lately and p.highest_target - start < min(ROOM, p.rise):
            found = f"chip is at {start:.1f} °C and may be heated to {p.highest_target:g} °C only"
            return self._fail(f"{found}: cool the board, then reset")
        self.target = min(start + p.rise, self._highest_target, p.highest_target) if p.target is None else p.target
        return self._switch("cold", 0.0)

    def _control(self, time: float, error: float, slope: float, dt: float) -> float:
        p = self.parameters
        low, high = p.duty_limits
        duty = min(max(p.proportional * error + self._integral - p.derivative * slope, low), high)
        self._integral += (duty - self._integral) * min(dt / p.reset_time, 1.0)
        self._heated = time if duty > 0.0 else self._heated
        if self._stalled(error, duty >= high, dt):
            return self._fail(
                f"{p.patience:g} s at full heat and still {error:.1f} K below {self.target:.1f} °C: "
                "too cold outside, heater broken, or its sensor stuck; check the heater's supply, then reset"
            )
        return self._switch("steady" if self._settled(time, error) else "heating", duty)

    def _stalled(self, error: float, at_limit: bool, dt: float) -> bool:
        """Whether the heater has been at its limit for the patience without a gain of half a kelvin."""
        self._struggled += dt
        if not at_limit or error < self._best_error - 0.5:
            self._best_error, self._struggled = error, 0.0
        return self._struggled > self.parameters.patience

    def _settled(self, time: float, error: float) -> bool:
        if abs(error) > self.parameters.tolerance:
            self._settled_since = math.nan
        elif math.isnan(self._settled_since):
            self._settled_since = time
        return time - self._settled_since >= self.parameters.settling_time

    def _fail(self, fault: str) -> float:
        self.fault = fault
        return self._switch("failed", 0.0)

    def _switch(self, state: str, duty: float) -> float:
        self.state, self.duty = state, duty
        return duty
