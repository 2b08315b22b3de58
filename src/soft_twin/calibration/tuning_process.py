"""The search of `tune` in a process of its own, that can be looked at while it computes, and ended."""

import multiprocessing
import os
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from soft_twin.calibration.tuned import DT, SIMULATIONS, Tuned, check_options
from soft_twin.errors import DeviceError, SoftTwinError
from soft_twin.interruptions import start_uninterrupted

NICENESS = 5  # at least: less than the share of who asks for it, who may have to be in time
READING = "reading the recording"


@dataclass(frozen=True)
class Found:
    """What a search came to.

    Attributes:
        tuned: see `tune`.
        distance: between the tips of twin and recording, rms [m].
    """

    tuned: Tuned
    distance: float


class TuningProcess:
    """See the module's docstring. The child ends with this object, and with this process, however that ends.

    Attributes:
        stage: what it is at, in words.
        progress: 0…1, of the simulations that it may take at most.
    """

    def __init__(
        self,
        robot: Path,
        recording: Path,
        namespace: str,
        dt: float = DT,
        simulations: int = SIMULATIONS,
        friction: bool = False,
    ) -> None:
        """`robot`: its description. The others: those of `read_release` and `tune`.

        Raises:
            InputError: steps or a number of simulations that make no sense.
        """
        check_options(dt, simulations)
        self.stage, self.progress = READING, 0.0
        self._simulations, self._told = simulations, 0
        self._ended: Found | SoftTwinError | None = None
        context = multiprocessing.get_context("spawn")
        self._pipe, end = context.Pipe(duplex=False)
        options = {"dt": dt, "simulations": simulations, "friction": friction}
        arguments = end, robot, recording, namespace, options
        self._process = context.Process(target=_search, args=arguments, daemon=True)
        start_uninterrupted(self._process)
        end.close()

    def look(self) -> Found | None:
        """Take what it has told until now; what it has found, if it has ended.

        Raises:
            SoftTwinError: it has failed, and why.
        """
        try:
            while self._ended is None and self._pipe.poll():
                self._take(self._pipe.recv())
        except (EOFError, OSError):
            self._ended = DeviceError("the calibration's process is gone")
        if isinstance(self._ended, SoftTwinError):
            raise self._ended
        return self._ended

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _take(self, said: str | Found | SoftTwinError) -> None:
        if not isinstance(said, str):
            self._ended = said
            return
        self._told += 1
        self.stage, self.progress = said, min(self._told / self._simulations, 1.0)


def _search(pipe: Connection, robot: Path, recording: Path, namespace: str, options: dict[str, Any]) -> None:
    """What the child does."""
    from soft_twin.calibration.release import read_release
    from soft_twin.calibration.tune import tune
    from soft_twin.private_folder import private_folder
    from soft_twin.robots import load_robot

    os.setsid()  # a node's session is preferred to all others
    os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), NICENESS))
    try:
        release = read_release(recording, namespace, load_robot(str(robot)).name)
        tuned = tune(robot, release, say=pipe.send, store=private_folder() / "calibration", **options)
        pipe.send(Found(tuned, tuned.distance))
    except SoftTwinError as error:
        pipe.send(error)
    except ConnectionError:
        pass  # the parent has gone
