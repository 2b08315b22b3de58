"""The world of a motors' case: winches, their controllers, the adapter, and what breaks at its time."""

from dataclasses import replace

import numpy as np

from soft_twin.studies.campaigns.devices.c610 import Controllers
from soft_twin.studies.campaigns.devices.can_adapter import Adapter, Line
from soft_twin.studies.campaigns.devices.virtual_clock import VirtualClock
from soft_twin.studies.campaigns.devices.winches import (
    BLOCKED_AT,
    CEILING,
    LOCKED,
    ON_DRUM,
    SLIP,
    TORQUE,
    Winches,
)
from soft_twin.studies.campaigns.motor_case import Case, Fault

PERIOD = 0.001  # [s] of the controllers' own steps
SLIP_PERIOD = 0.02  # [s] between two slips of an encoder that slips again and again


class MotorWorld:
    """Time, physics and faults of a case.

    Attributes:
        halted_until: the host does nothing before [s].
        mute_until: the user sends no commands before [s].
        sound: the winches, were no motor reversed, while some are: see `let_sound`.
        active: faults that have begun and were not mended.
        begun: all faults that have begun.
    """

    def __init__(self, case: Case):
        self.case = case
        self.clock = VirtualClock(self._live, PERIOD, case.epoch)
        self.winches = Winches(list(case.winches), case.drive.winch.radius, case.coupling)
        self.adapter = Adapter(self.clock, case.seed)
        self.adapter.line = self._line()
        self.controllers = Controllers(self.winches, self.adapter.from_motor, case.feedback)
        self.adapter.on_command = self._hear
        self.sound: Winches | None = None
        self.halted_until = self.mute_until = -1.0
        self.active: list[tuple[float, Fault]] = []
        self.begun: list[Fault] = []
        self._due = list(case.faults)
        self._next_slip = 0.0

    def mend(self) -> None:
        """Everything is whole again; nothing breaks any more."""
        for _, fault in self.active:
            self._end(fault)
        self.active, self._due = [], []
        self.mute_until = self.clock.now

    def let_sound(self, which: np.ndarray) -> None:
        """From here on: what the winches `which` (n,) would do, were no motor reversed."""
        if self.sound is not None:
            self.sound.state[which] = self.winches.state[which]

    def straighten(self) -> None:
        """The user holds the robot straight and puts the cables on their drums, just taut."""
        self.winches.relax_cables()

    def _line(self) -> Line:
        return Line(latency=self.case.latency, room=self.case.room)

    def _hear(self, can_id: int, data: bytes, extended: bool) -> None:
        if not extended:
            self.controllers.hear(can_id, data, self.clock.now)

    def _live(self, now: float) -> None:
        while self._due and self._due[0].time <= now:
            self._begin(self._due.pop(0), now)
        if self.active:
            self._go_on(now)
        self.controllers.live(now, PERIOD)
        if self.sound is not None:
            self._live_soundly(self.sound)

    def _live_soundly(self, sound: Winches) -> None:
        """Under the same currents and faults, but for the sense of the torques."""
        sound.wanted, sound.health = self.winches.wanted, self.winches.health.copy()
        sound.health[:, TORQUE] = 1.0
        sound.step(PERIOD)

    def _begin(self, fault: Fault, now: float) -> None:
        self.active.append((now + fault.duration, fault))
        self.begun.append(fault)
        self._next_slip = now
        self._set(fault, True)

    def _go_on(self, now: float) -> None:
        for _, fault in self.active:
            if fault.kind == "slips" and now >= self._next_slip:
                self.winches.health[fault.motor, SLIP] += fault.magnitude
        if now >= self._next_slip:
            self._next_slip = now + SLIP_PERIOD
        over = [item for item in self.active if now >= item[0]]
        for item in over:
            self.active.remove(item)
            self._end(item[1])

    def _end(self, fault: Fault) -> None:
        self._set(fault, False)

    def _set(self, fault: Fault, broken: bool) -> None:
        getattr(self, "_" + fault.kind.replace(" ", "_"))(fault, broken)

    def _unplugged(self, _: Fault, broken: bool) -> None:
        self.adapter.unplug() if broken else self.adapter.plug()

    def _power_dip(self, fault: Fault, broken: bool) -> None:
        self.controllers.powered(fault.motor, not broken)

    def _power_dip_of_all(self, _: Fault, broken: bool) -> None:
        for i in range(len(self.case.winches)):
            self.controllers.powered(i, not broken)

    def _slip(self, fault: Fault, broken: bool) -> None:
        if broken:
            self.winches.health[fault.motor, SLIP] += fault.magnitude

    def _slips(self, fault: Fault, broken: bool) -> None:
        """See _go_on."""

    def _silent(self, fault: Fault, broken: bool) -> None:
        (self.controllers.silent.add if broken else self.controllers.silent.discard)(fault.motor)

    def _deaf(self, fault: Fault, broken: bool) -> None:
        (self.controllers.deaf.add if broken else self.controllers.deaf.discard)(fault.motor)

    def _double_id(self, fault: Fault, broken: bool) -> None:
        own = [winch.motor_id for winch in self.case.winches]
        other = (fault.motor + 1) % len(own)
        self.controllers.ids[fault.motor] = own[other] if broken else own[fault.motor]

    def _stalled(self, fault: Fault, broken: bool) -> None:
        self.winches.health[fault.motor, LOCKED] = float(broken)

    def _derated(self, fault: Fault, broken: bool) -> None:
        self.winches.health[fault.motor, CEILING] = fault.magnitude if broken else 1e9

    def _reversed(self, fault: Fault, broken: bool) -> None:
        self.winches.health[fault.motor, TORQUE] = -1.0 if broken else 1.0
        self.sound = self.winches.copy() if np.any(self.winches.health[:, TORQUE] < 0.0) else None

    def _off_the_drum(self, fault: Fault, broken: bool) -> None:
        self.winches.health[fault.motor, ON_DRUM] = float(not broken)

    def _blocked(self, _: Fault, broken: bool) -> None:
        self.winches.health[:, BLOCKED_AT] = self.winches.lengths() if broken else np.inf

    def _lost(self, fault: Fault, broken: bool) -> None:
        self._change_line(lost=fault.magnitude * broken)

    def _lost_commands(self, fault: Fault, broken: bool) -> None:
        self._change_line(lost_out=fault.magnitude * broken)

    def _doubled(self, fault: Fault, broken: bool) -> None:
        self._change_line(doubled=fault.magnitude * broken)

    def _swapped(self, fault: Fault, broken: bool) -> None:
        self._change_line(swapped=fault.magnitude * broken)

    def _foreign(self, fault: Fault, broken: bool) -> None:
        self._change_line(foreign=fault.magnitude * broken)

    def _held(self, fault: Fault, broken: bool) -> None:
        self._change_line(held=self.clock.now + fault.duration if broken else 0.0)

    def _change_line(self, **changes: float) -> None:
        self.adapter.line = replace(self.adapter.line, **changes)

    def _halt(self, fault: Fault, broken: bool) -> None:
        if broken:
            self.halted_until = max(self.halted_until, self.clock.now + fault.duration)

    def _clock_jump(self, fault: Fault, broken: bool) -> None:
        if broken:
            self.clock.offset += fault.magnitude

    def _commands_die(self, fault: Fault, broken: bool) -> None:
        if broken:
            self.mute_until = max(self.mute_until, self.clock.now + fault.duration)
