"""Everything a valve driver decides, without its device and its thread: modes, watchdog, limits, faults, pressures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.driving.control import ActuatorControl
from soft_twin.driving.states import State
from soft_twin.driving.valves.chamber_watch import ChamberWatch
from soft_twin.driving.valves.first_look import FirstLook
from soft_twin.driving.valves.pressure_sensors import PressureSensors
from soft_twin.driving.valves.pressures import ChamberLimits, chamber_limiter

VENTED = "vented"
DRIVEN_ONLY = {"supply", "chambers"}  # faults that show while the chambers are driven
WIDE = 30e3  # [Pa] from the lowest to the highest pressure
AMBIENT = 0.0  # [Pa] gauge


@dataclass(frozen=True)
class ValveParameters:
    """How a valve driver behaves; tolerance, lead and spare are one for all chambers, or (n,).

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
    tolerance: float | np.ndarray = 20e3
    response: float = 0.5
    settling_time: float = 1.5
    lead: float | np.ndarray = 30e3
    lag: float = 0.1
    spare: float | np.ndarray = 5e3
    longest_step: float = 0.1

    @classmethod
    def within(cls, limits: ChamberLimits) -> "ValveParameters":
        """For chambers of these limits: where those of a chamber are closer together than WIDE, its pressures that are
        told apart are smaller in proportion."""
        share = np.minimum((limits.highest - limits.lowest) / WIDE, 1.0)
        return cls(tolerance=share * cls.tolerance, lead=share * cls.lead, spare=share * cls.spare)


