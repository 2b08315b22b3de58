"""Readings that jump as no base does: a wild one is held back, a real shock is believed once it was seen thrice."""

import math

_SEEN = 3  # samples after which a new value is real
_MEMORY = 0.3  # [s] for which the steps of a rough motion count as usual
_USUAL = 3.0  # times the usual step is a jump

Reading = tuple[float, ...]


class StepFilter:
    """Three numbers a sample; those that jump by more than a base can do are replaced by the last believed ones.

    What jumps and stays there (three samples near each other) is believed, and so is at once what jumps to less.

    Args:
        step: that a base can do from one sample to the next.
        made_up: whether what was held back is made up for then: the sum over time is that of the readings.

    Attributes:
        believed: the last reading that was.
        held: whether the last reading was held back.
    """

    def __init__(self, step: float, made_up: bool):
        self._step = step
        self._makes_up = made_up
        self.believed: Reading = (0.0, 0.0, 0.0)
        self._started = False
        self._usual = 0.0
        self._waiting: list[tuple[Reading, float]] = []
        self.held = False

    def restart(self, reading: Reading) -> None:
        """Time was lost: whatever comes now is believed."""
        self.believed, self._usual, self.held = reading, 0.0, False
        self._started = True
        self._waiting.clear()

    def update(self, reading: Reading, dt: float) -> tuple[Reading, float]:
        """The reading to use after a time [s], and by how much it is off the one that came."""
        if not self._started:
            self.restart(reading)
        step = _distance(reading, self.believed)
        limit = max(self._step, _USUAL * self._usual)
        if step <= limit or _size(reading) < _size(self.believed):
            self._usual = max(min(step, limit), self._usual * math.exp(-dt / _MEMORY))
            self.believed, self.held = reading, False
            self._waiting.clear()
            return reading, 0.0
        if self._waiting and _distance(reading, self._waiting[-1][0]) > limit:
            self._waiting.clear()
        self._waiting.append((reading, dt))
        if len(self._waiting) < _SEEN:
            self.held = True
            return self.believed, step
        return self._made_up(dt), 0.0

    def _made_up(self, dt: float) -> Reading:
        """The newest reading with what was held back before it."""
        before = self.believed
        newest = self._waiting.pop()[0]
        if not self._makes_up:
            self.restart(newest)
            return newest
        missed = [sum((reading[i] - before[i]) * time for reading, time in self._waiting) for i in range(3)]
        self.restart(newest)
        return tuple(value + miss / dt for value, miss in zip(newest, missed, strict=True))


def _size(a: Reading) -> float:
    return max(map(abs, a))


def _distance(a: Reading, b: Reading) -> float:
    return max(abs(x - y) for x, y in zip(a, b, strict=True))
