"""What a terminal asks of all processes in it: a process that serves another leaves it to that one when it ends.

And what ends one process, as `timeout`, shells and service managers do: to it, that is a Ctrl-C.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

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


def start_uninterrupted(process: "BaseProcess") -> None:
    """Start a spawned process of `multiprocessing` as `left_to_this_process` says."""
    from multiprocessing import resource_tracker  # here, since every command loads this module

    resource_tracker.ensure_running()  # which lets interruptions in again when it is started
    with left_to_this_process():
        process.start()


@contextlib.contextmanager
def interrupted_afterwards() -> Iterator[None]:
    """In this block of a second or so Ctrl-C and SIGTERM wait for its end: libraries in C make another error of a
    KeyboardInterrupt. A mask of signals would not hold them where such a library has threads of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda number, frame: asked.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in asked[:1]:
            signal.raise_signal(number)


@contextlib.contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """In this block SIGTERM raises KeyboardInterrupt, once: `timeout` sends it twice. Not where it has a meaning
    already, nor in other threads than the main one, which cannot give it any."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    asked = False

    def interrupt(*_: object) -> None:
        nonlocal asked
        first, asked = not asked, True
        if first:
            raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
