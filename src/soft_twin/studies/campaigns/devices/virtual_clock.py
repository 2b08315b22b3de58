"""A clock that stands still until somebody sleeps on it; then the emulated world lives on."""

from collections.abc import Callable

PATIENCE = 200_000  # times that the clock may be read while it stands still


class ClockStandsStillError(BaseException):
    """The clock was read again and again without anybody sleeping: on a real clock this loop would burn a processor."""


class VirtualClock:
    """Time of a simulated world, for code that asks a clock it was given.

    Args:
        live: called with each new time [s], in steps of `period`: the world does what it does until then.
        period: of the world's steps [s].
        epoch: what `time()` is at the start [s].

    Attributes:
        now: monotonic time [s].
        offset: time() less monotonic() [s]; setting it is a jump of the host's wall clock.
    """

    def __init__(self, live: Callable[[float], None], period: float = 0.001, epoch: float = 1.7e9):
        self.now, self.offset = 0.0, epoch
        self._live, self._period = live, period
        self._steps = self._reads = 0

    def monotonic(self) -> float:
        self._count_read()
        return self.now

    def time(self) -> float:
        self._count_read()
        return self.now + self.offset

    def sleep(self, seconds: float) -> None:
        """Let the world live for so long."""
        self.advance_to(self.now + max(seconds, 1e-6))

    def advance_to(self, until: float) -> None:
        """Let the world live until a time [s]."""
        self._reads = 0
        while (self._steps + 1) * self._period <= until + 1e-9:
            self._steps += 1
            self.now = max(self.now, self._steps * self._period)
            self._live(self.now)
        self.now = max(self.now, until)

    def _count_read(self) -> None:
        self._reads += 1
        if self._reads > PATIENCE:
            raise ClockStandsStillError(f"the clock was read {PATIENCE} times at {self.now:.3f} s")
