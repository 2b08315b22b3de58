"""Everything a valve driver decides, without its device and its thread: modes, watchdog, limits, faults, pressures."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.driving.chamber_watch import ChamberWatch
from soft_twin.driving.control import ActuatorControl
from soft_twin.driving.pressures import ChamberLimits, chamber_limiter

VENTED = "vented"
MEDIAN_OF = 3  # measurements


@dataclass(frozen=True)
class ValveParameters:
    """How a valve driver behaves.

    Attributes:
        rate: ticks per second [Hz].
        hold_after: without a command for so long the pressures hold [s].
        vent_after: without a command for so long the chambers are vented [s].
        stale_after: ticks with an older measurement are counted [s].
        silent_after: a device that measures nothing for so long is a fault [s].
        tolerance: a chamber farther than this [Pa] from what it was told …
        response: … within so long [s] …
        settling_time: … is a fault when it stays so for so long [s].
        lead: told pressures stay so near to measured ones, besides what the rate limit lets them lead by [Pa].
        lag: time by which measured pressures may follow [s].
        spare: told pressures of chambers that are vented stay within this of measured ones [Pa].
    """

    rate: float = 50.0
    hold_after: float = 0.1
    vent_after: float = 1.0
    stale_after: float = 0.1
    silent_after: float = 0.5
    tolerance: float = 20e3
    response: float = 0.5
    settling_time: float = 1.5
    lead: float = 30e3
    lag: float = 0.1
    spare: float = 5e3


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

    @property
    def positions(self) -> np.ndarray:
        """(n,) volumes let in, which nobody measures: NaN [m³]."""
        return np.full(len(self.pressures), np.nan)

    @property
    def efforts(self) -> np.ndarray:
        """(n,) measured gauge pressures [Pa]."""
        return self.pressures


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
        self._chambers = ChamberWatch(names, p.tolerance, p.response, p.settling_time)
        self._counters.update(lead=0, stale=0)
        self._target = self._limiter.positions
        self._recent: deque[np.ndarray] = deque(maxlen=MEDIAN_OF)
        self._measured = np.full(len(names), np.nan)
        self._measured_age = 0.0
        self._told = False

    @property
    def ready(self) -> bool:
        """Whether to tell the valves anything yet: chambers left under pressure are vented from where they are."""
        return self._told or bool(self._recent) or self._measured_age > self.parameters.silent_after

    def update(self, measured: np.ndarray | None, dt: float) -> np.ndarray:
        """Take the pressures (n,) measured in the last `dt` seconds, if any; the pressures to hold (n,) [Pa]."""
        self._counters["ticks"] += 1
        self._command_age += dt
        self._measured_age += dt
        self._counters["stale"] += self._measured_age > self.parameters.stale_after
        if measured is not None:
            self._take(measured)
        self._watch(dt)
        if self.ready:
            self._advance(dt)
            self._told = True
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
        self._chambers.reset()

    def _lasting_faults(self) -> list[str]:
        return [text for text in (self._silence(),) if text]

    def _take(self, measured: np.ndarray) -> None:
        """The median of the last few: not every device's line has a checksum."""
        if self._measured_age > self.parameters.stale_after:
            self._recent.clear()
        if not self._told:
            self._limiter.reset(measured.clip(*self._limits.pressure))
        self._measured_age = 0.0
        self._recent.append(measured)
        self._measured = np.median(self._recent, axis=0)

    def _watch(self, dt: float) -> None:
        """Go to the mode that the ages of commands and measurements, and the measurements, ask for."""
        if self._silence():
            self._fault("silent", self._silence())
        if self.enabled:
            key, text = self._chambers.update(self._measured, self._limiter.positions, dt)
            if key:
                self._fault(key, text)
        self._watch_commands()

    def _advance(self, dt: float) -> None:
        limits, limiter = self._limits, self._limiter
        if self.enabled:
            self._wait_for_chambers()
            limiter.advance(self._within_lead(self._target), limits.rate, limits.acceleration, dt)
        else:
            vented = np.full(len(self._measured), limits.vented)
            limiter.restart(limiter.rates * (vented - limiter.positions) < 0.0, limiter.positions)
            limiter.advance(vented, limits.vent_rate, limits.acceleration, dt)
            spare = np.maximum(np.nan_to_num(self._measured, nan=np.inf) + self.parameters.spare, limits.vented)
            limiter.restart(limiter.positions > spare, spare)

    def _wait_for_chambers(self) -> None:
        """What the valves are told falls back at once where the chambers have: that moves nothing."""
        highest = np.nan_to_num(self._measured, nan=np.inf) + self._lead
        ahead = self._limiter.positions > np.maximum(highest, self._limits.pressure[0])
        self._counters["lead"] += int(ahead.any())
        self._limiter.restart(ahead, highest)

    def _within_lead(self, target: np.ndarray) -> np.ndarray:
        """(n,) the target, but not far from where the chambers are [Pa]."""
        near = target.clip(self._measured - self._lead, self._measured + self._lead)
        return np.where(np.isnan(near), target, near).clip(*self._limits.pressure)

    def _silence(self) -> str:
        if self._measured_age <= self.parameters.silent_after:
            return ""
        return (
            f"no measured pressure for {self.parameters.silent_after:g} s; check the device, its line and its baud rate"
        )
