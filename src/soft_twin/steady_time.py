"""Time by which ages are judged: nobody sets it, and it also passes while the host sleeps.

Motors go limp without their host, and cables run out, while a laptop's lid is closed; what was commanded and measured
before is old when it is opened again. On Linux `time.monotonic()` knows nothing of that sleep.
"""

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS's monotonic clock counts sleep


def steady_now() -> float:
    """Seconds since some moment; differences count."""
    return time.clock_gettime(_CLOCK)
