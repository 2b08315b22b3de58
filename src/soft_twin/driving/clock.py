"""The time by which drivers live: the system's, or a virtual one's in tests and campaigns."""

import time

from soft_twin.steady_time import steady_now


class Clock:
    """The system's time. A virtual clock overrides all three, and lets its world live on while somebody sleeps."""

    def monotonic(self) -> float:
        """Time that never goes back, asleep or awake [s]; periods, ages and watchdogs are measured by it."""
        return steady_now()

    def time(self) -> float:
        """Time of day, in which measurements are stamped; it may jump [s]."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        time.sleep(seconds)


SYSTEM = Clock()
