"""Valves with a 0…10 V input (Festo VEAB) behind a serial board of up to 64 converters: docs/dac_protocol.md.

Frame: `5A A5 | kind | count | count × uint16 | CRC`, little-endian; the CRC is CRC-16/CCITT-FALSE over kind, count and
values. 0…65535 is 0…10 V. Kind 1, to the board: voltages of its channels 0…count−1. Kind 2, from the board at 50 Hz:
the voltages of the valves' own pressure sensors. A board that hears no valid frame for 0.5 s sets all channels to 0 V.
"""

import binascii
import struct
from collections.abc import Callable

import numpy as np

from soft_twin.driving.clock import SYSTEM, Clock
from soft_twin.driving.serial_port import SerialPort
from soft_twin.driving.valves.valves import Port, Valves
from soft_twin.errors import DeviceError

BAUD_RATE = 460_800  # [bit/s]
MAX_CHANNELS = 64
FULL_SCALE = 10.0  # [V]
STEPS = 65535  # of the converters, from 0 V to that
RANGE = (0.1e6, 0.6e6)  # [Pa] gauge at 0 V and at 10 V
SYNC = b"\x5a\xa5"
COMMAND, TELEMETRY = 1, 2
TIMEOUT = 0.5  # [s] without a command, and the board lets go

_HEADER = struct.Struct("<2sBB")
_CRC = struct.Struct("<H")


def encode_frame(kind: int, volts: np.ndarray) -> bytes:
    """A frame with the voltages (n,) of the channels 0…n−1 [V], clipped to 0…10; one that is no number is 0."""
    known = np.nan_to_num(volts, nan=0.0)
    raw = np.rint(np.clip(known, 0.0, FULL_SCALE) * (STEPS / FULL_SCALE)).astype("<u2")
    content = bytes([kind, len(raw)]) + raw.tobytes()
    return SYNC + content + _CRC.pack(binascii.crc_hqx(content, 0xFFFF))


class FrameDecoder:
    """Frames of one kind out of a stream that may start anywhere and be damaged.

    Attributes:
        bad_frames: whose checksum or length did not fit, and pieces between frames.
    """

    def __init__(self, kind: int):
        self.bad_frames = 0
        self._kind = kind
        self._buffer = b""

    def feed(self, data: bytes) -> list[np.ndarray]:
        """Voltages (n,) [V] of each frame completed by `data`."""
        self._buffer += data
        result = []
        while (start := self._buffer.find(SYNC)) >= 0 and len(self._buffer) >= start + _HEADER.size:
            end = start + _HEADER.size + 2 * self._buffer[start + 3] + _CRC.size
            self.bad_frames += start > 0
            if self._buffer[start + 3] <= MAX_CHANNELS and len(self._buffer) < end:
                self._buffer = self._buffer[start:]
                return result
            volts = self._parse(self._buffer[start:end])
            self._buffer = self._buffer[end if volts is not None else start + 1 :]
            if volts is not None:
                result.append(volts)
        self.bad_frames += start < 0 and len(self._buffer) > 1
        self._buffer = self._buffer[start:] if start >= 0 else self._buffer[-1:]
        return result

    def _parse(self, frame: bytes) -> np.ndarray | None:
        _, kind, count = _HEADER.unpack_from(frame)
        content = frame[len(SYNC) : -_CRC.size]
        if (
            count > MAX_CHANNELS
            or kind != self._kind
            or _CRC.unpack(frame[-2:])[0] != binascii.crc_hqx(content, 0xFFFF)
        ):
            self.bad_frames += 1
            return None
        return np.frombuffer(frame, "<u2", count, _HEADER.size) * (FULL_SCALE / STEPS)


def volts_of(pressures: np.ndarray) -> np.ndarray:
    """Input voltages of valves for gauge pressures [Pa]."""
    low, high = RANGE
    return FULL_SCALE * (np.asarray(pressures) - low) / (high - low)


def pressures_of(volts: np.ndarray) -> np.ndarray:
    """Gauge pressures [Pa] of valves at these voltages."""
    low, high = RANGE
    return low + (high - low) * np.asarray(volts) / FULL_SCALE


class DacValves(Valves):
    """Valves on the channels 0…count−1 of a board; relaxed they stand at the lowest pressure of their range.

    The board confirms nothing: its line has a checksum, and what is told is told again at every tick.
    """

    range = RANGE
    step = (RANGE[1] - RANGE[0]) / STEPS
    rests_after = TIMEOUT
    rests_at = RANGE[0]

    def __init__(self, port: Port, count: int, clock: Clock = SYSTEM, reopen: Callable[[], Port] | None = None):
        if not 1 <= count <= MAX_CHANNELS:
            raise DeviceError(f"{count} valves on a DAC board: it has {MAX_CHANNELS} channels")
        super().__init__(port, count, clock, reopen)
        self._measured_channels = count
        self._begin_again()

    @property
    def garbage(self) -> int:
        return self._decoder.bad_frames

    @property
    def trouble(self) -> str:
        if self._measured_channels >= self.count:
            return ""
        return f"the DAC board measures {self._measured_channels} channels: {self.count} valves need as many"

    def write(self, pressures: np.ndarray) -> None:
        self.told = np.array(pressures)
        self._port.write(encode_frame(COMMAND, volts_of(pressures)))

    def read(self) -> np.ndarray | None:
        frames = self._decoder.feed(self._port.read())
        if not frames:
            return None
        self._measured_channels = len(frames[-1])
        return None if self.trouble else pressures_of(frames[-1][: self.count])

    def shut_down(self, rest: np.ndarray) -> None:
        self.write(rest)

    def _begin_again(self) -> None:
        self._decoder = FrameDecoder(TELEMETRY)


def open_device(device: str, count: int, clock: Clock = SYSTEM) -> DacValves:
    """The board on a serial port.

    Raises:
        DeviceError: see SerialPort and DacValves.
    """

    def connect() -> SerialPort:
        return SerialPort(device, BAUD_RATE)

    port = connect()
    try:
        return DacValves(port, count, clock, connect)
    except DeviceError:
        port.close()
        raise
