"""Opening a CAN bus through python-can, with errors that say what to do.

python-can's own slcan interface takes bytes from the serial port one at a time, two system calls for each: six motors
at 250 Hz would keep half a core busy; it writes without a limit to the wait. `SlcanBus` is that interface with reading
and writing in bulk, and with a limit.
"""

import collections
import fcntl
import os
import select
import termios
import time
from functools import partial
from pathlib import Path

import can
from can.exceptions import error_check
from can.interfaces.slcan import slcanBus
from can.interfaces.socketcan import SocketcanBus

from soft_twin.driving.cables.c610 import BIT_RATE
from soft_twin.errors import DeviceError
from soft_twin.one_driver import claim_device, in_use, is_taken
from soft_twin.serial_devices import require_serial_device
from soft_twin.serial_output import write_bytes

LINE_END = b"\r"
NACK = b"\a"
ANSWERS = (b"V", b"N", b"z", b"Z", b"T", b"r", b"R", b"F")  # and frames of kinds that no motor sends
LONGEST_LINE = 64  # [bytes]
READ_SIZE = 65536  # [bytes]
EMPTIED = 2048  # [bytes] a terminal gives up to 4095 at once: a read that brought less has left nothing
OPENING_PATIENCE = 1.0  # [s] for an adapter to take what opens its channel
NETWORK = "/sys/class/net"  # where Linux has its network interfaces


class SlcanBus(slcanBus):
    """CAN through a serial adapter that speaks slcan (Lawicel's protocol), read and written in bulk.

    Only standard data frames are passed on; the adapter's acknowledgements and other frames are skipped.
    """

    def __init__(self, channel: str, bitrate: int, settle_time: float = 0.0):
        self._decoder = SlcanDecoder()
        self._messages: collections.deque[can.Message] = collections.deque()
        self._lock = _lock(channel.split("@")[0])
        try:
            super().__init__(channel, bitrate=bitrate, sleep_after_open=settle_time, timeout=0.0)
            fcntl.ioctl(self.fileno(), termios.TIOCEXCL)
        except BaseException:
            self._release()
            raise

    def receive_all(self) -> list[can.Message]:
        """All standard data frames that have come in, without waiting, and without python-can's work on each.

        Raises:
            can.CanError: the adapter is gone.
        """
        while self._read_frames() >= EMPTIED:
            pass
        messages = list(self._messages)
        self._messages.clear()
        return messages

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        if not self._messages:
            if timeout is None or timeout > 0.0:
                select.select([self.fileno()], [], [], timeout)
            self._read_frames()
        return (self._messages.popleft() if self._messages else None), False

    def send_all(self, messages: list[can.Message], timeout: float) -> None:
        """Send standard data frames in one write.

        Args:
            timeout: how long the adapter may leave no room for them [s].

        Raises:
            can.CanError: the adapter is gone, or takes nothing.
        """
        with error_check("Could not write to serial device"):
            write_bytes(self.fileno(), b"".join(map(_line_of, messages)), timeout)

    @property
    def garbage(self) -> int:
        """Lines that were neither a frame nor an answer."""
        return self._decoder.garbage

    def shutdown(self) -> None:
        """Close the adapter's channel if it listens, and the port in any case: another driver may want it."""
        try:
            super().shutdown()
        finally:
            self._release()

    def _release(self) -> None:
        """Let others have the port."""
        port = getattr(self, "serialPortOrig", None)
        if port is not None:
            port.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _write(self, string: str) -> None:
        """Send a line; `send` has set the port's `write_timeout` to its own."""
        patience = self.serialPortOrig.write_timeout
        with error_check("Could not write to serial device"):
            line = string.encode() + self.LINE_TERMINATOR
            write_bytes(self.fileno(), line, OPENING_PATIENCE if patience is None else patience)

    def _read_frames(self) -> int:
        """Read what is there; how many bytes it was."""
        with error_check("Could not read from serial device"):
            data = self.serialPortOrig.read(READ_SIZE)
        self._messages.extend(self._decoder.feed(data, time.time()))
        return len(data)


class OwnSocketcanBus(SocketcanBus):
    """A CAN interface of Linux, which any number of programs may send on at once, for one driver alone."""

    def __init__(self, channel: str, **options):
        self._claim = claim_device(f"can/{channel}", channel)
        try:
            super().__init__(channel, **options)
        except BaseException:
            self._claim.close()
            raise

    def shutdown(self) -> None:
        """Close it: another driver may want it."""
        try:
            super().shutdown()
        finally:
            self._claim.close()


