"""A robot under `ros2 launch`, from outside: how soon it works, how late its commands are on a busy machine, what it
computes, what it complains of, and what is left when the launch ends, however it ends.

The launch is ROS's own where `ros2 launch` and a workspace with this package are there, else a process that starts the
same nodes; the first line says which. Delays are from an IMU sample's stamp to the arrival of the command here, by
emulated devices. What ends drives emulated motors that live outside the launch and are pulled by springs.
"""

import argparse
import os
import runpy
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soft_twin import load_robot
from soft_twin.app.measuring import Figure
from soft_twin.checks import check_positive
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.motor_bus import MotorBus
from soft_twin.emulation.ports import PseudoTerminal
from soft_twin.errors import RunError, UsageError
from soft_twin.priority import prefer_all_threads
from soft_twin.sensing.imu_frames import encode_sample
from soft_twin.sensing.samples import ImuSample

if TYPE_CHECKING:
    from soft_twin_ros.running.arguments import RobotRequest
    from soft_twin_ros.watcher import Watched, Watching

NAME = "launched"  # namespace of the robot
START_PATIENCE = 300.0  # [s], where kernels are compiled first
MOTION_PATIENCE = 60.0  # [s] until the motors pull
SETTLING = 6.0  # [s] that are not measured when the load has changed: nodes notice a busy host after 2 to 4
LEFT_AFTER = 3.0  # [s] after the end, in which nothing may be left
ENDS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL, "node": None}
REACHES = ((6, "20"), (9, "40"))  # [ms] of p99 up to so many busy processes
TICK, SAMPLE = 0.004, 0.01  # [s] of the motors and the IMU that live outside
STIFFNESS = 600.0  # [N/m] of the springs on the winches outside
WOUND_IN = 1e-3  # [m] and more, by a robot that is held horizontally
BESIDE = Path(__file__).parent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--load", default="0,4,8", metavar="N,…", help="busy processes beside the robot, in turn")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S", help="how long delays are measured at each")
    parser.add_argument("--later", type=int, default=2, metavar="N", help="starts after the first; 0: no starts at all")
    parser.add_argument("--robots", type=float, default=60.0, metavar="S", help="how long two robots hold their tips")


def measure(load: str = "0,4,8", seconds: float = 20.0, later: int = 2, robots: float = 60.0) -> list[Figure]:
    """All figures of the slender robot.

    Raises:
        UsageError: what is no number of processes.
        InputError: no time.
        RunError: a robot did not get ready, or a node ended that should not.
    """
    loads = _counts(load)
    check_positive(seconds, "--seconds", "s")
    from soft_twin_ros.running.launched import missing_launch

    missing = missing_launch()
    print(f"by own processes, since `ros2 launch` cannot be: {missing}" if missing else "by ros2 launch", flush=True)
    figures = [Figure("ros2_launch", "by ros2 launch itself (1), by processes of its own (0)", float(not missing))]
    if later:
        print("\nstarts", flush=True)
        figures += _beside("starts", later=later, launch=True)
    print("\ndelays", flush=True)
    figures += _working(loads, seconds)
    for name, number in ENDS.items():
        print(f"\nended by {name}", flush=True)
        figures += _ending(name, number)
    if robots:
        print("\ntwo robots", flush=True)
        figures += _beside("robots", seconds=robots, launch=True)
    return figures


def _counts(load: str) -> list[int]:
    """Whole numbers with commas between them.

    Raises:
        UsageError: something else.
    """
    words = [word.strip() for word in load.split(",")]
    if not all(word.isdecimal() for word in words):
        raise UsageError(f"--load '{load}': expected numbers of processes with commas between them, such as 0,4,8")
    return [int(word) for word in words]


def _beside(name: str, **options) -> list[Figure]:
    """The figures of another benchmark."""
    figures = runpy.run_path(str(BESIDE / f"{name}.py"))["measure"](**options)
    return [Figure(f"{name}.{each.key}", each.what, each.value, each.unit, each.reach) for each in figures]


