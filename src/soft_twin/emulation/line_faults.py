"""A serial line that breaks on purpose: what drivers have to live with, between a device and its port."""

from typing import Protocol

import numpy as np

LINE_FAULTS = ("silence", "garbage", "half frames", "duplicates", "reordered")


class Port(Protocol):
    """A device's end of a serial line."""

    def read(self) -> bytes: ...

    def write(self, data: bytes) -> int: ...


class LineFaults:
    """A port as the device sees it, through a line that may be faulty.

    Attributes:
        fault: one of LINE_FAULTS, or None. Silence loses both directions; the others spoil what the device sends:
            garbage between and in its frames, only the first part of every write, every write twice, every
            second write after the one that follows it.
    """

    def __init__(self, port: Port, seed: int = 0):
        self.fault: str | None = None
        self._port = port
        self._rng = np.random.default_rng(seed)
        self._held: bytes | None = None

    def read(self) -> bytes:
        """What the host has sent."""
        data = self._port.read()
        return b"" if self.fault == "silence" else data

    def write(self, data: bytes) -> int:
        """Send to the host; the number of bytes that went out."""
        if self._held is not None:
            data, self._held = data + self._held, None
        elif self.fault == "reordered":
            self._held = data
            return 0
        if self.fault == "silence":
            return 0
        if self.fault == "garbage":
            data = self._garbled(data)
        elif self.fault == "half frames":
            data = data[: self._rng.integers(0, len(data) + 1)]
        elif self.fault == "duplicates":
            data = data + data
        return self._port.write(data)

    def _garbled(self, data: bytes) -> bytes:
        """Random bytes before the data, and one of its own replaced."""
        garbled = bytearray(data)
        if garbled:
            garbled[self._rng.integers(len(garbled))] = self._rng.integers(256)
        return self._rng.bytes(self._rng.integers(0, 12)) + bytes(garbled)
