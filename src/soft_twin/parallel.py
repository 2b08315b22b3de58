"""All parallel work of the project: one function, many cases, in processes of this machine or of a cluster.

    for index, result in compute_each(simulate, cases, Workers(4), store=Path("out/grid"), say=terminal_progress):
        ...

Results come as they end. With a `store`, each is written into that folder as it comes, in a file named by a hash of the
function, what is bound to it, its case, and the content of files that these name, such as descriptions: who is killed
and started again computes what is missing. The code of the function is in the hash where that is asked for: where it is
not, take another folder after a change of it.

On one machine the processes are joblib's (loky); on a cluster they are Dask's.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import itertools
import logging
import math
import os
import pickle
import re
import socket
import sys
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_twin.errors import InputError, RunError, UsageError
from soft_twin.files import try_writing, whole_file
from soft_twin.fingerprints import contents, program
from soft_twin.private_folder import private_folder

if TYPE_CHECKING:
    from distributed import Client

LOCAL = "local"
NO_DASK = "a cluster needs Dask: pip install soft_twin[cluster]"
IDLE = 10.0  # [s] after which a process without work ends
BROKEN = (OSError, ValueError, EOFError, zipfile.BadZipFile)  # what numpy raises for files that are no results

ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?(\[[\da-fA-F:]+\]|[\w.-]+):(\d{1,5})")
LAST_PORT = 65535
SCHEDULER_PATIENCE = 10.0  # [s] for one that is just started
WORKER_PATIENCE = 10.0  # [s] for its first worker
LOOK_PERIOD = 0.5  # [s] between two looks at a scheduler, and at who has started a process
LONG = 2.0  # [s] after which work that is not of cases says how far it is, and between two such words
FIRST_WORD, AGAIN = 1.0, 15.0  # [s] after which work without a result is told of, first and again
LOG_PERIOD = 15.0  # [s] between lines of progress where there is no terminal

Say = Callable[[str], None]


@dataclass(frozen=True)
class Workers:
    """Who computes.

    Attributes:
        count: processes; 1: this one alone, 0: those of `working_with`, or one for each core.
        cluster: address of a Dask scheduler, such as tcp://host:8786, or "local" for one of its own on this machine;
            None: joblib's processes.
    """

    count: int = 1
    cluster: str | None = None

    def __post_init__(self):
        """Raises UsageError: a negative count."""
        if self.count < 0:
            raise UsageError(f"workers: {self.count}, expected 1 or more, or 0 for one on each core")

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Workers":
        """Those that a command was asked for; a cluster's scheduler is looked for at once.

        Raises:
            UsageError: a negative count, no Dask, or no scheduler there.
        """
        if arguments.workers < 0:
            raise UsageError(f"--workers {arguments.workers}: expected 1 or more, or 0 for one on each core")
        if arguments.cluster is not None:
            _check_cluster(arguments.cluster)
        return cls(arguments.workers, arguments.cluster)


_asked: ContextVar[Workers | None] = ContextVar("workers", default=None)


@contextlib.contextmanager
def working_with(workers: Workers) -> Iterator[None]:
    """In this block `Workers(0)` are these: for commands whose work knows nothing of who does it."""
    token = _asked.set(workers)
    try:
        yield
    finally:
        _asked.reset(token)


_drawers: ContextVar[list["_Drawer"] | None] = ContextVar("drawers", default=None)


@contextlib.contextmanager
def kept_to_the_end() -> Iterator[None]:
    """In this block what `compute_here` has computed is kept until the block has ended, unless by an error: for
    commands that compute one thing behind the other."""
    drawers: list[_Drawer] = []
    token = _drawers.set(drawers)
    try:
        yield
    finally:
        _drawers.reset(token)
    for drawer in drawers:
        drawer.clear()


def add_worker_arguments(parser: argparse.ArgumentParser, default: int = 0) -> None:
    """The options of a command that computes in parallel; `Workers.of` reads them."""
    count = f"0: one on each core; default {default}"
    parser.add_argument("--workers", type=int, default=default, metavar="N", help=f"processes; {count}")
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="of a Dask scheduler, tcp://host:port, or 'local'; default: joblib, here"
    )


def check_alone(arguments: argparse.Namespace, where: str) -> None:
    """Refuse workers beside this process for work that has nothing to do for them; `where` says which.

    Raises:
        UsageError: a cluster, or more processes than one, were asked for.
    """
    if arguments.cluster is not None:
        raise UsageError(f"--cluster {arguments.cluster}: of no use {where}, leave it out")
    if arguments.workers > 1:
        raise UsageError(f"--workers {arguments.workers}: of no use {where}, leave it out")


def compute_each(
    work: Callable[[Any], Any],
    cases: Sequence[Any],
    workers: Workers = Workers(),
    store: Path | None = None,
    say: Say | None = None,
    name: str = "cases",
    sources: bool = False,
) -> Iterator[tuple[int, Any]]:
    """Index and result of every case: first those that are stored, then the others as they end.

    Args:
        work: makes a result of a case; a function of a module, or a functools.partial of one, as it is pickled.
        cases: numbers, words, arrays, dataclasses and what is made of them.
        workers: who computes.
        store: folder of results; these are then mappings of names to arrays, numbers or words, and come as arrays.
        say: is called with a line of progress and of the time that is left, after each that was computed.
        name: of the cases, in that line.
        sources: whether what is stored is of this program's text alone.

    Raises:
        UsageError: there is no cluster of that address, none with workers, no Dask, or the store cannot be written.
        InputError: a result that cannot be stored.
        RunError: a process was killed, or the cluster's scheduler has gone; what had ended is stored.
        KeyboardInterrupt: with a line that says what is kept.
        Exception: what `work` raises.
    """
    shelf = None if store is None else _Shelf(Path(store), work, sources)
    yield from _compute(work, cases, workers, shelf, say, name)


def _compute(
    work: Callable[[Any], Any],
    cases: Sequence[Any],
    workers: Workers,
    shelf: "_Shelf | _Drawer | None",
    say: Say | None,
    name: str,
) -> Iterator[tuple[int, Any]]:
    missing, places = [], {}
    for index, case in enumerate(cases):
        if shelf is not None:
            places[index] = shelf.place(case)  # once: a file that it names may change while it is computed
        known = None if shelf is None else shelf.find(places[index])
        if known is None:
            missing.append((index, case))
        else:
            yield index, known
    if shelf is not None and missing:
        shelf.try_writing()
    stored = len(cases) - len(missing)
    teller = _Teller(say, name, stored, len(missing))
    try:
        with teller, contextlib.closing(_computed(work, missing, workers)) as results:
            for index, result, others in results:
                if shelf is not None:
                    result = shelf.keep(places[index], result)
                teller.note(others)
                yield index, result
    except KeyboardInterrupt as interrupt:
        count = f"{stored + teller.done} of {len(cases)}"
        kept = "" if shelf is None else f"; {count} {name} are kept, the same again goes on"
        raise KeyboardInterrupt(f"interrupted{kept}") from interrupt


class _Teller:
    """Says how far work is: after each result, and now and then where the next one takes long.

    Attributes:
        done: results so far.
    """

    def __init__(self, say: Say | None, name: str, stored: int, missing: int):
        self.done = 0
        self._say, self._name, self._stored, self._missing = say, name, stored, missing
        self._start, self._others = time.monotonic(), 0
        self._over, self._thread = threading.Event(), threading.Thread(target=self._tell_meanwhile, daemon=True)

    def __enter__(self) -> None:
        if self._say is not None and self._missing:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def note(self, others: int) -> None:
        """One more has ended, while so many others have begun."""
        self.done, self._others = self.done + 1, others
        if self._say is not None:
            self._say(self._line())

    def _line(self) -> str:
        took, begun = time.monotonic() - self._start, min(self._others, self._missing - self.done)
        computed = self.done + 0.5 * begun  # what is begun is half done, in the mean
        when = f"the first tells how long they take ({_minutes(took)} so far)"
        if computed > 0.0:
            when = time_left(took / computed * (self._missing - computed))
        return f"{self._name}: {self._stored + self.done} of {self._stored + self._missing}, {when}"

    def _tell_meanwhile(self) -> None:
        told, wait = 0, FIRST_WORD
        while not self._over.wait(wait):
            if self.done == told:
                self._say(self._line())
            told, wait = self.done, AGAIN


def compute_all(work: Callable[[Any], Any], cases: Sequence[Any], *arguments: Any, **options: Any) -> list[Any]:
    """The results of all cases in their order; otherwise as `compute_each`."""
    results = dict(compute_each(work, cases, *arguments, **options))
    return [results[index] for index in range(len(cases))]


def compute_here(work: Callable[[Any], Any], cases: Sequence[Any], name: str) -> list[Any]:
    """The results of all cases in their order, of any kind, by all cores of this machine, or by whom `working_with`
    says; with progress on terminals.

    What has ended is kept in the user's private folder until all have, or until the block of `kept_to_the_end` has: who
    is interrupted and starts the same again, in the same folder, with the same program and the same files, goes on.

    Raises:
        UsageError: nothing can be kept there.
        Exception: as `compute_each`.
    """
    drawer = _Drawer(work)
    found = dict(_compute(work, cases, Workers(0), drawer, terminal_progress, name))
    terminal_progress("")
    if (drawers := _drawers.get()) is None:
        drawer.clear()
    else:
        drawers.append(drawer)
    return [found[index] for index in range(len(cases))]


def compute_in_turn(work: Callable[[Any], Any], cases: Sequence[Any], name: str) -> list[Any]:
    """As `compute_here`, one case after the other in this process, whoever `working_with` says: where side by side they
    would take each other's time."""
    with working_with(Workers(1)):
        return compute_here(work, cases, name)