def _working(loads: list[int], seconds: float) -> list[Figure]:
    """Delays under each load; under the first of them also what is computed, and what the start has complained of."""
    from soft_twin_ros.watcher import watched

    busy = runpy.run_path(str(BESIDE / "load.py"))["busy"]
    figures, (request, text) = [], _robot("slender")
    with (
        tempfile.TemporaryDirectory(prefix="soft_twin-launch-") as folder,
        watched([request], Path(folder), {}, text) as running,
    ):
        pictures = _listen(running)
        _drive(running, lambda: True)
        prefer_all_threads()  # as who drives motors, DDS included: what is measured is not how late this process is
        robot = running.watcher.robots[NAME]
        errors = running.launch.error_lines()
        print("\n".join(errors), end="\n" * bool(errors), flush=True)
        figures.append(Figure("error_lines", "ERROR lines of a normal start", len(errors), "", "0"))
        for number, count in enumerate(loads):
            with busy(count):
                running.watcher.ask(f"/{NAME}/play")
                running.watcher.look(SETTLING)
                robot.forget()
                before, began = running.processes[NAME].processor_times, time.monotonic()
                told = dict(pictures)
                running.watcher.look(seconds)
                passed = time.monotonic() - began
                times = running.processes[NAME].processor_times
            running.check()
            figures += _delays(count, robot, passed)
            if number == 0:
                shares = {name: (now - before[name]) / passed for name, now in times.items()}
                figures += _computed(shares, {name: (pictures[name] - told[name]) / passed for name in pictures})
    return figures


def _delays(count: int, robot: "Watched", seconds: float) -> list[Figure]:
    """From IMU sample to command, with so many busy processes beside."""
    if not robot.delays:
        raise RunError(f"with {count} busy processes no command came")
    delays = 1e3 * np.array(robot.delays)
    median, p99 = np.percentile(delays, (50, 99))
    reach = next((text for most, text in REACHES if count <= most), "")
    print(f"{count} busy processes: median {median:.1f} ms, p99 {p99:.1f} ms", flush=True)
    what = f"with {count} busy processes: IMU stamp to command"
    return [
        Figure(f"load_{count}.delay_ms.median", f"{what}, median", float(median), "ms"),
        Figure(f"load_{count}.delay_ms.p99", f"{what}, p99", float(p99), "ms", reach),
        Figure(f"load_{count}.rate", f"with {count} busy processes: commands a second", len(delays) / seconds, "Hz"),
    ]


def _computed(shares: dict[str, float], rates: dict[str, float]) -> list[Figure]:
    """What each node takes of a processor, and how often pictures and transforms came meanwhile [Hz]."""
    reach = {"gravity_to_cables": "25"}
    return [
        *(
            Figure(f"processor.{name}", f"{name}, of a processor", 1e2 * share, "%", reach.get(name, ""))
            for name, share in shares.items()
        ),
        *(Figure(f"rate.{name}", f"{name} heard meanwhile", rate, "Hz") for name, rate in rates.items()),
    ]


def _listen(running: "Watching") -> dict[str, int]:
    """Take the picture and, where they can be told, the transforms, as RViz would; how many came, by topic."""
    from visualization_msgs.msg import Marker

    counts = {"body": 0}
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError:
        print("tf2_msgs is not installed: measured without transforms", flush=True)
    else:
        counts["tf"] = 0
        running.watcher.create_subscription(TFMessage, "/tf", lambda _: _count(counts, "tf"), 10, raw=True)
    running.watcher.create_subscription(Marker, f"/{NAME}/body", lambda _: _count(counts, "body"), 10, raw=True)
    return counts


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] += 1


