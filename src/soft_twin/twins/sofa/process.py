"""SOFA in a process of its own: started, asked, and started again where it has ended."""

import os
import shutil
import socket
import subprocess
import sys
import threading
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
STARTING, ANSWERING = 120.0, 30.0  # [s] that it is waited for
KEPT = 20  # last lines of what it says, for errors
HOW = (
    f"build or install SOFA with SofaPython3 and SoftRobots, set {ROOT} to its folder and, where they are for another "
    f"Python than this one, {PYTHON} to that; see docs/twin.md, SOFA"
)


class SofaProcess:
    """SOFA's process for one scene; it starts with the first question.

    Attributes:
        has_inverse: SOFA has its own inverse for the scene, the plugin SoftRobots.Inverse; known once it has started.
    """

    def __init__(self, scene: SofaScene, python: str | None = None):
        """`python`: the interpreter, instead of the environment's."""
        self._scene, self._python = scene, python or os.environ.get(PYTHON) or sys.executable
        self._process: subprocess.Popen | None = None
        self.has_inverse = False

    def start(self) -> None:
        """Start SOFA and build the scene, unless both are there.

        Raises:
            UsageError: SOFA or a plugin of it cannot be had: the message says how.
        """
        if self._process is not None:
            return
        if shutil.which(self._python) is None:
            raise UsageError(f"a SOFA twin needs SOFA's Python, and there is no {self._python}: {HOW}")
        ours, theirs = socket.socketpair()
        with theirs:
            command = [self._python, str(WORKER), str(theirs.fileno())]
            self._process = subprocess.Popen(
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
        self._reader = threading.Thread(target=_listen, args=(self._process.stderr, self._said), daemon=True)
        self._reader.start()
        self._finalizer = weakref.finalize(self, _end, self._process, self._connection)
        try:
            told, _ = self._ask("start", STARTING, self._scene.values, self._scene.arrays)
        except ConvergenceError as error:
            self.stop()
            raise UsageError(f"a SOFA twin needs SOFA, which does not start ({error}): {HOW}") from error
        self.has_inverse = told["inverse"]

    def ask(self, question: str, values: dict[str, Any], arrays: Arrays) -> Arrays:
        """SOFA's answer.

        Raises:
            ConvergenceError: it has failed, ended, does not answer, or says what is not finite. The next question
                starts it again, where it has ended.
        """
        try:
            self.start()
        except UsageError as error:
            raise ConvergenceError(str(error)) from error
        found = self._ask(question, ANSWERING, values, arrays)[1]
        if not all(np.isfinite(array).all() for array in found.values()):
            raise ConvergenceError("SOFA's step is not finite")
        return found

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._finalizer()
            self._process = None

    def _ask(self, question: str, limit: float, values: dict, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
        try:
            send(self._connection, {"ask": question, **values}, arrays)
            if not self._connection.poll(limit):
                self.stop()
                raise ConvergenceError(f"SOFA does not answer within {limit:g} s: it is started again")
            told, found = receive(self._connection)
        except (EOFError, OSError) as error:
            raise ConvergenceError(self._last_words()) from error
        if "error" in told:
            raise ConvergenceError(f"SOFA: {told['error']}")
        return told, found

    def _last_words(self) -> str:
        """Of a process that has ended, which is forgotten."""
        process, self._process = self._process, None
        process.kill()
        status = process.wait()
        self._reader.join(1.0)
        self._finalizer()
        said = next((line.strip() for line in reversed(self._said) if line.strip()), "without a word")
        how = f"by signal {-status}" if status < 0 else f"with {status}"
        return f"SOFA's process has ended {how}: {said}"


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
