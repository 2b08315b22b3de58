"""Whether an emulated robot has lived through a motion, on however busy a machine."""

from collections import deque

from soft_twin.errors import RunError

REST, OVER = "rest", "over"  # what a robot's diagnostics call it before a motion is played, and when all of it has been
REMEMBERED = 500  # errors: ten seconds of them, and what is told of a motion is not later than that
PATIENCE = 60.0  # [s] that the end of a motion may be later than it should be by what the robot tells of its time


class Playing:
    """A motion from the moment it is played: over when the robot says so, since what it tells of its time comes late.

    Args:
        duration: of the motion, in the robot's time [s].
        now: [s].
        lost: how far the robot's time is behind for good [s]; None of a robot that has no time of its own, whose motion
            is over when its duration is.
    """

    def __init__(self, duration: float, now: float, lost: float | None):
        self._due, self._lost, self._duration = now + duration, lost, duration
        self._begun = False

    def over(self, now: float, phase: str, lost: float | None) -> bool:
        """Whether it is over, now that the robot tells this phase of its motion and that its time is `lost` behind.

        Raises:
            RunError: it should have been long ago.
        """
        if self._lost is None:
            return now >= self._due
        self._begun = self._begun or phase not in (REST, OVER, "")
        due = self._due + lost - self._lost
        if now > due + PATIENCE:
            raise RunError(f"the emulated robot has not ended its motion of {self._duration:g} s: it tells '{phase}'")
        return self._begun and phase == OVER


class Parts:
    """The errors of a motion as its parts come: diagnostics tell of a new part later than the tip leaves for it."""

    def __init__(self):
        self.name = ""
        self._errors: deque[tuple[float, float]] = deque(maxlen=REMEMBERED)

    def take(self, stamp: float, error: float, name: str, since: float | None) -> tuple[str, float] | None:
        """An error, and what is told of the part that the robot is in.

        Args:
            stamp: at which the error was [s].
            error: in whatever unit.
            name: of the part; `since`: the first stamp of it [s], None where nobody knows.

        Returns:
            The part that is over now, and the last error in it that is known.
        """
        self._errors.append((stamp, error))
        if name == self.name:
            return None
        before, self.name = self.name, name
        inside = [each for at, each in self._errors if since is None or at < since]
        return before, inside[-1] if inside else self._errors[0][1]
