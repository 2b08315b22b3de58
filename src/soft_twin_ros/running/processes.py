"""Nodes as child processes that always end: on request, when interrupted, and when their parent dies."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from soft_twin.errors import RunError, UsageError
from soft_twin.private_folder import claim, private_folder
from soft_twin.resources import folder
from soft_twin_ros.domain import ros_domain
from soft_twin_ros.parent import ENDS_WITH
from soft_twin_ros.running.graph import NodeSpec

FIRST_DOMAIN, LAST_DOMAIN = 42, 61  # of ROS 2; beyond 101 its ports would clash with those of other programs
PATIENCE = 1.2  # [s] between asking a process to end and ending it
SINGLE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def environment(logs: Path) -> dict[str, str]:
    """What the nodes of a run on this machine find in their environment; what the user has set, stays.

    Discovery is on this machine only, in a ROS domain that no other run here uses; one computing thread a process.

    Args:
        logs: folder for ROS's own logs.

    Raises:
        UsageError: see `ros_domain` and `claim_domain`.
    """
    own = {"ROS_LOG_DIR": str(logs), "RCUTILS_COLORIZED_OUTPUT": "0", "PYTHONUNBUFFERED": "1"}
    own["ROS_DOMAIN_ID"] = str(ros_domain() if "ROS_DOMAIN_ID" in os.environ else claim_domain())
    return own | SINGLE_THREAD | on_this_machine() | outliving_each_other() | os.environ


def on_this_machine() -> dict[str, str]:
    """What lets nodes find those of this machine only."""
    only_here = {"ROS_LOCALHOST_ONLY": "1"} if os.environ.get("ROS_DISTRO") == "humble" else {}
    return only_here | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def outliving_each_other() -> dict[str, str]:
    """What lets nodes find each other soon, and go on when one of them is killed: see config/fastdds.xml."""
    return {
        "FASTDDS_DEFAULT_PROFILES_FILE": str(folder("config") / "fastdds.xml"),
        "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
    }


def claim_domain() -> int:
    """A ROS domain that no other run on this machine has claimed; it is free again when this process ends.

    Raises:
        UsageError: all are claimed, or the folder of the locks is somebody else's.
    """
    for domain in range(FIRST_DOMAIN, LAST_DOMAIN + 1):
        if claim(private_folder() / f"domain-{domain}.lock") is not None:
            return domain
    raise UsageError(f"ROS domains {FIRST_DOMAIN} to {LAST_DOMAIN} are all in use: set ROS_DOMAIN_ID to a free one")


class Interruption:
    """Ctrl-C and its like (SIGINT, SIGTERM, SIGHUP, SIGQUIT), raised as KeyboardInterrupt once.

    Raised at once, wherever the program is; after `defer`, only where the program calls `check`. Code of others,
    ROS's client library among them, does not survive an exception at any moment, or takes it for itself.

    Args:
        leave: called at once, in place of the exception.
    """

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

    def __init__(self, leave: Callable[[], object] | None = None):
        self.asked = False
        self._leave = self.check if leave is None else leave
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
            self._leave()


class Outcome:
    """What a process that leads the others says when it is done, through a pipe of its own.

    It can say so before it ends: what its middleware does afterwards need not be waited for.
    """

    DONE = "done"
    UNHEARD = "unheard"  # nobody reads any longer what the process prints

    def __init__(self, process: subprocess.Popen, pipe: int, log: Path):
        """`pipe`: file descriptor to read from. `log`: what else the process writes."""
        self._process, self._pipe, self._log = process, os.fdopen(pipe, "rb"), log

    def is_there(self, patience: float) -> bool:
        """Whether the process has said it, or has ended, within so long [s]."""
        return bool(select.select([self._pipe], [], [], patience)[0])

    def text(self) -> str:
        """What went wrong; empty where nothing did.

        Raises:
            BrokenPipeError: nobody reads any longer what it prints.
        """
        with self._pipe:
            said = self._pipe.read().decode("utf-8", errors="replace").strip()
        if said == self.UNHEARD:
            raise BrokenPipeError
        if said == self.DONE:
            return ""
        return said or f"the run's leader ended with status {self._process.wait()}: {last_line(self._log)}"


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
        self._leader = ""
        logs.mkdir(parents=True, exist_ok=True)

    def start(self, spec: NodeSpec) -> None:
        """Start a node, in a process group of its own: a terminal's Ctrl-C ends it through its parent, in order.

        A node of this name that has ended is replaced.

        Raises:
            UsageError: one of this name lives, and nobody would end it.
        """
        before = self._processes.get(spec.name)
        if before is not None and before.poll() is None:
            raise UsageError(
                f"{spec.name} has been started already: nodes of another namespace need processes of their own"
            )
        with self._log(spec.name).open("wb") as log:
            self._processes[spec.name] = self._open(spec.command(), stdout=log, stderr=log)

    def lead(self, spec: NodeSpec) -> Outcome:
        """Start the node that leads the others: what it prints is for people, and it is ended first.

        Its parameter `outcome` is a file descriptor for what becomes of it, see Outcome.
        """
        reading, writing = os.pipe()
        spec = replace(spec, parameters={**spec.parameters, "outcome": writing})
        try:
            with self._log(spec.name).open("wb") as log:
                process = self._open(spec.command(), stdout=None, stderr=log, pass_fds=(writing,))
        finally:
            os.close(writing)
        self._processes[spec.name], self._leader = process, spec.name
        return Outcome(process, reading, self._log(spec.name))

    @property
    def processor_times(self) -> dict[str, float]:
        """What each of these processes has computed until now, with those that it has started [s]; Linux tells it."""
        names = {process.pid: name for name, process in self._processes.items()}
        times = dict.fromkeys(self._processes, 0.0)
        for pid in os.listdir("/proc"):
            session, seconds = _processor_time(Path("/proc") / pid) if pid.isdigit() else (0, 0.0)
            if session in names:
                times[names[session]] += seconds
        return times

    @property
    def ids(self) -> dict[str, int]:
        """The id of the process of each node."""
        return {name: process.pid for name, process in self._processes.items()}

    def check(self) -> None:
        """See that all processes live, but for the leader: see its outcome.

        Raises:
            RunError: one has ended, with the last line that it wrote.
        """
        for name, process in self._processes.items():
            if name != self._leader and process.poll() is not None:
                raise RunError(f"{name} ended with status {process.returncode}: {last_line(self._log(name))}")

    def stop(self, last: Iterable[str] = ()) -> None:
        """End all processes, the leader first and those in `last` after the others; who does not listen is killed.

        Takes at most 4 seconds.
        """
        first, later = {self._leader} & set(self._processes), set(last) & set(self._processes)
        for names in (first, set(self._processes) - first - later, later):
            self._end([self._processes[name] for name in names])
        self._processes.clear()

    def _open(self, command: list[str], **streams: Any) -> subprocess.Popen:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env={**self._environment, ENDS_WITH: str(os.getpid())},
            start_new_session=True,
            **streams,
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


def _processor_time(process: Path) -> tuple[int, float]:
    """Session of a process, and what it and its children that have ended have computed [s]: see proc_pid_stat(5)."""
    try:
        fields = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0, 0.0
    return int(fields[3]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def processor_time(pid: int) -> float:
    """What a process and its children that have ended have computed until now [s]."""
    return _processor_time(Path("/proc") / str(pid))[1]


def last_line(log: Path) -> str:
    """What a process has written last."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it wrote nothing")
