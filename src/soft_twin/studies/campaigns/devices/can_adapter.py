"""A CAN adapter in memory: a host's end that is a python-can bus, a cable that can be pulled, frames that go astray."""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import can

from soft_twin.studies.campaigns.devices.virtual_clock import VirtualClock


@dataclass
class Line:
    """What happens to frames on their way to the host, and to those on their way to the motors.

    Attributes:
        latency: of each frame [s].
        held: frames wait until this time [s], then come at once.
        lost, lost_out, doubled, swapped, foreign: probability of each, per frame.
        room: frames that the host's buffer holds; more are lost.
    """

    latency: float = 0.001
    held: float = 0.0
    lost: float = 0.0
    lost_out: float = 0.0
    doubled: float = 0.0
    swapped: float = 0.0
    foreign: float = 0.0
    room: int = 2000


class Adapter:
    """The adapter; `open` it for a bus. It stays what it is when it is unplugged and plugged in again.

    Attributes:
        plugged: whether it is in the host's port.
        line: what happens to frames.
        opened_twice: times that it was asked for while another bus had it.
    """

    def __init__(self, clock: VirtualClock, seed: int):
        self.plugged, self.line, self.opened_twice = True, Line(), 0
        self.on_command: Callable[[int, bytes, bool], None] = lambda can_id, data, extended: None
        self._clock, self._rng = clock, random.Random(seed)
        self._bus: EmulatedBus | None = None

    @property
    def bus(self) -> "EmulatedBus | None":
        """The bus that is open, if one is."""
        return self._bus if self._bus is not None and not self._bus.closed else None

    def open(self) -> "EmulatedBus":
        """A bus on this adapter.

        Raises:
            can.CanInitializationError: it is not there, or somebody else has it.
        """
        if not self.plugged:
            raise can.CanInitializationError("no such adapter")
        if self.bus is not None and not self.bus.dead:
            self.opened_twice += 1
            raise can.CanInitializationError("the adapter is in use")
        self._bus = EmulatedBus(self, self._clock)
        return self._bus

    def unplug(self) -> None:
        self.plugged = False
        if self._bus is not None:
            self._bus.dead = True

    def plug(self) -> None:
        self.plugged = True

    def from_motor(self, can_id: int, data: bytes) -> None:
        """A motor's frame is on the bus."""
        bus, line = self._bus, self.line
        if bus is None or bus.dead or bus.closed:
            return
        if line.lost or line.doubled or line.swapped or line.foreign:
            self._astray(bus, can_id, data)
        else:
            bus.arrive(can_id, data, self._clock.now, line)

    def to_motors(self, message: can.Message) -> None:
        """The host's frame is on the bus."""
        if not (self.line.lost_out and self._rng.random() < self.line.lost_out):
            self.on_command(message.arbitration_id, bytes(message.data), bool(message.is_extended_id))

    def _astray(self, bus: "EmulatedBus", can_id: int, data: bytes) -> None:
        line, rng = self.line, self._rng
        arrives = rng.random() >= line.lost
        if arrives:
            bus.arrive(can_id, data, self._clock.now, line)
        if rng.random() < line.doubled and arrives:
            bus.arrive(can_id, data, self._clock.now, line)
        if rng.random() < line.swapped:
            bus.swap_last()
        if rng.random() < line.foreign:
            bus.arrive_message(_foreign(rng, can_id), self._clock.now, line)


class EmulatedBus(can.BusABC):
    """The host's end of the adapter; once it is unplugged, it is dead for good, as a serial port or socket is."""

    def __init__(self, adapter: Adapter, clock: VirtualClock):
        super().__init__(channel="emulated")
        self.channel_info = "emulated adapter"
        self.dead = self.closed = False
        self._adapter, self._clock = adapter, clock
        self._queue: deque[tuple[float, can.Message]] = deque()

    def arrive(self, can_id: int, data: bytes, now: float, line: Line) -> None:
        if len(self._queue) < line.room:
            message = can.Message(arbitration_id=can_id, data=data, is_extended_id=False)
            self._queue.append((max(now + line.latency, line.held), message))

    def arrive_message(self, message: can.Message, now: float, line: Line) -> None:
        if len(self._queue) < line.room:
            self._queue.append((max(now + line.latency, line.held), message))

    def swap_last(self) -> None:
        """The last two frames change places."""
        if len(self._queue) >= 2:
            (first, older), (second, newer) = self._queue.pop(), self._queue.pop()
            self._queue.extend(((second, older), (first, newer)))

    def recv(self, timeout: float | None = None) -> can.Message | None:
        deadline = self._clock.now + (60.0 if timeout is None else timeout)
        while True:
            self._check()
            if self._queue and self._queue[0][0] <= self._clock.now:
                message = self._queue.popleft()[1]
                message.timestamp = self._clock.now + self._clock.offset
                return message
            if self._clock.now >= deadline:
                return None
            self._clock.sleep(min(0.001, deadline - self._clock.now))

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        self._check()
        self._adapter.to_motors(msg)

    def shutdown(self) -> None:
        self.closed = True
        super().shutdown()

    def _check(self) -> None:
        if self.closed:
            raise can.CanOperationError("the bus has been shut down")
        if self.dead:
            raise can.CanOperationError("failed to read: the adapter has been disconnected")


def _foreign(rng: random.Random, can_id: int) -> can.Message:
    """A frame that is no motor's answer: too short, extended, an error frame, a request, or of another device."""
    kind = rng.randrange(5)
    data = rng.randbytes(8)
    return [
        can.Message(arbitration_id=can_id, data=data[: rng.randrange(8)], is_extended_id=False),
        can.Message(arbitration_id=can_id, data=data, is_extended_id=True),
        can.Message(arbitration_id=can_id, data=data, is_error_frame=True, is_extended_id=False),
        can.Message(arbitration_id=can_id, dlc=8, is_remote_frame=True, is_extended_id=False),
        can.Message(arbitration_id=rng.randrange(0x300, 0x800), data=data, is_extended_id=False),
    ][kind]
