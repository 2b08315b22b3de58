"""Threads and processes that must not be late, on hosts that are busy.

Processes are preferred to strangers only while those keep the host busy: what carries bytes to and from serial devices
and pseudo-terminals is an ordinary thread of the system's, and waits where preferred processes need all processors.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

NICENESS = -10  # of a process that is preferred: about ten times the share of an ordinary one
MANY, FEW = 0.2, 0.05  # share of all processors that strangers take where processes are preferred, and are no more
SHORTEST_WINDOW = 1.0  # [s] that a share is taken over
PREFERENCE_PERIOD = 2.0  # [s] between two looks at strangers
LOOKS = 2  # at the words that a process was started with: at the first it may still be a copy of who starts it
NODE = b"--ros-args"  # among the words that a node is started with
SESSION = Path("/proc/self/autogroup")  # where Linux shares processors among sessions first: "/autogroup-7 nice 0"
ATTEMPTS, ATTEMPT_PERIOD = 10, 0.11  # [s] Linux takes one a tenth of a second from those who are not root


def prefer_this_thread() -> bool:
    """Ask the system to run the calling thread before ordinary ones, as loops that drive motors need it.

    Returns whether it was granted; Linux asks for root, CAP_SYS_NICE, or an `rtprio` in /etc/security/limits.conf.
    Only for threads that sleep most of the time.
    """
    return _prefer(0)


def prefer_all_threads() -> bool:
    """Ask the same for every thread that this process has by now, which all should sleep most of the time.

    A thread that drives motors waits for whoever holds the interpreter, or a lock: where that one is an ordinary
    thread, and the host is busy, it waits for tenths of a second.

    Returns whether it was granted for all of them.
    """
    granted = [_prefer(thread) for thread in _threads()]
    return bool(granted) and all(granted)


def prefer_this_process() -> bool:
    """Ask the system to give this process more of a busy host than ordinary ones get, every thread that it has by now.

    For processes that have started: one that is still importing and compiling would halt all others for seconds.

    Linux shares processors among sessions first, where it has autogroups (`man sched`), and a process's niceness
    counts only within its own: so the session is asked for, too, and is preferred until `prefer_no_more`. Others in it
    stay ordinary beside this process.

    Returns whether it was granted; Linux asks for root, CAP_SYS_NICE, or a `nice` in /etc/security/limits.conf.
    """
    if not hasattr(os, "setpriority"):
        return False
    with contextlib.suppress(OSError):
        for thread in _threads() or [0]:  # Linux: a thread has its own, which those that it starts begin with
            with contextlib.suppress(ProcessLookupError):  # has just ended
                os.setpriority(os.PRIO_PROCESS, thread, min(NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))
        return _renice_session(lambda niceness: min(NICENESS, niceness))
    return False


def prefer_no_more() -> None:
    """For a process that ends: take back what `prefer_this_process` has asked for, and the session's part if no other
    process in it is preferred. Without it, all that is started in the same terminal later would be."""
    if not hasattr(os, "setpriority"):
        return
    with contextlib.suppress(OSError):
        for thread in _threads() or [0]:
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, thread, max(0, os.getpriority(os.PRIO_PROCESS, thread)))
        if not any(_is_preferred_here(process) for process in _numbers("/proc")):
            _renice_session(lambda niceness: 0 if niceness == NICENESS else niceness)


class Strangers:
    """What others take of this host, as Linux tells it: processes neither of this session nor of one with ROS nodes.

    A robot's nodes may each have a session of their own. If they took each other for strangers, all would be preferred
    to what carries their bytes.
    """

    def __init__(self, proc: Path = Path("/proc")):
        """From now on; `proc`: where Linux tells it."""
        self._proc = proc
        self._known: dict[tuple[int, bytes], tuple[bool, int]] = {}  # by process: is it a node, after so many looks
        self._before = self._times()

    def share(self) -> float | None:
        """Of all processors, 0…1, since the last time that something was told; None: too short ago, or not known."""
        if self._before is None or (now := self._times()) is None:
            return None
        passed, busy, own = (new - old for new, old in zip(now, self._before, strict=True))
        if passed < SHORTEST_WINDOW * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1):
            return None
        self._before = now
        return min(max((busy - max(own, 0)) / passed, 0.0), 1.0)

    def _times(self) -> tuple[int, int, int] | None:
        """All processors' time, what of it they were busy, and that for no strangers; in the kernel's ticks."""
        try:
            words = _read(self._proc / "stat").split(b"\n", 1)[0].split()[1:9]
            spent = [int(word) for word in words]
        except (OSError, ValueError):
            return None
        before, self._known = self._known, {}
        processes = [found for number in _numbers(self._proc) if (found := self._process(number, before)) is not None]
        known = {os.getsid(0), *(session for session, _, is_node in processes if is_node)}
        own = sum(taken for session, taken, _ in processes if session in known)
        return sum(spent), sum(spent) - sum(spent[3:5]), own  # but idle, and waiting for disks

    def _process(self, number: int, before: dict[tuple[int, bytes], tuple[bool, int]]) -> tuple[int, int, bool] | None:
        """Session, time that it and its children that have ended have taken, whether it is a node; None: it is gone.

        `before`: what was known of all processes.
        """
        folder = f"{self._proc}/{number}"
        try:
            words = _read(f"{folder}/stat").rpartition(b")")[2].split()
            process = number, words[19]  # which began then: numbers are given again
            is_node, looks = before.get(process, (False, 0))
            if not is_node and looks < LOOKS:
                is_node, looks = NODE in _read(f"{folder}/cmdline"), looks + 1
        except (OSError, IndexError):
            return None
        self._known[process] = is_node, looks
        return int(words[3]), sum(int(word) for word in words[11:15]), is_node


class Preference:
    """Prefers this process, see `prefer_this_process`, while strangers keep the host busy.

    Attributes:
        asked: whether it has asked for that.
    """

    def __init__(self, strangers: Strangers | None = None, period: float = PREFERENCE_PERIOD):
        """From now on; `strangers`: those of this host by default. `period`: between two looks at them [s]."""
        self._strangers, self._period = strangers or Strangers(), period
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self.asked = False

    def start(self) -> None:
        """Look at them once a period, beside what this process does: on a host with hundreds of others it takes ms."""
        self._thread = threading.Thread(target=self._keep, name="preference", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """For a process that ends: look no more, and give back what was asked for."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        prefer_no_more()

    def look(self) -> None:
        """Ask for it, or give it back, by what strangers have taken since the last look."""
        share = self._strangers.share()
        if share is None:
            return
        if not self.asked and share > MANY:
            self.asked = True
            prefer_this_process()
        elif self.asked and share < FEW:
            self.asked = False
            prefer_no_more()

    def _keep(self) -> None:
        while not self._closing.wait(self._period):
            self.look()


