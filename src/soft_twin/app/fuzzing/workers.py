"""Cases judged in processes of their own, which a file may hang, fill or kill; each is used again while it lives."""

import contextlib
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait

from soft_twin.app.fuzzing.judge import PATIENCE, Outcome, judge, warm_up

MORE_MEMORY = 4 * 2**30  # [bytes] that a process may take on before it gets a MemoryError
GRACE = 10.0 * PATIENCE  # [s] after which a process that says nothing is ended
START = 300.0  # [s] that its first case may take, with all that is imported before


class Worker:
    """A process that judges one case after the other."""

    def __init__(self, context: multiprocessing.context.BaseContext):
        self.seed: int | None = None
        self.patience = START
        self.deadline = 0.0
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def begin(self, seed: int) -> None:
        self.seed, self.deadline, self.patience = seed, time.monotonic() + self.patience, GRACE
        self.connection.send(seed)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def judged(seeds: Iterable[int], count: int = 2) -> Iterator[Outcome]:
    """Outcomes of cases as they come, from `count` processes."""
    warm_up()  # what is compiled here is not compiled in each of them
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["soft_twin.app.fuzzing.judge"])
    waiting = iter(seeds)
    workers = [Worker(context) for _ in range(count)]
    try:
        busy = [worker for worker in workers if _next(worker, waiting)]
        while busy:
            wait([worker.connection for worker in busy], timeout=1.0)
            for worker in list(busy):
                outcome = _outcome(worker)
                if outcome is None:
                    continue
                yield outcome
                if not worker.process.is_alive() or outcome.fault in ("hang", "memory"):
                    worker.end()
                    busy.remove(worker)
                    workers.append(worker := Worker(context))
                    busy.append(worker)
                if not _next(worker, waiting):
                    busy.remove(worker)
    finally:
        for worker in workers:
            with contextlib.suppress(ValueError):  # ended before
                worker.end()


def _next(worker: Worker, waiting: Iterator[int]) -> bool:
    seed = next(waiting, None)
    if seed is not None:
        worker.begin(seed)
    return seed is not None


def _outcome(worker: Worker) -> Outcome | None:
    """What a worker has to say; also that it died, or has to be ended."""
    try:
        if worker.connection.poll():
            return worker.connection.recv()
    except (EOFError, ConnectionError):
        worker.process.join(timeout=1.0)
        return Outcome(worker.seed, "?", "traceback", f"the process ended: exit code {worker.process.exitcode}")
    if time.monotonic() > worker.deadline:
        worker.process.kill()
        worker.process.join()
        return Outcome(worker.seed, "?", "hang", "nothing for too long, ended")
    return None


def _work(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory()
    with contextlib.suppress(EOFError, ConnectionError, OSError):
        while True:
            connection.send(judge(connection.recv()))


def _limit_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as stream:
        now = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + MORE_MEMORY, resource.RLIM_INFINITY))
