"""Emulated robots in one graph, told apart by namespaces alone: how well each holds its tip while its base turns."""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.app.measuring import Figure, until_interrupted
from soft_twin.checks import check_positive
from soft_twin.errors import RunError, UsageError
from soft_twin.priority import prefer_all_threads

if TYPE_CHECKING:
    from soft_twin_ros.watcher import Watching

START_PATIENCE = 300.0  # [s], where kernels are compiled first
SETTLING_PATIENCE = 60.0  # [s] until the tips have come near their targets
NEAR = 3e-3  # [m] that a tip which is held is away from its target at the most, before the base turns
TELLING_PERIOD = 5.0  # [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--robots", default="left,right", metavar="NAMES", help="namespaces, with commas between them")
    parser.add_argument("--robot", default="slender", help="name of a robot in config/, or path of a description")
    parser.add_argument("--launch", action="store_true", help="under `ros2 launch`, where that is")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long the tips are held")


def measure(
    robots: str = "left,right", robot: str = "slender", seconds: float = 60.0, launch: bool = False
) -> list[Figure]:
    """Tip errors, delays and paces of all robots. Their bases turn as `soft-twin run` turns them, at the beginning.

    Raises:
        InputError: no time.
        UsageError: a robot without cables, or wrong namespaces.
        RunError: a robot did not get ready, did not hold its tip, or ended.
    """
    from soft_twin_ros.running.arguments import robots_of
    from soft_twin_ros.running.launched import launcher
    from soft_twin_ros.watcher import watched

    check_positive(seconds, "--seconds", "s")
    names = [name.strip() for name in robots.split(",") if name.strip()]
    text = f"{{{', '.join(f'{name}: {robot}' for name in names)}}}"
    requests = robots_of(text)
    described = requests[0].robot
    if not getattr(described, "cable_names", ()) or described.chamber_names:
        raise UsageError(f"--robot {robot}: expected one that is driven by cables alone, such as slender")
    if launch:
        print(f"by {launcher()}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="soft_twin-robots-") as folder,
        watched(requests, Path(folder), {}, text if launch else "") as running,
    ):
        test = _Test(running, np.array(described.target_tip))
        test.begin()
        prefer_all_threads()  # as who drives motors: what is measured is not how late this process is
        test.hold(seconds)
        return [figure for name in names for figure in test.figures(name)]


def _reach(node: str) -> str:
    """Which share of a processor a node may take [%]."""
    return "25" if node.startswith("gravity_to_") else ""


class _Test:
    """Of robots whose graphs run, and that hold their tips at `target` (3,) [m]."""

    def __init__(self, running: "Watching", target: np.ndarray):
        self._running, self._watcher, self._target = running, running.watcher, target
        self._names = list(running.watcher.robots)
        self._shares: dict[str, dict[str, float]] = {}
        self._seconds = 0.0

    def begin(self) -> None:
        """Until all tips are held and the bases begin to turn."""
        print(f"starting {', '.join(self._names)} in one graph", flush=True)
        self._watcher.wait_for(self._are_ready, START_PATIENCE, lambda: f"not ready: {self._unready()}")
        for name in self._names:
            self._watcher.ask(f"/{name}/home")
            self._watcher.ask(f"/{name}/enable", True)
        self._watcher.wait_for(self._are_near, SETTLING_PATIENCE, lambda: f"not at their targets: {self._errors()}")
        print(f"{self._running.since:6.1f} s  tips are held; the bases turn", flush=True)
        for name in self._names:
            self._watcher.ask(f"/{name}/play")
            self._watcher.robots[name].forget()

    def hold(self, seconds: float) -> None:
        """Watch for so long, or until it is interrupted."""
        began, before = self._running.since, self._processor_times()
        until_interrupted(self._looks(began + seconds))
        self._seconds = passed = self._running.since - began
        for name, times in self._processor_times().items():
            self._shares[name] = {node: (now - before[name][node]) / passed for node, now in times.items()}

    def _looks(self, end: float) -> Iterator[None]:
        """One after the other until `end` [s] after the start, each told."""
        while (left := end - self._running.since) > 0.0:
            self._watcher.look(min(TELLING_PERIOD, left))
            self._running.check()
            print(f"{self._running.since:6.1f} s  {self._errors()}", flush=True)
            yield

    def figures(self, name: str) -> list[Figure]:
        """Of one robot.

        Raises:
            RunError: nothing was heard of it.
        """
        robot, errors = self._watcher.robots[name], 1e3 * self._distances(name)
        if not errors.size or not robot.delays:
            raise RunError(f"{name}: nothing was heard of its tip or its commands")
        delays, rate = 1e3 * np.array(robot.delays), len(robot.delays) / self._seconds
        mean, worst = float(errors.mean()), float(errors.max())
        pace = float(robot.health.value("emulated_robot", "slowest_pace"))
        return [
            Figure(f"{name}.tip_error_mm.mean", f"{name}: tip from its target, mean", mean, "mm", "2.5"),
            Figure(f"{name}.tip_error_mm.worst", f"{name}: the same, worst", worst, "mm"),
            Figure(f"{name}.delay_ms.median", f"{name}: IMU sample to command, median", float(np.median(delays)), "ms"),
            Figure(f"{name}.delay_ms.p99", f"{name}: the same, p99", float(np.percentile(delays, 99)), "ms", "20"),
            Figure(f"{name}.rate", f"{name}: commands a second", rate, "Hz", "100"),
            Figure(f"{name}.pace", f"{name}: slowest pace of the emulated robot", pace, "", "1"),
            *(
                Figure(f"{name}.processor.{node}", f"{name}: {node}, of a processor", 1e2 * share, "%", _reach(node))
                for node, share in self._shares[name].items()
            ),
        ]

    def _processor_times(self) -> dict[str, dict[str, float]]:
        """Of all nodes until now [s], by robot and node."""
        return {name: processes.processor_times for name, processes in self._running.processes.items()}

    def _are_ready(self) -> bool:
        self._running.check()
        return not self._unready()

    def _unready(self) -> str:
        return "; ".join(
            f"{name}/{node}: {text}"
            for name, robot in self._watcher.robots.items()
            for node, text in robot.health.unready().items()
        )

    def _are_near(self) -> bool:
        self._running.check()
        return all(len(errors := self._distances(name)) > 0 and errors[-1] < NEAR for name in self._names)

    def _distances(self, name: str) -> np.ndarray:
        """(t,) of the tip from its target [m]."""
        return np.linalg.norm(np.reshape(self._watcher.robots[name].tips, (-1, 3)) - self._target, axis=1)

    def _errors(self) -> str:
        """Where the tips are now, in words."""
        return ", ".join(
            f"{name} {1e3 * errors[-1]:.2f} mm" if (errors := self._distances(name)).size else f"{name} silent"
            for name in self._names
        )
