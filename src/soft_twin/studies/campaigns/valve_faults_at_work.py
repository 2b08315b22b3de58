"""The faults of a case with valves, begun and ended at their times, and what they excuse."""

from soft_twin.studies.campaigns.devices.openpneu import CHANNELS
from soft_twin.studies.campaigns.valve_cases import Case, Happening
from soft_twin.studies.campaigns.valve_judge import Judge
from soft_twin.studies.campaigns.valve_world import World

LINE = ("loss", "change", "double", "swap", "delay")
UNUSABLE = ("loss", "change", "swap", "unplug", "dropped", "silent", "reboot", "dip", "refuses", "wrong reply")
AFTERMATH = 1.0  # [s] that a fault's end may take to be over
PAIRS = CHANNELS // 2
PROMPT = 0.2  # [s] of delay with which a line still works


class FaultsAtWork:
    """Begins and ends faults."""

    def __init__(self, case: Case, world: World, judge: Judge):
        self._world, self._judge, self._case = world, judge, case
        self._waiting = list(case.faults)
        self._going: list[Happening] = []
        self._usable_at = 0.0
        self._lied: dict[int, float] = {}  # until when each chamber's sensor lies, or has just lied
        self._answering = self._answering_until = 0.0  # [s] as the judge's, and until when it takes that

    def update(self) -> float:
        """Begin and end what is due; for how long the host halts now [s]."""
        now, halted = self._world.now, 0.0
        while self._waiting and self._waiting[0].time <= now:
            fault = self._waiting.pop(0)
            if fault.what == "halt":
                halted += fault.end - fault.time
            else:
                self._begin(fault)
        self.end_due()
        return halted

    def end_due(self) -> None:
        """End what is due, within a call that takes its time as well."""
        for fault in [fault for fault in self._going if fault.end <= self._world.now]:
            self._finish(fault)
        self._tell_the_judge()

    def end(self) -> None:
        """Mend everything."""
        self._waiting = []
        for fault in list(self._going):
            self._finish(fault)
        self._tell_the_judge()

    def _begin(self, fault: Happening) -> None:
        self._going.append(fault)
        self._set(fault, True)

    def _finish(self, fault: Happening) -> None:
        self._going.remove(fault)
        self._set(fault, False)
        for other in self._going:
            self._set(other, True)  # two of a kind: the other one goes on
        if self._hinders(fault):
            self._usable_at = self._world.now + AFTERMATH

    def _tell_the_judge(self) -> None:
        judge, now = self._judge, self._world.now
        for fault in self._going:
            self._excuse(fault)
        judge.lying = {chamber for chamber, until in self._lied.items() if until > now}
        usable = now >= self._usable_at and not any(self._hinders(fault) for fault in self._going)
        judge.line_clean = usable and not any(fault.what in LINE for fault in self._going)
        if usable and not judge.usable:
            judge.usable = True
            judge.outage_over()
        judge.usable = usable
        judge.answering = self._time_for_answers()
        judge.unplugged = not self._world.plugged
        newest = {fault.what: fault for fault in self._going}.values()  # of two of a kind the newer one counts
        judge.mute = any(self._mutes(fault) for fault in newest)
        judge.unreachable = any(self._isolates(fault) for fault in self._going)

    def _excuse(self, fault: Happening) -> None:
        """Until when a fault that goes on excuses what."""
        judge = self._judge
        if self._lies(fault):
            self._lied[fault.chamber] = fault.end + AFTERMATH
        if fault.what in ("stuck", "reboot", "dip", *LINE):
            judge.exempt_pressure_until = max(judge.exempt_pressure_until, fault.end + AFTERMATH)
        if fault.what == "refuses":
            judge.refused_until = max(judge.refused_until, fault.end + AFTERMATH)

    def _time_for_answers(self) -> float:
        """Until each chamber has been told [s]; what was asked before a delay ended is still answered late."""
        answers = PAIRS if self._case.backend == "openpneu" else 1  # an OpenPneu selects a channel first
        now, needed = self._world.now, answers * self._world.to_host.trouble.delay
        if needed or now > self._answering_until:
            self._answering, self._answering_until = needed, now + needed
        return self._answering

    def _hinders(self, fault: Happening) -> bool:
        if fault.what == "delay":
            return fault.value > PROMPT
        if fault.what == "refuses":
            return self._world.network
        return fault.what in UNUSABLE

    def _lies(self, fault: Happening) -> bool:
        """Whether a sensor says for long what could be true."""
        plausible = fault.value in ("stuck", "drift") or (fault.value == "high" and self._case.backend != "openpneu")
        sucks = self._case.backend == "modbus_vacuum" and fault.value == "low"
        return fault.what in ("sensor", "sensor first") and (plausible or sucks)

    def _mutes(self, fault: Happening) -> bool:
        """Whether nothing can be measured while it lasts."""
        if fault.what == "wrong reply":
            return fault.value != "unit"  # the specification matches answers by their transaction
        if fault.what in ("silent", "reboot", "dip", "unplug"):
            return True
        return self._world.network and fault.what == "refuses" and fault.value == 1.0

    def _isolates(self, fault: Happening) -> bool:
        return fault.what in ("silent", "reboot", "dip", "unplug")

    def _set(self, fault: Happening, on: bool) -> None:
        getattr(self, "_" + fault.what.replace(" ", "_"))(fault, on)

    # Each fault by its name -----------------------------------------------------------------------------------------

    def _trouble(self, **changes) -> None:
        for line in (self._world.to_device, self._world.to_host):
            for name, value in changes.items():
                setattr(line.trouble, name, value)

    def _loss(self, fault: Happening, on: bool) -> None:
        self._trouble(loss=fault.value if on else 0.0)

    def _change(self, fault: Happening, on: bool) -> None:
        self._trouble(change=fault.value if on else 0.0)

    def _double(self, fault: Happening, on: bool) -> None:
        self._trouble(double=fault.value if on else 0.0)

    def _swap(self, fault: Happening, on: bool) -> None:
        self._trouble(swap=fault.value if on else 0.0)

    def _delay(self, fault: Happening, on: bool) -> None:
        self._world.to_host.trouble.delay = fault.value if on else 0.0

    def _silent(self, fault: Happening, on: bool) -> None:
        """The device's program stands still: its valves stay as they are, nothing is heard or said."""
        self._world.device.frozen = on

    def _reboot(self, fault: Happening, on: bool) -> None:
        if on:
            self._world.device.powered = False
            self._world.device.reboot()
            return
        self._world.device.powered = True
        if self._world.network:
            self._world.drop_connection()  # a terminal that boots knows no connections

    def _dip(self, fault: Happening, on: bool) -> None:
        """A terminal's valves are without power for a moment and its set points lost, but no connection."""
        self._world.device.powered = not on
        self._world.device.reboot()

    def _no_reading_back(self, fault: Happening, on: bool) -> None:
        """The terminal does not know function 3, now and ever."""
        self._world.device.ear.reads_back = False

    def _unplug(self, fault: Happening, on: bool) -> None:
        world = self._world
        if on and world.plugged:
            world.unplug()
        elif not on:
            world.plug()
        if fault.value == "without power":
            self._reboot(fault, on)

    def _dropped(self, fault: Happening, on: bool) -> None:
        if on:
            self._world.drop_connection()

    def _refuses(self, fault: Happening, on: bool) -> None:
        """An OpenPneu says "Error command", a terminal an exception; the others have no words for it."""
        if self._world.network:
            self._world.device.ear.exception = self._world.rng.choice((1, 2, 3, 4, 5, 6, 6, 6, 8, 10, 11))
        share, rng = fault.value, self._world.rng
        self._world.device.ear.refuses = (lambda: rng.random() < share) if on else (lambda: False)

    def _wrong_reply(self, fault: Happening, on: bool) -> None:
        self._world.device.wrong = fault.value if on else None

    def _sensor(self, fault: Happening, on: bool) -> None:
        self._world.device.chambers.sensors[fault.chamber].lie = fault.value if on else None

    def _sensor_first(self, fault: Happening, on: bool) -> None:
        self._sensor(fault, on)

    def _wrong_first(self, fault: Happening, on: bool) -> None:
        if on:
            self._world.device.chambers.sensors[fault.chamber].wrong_telegrams = fault.value

    def _stuck(self, fault: Happening, on: bool) -> None:
        self._world.device.chambers.stuck[fault.chamber] = fault.value if on else None

    def _leak(self, fault: Happening, on: bool) -> None:
        self._world.device.chambers.leaks[fault.chamber] = fault.value if on else 0.0

    def _supply(self, fault: Happening, on: bool) -> None:
        self._world.device.chambers.supplied = not on

    def _clock(self, fault: Happening, on: bool) -> None:
        if on:
            self._world.offset += fault.value
