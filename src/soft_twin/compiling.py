"""Kernels that are not compiled yet: told to people, and compiled by one of the processes that need them.

Numba compiles a kernel when it is called first after an installation, and keeps it on disk. The nodes of a robot start
at once and share kernels: without a word between them each would compile all of them.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from numba.core import config, event

from soft_twin.errors import SoftTwinError, UsageError
from soft_twin.files import NO_ROOM
from soft_twin.private_folder import claim, private_folder

EVENT = "numba:compile"
PATIENCE = 60.0  # [s] with which a process waits for another one that compiles
LOOK_PERIOD = 0.05  # [s]
TELLING_PERIOD = 0.5  # [s]


@contextmanager
def compiled_by_one(kernels: str) -> Iterator[None]:
    """What is compiled inside is compiled by one process of this user at a time; another one waits with its first
    kernel until that one has left, and finds the rest on disk.

    Nobody waits where everything is compiled. After a minute, or without a lock, it compiles by itself.

    Python's garbage collector rests meanwhile: numba's objects, by the million, are kept or freed without it.

    Args:
        kernels: name of what is compiled, the same in all processes that may wait for each other.

    Raises:
        UsageError: inside, where there is no room on the disk to keep them.
    """
    turn, collects = _Turn(kernels), gc.isenabled()
    event.register(EVENT, turn)
    gc.disable()
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        folder = config.CACHE_DIR or Path(__file__).parent
        raise UsageError(f"compiled kernels cannot be kept in '{folder}': {error.strerror}; make room there") from error
    finally:
        if collects:
            gc.enable()
        event.unregister(EVENT, turn)
        turn.end()


class _Turn(event.Listener):
    """Taken when something is compiled for the first time."""

    def __init__(self, kernels: str):
        self._kernels, self._taken, self._lock = kernels, False, None

    def on_start(self, event_: event.Event) -> None:
        if self._taken:
            return
        self._taken, deadline = True, time.monotonic() + PATIENCE
        try:
            path = private_folder() / f"compiles-{self._kernels}.lock"
            while (lock := claim(path)) is None and time.monotonic() < deadline:
                time.sleep(LOOK_PERIOD)
            self._lock = lock
        except SoftTwinError:
            return

    def on_end(self, event_: event.Event) -> None:
        pass

    def end(self) -> None:
        if self._lock is not None:
            os.close(self._lock)


def tell_of_compiling(say: Callable[[int], object]) -> Callable[[], None]:
    """Tell how many kernels this process compiles, the first at once, then at most twice a second; those that are
    found compiled are no news. What is returned ends it."""
    teller = _Teller(say)
    event.register(EVENT, teller)
    return partial(event.unregister, EVENT, teller)


class _Teller(event.Listener):
    def __init__(self, say: Callable[[int], object]):
        self._say, self._count, self._next = say, 0, 0.0

    def on_start(self, event_: event.Event) -> None:
        self._count += 1
        if (now := time.monotonic()) >= self._next:
            self._next = now + TELLING_PERIOD
            self._say(self._count)

    def on_end(self, event_: event.Event) -> None:
        pass
