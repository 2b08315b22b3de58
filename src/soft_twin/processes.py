"""Nodes as child processes that always end: on request, when interrupted, and when their parent dies."""

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from soft_twin.errors import RunError, UsageError
from soft_twin.graph import NodeSpec
from soft_twin.private_folder import private_folder
from soft_twin.resources import folder

FIRST_DOMAIN, LAST_DOMAIN = 42, 61  # of ROS 2; beyond 101 its ports would clash with those of other programs
PATIENCE = 1.2  # [s] between asking a process to end and ending it
PR_SET_PDEATHSIG = 1
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def environment(logs: Path) -> dict[str, str]:
    """What the nodes of a run on this machine find in their environment; what the user has set, stays.

    Discovery is on this machine only, in a ROS domain that no other run here uses; one computing thread a process.

    Args:
        logs: folder for ROS's own logs.
    """
    own = {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "FASTDDS_DEFAULT_PROFILES_FILE": str(folder("config") / "fastdds.xml"),
        "ROS_LOG_DIR": str(logs),
        "RCUTILS_COLORIZED_OUTPUT": "0",
        "PYTHONUNBUFFERED": "1",
        **dict.fromkeys(ONE_THREAD, "1"),
    }
    if os.environ.get("ROS_DISTRO") == "humble":
        own["ROS_LOCALHOST_ONLY"] = "1"
    if "ROS_DOMAIN_ID" not in os.environ:
        own["ROS_DOMAIN_ID"] = str(claim_domain())
    return own | os.environ


def claim_domain() -> int:
    """A ROS domain that no other run on this machine has claimed; it is free again when this process ends.

    Raises:
        UsageError: all are claimed, or the folder of the locks is somebody else's.
    """
    for domain in range(FIRST_DOMAIN, LAST_DOMAIN + 1):
        path = private_folder() / f"domain-{domain}.lock"
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise UsageError(f"the lock '{path}' cannot be used: {error.strerror}: remove it") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return domain
    raise UsageError(f"ROS domains {FIRST_DOMAIN} to {LAST_DOMAIN} are all in use: set ROS_DOMAIN_ID to a free one")


class Interruption:
    """Ctrl-C and its like (SIGINT, SIGTERM, SIGHUP), raised as KeyboardInterrupt once.

    Raised at once, wherever the program is; after `defer`, only where the program calls `check`. Code of others,
    ROS's client library among them, does not survive an exception at any moment.
    """

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self):
        self.asked = False
        self._deferred = False
        for number in self.NUMBERS:
            signal.signal(number, self._note)

    def defer(self) -> None:
        """From now on, raise in `check` only."""
        self._deferred = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if it was asked for."""
        if self.asked:
            raise KeyboardInterrupt

    def _note(self, *_: object) -> None:
        first, self.asked = not self.asked, True
        if first and not self._deferred:
            raise KeyboardInterrupt


class Processes:
    """Processes of nodes, by node name; their output goes to one log file each.

    Args:
        logs: folder of the log files.
        environment: of the processes.
    """

    def __init__(self, logs: Path, environment: Mapping[str, str]):
        self.logs = logs
        self._environment = dict(environment)
        self._processes: dict[str, subprocess.Popen] = {}
        logs.mkdir(parents=True, exist_ok=True)

    def start(self, spec: NodeSpec) -> None:
        """Start a node, in a process group of its own: a terminal's Ctrl-C ends it through its parent, in order."""
        with self._log(spec.name).open("wb") as log:
            self._processes[spec.name] = self._open(spec.command(), log)

    def check(self) -> None:
        """See that all processes live.

        Raises:
            RunError: one has ended, with the last line that it wrote.
        """
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise RunError(f"{name} ended with status {process.returncode}: {self._last_line(name)}")

    def stop(self, last: Iterable[str] = ()) -> None:
        """End all processes, those in `last` after the others; those that do not listen are killed.

        Takes at most 2.5 seconds.
        """
        later = set(last) & set(self._processes)
        for names in (set(self._processes) - later, later):
            self._end([self._processes[name] for name in names])
        self._processes.clear()

    def _open(self, command: list[str], log: IO[bytes]) -> subprocess.Popen:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )

    def _end(self, processes: list[subprocess.Popen]) -> None:
        for process in processes:
            process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + PATIENCE
        for process in processes:
            try:
                process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def _last_line(self, name: str) -> str:
        lines = self._log(name).read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it wrote nothing")


def _die_with_parent() -> None:
    """Let Linux send SIGTERM to this process when its parent dies, however that happens."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