@dataclass(frozen=True)
class ChamberState:
    """The chambers as their driver knows them; arrays are in the order of their names.

    Attributes:
        time: when it was known, in the driver's clock [s].
        pressures: (n,) measured gauge pressures, NaN where not known, or not any more [Pa].
        commanded: (n,) what the valves are told to hold [Pa].
        enabled, mode, faults, counters: as in CableState, with "vented" for "limp".
        warning: as there, or that the cause of the faults is gone.
    """

    time: float
    pressures: np.ndarray
    commanded: np.ndarray
    enabled: bool
    mode: str
    faults: tuple[str, ...]
    counters: dict[str, float]
    warning: str

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
    limits. What the valves are told never runs far ahead of what is measured, away from the ambient pressure: a supply
    that comes back, or a valve that comes free, then fills no chamber with a bang, and sucks at none. Whatever is
    measured, nothing beyond the limits is told, and nothing to go away from the ambient pressure faster than they
    allow. Ages are in real time; only the pressures' own motion does not make up for time that was lost.

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
        rests_at: float = AMBIENT,
    ):
        """Chambers of these names, with the parameters for their limits if no others, on a device that rests by itself,
        at `rests_at` [Pa], after so long without its host [s]."""
        self.parameters = p = parameters or ValveParameters.within(limits)
        super().__init__(chamber_limiter(names, limits), p.hold_after, p.vent_after)
        self._names = list(names)
        self._limits = limits
        self._lead = p.lead + p.lag * limits.rate
        self._look = FirstLook(len(names), rests_after, limits.vented)
        self._rests_after = rests_after
        self._rest = np.full(len(names), rests_at).clip(limits.lowest, limits.highest)
        self._chambers = ChamberWatch(names, p.tolerance, p.response, p.settling_time, limits.vented, limits.lowest)
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

    @property
    def left(self) -> list[str]:
        """Besides, which chambers are not vented yet, and how much they have: a valve may be stuck."""
        pressures, vented = self._sensors.present, self._limits.vented
        away = np.flatnonzero(np.abs(pressures - vented) > self.parameters.spare)  # false for NaN
        if not len(away) or self.pressed:
            return super().left
        have = ", ".join(f"{self._names[i]} has {pressures[i] / 1e3:.3g} kPa" for i in away)
        return [*super().left, f"not vented yet ({vented / 1e3:.3g} kPa): {have}; see that they get there"]

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
            warning=self.warning or self._over,
        )

    @property
    def _over(self) -> str:
        """That what the faults name is measured to be over, though they wait for somebody who has seen them, in words;
        "" if it is not, or shows only while the chambers are driven."""
        if self.condition is not State.FAULT or self._causes() or self._faults.keys() & DRIVEN_ONLY:
            return ""
        return "what was wrong is over: enable or relax the valves"

    def _head_for(self, target: np.ndarray) -> None:
        self._target, self._stays = target, False

    def _stay(self) -> None:
        self._target, self._stays = self._limiter.positions, True

    def _start(self) -> None:
        self._stay()

    def _lasting_faults(self) -> list[str]:
        return [text for text in (self._sensors.fault, self._trouble, self._astray) if text]

    def _begin_from(self, found: np.ndarray | None) -> None:
        """Chambers that were left under pressure are vented from what their valves hold, but from no farther than they
        were found at; where nothing is known, from the device's rest."""
        if found is None:
            return
        held = np.where(np.isnan(self.told), found, self.told)
        begin = _bring_within(np.where(np.isnan(held), self._rest, held), *self._while_vented(found, found, 0.0))
        away = np.abs(begin - self._limits.vented) > self.parameters.spare
        self._limiter.reset(np.where(away, begin, self._limits.vented).clip(self._limits.lowest, self._limits.highest))
        self.ready = True
        if self._stays:
            self._stay()

    def _believable(self) -> np.ndarray:
        """(n,) the newest measurements that chambers within their limits can have; NaN for others [Pa]."""
        newest, spare = self._sensors.newest, self.parameters.spare
        beyond = (newest > self._limits.highest + spare) | (newest < self._limits.lowest - spare)
        return np.where(beyond, np.nan, newest)

    def _watch(self) -> None:
        """Go to the mode that the ages of commands and measurements, and the device, ask for."""
        if self._sensors.fault:
            self._fault("sensors", self._sensors.fault)
        if self._trouble:
            self._fault("trouble", self._trouble)
        self._watch_commands()

    def _watch_chambers(self, dt: float) -> None:
        driven = self.enabled
        key, text = self._chambers.update(self._sensors.present, self._limiter.positions, dt, driven)
        self._astray = "" if driven else text
        self.pressed = key == "pressed"
        if key:
            self._fault(key, text)
        if self._chambers.standing_off and self.enabled:
            self._note("off", self._chambers.standing_off)
        else:
            self._faults.pop("off", None)

    def _advance(self, step: float, rested: bool) -> None:
        """Move on by a step [s]; from rest, if the chambers have come to rest meanwhile."""
        limits, limiter, sensors, lead = self._limits, self._limiter, self._sensors, self._lead
        if rested:
            limiter.reset(self._rest)
        elif self.enabled:
            self._begin_again_from_measured()
            self._fall_slowly(sensors.pressures - lead, sensors.pressures + lead, step)
            self._fall_back(np.fmax(sensors.lowest, self.told) - lead, np.fmin(sensors.highest, self.told) + lead)
            limiter.advance(self._within_lead(self._target), limits.rate, limits.acceleration, step)
        else:
            vented = np.full(len(limiter.positions), limits.vented)
            limiter.restart(limiter.rates * (vented - limiter.positions) < 0.0, limiter.positions)
            self._fall_back(*self._while_vented(sensors.lowest, sensors.highest, self.parameters.spare))
            self._fall_back(*self._while_vented(self.told, self.told, 0.0))
            limiter.advance(vented, limits.vent_rate, limits.acceleration, step)

    def _begin_again_from_measured(self) -> None:
        """A device that rests by itself, and was silent, was perhaps without power, and its chambers are at rest: what
        it was told before would fill them with a bang. One measurement is all there is."""
        if self._sensors.resumed and np.isfinite(self._rests_after):
            newest, spare = self._sensors.newest, self.parameters.spare
            self._fall_back(newest - spare, newest + spare)

    def _fall_back(self, lowest: np.ndarray, highest: np.ndarray) -> None:
        """What the valves are told falls back towards the ambient pressure at once where the chambers have: that moves
        nothing.

        `lowest` and `highest` (n,) are what they may be told at the least and at the most [Pa], NaN where that is not
        known.
        """
        low, high = self._limits.lowest, self._limits.highest
        lowest = np.minimum(lowest, AMBIENT).clip(low, high)
        highest = np.maximum(highest, AMBIENT).clip(low, high)
        positions = _bring_within(self._limiter.positions, lowest, highest)
        ahead = positions != self._limiter.positions
        self._counters["lead"] += int(self.enabled and ahead.any())
        self._limiter.restart(ahead, positions)

    def _fall_slowly(self, lowest: np.ndarray, highest: np.ndarray, step: float) -> None:
        """Where that is not known for sure, a chamber is at the most vented: perhaps it is one wrong measurement."""
        positions, way = self._limiter.positions, self._limits.vent_rate * step
        self._fall_back(np.minimum(lowest, positions + way), np.maximum(highest, positions - way))

    def _while_vented(
        self, lowest: np.ndarray, highest: np.ndarray, spare: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Between what chambers may be told while they are vented that have from `lowest` to `highest` (n,) [Pa].

        From beyond the vented and the ambient pressure they may fall there at once; but from the one to the other, as
        where they are vented above what their device rests at, they are brought with no more than a lead.
        """
        low, high = min(self._limits.vented, AMBIENT), max(self._limits.vented, AMBIENT)
        return (
            np.minimum(lowest - spare, np.maximum(low, np.minimum(lowest - self._lead, AMBIENT))),
            np.maximum(highest + spare, np.minimum(high, np.maximum(highest + self._lead, AMBIENT))),
        )

    def _within_lead(self, target: np.ndarray) -> np.ndarray:
        """(n,) the target, but away from the ambient pressure no farther than a lead from where the chambers are, and
        no farther at all where nobody knows where that is [Pa].

        Nor farther from what a slow device was told last, and not at all before it was told anything: it would be told
        all that it has missed at once. Nothing that is measured makes it go farther than the target.
        """
        measured, positions, lead = self._sensors.pressures, self._limiter.positions, self._lead
        lowest = np.fmax(np.fmin(measured - lead, positions), self.told - lead)
        highest = np.fmin(np.fmax(measured + lead, positions), self.told + lead)
        untold = np.isnan(self.told)
        lowest, highest = np.where(untold, positions, lowest), np.where(untold, positions, highest)
        within = target.clip(np.minimum(lowest, AMBIENT), np.maximum(highest, AMBIENT))
        return within.clip(self._limits.lowest, self._limits.highest)


def _bring_within(positions: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """The positions (n,), but not beyond bounds (n,), NaN where there is none."""
    return np.fmin(np.fmax(positions, lowest), highest)
