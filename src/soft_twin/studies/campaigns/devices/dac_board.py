"""A board of 0…10 V converters with proportional valves behind it, after docs/dac_protocol.md."""

import binascii
import math
import struct
from random import Random

from soft_twin.studies.campaigns.devices.chambers import Chambers
from soft_twin.studies.campaigns.devices.device import Device, Ear

BAUD_RATE = 460_800
SYNC = b"\x5a\xa5"
COMMAND, TELEMETRY = 1, 2
MOST = 64  # channels
PERIOD = 0.02  # [s] of telemetry
SILENCE = 0.5  # [s] without a command after which every channel is at 0 V
LOWEST, SPAN = 0.1e6, 0.5e6  # [Pa] gauge at 0 V, and what 10 V are more
FULL = 65535
RESOLUTION = SPAN / FULL


def checksum(data: bytes) -> bytes:
    """CRC-16/CCITT-FALSE, little-endian."""
    return struct.pack("<H", binascii.crc_hqx(data, 0xFFFF))


def frame(kind: int, counts: list[int]) -> bytes:
    """A frame of raw voltages, 0…65535 each."""
    body = struct.pack(f"<BB{len(counts)}H", kind, len(counts), *counts)
    return SYNC + body + checksum(body)


class DacEar(Ear):
    """The command frames that a host sends.

    Attributes:
        heard: how many valid commands there were.
    """

    def __init__(self, count: int):
        super().__init__(count)
        self.forget()

    def forget(self) -> None:
        self.heard = 0
        self._buffer = b""
        self.targets = [LOWEST] * len(self.targets)

    def hear(self, data: bytes) -> list[bytes]:
        self._buffer += data
        while (start := self._buffer.find(SYNC)) >= 0:
            self._buffer = self._buffer[start:]
            if (length := self._length()) is None or len(self._buffer) < length:
                break
            if length > 0 and self._take(self._buffer[2:length]):
                self._buffer = self._buffer[length:]
            else:
                self._buffer = self._buffer[1:]
        else:
            self._buffer = self._buffer[-1:]
        return []

    def _length(self) -> int | None:
        """Of the frame at the buffer's start: None: not known yet, 0: this is no frame."""
        if len(self._buffer) < 4:
            return None
        kind, count = self._buffer[2], self._buffer[3]
        return 6 + 2 * count if kind == COMMAND and count <= MOST else 0

    def _take(self, body: bytes) -> bool:
        if checksum(body[:-2]) != body[-2:]:
            return False
        self.heard += 1
        for channel, value in enumerate(struct.unpack(f"<{body[1]}H", body[2:-2])):
            self._tell(channel, LOWEST + SPAN * value / FULL)
        return True


class DacBoard(Device):
    """The board; chamber k is on channel k."""

    ear: DacEar
    floor = LOWEST

    def __init__(self, rng: Random, count: int, start: float):
        chambers = Chambers(rng, max(start, LOWEST), count, supply=0.75e6, vacuum=0.0, band=5e3)
        super().__init__(DacEar(count), chambers, rest=LOWEST)
        self._channels = rng.choice((count, count, 8, MOST))
        self._next, self._last = 0.0, -math.inf

    def hear(self, data: bytes, now: float) -> list[bytes]:
        before = self.ear.heard
        self.ear.hear(data)
        if self.ear.heard != before:
            self._last = now
        return []

    def speak(self, now: float) -> bytes:
        if now > self._last + SILENCE:
            self.ear.targets = [LOWEST] * len(self.ear.targets)
        if now < self._next:
            return b""
        self._next = max(self._next + PERIOD, now)
        counts = [_counts(value) for value in self._measure()]
        self.said = (now, [LOWEST + SPAN * value / FULL for value in counts])
        return frame(TELEMETRY, counts + [0] * (self._channels - len(counts)))


def _counts(pressure: float) -> int:
    """What the converter makes of a pressure; a sensor that gives no number gives no voltage."""
    if math.isnan(pressure):
        return 0
    return round(max(0.0, min(1.0, (pressure - LOWEST) / SPAN)) * FULL)
