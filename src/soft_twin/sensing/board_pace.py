"""A board's time that goes on steadily: its stamps, checked by the count of samples and by their arrival."""

import math

SEQUENCES = 1 << 16
_REORDERED = 100  # frames that one may be late by
_BLOCK = 16  # frames, at least, over which a wrong pace of more than 15 % shows
_BLOCK_TIME = 0.15  # [s] at least, as adapters hand on what came in 16 ms at once
_ANOTHER = 0.5  # [s] by which arrivals, stamps and the count contradict each other if the board restarted
_PAUSE = 0.05  # [s] without samples from which arrivals tell it from a clock that jumps
_BIN = 0.5  # [s]
_BINS = 4  # over which a wrong pace of more than 0.8 % shows
_COARSE, _FINE = 0.15, 0.008
_TRUSTED_AGAIN = 200  # frames in a row that agree
_TOLERANCE = 0.3  # of the time between two samples
_TOLD = 1.0  # [s] for which a fault is told
_CAUSE = "samples are timed by their count; power the board off and on, or renew its firmware"


class BoardPace:
    """Turns sequence numbers, stamps and arrivals into a time without freezes, jumps and wrong speed.

    The stamp's step is believed while it is what that many samples take, or what passed between their arrivals: then
    the board took no samples. Else the count says how long it was. How long a sample takes is learnt from the stamps,
    and from arrivals where these disagree for longer than a host sleeps.

    Attributes:
        restarted: whether the last frame began a new time, with nothing to do with the one before.
    """

    def __init__(self) -> None:
        self.restarted = True
        self._sequence = -1
        self._stamp = self._arrival = self._time = math.nan
        self._period = math.nan
        self._first_steps: list[float] = []
        self._own_pace = False
        self._agreeing = 0
        self._block: tuple[float, float, int] = (math.nan, math.nan, 0)
        self._block_ratio = 1.0
        self._bins: list[tuple[float, float]] = []
        self._bulk = False
        self._fault, self._fault_time = "", -math.inf

    @property
    def fault(self) -> str:
        """What is wrong with the board's clock, or was within the last second, in words."""
        if self._own_pace or self._time - self._fault_time < _TOLD:
            return self._fault
        return ""

    def advance(self, sequence: int, stamp: float, arrival: float) -> float | None:
        """Steady time of a frame [s]; None for one that is late or double.

        Args:
            sequence: number of the frame, 0…65535.
            stamp: by the board's clock [s].
            arrival: by the host's clock [s].
        """
        self.restarted = False
        if self._sequence < 0:
            self._begin(sequence, stamp, arrival)
            return self._time
        count = (sequence - self._sequence) % SEQUENCES
        if count == 0 or count > SEQUENCES - _REORDERED:
            return None
        step, elapsed = stamp - self._stamp, arrival - self._arrival
        if self._is_another(count, step, elapsed):
            self._begin(sequence, stamp, arrival)
            return self._time
        self._bulk |= elapsed < 0.1 * count * self._known_period()
        self._time += self._step(count, step, elapsed)
        self._sequence, self._stamp, self._arrival = sequence, stamp, arrival
        self._check_pace(count)
        return self._time

    def _begin(self, sequence: int, stamp: float, arrival: float) -> None:
        """The board's first frame, or its first one after it restarted."""
        self.restarted = True
        self._sequence, self._stamp, self._arrival, self._time = sequence, stamp, arrival, stamp
        self._bins, self._bulk = [], False
        self._block = (arrival, stamp, 0)

    def _is_another(self, count: int, step: float, elapsed: float) -> bool:
        """Whether the board restarted: its count is ahead of arrivals, or all three say another time."""
        expected = count * self._known_period()
        if not expected < elapsed + 1.0:
            return True
        return elapsed - expected > _ANOTHER and not (self._agrees(count, step) or _paused(step, expected, elapsed))

    def _agrees(self, count: int, step: float) -> bool:
        """Whether a step of the stamp is what that many samples take."""
        if not math.isfinite(self._period):
            return True
        expected = count * self._period
        return abs(step - expected) <= _TOLERANCE * self._period + 0.02 * expected

    def _known_period(self) -> float:
        return self._period if math.isfinite(self._period) else 0.0

    def _step(self, count: int, step: float, elapsed: float) -> float:
        """Time since the frame before [s]."""
        if not math.isfinite(self._period):
            return self._first_step(count, step, elapsed)
        expected = count * self._period
        agrees = self._agrees(count, step)
        self._agreeing = self._agreeing + 1 if agrees else 0
        if self._own_pace and self._agreeing > _TRUSTED_AGAIN:
            self._own_pace = False
        if not agrees and _paused(step, expected, elapsed):
            fault = f"board took no samples for {step:.2g} s: look at its firmware and its bus to the chip"
            self._tell(fault, self._time + step)
            return step
        if not agrees:
            self._tell(_words(step, expected), self._time + expected)
            return expected
        if self._own_pace:
            return expected
        self._period += 0.01 * (step / count - self._period)
        return step

    def _first_step(self, count: int, step: float, elapsed: float) -> float:
        usable = step if 0.0 < step < 1.0 else max(elapsed, 1e-3)
        self._first_steps.append(usable / count)
        if len(self._first_steps) >= _BLOCK // 2:
            self._period = sorted(self._first_steps)[len(self._first_steps) // 2]
        return usable

    def _check_pace(self, count: int) -> None:
        """Compare the time with arrivals, over a few frames and over seconds."""
        arrival, time, frames = self._block
        self._block = (arrival, time, frames + 1)
        if frames + 1 >= _BLOCK and self._time - time >= _BLOCK_TIME:
            ratio = (self._arrival - arrival) / (self._time - time)
            if abs(ratio - 1.0) > _COARSE and abs(ratio / max(self._block_ratio, 1e-9) - 1.0) < 0.1:
                self._correct(ratio)
                ratio = 1.0
            self._block = (self._arrival, self._time, 0)
            self._block_ratio = ratio
        self._check_slowly()

    def _check_slowly(self) -> None:
        delay = self._arrival - self._time
        if self._bins and self._time - self._bins[-1][0] < _BIN:
            self._bins[-1] = (self._bins[-1][0], min(self._bins[-1][1], delay))
            return
        if self._bulk:  # a host that slept says nothing of the pace
            self._bins, self._bulk = [], False
        self._bins.append((self._time, delay))
        if len(self._bins) <= _BINS:
            return
        (start, before), (end, after) = self._bins.pop(0), self._bins[-2]
        slope = (after - before) / (end - start)
        if abs(slope) > _FINE:
            self._correct(1.0 + slope)

    def _correct(self, ratio: float) -> None:
        """The time goes 1/ratio as fast as it should."""
        self._period *= ratio
        self._own_pace, self._agreeing = True, 0
        self._bins = []
        self.restarted = True
        self._tell(f"board clock runs {1.0 / ratio:.3g} times as fast as time: {_CAUSE}", self._time)

    def _tell(self, fault: str, time: float) -> None:
        if not (self._own_pace and self._fault):
            self._fault = fault
        self._fault_time = time


def _paused(step: float, expected: float, elapsed: float) -> bool:
    """Whether stamp and arrival say that no samples were taken for a while."""
    return step - expected > _PAUSE and abs(elapsed - step) < _TOLERANCE * (step - expected)


def _words(step: float, expected: float) -> str:
    if step == 0.0:
        return f"board clock stands still: {_CAUSE}"
    return f"board clock jumps by {step - expected:.3g} s: {_CAUSE}"
