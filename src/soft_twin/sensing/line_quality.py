"""How much of what an IMU board sends is lost on its line, and whether it is an IMU board that sends at all."""

from collections import deque
from dataclasses import dataclass

WINDOW = 5.0  # [s] that is looked back on
BIN = 0.25  # [s] that is counted together
LOSS = 0.05  # share of samples that is worth a word
LEAST = 5  # samples that must be missing for it
FOREIGN = 300  # bytes without one whole frame: the length of six


@dataclass
class _Count:
    """Of what has arrived from `start` [s] on, for the time of a bin."""

    start: float
    heard: int = 0
    missing: int = 0
    size: int = 0


class LineQuality:
    """Counts the samples that come, and those that are missing between them, over the last five seconds."""

    def __init__(self) -> None:
        self._counts: deque[_Count] = deque()

    def take(self, heard: int, missing: int, size: int, arrival: float) -> None:
        """Something has arrived.

        Args:
            heard: whole frames in it.
            missing: frames that are missing by the numbers of those.
            size: bytes.
            arrival: of it, on a clock that goes on [s].
        """
        if not self._counts or arrival - self._counts[-1].start >= BIN:
            self._counts.append(_Count(arrival))
        while arrival - self._counts[0].start > WINDOW:
            self._counts.popleft()
        count = self._counts[-1]
        count.heard, count.missing, count.size = count.heard + heard, count.missing + missing, count.size + size

    @property
    def fault(self) -> str:
        """What is wrong with the line, in words; empty where nothing is."""
        heard, missing, size = (
            sum(getattr(one, name) for one in self._counts) for name in ("heard", "missing", "size")
        )
        if heard == 0 and size >= FOREIGN:
            return f"{size} bytes without one whole frame: it is no IMU board, or sends at another baud rate"
        if missing >= max(LEAST, LOSS * (heard + missing)):
            told = f"{missing} of {heard + missing} samples are lost on the line"
            return f"{told}: see to cable and plug, or to what keeps the host busy"
        return ""
