"""The world of one case with valves, in simulated time: a device at the end of a line, and the clock that it lives by."""

from collections.abc import Callable
from random import Random

from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ConnectionException

from soft_twin.driving.clock import Clock
from soft_twin.errors import DeviceError
from soft_twin.experiments.campaigns.devices import dac_board, modbus_terminal, openpneu
from soft_twin.experiments.campaigns.devices.device import Device, Ear
from soft_twin.experiments.campaigns.devices.line import Line

STEP = 0.01  # [s] of the chambers
LOOK = 0.02  # [s] between two looks of the judge
BEGINNING = 1_700_000_000.0  # [s] time() at the start
A_LOOK_AT_THE_CLOCK = 1e-6  # [s] so that waiting without sleeping ends too
BUFFER = 4096  # [bytes] that wait before a serial line takes no more
ETHERNET = 1e8  # [bit/s]
LATENCY = 0.0004  # [s] of a network, one way

KINDS = {
    "openpneu": (openpneu.OpenPneu, openpneu.OpenPneuEar, openpneu.BAUD_RATE, openpneu.RESOLUTION),
    "dac_board": (dac_board.DacBoard, dac_board.DacEar, dac_board.BAUD_RATE, dac_board.RESOLUTION),
    "modbus": (modbus_terminal.ModbusTerminal, modbus_terminal.ModbusEar, ETHERNET, modbus_terminal.RESOLUTION),
}


class Hang(BaseException):
    """A call takes for ever; nothing in the code under test is meant to catch it."""


class World(Clock):
    """Time, a device, and its line.

    Attributes:
        now: simulated time [s].
        offset: of the wall clock, `time()`, which people and services set [s].
        device: the emulated device.
        ear: listens at the host's end of the line, before anything is lost.
        resolution: of what the device can be told [Pa].
        plugged: the line is plugged in.
        plugs: how often it was plugged in or its connection dropped; what was opened before is gone.
        deadline: a call that goes on for longer hangs [s].
        looks: is called at every look of the judge.
    """

    def __init__(self, rng: Random, backend: str, count: int, start: float):
        """A device whose chambers stand at the gauge pressure `start` [Pa]."""
        device, ear, baud_rate, self.resolution = KINDS[backend]
        self.now, self.offset = 0.0, BEGINNING
        self.device: Device = device(rng, count, start)
        self.ear: Ear = ear(count)
        self.backend = backend
        self.to_device = Line(rng, baud_rate, split=0.0 if backend == "modbus" else 0.02)
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
        if not device.powered:
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
        if self.backend != "modbus":
            self.plugs += 1

    def plug(self) -> None:
        self.plugged = True
        self.to_device.cut = self.to_host.cut = False

    def drop_connection(self) -> None:
        """What was opened is gone; it can be opened again."""
        self.plugs += 1
        self.to_device.clear()
        self.to_host.clear()

    def tell(self, data: bytes) -> None:
        """Bytes leave the host."""
        self.ear.hear(data)
        self.to_device.put(data, self.now + (LATENCY if self.backend == "modbus" else 0.0))


class Port:
    """A serial port of this world: what a driver's backend sits on."""

    def __init__(self, world: World):
        """Open it.

        Raises:
            DeviceError: it is unplugged.
        """
        if not world.plugged:
            raise DeviceError("no device at 'emulated': plug it in")
        self._world, self._plug, self._open = world, world.plugs, True
        world.to_host.clear()

    def read(self) -> bytes:
        self._check()
        return self._world.to_host.take(self._world.monotonic())

    def write(self, data: bytes) -> None:
        self._check()
        if self._world.to_device.backlog > BUFFER:
            self._world.advance(0.1)
            raise DeviceError("'emulated' takes no bytes: write timeout; check the device and its baud rate")
        self._world.tell(bytes(data))

    def close(self) -> None:
        self._open = False

    def _check(self) -> None:
        if not self._open or self._world.plugs != self._plug:
            raise DeviceError("'emulated' is gone: unplugged; plug it in again")


class Client(ModbusTcpClient):
    """pymodbus's own client over this world's line instead of a socket."""

    def __init__(self, world: World, timeout: float, retries: int):
        super().__init__("emulated", timeout=timeout, retries=retries)
        self._world, self._timeout, self._plug = world, timeout, -1

    def connect(self) -> bool:
        world = self._world
        if self.socket:
            return True
        if not (world.plugged and world.device.powered):
            world.advance(self._timeout)
            return False
        world.advance(2 * LATENCY)
        self._plug, self.socket = world.plugs, world
        world.device.ear.connect()
        world.ear.connect()
        world.to_host.clear()
        return True

    def close(self) -> None:
        self.socket = None

    def send(self, request: bytes, addr: tuple | None = None) -> int:
        self._check()
        self._world.tell(bytes(request))
        return len(request)

    def recv(self, size: int | None) -> bytes:
        """What comes within the timeout, as a socket's reader gives it."""
        world = self._world
        end = world.now + self._timeout
        while True:
            self._check()
            world.exchange()
            if data := world.to_host.take(world.now):
                return data
            if world.now >= end:
                return b""
            arrivals = [line.next_arrival() for line in (world.to_device, world.to_host)]
            wait = min([arrival for arrival in arrivals if arrival is not None] + [end]) - world.now
            world.advance(max(wait, 1e-4))

    def _check(self) -> None:
        if not self.socket or self._plug != self._world.plugs:
            self.close()
            raise ConnectionException("emulated: connection reset by the terminal")
