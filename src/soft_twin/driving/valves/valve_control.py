"""Everything a valve driver decides, without its device and its thread: modes, watchdog, limits, faults, pressures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.driving.control import ActuatorControl
from soft_twin.driving.valves.chamber_watch import ChamberWatch
from soft_twin.driving.valves.first_look import FirstLook
from soft_twin.driving.valves.pressure_sensors import PressureSensors
from soft_twin.driving.valves.pressures import ChamberLimits, chamber_limiter

VENTED = "vented"
WIDE = 30e3  # [Pa] from the lowest to the highest pressure


@dataclass(frozen=True)
class ValveParameters:
    """How a valve driver behaves.

    Attributes:
        rate: ticks per second [Hz].
        hold_after: without a command for so long the pressures hold [s].
        vent_after: without a command for so long the chambers are vented [s].
        stale_after: ticks with an older measurement are counted [s].
        silent_after: a device that measures nothing for so long, or not a chamber's pressure, is a fault [s].
        tolerance: a chamber farther than this [Pa] from what it was told …
        response: … within so long [s] …
        settling_time: … is a fault when it stays so for so long [s].
        lead: told pressures stay so near to measured ones, besides what the rate limit lets them lead by [Pa].
        lag: time by which measured pressures may follow [s].
        spare: told pressures of chambers that are vented stay within this of measured ones [Pa].
        longest_step: for which the pressures move in one tick, however late it comes [s].
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
    longest_step: float = 0.1

    @classmethod
    def within(cls, limits: ChamberLimits) -> "ValveParameters":
        """For chambers of these limits: where they are closer together than WIDE, pressures that are told apart are
        smaller in proportion."""
        share = min(float((limits.highest - limits.lowest).min()) / WIDE, 1.0)
        return cls(tolerance=share * cls.tolerance, lead=share * cls.lead, spare=share * cls.spare)