def _ending(name: str, number: int | None) -> list[Figure]:
    """Processes left and currents of the motors when the launch gets this signal, or, without one, a node is killed."""
    from soft_twin_ros.running.launched import alive
    from soft_twin_ros.watcher import watched

    with _Outside() as outside, tempfile.TemporaryDirectory(prefix="soft_twin-ends-") as folder:
        request, text = _robot(outside.arguments)
        with watched([request], Path(folder), {}, text) as running:
            _drive(running, outside.pulls)
            launch, before = running.launch, outside.current
            pids = launch.processes
            began = time.monotonic()
            if number is None:
                os.kill(launch.nodes[NAME, "imu_to_gravity"], signal.SIGKILL)
            else:
                launch.tell(number)
            limp = gone = np.nan
            while (now := time.monotonic() - began) < LEFT_AFTER:
                limp = now if np.isnan(limp) and outside.limp else limp
                gone = now if np.isnan(gone) and not alive(pids) else gone
                time.sleep(0.01)
            left, after = alive(pids), outside.current
    print(f"{before:.3f} A before; limp after {limp:.2f} s, all ended after {gone:.2f} s", flush=True)
    what = f"ended by {name}"
    return [
        Figure(f"{name}.left", f"{what}: processes left after {LEFT_AFTER:g} s", len(left), "", "0"),
        Figure(f"{name}.current_before", f"{what}: largest current before", before, "A"),
        Figure(f"{name}.current", f"{what}: largest current after {LEFT_AFTER:g} s", after, "A", "0"),
        Figure(f"{name}.limp", f"{what}: motors limp after", limp, "s"),
        Figure(f"{name}.gone", f"{what}: all processes ended after", gone, "s", "3"),
    ]


def _robot(entry: str) -> tuple["RobotRequest", str]:
    """A robot, and as a launch is told it."""
    from soft_twin_ros.running.arguments import robots_of

    text = f"{{{NAME}: {entry}}}"
    (request,) = robots_of(text)
    return request, text


def _drive(running: "Watching", pulls: Callable[[], bool]) -> None:
    """Until the twin compensates, the motors are enabled, and it pulls."""
    watcher = running.watcher

    def ready() -> bool:
        running.check()
        return not watcher.robots[NAME].health.unready()

    watcher.wait_for(ready, START_PATIENCE, lambda: f"not ready: {watcher.robots[NAME].health.unready()}")
    watcher.ask(f"/{NAME}/home")
    watcher.ask(f"/{NAME}/enable", True)
    watcher.wait_for(pulls, MOTION_PATIENCE, lambda: "the motors do not pull")
    print(f"{running.since:6.1f} s  it compensates and drives", flush=True)


class _Outside:
    """Motors and an IMU of the slender robot in this process, held horizontally, its cables on springs."""

    def __init__(self):
        self._bus = MotorBus(EmulatedC610.of(load_robot("slender")))
        self._imu = PseudoTerminal()
        self._closing = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._turn, self._sense)]

    @property
    def arguments(self) -> str:
        """As a launch is told them."""
        return f"{{robot: slender, imu: {self._imu.path}, can: {self._bus.port.path}}}"

    @property
    def current(self) -> float:
        """The largest of all motors [A]."""
        return float(np.abs(self._bus.motors.currents).max())

    @property
    def limp(self) -> bool:
        """Whether no motor holds its cable."""
        return bool(np.all(self._bus.motors.limp))

    def pulls(self) -> bool:
        """Whether a motor holds a cable that it has wound in, no mere twitch."""
        return not self.limp and self._bus.motors.displacements.max() > WOUND_IN

    def __enter__(self) -> "_Outside":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        for thread in self._threads:
            thread.join()
        self._bus.close()
        self._imu.close()

    def _turn(self) -> None:
        start, ticks = time.monotonic(), 0
        while not self._closing.wait(TICK):
            while start + TICK * ticks < time.monotonic():  # motors keep their own time
                self._bus.step(TICK, np.maximum(STIFFNESS * self._bus.motors.displacements, 0.0))
                ticks += 1

    def _sense(self) -> None:
        start, sequence, random = time.monotonic(), 0, np.random.default_rng(0)
        while not self._closing.wait(SAMPLE):
            force = np.array([0.0, STANDARD_GRAVITY, 0.0]) + 0.02 * random.standard_normal(3)
            rates = 1e-3 * random.standard_normal(3)
            sample = ImuSample(time.monotonic() - start, rates, force, 30.0)
            self._imu.write(encode_sample(sample, sequence))
            sequence += 1
