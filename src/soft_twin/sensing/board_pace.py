"""A board's time that goes on steadily: its stamps, checked by the count of samples and by their arrival."""

import math

from soft_twin.sensing.arrival_pace import FINE, ArrivalPace

SEQUENCES = 1 << 16
_REORDERED = 100  # frames that one may be late by
_ANOTHER = 0.5  # [s] by which arrivals, stamps and the count contradict each other if the board restarted
_PAUSE = 0.05  # [s] without samples from which arrivals tell it from a clock that jumps
_FIRST = 8  # steps, whose median is the time of a sample at first
_TRUSTED_AGAIN = 200  # frames in a row that agree
_PACE_GAIN, _WRONG_PACE = 0.05, 0.08  # of the mean pace of stamps, and by how much it may be off
_SURE_PACE = 0.03  # within which the time of a sample is learnt
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
        self._own_pace, self._agreed = False, True
        self._agreeing = (0.0, 0.0, 0)
        self._pace = 1.0
        self._arrivals = ArrivalPace()
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
        self._time += self._step(count, step, elapsed)
        self._sequence, self._stamp, self._arrival = sequence, stamp, arrival
        ratio = self._arrivals.update(self._time, arrival)
        if ratio != 1.0:
            self._correct(ratio)
        elif still := self._arrivals.stood_still:
            self._arrivals.begin(self._time, arrival)
            self.restarted = True
            self._tell(f"board and its clock stood still for {round(still, 1):g} s: did it sleep?", self._time)
        return self._time

    def _begin(self, sequence: int, stamp: float, arrival: float) -> None:
        """The board's first frame, or its first one after it restarted."""
        self.restarted = True
        self._sequence, self._stamp, self._arrival, self._time = sequence, stamp, arrival, stamp
        self._arrivals.begin(stamp, arrival)

    def _is_another(self, count: int, step: float, elapsed: float) -> bool:
        """Whether the board restarted: its count is ahead of arrivals, or all three say another time all at once."""
        expected = count * self._known_period()
        if not expected < elapsed + 1.0:
            return True
        strange = self._agreed and not (self._agrees(count, step) or _paused(step, expected, elapsed))
        return strange and elapsed - expected > _ANOTHER

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
        self._agreed = agrees = self._agrees(count, step)
        self._pace += _PACE_GAIN * (min(step / expected, 2.0) - self._pace) if agrees else 0.0
        self._trust_again(agrees, step, expected)
        if not agrees and _paused(step, expected, elapsed):
            fault = f"board took no samples for {step:.2g} s: look at its firmware and its bus to the chip"
            self._tell(fault, self._time + step)
            return step
        if not agrees:
            self._tell(_words(step, expected), self._time + expected)
            return expected
        if self._own_pace:
            return expected
        if abs(self._pace - 1.0) > _WRONG_PACE:
            self._tell(f"board clock runs {self._pace:.2g} times as fast as before: {_CAUSE}", self._time + expected)
            return expected
        if abs(self._pace - 1.0) < _SURE_PACE:
            self._period += 0.005 * (step / count - self._period)
        return step

    def _trust_again(self, agrees: bool, step: float, expected: float) -> None:
        """Stamps of a board that is timed by its count, after so many in a row that say the same."""
        told, counted, frames = self._agreeing
        told, counted, frames = told + step, counted + expected, frames + 1
        if agrees and frames == _TRUSTED_AGAIN:
            self._own_pace &= abs(told / counted - 1.0) > 0.5 * FINE
        self._agreeing = (told, counted, frames) if agrees and frames < _TRUSTED_AGAIN else (0.0, 0.0, 0)

    def _first_step(self, count: int, step: float, elapsed: float) -> float:
        usable = step if 0.0 < step < 1.0 else max(elapsed, 1e-3)
        self._first_steps.append(usable / count)
        if len(self._first_steps) >= _FIRST:
            self._period = sorted(self._first_steps)[len(self._first_steps) // 2]
        return usable

    def _correct(self, ratio: float) -> None:
        """The time goes 1/ratio as fast as it should."""
        self._period *= ratio
        self._own_pace, self._agreeing, self._pace = True, (0.0, 0.0, 0), 1.0
        self._arrivals.begin(self._time, self._arrival)
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
