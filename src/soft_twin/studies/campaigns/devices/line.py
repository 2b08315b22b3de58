"""A line in simulated time: bytes take their time, and get lost, changed, doubled, or late."""

from collections import deque
from dataclasses import dataclass
from random import Random

BITS = 10  # that a byte takes on a serial line


@dataclass
class Trouble:
    """What a line does to what it carries.

    Attributes:
        loss, change: probability that a byte is lost or another one.
        double, swap: probability that a piece comes twice, or after the next one.
        delay: that each piece is late by [s].
    """

    loss: float = 0.0
    change: float = 0.0
    double: float = 0.0
    swap: float = 0.0
    delay: float = 0.0

    @property
    def quiet(self) -> bool:
        return not (self.loss or self.change or self.double or self.swap)


class Line:
    """One direction.

    Attributes:
        trouble: with what it carries from now on.
        cut: nothing passes.
        backlog: bytes on their way.
    """

    def __init__(self, rng: Random, baud_rate: float, split: float = 0.0):
        """`split`: probability that a piece comes in two."""
        self.trouble = Trouble()
        self.cut = False
        self._rng, self._byte_time, self._split = rng, BITS / baud_rate, split
        self._way: deque[tuple[float, bytes]] = deque()  # arrival [s], bytes
        self._free = 0.0
        self._held = b""

    @property
    def backlog(self) -> int:
        return sum(len(data) for _, data in self._way)

    def clear(self) -> None:
        self._way.clear()
        self._held = b""

    def put(self, data: bytes, now: float) -> None:
        if self.cut or not data:
            return
        if not self.trouble.quiet:
            data = self._spoil(data)
        if len(data) > 1 and self._split and self._rng.random() < self._split:
            place = self._rng.randrange(1, len(data))
            self._send(data[:place], now)
            now, data = now + 0.002, data[place:]
        self._send(data, now)

    def take(self, now: float) -> bytes:
        """What has arrived."""
        if not self._way or self._way[0][0] > now:
            return b""
        pieces = []
        while self._way and self._way[0][0] <= now:
            pieces.append(self._way.popleft()[1])
        return b"".join(pieces)

    def next_arrival(self) -> float | None:
        return self._way[0][0] if self._way else None

    def _send(self, data: bytes, now: float) -> None:
        self._free = max(self._free, now) + len(data) * self._byte_time
        self._way.append((self._free + self.trouble.delay, data))

    def _spoil(self, data: bytes) -> bytes:
        rng, trouble = self._rng, self.trouble
        kept = bytearray()
        for byte in data:
            if rng.random() >= trouble.loss:
                kept.append(rng.randrange(256) if rng.random() < trouble.change else byte)
        data = bytes(kept)
        if rng.random() < trouble.double:
            data += data
        if not self._held and rng.random() < trouble.swap:
            self._held, data = data, b""
        elif self._held:
            data, self._held = data + self._held, b""
        return data
