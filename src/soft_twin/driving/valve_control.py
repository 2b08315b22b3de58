"""Everything a valve driver decides, without its device and its thread: modes, watchdog, limits, faults, pressures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.driving.chamber_watch import ChamberWatch
from soft_twin.driving.control import DEVICE, ActuatorControl
from soft_twin.driving.pressures import ChamberLimits, chamber_limiter

VENTED = "vented"


@dataclass(frozen=True)
class ValveParameters:
    """How a valve driver behaves.

    Attributes:
        rate: ticks per second [Hz].
        hold_after: without a command for so long the pressures hold [s].
        vent_after: without a command for so long the chambers are vented [s].
        silent_after: a device that has measured before and does not for so long is a fault [s].
        tolerance: a chamber farther than this [Pa] from what it was told …
        response: … within so long [s] …
        settling_time: … is a fault when it stays so for so long [s].
        lead: told pressures stay so near to measured ones, besides what the rate limit lets them lead by [Pa].
        lag: time by which measured pressures may follow [s].
    """

    rate: float = 50.0
    hold_after: float = 0.1
    vent_after: float = 1.0
    silent_after: float = 0.5
    tolerance: float = 20e3
    response: float = 0.5
    settling_time: float = 1.5
    lead: float = 30e3
    lag: float = 0.1


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


class ValveControl(ActuatorControl):
    """Chamber pressures held by valves, safely: `update` in, pressures out, all times handed in.

    Vented until enabled, at the rate that is safe for that. Enabled, the chambers go to the last command, within
    limits. What the valves are told never runs far ahead of what is measured: a supply that comes back, or a valve
    that comes free, then fills no chamber with a bang.
    """

    actuators = "valves"
    relaxed = VENTED

    def __init__(self, names: Sequence[str], limits: ChamberLimits, parameters: ValveParameters | None = None):
        self.parameters = p = parameters or ValveParameters()
        super().__init__(chamber_limiter(names, limits), p.hold_after, p.vent_after)
        self._limits = limits
        self._lead = p.lead + p.lag * limits.rate
        self._watch = ChamberWatch(names, p.tolerance, p.response, p.settling_time)
        self._counters["lead"] = 0
        self._target = self._limiter.positions
        self._measured = np.full(len(names), np.nan)
        self._measured_age = 0.0

    def update(self, measured: np.ndarray | None, dt: float) -> np.ndarray:
        """Take the pressures (n,) measured in the last `dt` seconds, if any; the pressures to hold (n,) [Pa]."""
        self._counters["ticks"] += 1
        self._command_age += dt
        self._measured_age = 0.0 if measured is not None else self._measured_age + dt
        if measured is not None:
            self._measured = measured
        if self._silence():
            self._fault("silent", self._silence())
        self._watch_commands()
        self._advance(dt)
        if self.enabled:
            key, text = self._watch.update(self._measured, self._limiter.positions, dt)
            if key:
                self._fault(key, text)
        return self._limiter.positions

    def state(self, time: float) -> ChamberState:
        """The state as of the last update, stamped with `time` [s]."""
        return ChamberState(
            time=time,
            pressures=self._measured.copy(),
            commanded=self._limiter.positions,
            enabled=self.enabled,
            mode=self.mode,
            faults=tuple(self._faults.values()),
            counters={**self._counters, **self._limiter.counters},
        )

    def _head_for(self, target: np.ndarray) -> None:
        self._target = target

    def _stay(self) -> None:
        self._target = self._limiter.positions

    def _start(self) -> None:
        self._target = self._limiter.positions
        self._watch.reset()

    def _lasting_faults(self) -> list[str]:
        return [text for text in (self._faults.get(DEVICE), self._silence()) if text]

    def _advance(self, dt: float) -> None:
        limits = self._limits
        if self.enabled:
            self._limiter.advance(self._target, limits.rate, limits.acceleration, dt)
            self._keep_near()
        else:
            vented = np.full(len(self._measured), limits.vented)
            self._limiter.advance(vented, limits.vent_rate, limits.acceleration, dt)

    def _keep_near(self) -> None:
        """Wait for chambers that are behind."""
        told = self._limiter.positions
        near = np.where(
            np.isnan(self._measured), told, told.clip(self._measured - self._lead, self._measured + self._lead)
        )
        behind = near != told
        if behind.any():
            self._counters["lead"] += 1
            self._limiter.restart(behind, near.clip(*self._limits.pressure))

    def _silence(self) -> str:
        if self._measured_age <= self.parameters.silent_after or np.isnan(self._measured).all():
            return ""
        return f"no measured pressure for {self.parameters.silent_after:g} s; check the device and its line"
