"""What a terminal asks of all processes in it: a process that serves another leaves it to that one when it ends."""

import contextlib
import signal
from collections.abc import Iterator

INTERRUPTIONS = signal.SIGINT, signal.SIGHUP, signal.SIGQUIT


@contextlib.contextmanager
def left_to_this_process() -> Iterator[None]:
    """A child that is started here is not interrupted, from its first moment: it inherits a mask of signals.

    `preexec_fn` would run Python between fork and exec, which may never end where this process has other threads.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTIONS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