def _lock(device: str) -> int:
    """A file descriptor that keeps other drivers from the serial device while it is open.

    Raises:
        DeviceError: another driver has it.
    """
    descriptor = -1
    try:
        descriptor = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        if not is_taken(error):
            raise
        raise in_use(device) from error
    return descriptor


class SlcanDecoder:
    """CAN frames out of an adapter's bytes, which may be cut and damaged anywhere.

    Attributes:
        garbage: lines that were neither a standard data frame nor an adapter's answer.
    """

    def __init__(self) -> None:
        self.garbage = 0
        self._rest = b""

    def feed(self, data: bytes, now: float) -> list[can.Message]:
        """The standard data frames completed by `data`, stamped with `now` [s]."""
        *lines, self._rest = (self._rest + data).replace(NACK, LINE_END).split(LINE_END)
        self._rest = self._rest[-LONGEST_LINE:]
        messages = []
        for line in lines:
            message = _parse(line, now)
            if message is not None:
                messages.append(message)
            elif line and line[:1] not in ANSWERS:
                self.garbage += 1
        return messages


def _line_of(message: can.Message) -> bytes:
    """The line of a standard data frame."""
    return b"t%03X%d%s\r" % (message.arbitration_id, message.dlc, message.data.hex().upper().encode())


def _parse(line: bytes, now: float) -> can.Message | None:
    """The standard data frame of a line `tIIILDD…`; None for anything else."""
    if line[:1] != b"t":
        return None
    try:
        can_id, length, data = int(line[1:4], 16), int(line[4:5]), bytes.fromhex(line[5:].decode("ascii"))
    except ValueError:
        return None
    if len(data) != length or length > 8:
        return None
    return can.Message(timestamp=now, arbitration_id=can_id, is_extended_id=False, data=data)


def send_all(bus: can.BusABC, messages: list[can.Message], timeout: float) -> None:
    """Send standard data frames, in one write where the bus can.

    Raises:
        can.CanError: the bus is gone, or takes nothing for so long [s].
    """
    if isinstance(bus, SlcanBus):
        bus.send_all(messages, timeout)
        return
    for message in messages:
        bus.send(message, timeout=timeout)


def receive_all(bus: can.BusABC) -> list[can.Message]:
    """All frames that have come in, without waiting.

    Raises:
        can.CanError: the bus is gone.
    """
    if isinstance(bus, SlcanBus):
        return bus.receive_all()
    return list(iter(partial(bus.recv, timeout=0.0), None))


def open_bus(interface: str, channel: str, bitrate: int = BIT_RATE, **options) -> can.BusABC:
    """Open a CAN bus.

    Args:
        interface: any of python-can's interfaces: "slcan" (serial adapters), "socketcan" (Linux), "virtual", …
        channel: the serial device, the network interface, or what else the interface asks for.
        bitrate: [bit/s]; with socketcan it is set by `ip link`, not here.
        options: handed to the interface; slcan takes `settle_time` [s], for adapters that reboot when opened.

    Raises:
        DeviceError: no such interface or device, no permission, another driver has it, or the adapter does not answer;
            with the remedy.
    """
    if interface not in can.VALID_INTERFACES:
        raise DeviceError(f"no CAN interface '{interface}': python-can has {', '.join(sorted(can.VALID_INTERFACES))}")
    if interface == "slcan":
        if "/" not in channel and os.path.exists(Path(NETWORK, channel)):
            raise DeviceError(
                f"'{channel}' is a network interface, no serial adapter: set interface: socketcan of cables_to_motors "
                "in `nodes` of the robot's description"
            )
        if "/" not in channel:
            raise DeviceError(
                f"no CAN adapter at '{channel}': expected a path, as /dev/ttyACM0; for a network interface of that "
                "name, bring it up and set interface: socketcan of cables_to_motors in `nodes` of the description"
            )
        require_serial_device(channel.split("@")[0], "CAN adapter")
    try:
        if interface == "slcan":
            return SlcanBus(channel, bitrate, **options)
        if interface == "socketcan":
            return OwnSocketcanBus(channel, **options)
        return can.Bus(interface=interface, channel=channel, bitrate=bitrate, **options)
    except (can.CanError, OSError, ValueError, ImportError) as error:
        raise DeviceError(f"CAN bus {interface} '{channel}' cannot be opened: {error}; {_remedy(interface)}") from error


def _remedy(interface: str) -> str:
    remedies = {
        "slcan": "check that the adapter speaks slcan and supports this bit rate",
        "socketcan": "`sudo ip link set CHANNEL up type can bitrate 1000000`, `ip link` lists the channels",
    }
    return remedies.get(interface, "see the interface's page in python-can's documentation")
