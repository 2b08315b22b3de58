"""Everything a valve driver decides, without its device and its thread: modes, watchdog, limits, faults, pressures."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.driving.pressures import ChamberLimits, PressureLimiter
from soft_twin.errors import DeviceError

VENTED, ACTIVE, HOLD, STOPPED, FAULT = "vented", "active", "hold", "stopped", "fault"


@dataclass(frozen=True)
class ValveParameters:
    """How a valve driver behaves.

    Attributes:
        rate: ticks per second [Hz].
        hold_after: without a command for so long the pressures hold [s].
        vent_after: without a command for so long the chambers are vented [s].
        silent_after: a device that has measured before and does not for so long is a fault [s].
        tolerance: a chamber farther from its command than this [Pa] …
        settling_time: … for so long is a fault [s].
    """

    rate: float = 50.0
    hold_after: float = 0.1
    vent_after: float = 1.0
    silent_after: float = 0.5
    tolerance: float = 20e3
    settling_time: float = 2.0


@dataclass(frozen=True)
class ChamberState:
    """The chambers as their driver knows them; arrays are in the order of their names.

    Attributes:
        time: when it was known, in the driver's clock [s].
        pressures: (n,) measured gauge pressures, NaN where not measured yet [Pa].
        commanded: (n,) what the valves are told to hold [Pa].
        enabled, mode, faults, counters: as in CableState, with "vented" for "limp".
    """

    time: float
    pressures: np.ndarray
    commanded: np.ndarray
    enabled: bool
    mode: str
    faults: tuple[str, ...]
    counters: dict[str, float]


class ValveControl:
    """Chamber pressures held by valves, safely: `update` in, pressures out, all times handed in.

    Vented until enabled. Enabled, the chambers go to the last command, within limits. Without commands they hold, then
    are vented, at the rate that is safe for that. Stopped is latched. A fault vents the chambers and stays until
    `enable` finds its cause gone.
    """

    def __init__(self, names: Sequence[str], limits: ChamberLimits, parameters: ValveParameters | None = None):
        self.parameters = parameters or ValveParameters()
        self._names = list(names)
        self._limits = limits
        self._limiter = PressureLimiter(names, limits)
        self._counters: Counter[str] = Counter(ticks=0, commands=0, faults=0)
        self._faults: dict[str, str] = {}
        self._mode = VENTED
        self._target = self._limiter.pressures
        self._measured = np.full(len(self._names), np.nan)
        self._astray = np.zeros(len(self._names))
        self._command_age = self._measured_age = 0.0

    @property
    def enabled(self) -> bool:
        return self._mode in (ACTIVE, HOLD)

    def command(self, pressures) -> None:
        """Ask for gauge pressures (n,) [Pa]. An unusable command is refused, counted and named among the faults."""
        refused = self._limiter.check(pressures)
        if refused:
            self._note("command", refused)
            return
        self._target = self._limiter.clip(pressures)
        self._command_age = 0.0
        self._faults.pop("command", None)
        self._counters["commands"] += 1
        if self._mode == HOLD:
            self._mode = ACTIVE

    def enable(self) -> None:
        """Let the chambers be pressurised; they stay as they are until a command comes.

        Raises:
            DeviceError: stopped, or the cause of a fault is still there.
        """
        if self._mode == STOPPED:
            raise DeviceError("the valves are stopped: clear the stop before enabling them")
        if self.enabled:
            return
        if "device" in self._faults:
            raise DeviceError(self._faults["device"])
        if self._silent():
            raise DeviceError(self._silent())
        self._faults.clear()
        self._mode = ACTIVE
        self._target = self._limiter.pressures
        self._command_age = 0.0
        self._astray[:] = 0.0

    def relax(self) -> None:
        """Vent the chambers."""
        if self._mode != STOPPED:
            self._mode = FAULT if "device" in self._faults else VENTED

    def stop(self) -> None:
        """Vent, and refuse to be enabled until `clear_stop`."""
        self._mode = STOPPED

    def clear_stop(self) -> None:
        """End a stop; the chambers stay vented."""
        if self._mode == STOPPED:
            self._mode = VENTED

    def lose_device(self, reason: str) -> None:
        """The device is gone, as far as this driver goes."""
        self._fault("device", reason)

    def update(self, measured: np.ndarray | None, dt: float) -> np.ndarray:
        """Take the pressures (n,) measured in the last `dt` seconds, if any; the pressures to hold (n,) [Pa]."""
        self._counters["ticks"] += 1
        self._command_age += dt
        self._measured_age = 0.0 if measured is not None else self._measured_age + dt
        if measured is not None:
            self._measured = measured
        self._watch(dt)
        if self.enabled:
            self._limiter.advance(self._target, self._limits.rate, dt)
        else:
            self._limiter.advance(np.full(len(self._names), self._limits.vented), self._limits.vent_rate, dt)
        return self._limiter.pressures

    def state(self, time: float) -> ChamberState:
        """The state as of the last update, stamped with `time` [s]."""
        return ChamberState(
            time=time,
            pressures=self._measured.copy(),
            commanded=self._limiter.pressures,
            enabled=self.enabled,
            mode=self._mode,
            faults=tuple(self._faults.values()),
            counters={**self._counters, **self._limiter.counters},
        )

    def _watch(self, dt: float) -> None:
        """Go to the mode that the ages of commands and measurements, and the measurements, ask for."""
        p = self.parameters
        if self._silent():
            self._fault("silent", self._silent())
        self._watch_pressures(dt)
        if self._mode == ACTIVE and self._command_age > p.hold_after:
            self._mode = HOLD
            self._target = self._limiter.pressures
        if self.enabled and self._command_age > p.vent_after:
            self._mode = VENTED
            self._note("watchdog", f"no command for {p.vent_after:g} s: the chambers were vented, enable them again")

    def _silent(self) -> str:
        if self._measured_age <= self.parameters.silent_after or np.isnan(self._measured).all():
            return ""
        return f"no measured pressure for {self.parameters.silent_after:g} s; check the device and its line"

    def _watch_pressures(self, dt: float) -> None:
        deviation = np.nan_to_num(self._measured - self._limiter.pressures)
        far = np.abs(deviation) > self.parameters.tolerance
        self._astray = np.where(far & self.enabled, self._astray + dt, 0.0)
        faulty = np.flatnonzero(self._astray > self.parameters.settling_time)
        if len(faulty) > 1 and len(faulty) > 0.5 * np.count_nonzero(self._limiter.pressures > self._limits.vented):
            self._fault("supply", f"{len(faulty)} chambers do not reach their pressure: supply pressure lost?")
        elif len(faulty):
            where = ", ".join(f"{self._names[i]} is {deviation[i] / 1e3:+.0f} kPa from its command" for i in faulty)
            self._fault("chambers", f"{where}: valve stuck, or chamber leaks")

    def _fault(self, key: str, text: str) -> None:
        self._note(key, text)
        if self._mode != STOPPED:
            self._mode = FAULT

    def _note(self, key: str, text: str) -> None:
        if key not in self._faults:
            self._counters["faults"] += 1
        self._faults[key] = text