class Progress:
    """Shows progress on stderr: on a terminal in one line that is overwritten, elsewhere, for logs, in a line now and
    then. An empty line ends it."""

    def __init__(self):
        self._logged = -math.inf

    def __call__(self, line: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        elif line and time.monotonic() - self._logged >= LOG_PERIOD:
            self._logged = time.monotonic()
            print(line, file=sys.stderr, flush=True)


terminal_progress = Progress()


@contextlib.contextmanager
def long_work(name: str) -> Iterator[Callable[[float], None]]:
    """In this block a function to be told the share of the work that is done, 0…1, as often as one likes: of work that
    takes long, terminals show it with the time that is left."""
    start = said = time.monotonic()

    def tell(share: float) -> None:
        nonlocal said
        now = time.monotonic()
        if share > 0.0 and now - said >= LONG:
            said = now
            terminal_progress(f"{name}: {100.0 * share:.0f} %, {time_left((now - start) * (1.0 / share - 1.0))}")

    try:
        yield tell
    finally:
        if said > start:
            terminal_progress("")


def time_left(seconds: float) -> str:
    """In minutes and seconds."""
    return f"{_minutes(seconds)} to go"


def _minutes(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"


class _Shelf:
    """Results of one function in a folder, a file each."""

    def __init__(self, folder: Path, work: Callable[[Any], Any], sources: bool):
        self._folder, self._key = folder, (work, program() if sources else None)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot store results in '{folder}': {error.strerror}") from error

    def try_writing(self) -> None:
        """Raises UsageError: nothing can be written."""
        try:
            try_writing(self._folder / f".probe.{os.getpid()}")
        except OSError as error:
            raise UsageError(f"cannot store results in '{self._folder}': {error.strerror}") from error

    def place(self, case: Any) -> Path:
        """Where a case's result is stored."""
        import joblib

        return self._folder / f"{joblib.hash((self._key, case, contents(self._key, case)))}.npz"

    def find(self, path: Path) -> dict[str, np.ndarray] | None:
        """What is stored there; None where nothing is, or nothing whole."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)
        except BROKEN:
            return None

    def keep(self, path: Path, result: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Store a result, as a whole or not at all; as it will be read."""
        if not isinstance(result, Mapping):
            raise InputError(f"a result to store is a mapping of names to arrays, not a {type(result).__name__}")
        arrays = {name: np.asarray(value) for name, value in result.items()}
        for name, array in arrays.items():
            if array.dtype.hasobject:
                raise InputError(f"result '{name}' is no array of numbers or words: {type(result[name]).__name__}")
        try:
            with whole_file(path) as partial, open(partial, "wb") as stream:
                np.savez(stream, **arrays)
        except OSError as error:
            raise UsageError(f"cannot store a result in '{path}': {error.strerror}") from error
        return arrays


class _Drawer:
    """Results of one function, of any kind, that lie about until all of them are there: a file each."""

    def __init__(self, work: Callable[[Any], Any]):
        self._key = (work, os.getcwd(), program())
        self._folder = private_folder() / "unfinished"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._places: list[Path] = []

    def try_writing(self) -> None:
        """Raises UsageError: nothing can be written."""
        try:
            try_writing(self._folder / f".probe.{os.getpid()}")
        except OSError as error:
            raise UsageError(
                f"cannot keep results in '{self._folder}': {error.strerror}; set TMPDIR to another"
            ) from error

    def place(self, case: Any) -> Path:
        """Where a case's result is kept."""
        import joblib

        self._places.append(self._folder / joblib.hash((self._key, case, contents(self._key[0], case))))
        return self._places[-1]

    def find(self, path: Path) -> Any | None:
        """What is kept there; None where nothing is, or nothing whole."""
        try:
            return pickle.loads(path.read_bytes())
        except (*BROKEN, pickle.UnpicklingError, ImportError, AttributeError):  # the last two: another numpy wrote it
            return None

    def keep(self, path: Path, result: Any) -> Any:
        """Keep a result, as a whole or not at all."""
        try:
            with whole_file(path) as partial:
                partial.write_bytes(pickle.dumps(result))
        except OSError as error:
            raise UsageError(f"cannot keep a result in '{path}': {error.strerror}; set TMPDIR to another") from error
        return result

    def clear(self) -> None:
        """Keep nothing longer of the cases that were asked for."""
        for path in self._places:
            path.unlink(missing_ok=True)


Computed = Iterator[tuple[int, Any, int]]  # index and result of a case, and how many others are computed meanwhile


def _computed(work: Callable[[Any], Any], cases: list[tuple[int, Any]], workers: Workers) -> Computed:
    workers = (_asked.get() or workers) if workers == Workers(0) else workers
    if workers.cluster is not None and cases:
        yield from _computed_on_cluster(work, cases, workers)
    elif workers.count == 1 or len(cases) <= 1:
        for index, case in cases:
            yield index, work(case), 0
    else:
        yield from _computed_in_processes(work, cases, workers)


def _computed_in_processes(work: Callable[[Any], Any], cases: list[tuple[int, Any]], workers: Workers) -> Computed:
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    jobs = (joblib.delayed(_numbered)(work, index, case) for index, case in cases)
    count = min(workers.count or joblib.cpu_count(), len(cases))  # one without a case takes its time to start, too
    ending = {"initializer": _end_with, "initargs": (os.getpid(),)}
    try:
        with joblib.parallel_config("loky", idle_worker_timeout=IDLE, **ending):
            results = joblib.Parallel(count, return_as="generator_unordered")(jobs)
            try:
                for index, result in results:
                    yield index, result, count - 1
            finally:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # joblib's advice to who takes no more of them
                    results.close()
    except TerminatedWorkerError as error:
        raise RunError("a process that computed was killed, for want of memory perhaps: fewer workers?") from error


def _computed_on_cluster(work: Callable[[Any], Any], cases: list[tuple[int, Any]], workers: Workers) -> Computed:
    """By Dask itself: joblib's backend of it waits for ever for a case whose workers die."""
    with _client(workers) as client:
        from distributed import KilledWorker, as_completed

        waiting, several = iter(cases), workers.count or len(cases)
        first = itertools.islice(waiting, several)
        running = as_completed([client.submit(_numbered, work, *case, pure=False) for case in first])
        try:
            for future in running:
                for case in itertools.islice(waiting, 1):
                    running.add(client.submit(_numbered, work, *case, pure=False))
                yield *future.result(), min(several, sum(client.nthreads().values())) - 1
        except KilledWorker as error:
            raise RunError("a case ended every worker that computed it, for want of memory perhaps") from error
        except CancelledError as error:
            raise RunError(f"the Dask scheduler at '{workers.cluster}' has gone") from error


def _check_cluster(address: str) -> None:
    """See that a scheduler listens; one that does not yet is waited for, which is said.

    Raises:
        UsageError: none does, it is no address, or there is no Dask.
    """
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(NO_DASK)
    if address == LOCAL:
        return
    parts = ADDRESS.fullmatch(address)
    if parts is None or int(parts[2]) > LAST_PORT:
        raise UsageError(f"--cluster {address}: expected tcp://host:port, or '{LOCAL}'")
    place, deadline, told = (parts[1].strip("[]"), int(parts[2])), time.monotonic() + SCHEDULER_PATIENCE, False
    while True:
        try:
            socket.create_connection(place, SCHEDULER_PATIENCE).close()
            break
        except (OSError, UnicodeError) as error:  # UnicodeError: no name of a host
            if isinstance(error, socket.gaierror | UnicodeError) or time.monotonic() > deadline:
                raise UsageError(f"no Dask scheduler answers at '{address}': {error}") from error
        if not told:
            print(f"waiting for the Dask scheduler at '{address}'", file=sys.stderr, flush=True)
            told = True
        time.sleep(LOOK_PERIOD)
    try:
        asyncio.run(asyncio.wait_for(_greeted(address), SCHEDULER_PATIENCE))
    except (OSError, ValueError, asyncio.TimeoutError) as error:  # a TimeoutError from Python 3.11 on
        raise UsageError(f"what listens at '{address}' does not answer as a Dask scheduler does") from error


async def _greeted(address: str) -> None:
    """A scheduler there has answered."""
    from distributed.comm import connect
    from distributed.security import Security

    communication = await connect(address, **Security().get_connection_args("client"))
    await communication.close()


def _numbered(work: Callable[[Any], Any], index: int, case: Any) -> tuple[int, Any]:
    return index, work(case)


def _end_with(parent: int) -> None:
    """This process ends when its parent does, of this id: nobody takes what it would still compute."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_PERIOD)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _client(workers: Workers) -> Iterator["Client"]:
    """Of these workers' scheduler, which has one at least.

    Raises:
        UsageError: there is no scheduler, no worker, or no Dask.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(NO_DASK) from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what it says of a lost scheduler is raised
    options = {"address": workers.cluster}
    if workers.cluster == LOCAL:
        count = workers.count or os.cpu_count()
        options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    try:
        client = Client(**options)
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at '{workers.cluster}': {error}") from error
    with client:
        try:
            client.wait_for_workers(1, WORKER_PATIENCE)
        except (TimeoutError, asyncio.TimeoutError) as error:  # two until Python 3.10
            raise UsageError(
                f"the Dask scheduler at '{workers.cluster}' has no workers: start some, dask worker {workers.cluster}"
            ) from error
        yield client