def _read(file: Path | str) -> bytes:
    """The first 64 KiB of it, as fast as Linux tells: a look at a host reads a file of each process.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def _is_preferred_here(process: int) -> bool:
    """Whether a process is preferred, and of this one's session."""
    try:
        return os.getsid(process) == os.getsid(0) and os.getpriority(os.PRIO_PROCESS, process) <= NICENESS
    except OSError:  # has just ended
        return False


def _renice_session(change: Callable[[int], int]) -> bool:
    """Whether the niceness of this process's session among others is changed, or sessions share nothing.

    Raises:
        OSError: it may not be.
    """
    for _ in range(ATTEMPTS):
        try:
            session = SESSION.read_text(encoding="ascii").split()  # empty in the system's first one: it has no share
            if session and (wanted := change(niceness := int(session[-1]))) != niceness:
                SESSION.write_text(str(wanted), encoding="ascii")
        except FileNotFoundError:  # no autogroups
            return True
        except BlockingIOError:
            time.sleep(ATTEMPT_PERIOD)
        else:
            return True
    return False


def _threads() -> list[int]:
    """Every thread that this process has by now."""
    return _numbers("/proc/self/task")


def _numbers(folder: Path | str) -> list[int]:
    """Ids of the processes or threads in a folder of Linux: elsewhere none are known."""
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    except OSError:
        return []


def _prefer(thread: int) -> bool:
    """Whether that thread, 0 for the calling one, was granted to run before ordinary ones."""
    if not hasattr(os, "sched_setscheduler"):
        return False
    try:
        os.sched_setscheduler(thread, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:  # not allowed, or the thread has just ended
        return False
    return True