@dataclass(frozen=True)
class ChamberState:
    """The chambers as their driver knows them; arrays are in the order of their names.

    Attributes:
        time: when it was known, in the driver's clock [s].
        pressures: (n,) measured gauge pressures, NaN where not known, or not any more [Pa].
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
        """(n,) what is commanded as measured: gauge pressures [Pa]."""
        return self.pressures

    @property
    def efforts(self) -> np.ndarray:
        """(n,) forces, which nobody measures: NaN."""
        return np.full(len(self.pressures), np.nan)


class ValveControl(ActuatorControl):
    """Chamber pressures held by valves, safely: `update` in, pressures out, all times handed in.

    Vented until enabled, at the rate that is safe for that. Enabled, the chambers go to the last command, within
    limits. What the valves are told never runs far ahead of what is measured: a supply that comes back, or a valve
    that comes free, then fills no chamber with a bang. Whatever is measured, nothing beyond the limits is told, and
    nothing to rise faster than they allow. Ages are in real time; only the pressures' own motion does not make up for
    time that was lost.

    Attributes:
        told: (n,) what the valves were told last, or are known to hold, NaN where nothing: a slow device lags behind
            the pressures, and one that was silent may have forgotten them [Pa].
        ready: whether to tell the valves anything yet.
        pressed: whether a chamber stays under pressure though nobody drives it.
    """

    actuators = "valves"
    relaxed = VENTED

    def __init__(
        self,
        names: Sequence[str],
        limits: ChamberLimits,
        parameters: ValveParameters | None = None,
        rests_after: float = np.inf,
    ):
        """Chambers of these names on a device that rests by itself after so long without its host [s]."""
        self.parameters = p = parameters or ValveParameters()
        super().__init__(chamber_limiter(names, limits), p.hold_after, p.vent_after)
        self._limits = limits
        self._lead = p.lead + p.lag * limits.rate
        self._look = FirstLook(len(names), rests_after)
        self._rests_after = rests_after
        self._chambers = ChamberWatch(names, p.tolerance, p.response, p.settling_time)
        self._sensors = PressureSensors(names, p.stale_after, p.silent_after)
        self._counters.update(lead=0, stale=0)
        self._target = self._limiter.positions
        self._stays = True  # the target is where the pressures are, not a command
        self._trouble = self._astray = ""
        self.told = np.full(len(names), np.nan)
        self.pressed = False
        self.ready = False

    def update(
        self,
        measured: np.ndarray | None,
        dt: float,
        trouble: str = "",
        rested: bool = False,
        pausing: bool = False,
    ) -> np.ndarray:
        """The pressures (n,) to hold [Pa]; the valves are to be told them once the control is `ready`.

        Args:
            measured: (n,) in the last `dt` seconds [Pa], NaN where not known; None if nothing was.
            dt: [s].
            trouble: what the device refuses or does not confirm, in words; "" if nothing.
            rested: whether the device has let its chambers rest, of itself.
            pausing: whether it measures nothing because it lets the air out.
        """
        self._counters["ticks"] += 1
        self._command_age += dt
        self._trouble = trouble
        if pausing:
            self._sensors.pause()
        else:
            self._sensors.update(measured, dt)
        self._counters["stale"] += self._sensors.age > self.parameters.stale_after
        step = min(dt, self.parameters.longest_step)
        if not self._sensors.pausing:
            self._watch_chambers(step)
        self._watch()
        if not self.ready:
            self._begin_from(self._look.update(None if measured is None else self._believable(), dt))
        if self.ready:
            self._advance(step, rested or dt > self._rests_after)
        return self._limiter.positions

    def state(self, time: float) -> ChamberState:
        """The state as of the last update, stamped with `time` [s]."""
        return ChamberState(
            time=time,
            pressures=self._sensors.present.copy(),
            commanded=self._limiter.positions,
            enabled=self.enabled,
            mode=self.mode,
            faults=tuple(self._faults.values()),
            counters={**self._counters, **self._limiter.counters},
        )

    def _head_for(self, target: np.ndarray) -> None:
        self._target, self._stays = target, False

    def _stay(self) -> None:
        self._target, self._stays = self._limiter.positions, True

    def _start(self) -> None:
        self._stay()

    def _lasting_faults(self) -> list[str]:
        return [text for text in (self._sensors.fault, self._trouble, self._astray) if text]

    def _begin_from(self, found: np.ndarray | None) -> None:
        """Chambers that were left under pressure are vented from where they are, but from no more than valves hold."""
        if found is None:
            return
        vented, spare = self._limits.vented, self.parameters.spare
        certain = np.fmin(found, np.maximum(self.told, vented))
        believed = np.abs(certain - vented) > spare  # false for NaN
        self._limiter.reset(np.where(believed, certain, vented).clip(self._limits.lowest, self._limits.highest))
        self.ready = True
        if self._stays:
            self._stay()

    def _believable(self) -> np.ndarray:
        """(n,) the newest measurements that chambers within their limits can have; NaN for others [Pa]."""
        newest = self._sensors.newest
        return np.where(newest > self._limits.highest + self.parameters.spare, np.nan, newest)

    def _watch(self) -> None:
        """Go to the mode that the ages of commands and measurements, and the device, ask for."""
        if self._sensors.fault:
            self._fault("sensors", self._sensors.fault)
        if self._trouble:
            self._fault("trouble", self._trouble)
        self._watch_commands()

    def _watch_chambers(self, dt: float) -> None:
        driven = self.enabled
        key, text = self._chambers.update(self._sensors.pressures, self._limiter.positions, dt, driven)
        self._astray = "" if driven else text
        self.pressed = key == "pressed"
        if key:
            self._fault(key, text)

    def _advance(self, step: float, rested: bool) -> None:
        """Move on by a step [s]; from rest, if the chambers have come to rest meanwhile."""
        limits, limiter = self._limits, self._limiter
        if rested:
            limiter.reset(np.full(len(limiter.positions), limits.vented))
        elif self.enabled:
            self._fall_slowly(self._sensors.pressures + self._lead, step)
            self._fall_back(np.fmin(self._sensors.agreed, self.told) + self._lead)
            limiter.advance(self._within_lead(self._target), limits.rate, limits.acceleration, step)
        else:
            vented = np.full(len(limiter.positions), limits.vented)
            limiter.restart(limiter.rates * (vented - limiter.positions) < 0.0, limiter.positions)
            self._fall_back(np.maximum(self._sensors.agreed + self.parameters.spare, vented))
            self._fall_back(np.maximum(self.told, vented))
            limiter.advance(vented, limits.vent_rate, limits.acceleration, step)

    def _fall_back(self, highest: np.ndarray) -> None:
        """What the valves are told falls back at once where the chambers have: that moves nothing.

        `highest` (n,) is what they may be told at the most [Pa], NaN where that is not known.
        """
        highest = highest.clip(self._limits.lowest, self._limits.highest)
        ahead = self._limiter.positions > highest  # false for NaN
        self._counters["lead"] += int(self.enabled and ahead.any())
        self._limiter.restart(ahead, highest)

    def _fall_slowly(self, highest: np.ndarray, step: float) -> None:
        """Where that is not known for sure, a chamber is at the most vented: perhaps it is one wrong measurement."""
        self._fall_back(np.maximum(highest, self._limiter.positions - self._limits.vent_rate * step))

    def _within_lead(self, target: np.ndarray) -> np.ndarray:
        """(n,) the target, but not up from far above where the chambers are, nor where nobody knows where that is [Pa].

        Nor from far above what a slow device was told last, and not at all before it was told anything: it would be
        told all that it has missed at once. Nothing that is measured, be it ever so high, makes it higher than the
        target.
        """
        measured, positions = self._sensors.pressures, self._limiter.positions
        highest = np.fmin(np.fmax(measured + self._lead, positions), self.told + self._lead)
        highest = np.where(np.isnan(self.told), positions, highest)
        return np.minimum(target, highest).clip(self._limits.lowest, self._limits.highest)
