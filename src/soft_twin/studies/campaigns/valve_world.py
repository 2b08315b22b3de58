"""The world of one case with valves, in simulated time: a device, its line, and the clock that it lives by."""

from collections.abc import Callable
from random import Random

from soft_twin.driving.clock import Clock
from soft_twin.errors import DeviceError
from soft_twin.studies.campaigns.devices import dac_board, modbus_terminal, openpneu
from soft_twin.studies.campaigns.devices.device import Device, Ear
from soft_twin.studies.campaigns.devices.line import Line

STEP = 0.01  # [s] of the chambers
LOOK = 0.02  # [s] between two looks of the judge
BEGINNING = 1_700_000_000.0  # [s] time() at the start
A_LOOK_AT_THE_CLOCK = 1e-6  # [s] so that waiting without sleeping ends too
BUFFER = 4096  # [bytes] that wait before a serial line takes no more
ETHERNET = 1e8  # [bit/s]
LATENCY = 0.0004  # [s] of a network, one way
CONNECTING = 0.2  # [s] until a connection that nobody takes is given up
BLOCKED = 0.1  # [s] until a write is given up

NETWORKS = ("modbus", "modbus_vacuum")
KINDS = {
    "openpneu": (openpneu.OpenPneu, openpneu.OpenPneuEar, openpneu.BAUD_RATE, openpneu.RESOLUTION),
    "dac_board": (dac_board.DacBoard, dac_board.DacEar, dac_board.BAUD_RATE, dac_board.RESOLUTION),
    "modbus": (modbus_terminal.ModbusTerminal, modbus_terminal.ModbusEar, ETHERNET, modbus_terminal.RESOLUTION),
    "modbus_vacuum": (
        modbus_terminal.ModbusVacuumTerminal,
        modbus_terminal.ModbusVacuumEar,
        ETHERNET,
        modbus_terminal.RESOLUTION,
    ),
}


class Hang(BaseException):
    """A call takes for ever; nothing in the code under test is meant to catch it."""


class World(Clock):
    """Time, a device, and its line.

    Attributes:
        now: simulated time [s].
        offset: of the wall clock, `time()`, which people and services set [s].
        rng: of everything that happens by chance.
        device: the emulated device.
        ear: listens at the host's end of the line, before anything is lost.
        network: its line is a network, not a serial one.
        resolution: of what the device can be told [Pa].
        plugged: the line is plugged in.
        plugs: how often it was plugged in or its connection dropped; what was opened before is gone.
        deadline: a call that goes on for longer hangs [s].
        looks: is called at every look of the judge.
    """

    def __init__(self, rng: Random, backend: str, count: int, start: float):
        """A device whose chambers stand at the gauge pressure `start` [Pa]."""
        device, ear, baud_rate, self.resolution = KINDS[backend]
        self.now, self.offset, self.rng = 0.0, BEGINNING, rng
        self.device: Device = device(rng, count, start)
        self.ear: Ear = ear(count)
        self.network = backend in NETWORKS
        self.to_device = Line(rng, baud_rate, split=0.0 if self.network else 0.02)
        self.to_host = Line(rng, baud_rate, split=0.02)
        self.plugged, self.plugs = True, 0
        self.deadline = float("inf")
        self.looks: Callable[[], None] = lambda: None
        self._lived, self._looked = 0.0, 0.0

    def monotonic(self) -> float:
        self.now += A_LOOK_AT_THE_CLOCK
        return self.now

    def time(self) -> float:
        return self.now + self.offset

    def sleep(self, seconds: float) -> None:
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        """Everything lives on for a time [s]."""
        end = self.now + seconds
        while self._lived + STEP <= end:
            self._lived += STEP
            self.now = max(self.now, self._lived)
            self._step()
        self.now = max(self.now, end)
        if self.now > self.deadline:
            raise Hang

    def _step(self) -> None:
        self.exchange()
        self.device.step(STEP)
        if self._lived >= self._looked + LOOK - 1e-9:
            self._looked = self._lived
            self.looks()

    def exchange(self) -> None:
        """Bytes that have arrived are heard and answered."""
        device, now = self.device, self.now
        data = self.to_device.take(now)
        if not device.powered or device.frozen:
            return
        if data:
            for answer in device.hear(data, now):
                self.to_host.put(answer, now)
        if said := device.speak(now):
            self.to_host.put(said, now)

    def unplug(self) -> None:
        """The line goes; a serial port notices at once, a network does not."""
        self.plugged = False
        self.to_device.cut = self.to_host.cut = True
        self.to_device.clear()
        self.to_host.clear()
        if not self.network:
            self.plugs += 1

    def plug(self) -> None:
        self.plugged = True
        self.to_device.cut = self.to_host.cut = False

    def drop_connection(self) -> None:
        """What was opened is gone; it can be opened again."""
        self.plugs += 1
        self.to_device.clear()
        self.to_host.clear()

    def connected(self) -> None:
        """Somebody opened the line: what was on its way is no more."""
        self.to_host.clear()
        if self.network:
            self.to_device.clear()
            self.device.ear.connect()
            self.ear.connect()

    def tell(self, data: bytes) -> None:
        """Bytes leave the host."""
        self.ear.hear(data)
        self.to_device.put(data, self.now + (LATENCY if self.network else 0.0))


class Port:
    """A serial port, or a TCP connection, of this world: what a driver's backend sits on."""

    def __init__(self, world: World):
        """Open it.

        Raises:
            DeviceError: it is unplugged, or nobody answers there.
        """
        if world.network and not (world.plugged and world.device.powered):
            world.advance(CONNECTING)
            raise DeviceError("nobody answers at 'emulated': check its address, its cable and its power")
        if not world.plugged:
            raise DeviceError("no device at 'emulated': plug it in")
        self._world, self._plug, self._open = world, world.plugs, True
        world.connected()

    def read(self) -> bytes:
        self._check()
        self._world.exchange()
        return self._world.to_host.take(self._world.monotonic())

    def write(self, data: bytes) -> None:
        self._check()
        if self._world.to_device.backlog > BUFFER:
            self._world.advance(BLOCKED)
            raise DeviceError("'emulated' takes no bytes: write timeout; check the device and its baud rate")
        self._world.tell(bytes(data))

    def close(self) -> None:
        self._open = False

    def _check(self) -> None:
        if not self._open or self._world.plugs != self._plug:
            raise DeviceError("'emulated' is gone; check its plug and its power")
