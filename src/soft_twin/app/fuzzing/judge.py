"""One case read and judged: its error, its time, its memory, and whether what was read is nonsense."""

import logging
import resource
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from soft_twin.app.fuzzing.cases import KINDS, Case, good_files, make_case
from soft_twin.app.fuzzing.reading import CommandError
from soft_twin.errors import SoftTwinError

PATIENCE = 5.0  # [s] of processor time that reading may take
MOST_MEMORY = 2**30  # [bytes] that reading may add
FAULTS = ("traceback", "hang", "memory", "nonsense")


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        seed, kind: of the case.
        fault: one of FAULTS, or empty.
        detail: the error's text or what is nonsense.
        refused: whether the file was refused by a named error.
        seconds, memory: that it took [s], [bytes].
    """

    seed: int
    kind: str
    fault: str = ""
    detail: str = ""
    refused: bool = False
    seconds: float = 0.0
    memory: int = 0


def judge(seed: int) -> Outcome:
    """Make the case of a seed in a folder of its own, read it, and judge."""
    warm_up()
    work = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        case = make_case(seed, work)
        _forget_peak()
        before, start, (used, largest) = _memory("VmRSS"), time.process_time(), _children()
        fault, detail, refused = _read(case)
        used_now, largest_now = _children()
        seconds, peak = time.process_time() - start + used_now - used, _memory("VmHWM")
        # What a process was started from counts as its own, in Linux: only one that is larger is known.
        child = largest_now if largest_now > max(largest, peak) else 0
        memory = max(peak - before, child, 0)
        if not fault and memory > MOST_MEMORY:
            fault, detail = "memory", f"{memory / 1e6:.0f} MB: {detail}"
        if not fault and seconds > PATIENCE:
            fault, detail = "hang", f"{seconds:.1f} s with its processes: {detail}"
        return Outcome(seed, case.kind, fault, detail, refused, seconds, memory)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@cache
def warm_up() -> None:
    """Read good files once: kernels are compiled and modules imported, which no case shall be charged for."""
    with tempfile.TemporaryDirectory() as work, _silence():
        for kind, path in good_files(Path(work)).items():
            KINDS[kind].read(path)


def _read(case: Case) -> tuple[str, str, bool]:
    """Fault, detail, and whether it was refused."""
    try:
        with _time_limit(PATIENCE), _silence():
            complaint = KINDS[case.kind].read(case.path)
    except (SoftTwinError, CommandError) as error:
        return _judged_message(str(error))
    except MemoryError:
        return "memory", traceback.format_exc(), False
    except _TooLong:
        return "hang", f"not done after {PATIENCE:g} s: {traceback.format_exc()[-1500:]}", False
    except Exception:
        return "traceback", traceback.format_exc(), False
    if complaint:
        return "nonsense", complaint, False
    if case.must_fail:
        return "nonsense", f"accepted, though it must be refused {case.story}", False
    return "", "", False


def _judged_message(message: str) -> tuple[str, str, bool]:
    """An error says something, in one line that can be read."""
    if not message or "\n" in message or len(message) > 2000:
        return "nonsense", f"an error's message of {len(message)} characters: {message[:300]}", True
    return "", message, True


@contextmanager
def _silence():
    """No warnings in this block, of which broken files are full."""
    logger = logging.getLogger("soft_twin")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


class _TooLong(BaseException):
    """Reading has used up its time; nothing that it calls is meant to catch it."""


@contextmanager
def _time_limit(seconds: float):
    """_TooLong in this block after so much time of this process's own work, or five times as long a wait."""

    def end(*_: object) -> None:
        raise _TooLong

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, 5.0 * seconds))
    before = [signal.signal(number, end) for _, number, _ in timers]
    for timer, _, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (timer, number, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0.0)
            signal.signal(number, handler)


def _memory(what: str) -> int:
    """[bytes] of this process now (VmRSS) or at most (VmHWM); 0 where the system does not tell."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(what):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 0


def _children() -> tuple[float, int]:
    """Processor time [s] of all processes that this one has ended, and memory of the largest [bytes]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss


def _forget_peak() -> None:
    """Let VmHWM begin anew, where the system lets one."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return
