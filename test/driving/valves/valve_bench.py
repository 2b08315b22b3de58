"""A session's valves in virtual time, each kind on its emulated device: bytes, set points and true pressures."""

import struct

import numpy as np

from soft_twin.driving.clock import Clock
from soft_twin.driving.session import ActuatorSession
from soft_twin.driving.valves.dac_board import DacValves
from soft_twin.driving.valves.modbus_vacuum import ModbusVacuumValves
from soft_twin.driving.valves.modbus_valves import ModbusValves
from soft_twin.driving.valves.openpneu import OpenPneuValves
from soft_twin.driving.valves.pressures import ChamberLimits
from soft_twin.driving.valves.valve_driver import ValveDriver
from soft_twin.emulation.dac_board import EmulatedDacBoard
from soft_twin.emulation.modbus_terminal import EmulatedModbusTerminal
from soft_twin.emulation.openpneu import EmulatedOpenPneu
from soft_twin.errors import DeviceError, InputError

COUNT = 3
TICK = 0.02
STEP = 0.005
NAMES = [f"chamber_{i}" for i in range(COUNT)]


class World(Clock):
    """Time that passes when somebody sleeps, and a device that lives on meanwhile."""

    def __init__(self):
        self.now = 50.0
        self.live = lambda dt: None
        self._lived = self.now

    def monotonic(self):
        return self.now

    def time(self):
        return 1e9 + self.now

    def sleep(self, seconds):
        self.now += max(seconds, 0.0)
        self.live(0.0)
        while self._lived + STEP <= self.now:
            self._lived += STEP
            self.live(STEP)


class Line:
    """Both directions of a line; a device writes and reads it as a port, a host through `Plug`."""

    def __init__(self):
        self.to_device = self.to_host = b""

    def read(self):
        data, self.to_device = self.to_device, b""
        return data

    def write(self, data):
        self.to_host += data
        return len(data)


class Plug:
    """The host's end of a line, as long as it is plugged in."""

    def __init__(self, line):
        self.plugged, self._line = True, line

    def read(self):
        self._check()
        data, self._line.to_host = self._line.to_host, b""
        return data

    def write(self, data):
        self._check()
        self._line.to_device += data

    def close(self):
        self.plugged = False

    def _check(self):
        if not self.plugged:
            raise DeviceError("the device is gone: unplugged")


class Terminal(EmulatedModbusTerminal):
    """The Modbus terminal behind a line instead of a socket.

    Attributes:
        delay: of its answers [s].
        spoil: takes an answer's bytes, gives what is sent instead.
    """

    def __init__(self, line, vacuum=False):
        super().__init__(COUNT, vacuum=vacuum)
        super().close()
        self._line, self._requests, self._answers = line, b"", []
        self.delay, self.spoil = 0.0, lambda answer: answer
        self._now = self._silent_until = 0.0

    def silent_for(self, seconds):
        """Without power: nothing is heard or said, the set points are lost."""
        self._silent_until = self._now + seconds

    def step(self, dt):
        self._now += dt
        if self._now < self._silent_until:
            self._line.read()
            self.chambers.targets[:] = 0.0
            self.chambers.step(dt)
            return
        self._requests += self._line.read()
        while len(self._requests) >= 6:
            end = 6 + struct.unpack_from(">H", self._requests, 4)[0]
            request, self._requests = self._requests[:end], self._requests[end:]
            self._answers.append((self._now + self.delay, self.spoil(self.answer(request))))
        while self._answers and self._answers[0][0] <= self._now:
            self._line.write(self._answers.pop(0)[1])
        if dt > 0.0:
            self.chambers.step(dt)


def _openpneu(line, clock):
    return EmulatedOpenPneu(0, line), lambda plug: OpenPneuValves(plug, COUNT, clock)


def _dac_board(line, clock):
    return EmulatedDacBoard(COUNT, 0, line), lambda plug: DacValves(plug, COUNT, clock)


def _modbus(line, clock):
    return Terminal(line), lambda plug: ModbusValves(plug, COUNT, "memory", clock)


