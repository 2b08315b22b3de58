"""SOFA in a process of its own: started, asked, and started again where it has ended.

Who asks has a control loop to keep in time. A question whose answer does not come soon, or whose process has ended, is
told at once; the answer of the one is waited for, and the other started again, beside the loop: until it is there every
question is told that, and why.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import numpy as np

from soft_twin.errors import ConvergenceError, UsageError
from soft_twin.twins.sofa import worker
from soft_twin.twins.sofa.scene import SofaScene
from soft_twin.twins.sofa.worker import Arrays, receive, send

PYTHON = "SOFT_TWIN_SOFA_PYTHON"  # environment variable: the Python that SOFA's modules are built for
ROOT = "SOFA_ROOT"  # SOFA's own: its folder
SITES = ("lib/python3/site-packages", "plugins/SofaPython3/lib/python3/site-packages")  # below that, of its modules
WORKER = Path(worker.__file__).resolve()  # what is run in it
STARTING, ANSWERING = 120.0, 30.0  # [s] that it is waited for, in all
SLOWER, SOON = 20.0, 1.0  # times its usual answer, and [s] at least, that who asks waits
FIRST = 3  # answers, by which the usual time is known
AGAIN = 5.0  # [s] after a start that failed, until the next one
KEPT = 20  # last lines of what it says, for errors
HOW = (
    f"build or install SOFA with SofaPython3 and SoftRobots, set {ROOT} to its folder and, where they are for another "
    f"Python than this one, {PYTHON} to that; see docs/twin.md, SOFA"
)


class SofaProcess:
    """SOFA's process for one scene; it starts with the first question.

    Attributes:
        has_inverse: SOFA has its own inverse for the scene, the plugin SoftRobots.Inverse; known once it has started.
        version: of SOFA, such as "25.06.00"; "" where it does not say, or has not started yet.
    """

    def __init__(self, scene: SofaScene, python: str | None = None):
        """`python`: the interpreter, instead of the environment's."""
        self._scene, self._python = scene, python or os.environ.get(PYTHON) or sys.executable
        self._process: subprocess.Popen | None = None
        self._starter: threading.Thread | None = None
        self._why = ""  # it is not there, while it is not
        self._failed = -np.inf  # when its last start did [s]
        self._asked: float | None = None  # when the question was asked that has no answer yet [s]
        self._took: deque[float] = deque(maxlen=FIRST)  # by the last answers [s]
        self.has_inverse, self.version = False, ""

    def start(self) -> None:
        """Start SOFA and build the scene, unless both are there; waits for it.

        Raises:
            UsageError: SOFA or a plugin of it cannot be had, or another version of it builds no such scene: the message
                says how.
        """
        if self._starter is not None:
            self._starter.join()
        if self._process is None:
            self._launch()

    def _launch(self) -> None:
        if shutil.which(self._python) is None:
            raise UsageError(f"a SOFA twin needs SOFA's Python, and there is no {self._python}: {HOW}")
        ours, theirs = socket.socketpair()
        with theirs:
            command = [self._python, str(WORKER), str(theirs.fileno())]
            process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(),
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C is for those that it serves
            )
        self._connection = Connection(ours.detach())
        self._said: deque[str] = deque(maxlen=KEPT)
        self._reader = threading.Thread(target=_listen, args=(process.stderr, self._said), daemon=True)
        self._reader.start()
        self._finalizer = weakref.finalize(self, _end, process, self._connection)
        self._took.clear()
        self._asked, self._process = None, process
        try:
            told, _ = self._answer("start", STARTING, self._scene.values, self._scene.arrays)
        except ConvergenceError as error:
            self.stop()
            raise UsageError(f"a SOFA twin needs SOFA, which does not start ({error}): {HOW}") from error
        self.has_inverse, self.version = told["inverse"], told.get("version", "")

    def ask(self, question: str, values: dict[str, Any], arrays: Arrays) -> Arrays:
        """SOFA's answer.

        Raises:
            ConvergenceError: it has failed, ended, does not answer soon, is being started again, or says what is not
                finite.
        """
        self._be_there()
        self._wait_for_the_last()
        usual = SLOWER * float(np.median(self._took)) if len(self._took) == FIRST else ANSWERING
        begun = time.monotonic()
        found = self._answer(question, min(max(usual, SOON), ANSWERING), values, arrays)[1]
        self._took.append(time.monotonic() - begun)
        if not all(np.isfinite(array).all() for array in found.values()):
            raise ConvergenceError("SOFA's step is not finite")
        return found

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._finalizer()
            self._process = None

    def _be_there(self) -> None:
        """Start it for the first question; of one that has ended, tell how its start goes.

        Raises:
            ConvergenceError: it is not there.
        """
        if self._starter is not None and self._starter.is_alive():
            raise ConvergenceError(f"{self._why}; it is being started again")
        if self._process is not None:
            return
        if not self._why:
            try:
                self.start()
            except UsageError as error:
                raise ConvergenceError(str(error)) from error
            return
        left = self._failed + AGAIN - time.monotonic()
        if left > 0.0:
            raise ConvergenceError(f"{self._why}; it is started again in {left:.0f} s")
        self._start_again(self._why)
        raise ConvergenceError(f"{self._why}; it is being started again")

    def _wait_for_the_last(self) -> None:
        """Take the answer of a question that nobody waits for any more.

        Raises:
            ConvergenceError: it has not come.
        """
        if self._asked is None:
            return
        waited = time.monotonic() - self._asked
        try:
            if self._connection.poll(0.0):
                receive(self._connection)
                self._asked = None
                return
        except (EOFError, OSError) as error:
            raise self._ended() from error
        if waited > ANSWERING:
            self.stop()
            self._start_again(f"SOFA has not answered for {ANSWERING:g} s")
            raise ConvergenceError(f"{self._why}: it is started again")
        raise ConvergenceError(f"SOFA does not answer, for {waited:.1f} s now")

    def _answer(self, question: str, limit: float, values: dict, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
        try:
            send(self._connection, {"ask": question, **values}, arrays)
            self._asked = time.monotonic()
            if not self._connection.poll(limit):
                raise ConvergenceError(f"SOFA does not answer within {limit:.3g} s")
            told, found = receive(self._connection)
        except (EOFError, OSError) as error:
            raise self._ended(again=question != "start") from error
        self._asked = None
        if "error" in told:
            raise ConvergenceError(f"SOFA{' ' if self.version else ''}{self.version}: {told['error']}")
        return told, found

    def _ended(self, again: bool = True) -> ConvergenceError:
        """How the process has ended, which is forgotten and started again beside who asks, if it shall be."""
        process, self._process = self._process, None
        process.kill()
        status = process.wait()
        self._reader.join(1.0)
        self._finalizer()
        said = next((line.strip() for line in reversed(self._said) if line.strip()), "without a word")
        how = f"by signal {-status}" if status < 0 else f"with {status}"
        why = f"SOFA's process has ended {how}: {said}"
        if again:
            self._start_again(why)
        return ConvergenceError(why)

    def _start_again(self, why: str) -> None:
        """Start it in a thread; who asks meanwhile is told why."""
        self._why = why
        self._starter = threading.Thread(target=_start, args=(weakref.ref(self),), daemon=True)
        self._starter.start()


def _start(whose: "weakref.ref[SofaProcess]") -> None:
    """Start a process again that has ended; in a thread, which keeps nobody alive that nobody needs any more."""
    process = whose()
    if process is None:
        return
    try:
        process._launch()
        process._why = ""
    except UsageError as error:
        process._why, process._failed = str(error), time.monotonic()


def _environment() -> dict[str, str]:
    """This process's, with SOFA's Python modules on the path and one thread for each library."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    root = environment.get(ROOT)
    if root:
        sites = [str(Path(root) / site) for site in SITES if (Path(root) / site).is_dir()]
        environment["PYTHONPATH"] = os.pathsep.join([*sites, environment.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return environment


def _listen(stream: IO[str], said: deque[str]) -> None:
    with stream:
        said.extend(stream)


def _end(process: subprocess.Popen, connection: Connection) -> None:
    connection.close()
    process.kill()
    process.wait()