def _modbus_vacuum(line, clock):
    return Terminal(line, vacuum=True), lambda plug: ModbusVacuumValves(plug, COUNT, "memory", clock)


KINDS = {
    "openpneu": (_openpneu, ChamberLimits((0.0, 80e3), rate=200e3, vent_rate=50e3), 2),
    "dac_board": (_dac_board, ChamberLimits((0.12e6, 0.5e6), rate=400e3, vent_rate=200e3, vented=0.12e6), 1),
    "modbus": (_modbus, ChamberLimits((10e3, 0.4e6), rate=400e3, vent_rate=200e3, vented=10e3), 1),
}
VACUUM = {"modbus_vacuum": (_modbus_vacuum, ChamberLimits((-90e3, 90e3), rate=100e3, vent_rate=50e3), 1)}


class ValveBench:
    """Three chambers of one kind of valves, and a session that drives them.

    Attributes:
        channels: of the device for each chamber.
        lies: chamber → what its sensor reads instead of its pressure [Pa].
        told: (k, 4) time and set points of the device at every step of its own [s, Pa].
    """

    def __init__(self, kind, limits=None, **options):
        make, usual, self.channels = (KINDS | VACUUM)[kind]
        self.limits = limits or usual
        self.clock, self.line = World(), Line()
        self.device, self._connect = make(self.line, self.clock)
        self.says_numbers = kind == "openpneu"  # as text: a voltage or a register is always one
        self.lies, self.told, self.there = {}, [], True
        self._measured, self.device.chambers.measured = self.device.chambers.measured, self._lie
        self.driver = self.plug = None
        self.clock.live = self._live
        self._options = options
        self.begin_anew()

    def begin_anew(self):
        """A process of its own: what was before it is forgotten, but by the device."""
        self.driver = None
        self.session = ActuatorSession(self._open, clock=self.clock, **self._options)

    @property
    def pressures(self):
        """(3,) true ones [Pa]."""
        return self.device.chambers.pressures[:: self.channels][:COUNT]

    @property
    def targets(self):
        """(3,) set points of the device [Pa]."""
        return self.device.chambers.targets[:: self.channels][:COUNT].copy()

    @property
    def middle(self):
        """Of the limits, for each chamber [Pa]."""
        return np.full(COUNT, 0.5 * sum(self.limits.pressure))

    def run(self, seconds, command=None):
        """Let everybody live, and command meanwhile, as far as that is obeyed."""
        end = self.clock.now + seconds
        while self.clock.now < end - 1e-9:
            if command is not None:
                self.ask("command", command)
            self.step()

    def step(self):
        """One tick of the driver and of the node."""
        end = self.clock.now + TICK
        if self.driver is not None:
            self.driver.tick()
        self.session.poll()
        self.clock.sleep(end - self.clock.now)

    def ask(self, name, *arguments):
        """Whether the session does it."""
        try:
            getattr(self.session, name)(*arguments)
        except (DeviceError, InputError):
            return False
        return True

    def active(self, command=None):
        self.run(1.0)
        self.session.enable()
        self.run(1.6, self.middle if command is None else command)
        return self

    def unplug(self):
        self.there = self.plug.plugged = False

    def replug(self):
        self.there = True

    def history(self, since=0.0):
        """Times (k,) and set points (k, 3) of the device after a time."""
        table = np.array(self.told)
        return table[table[:, 0] > since, 0], table[table[:, 0] > since, 1:]

    def _open(self):
        if not self.there:
            raise DeviceError("no device: plug it in")
        self.line.to_host = self.line.to_device = b""
        self.plug = Plug(self.line)
        self.driver = ValveDriver(NAMES, self.limits, self._connect(self.plug), clock=self.clock, threaded=False)
        return self.driver

    def _live(self, dt):
        self.device.step(dt)
        if dt > 0.0:
            self.told.append([self.clock.now, *self.targets])

    def _lie(self):
        measured = self._measured()
        for chamber, value in self.lies.items():
            measured[chamber * self.channels] = value if self.says_numbers else np.nan_to_num(value)
        return measured
