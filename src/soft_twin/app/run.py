"""`soft-twin run ROBOT`: the whole loop on emulated hardware, without and with compensation, and a report."""

import argparse
import importlib.util
import os
from pathlib import Path

import numpy as np

from soft_twin import load_robot
from soft_twin.emulation.base_motion import RecordedMotion, inclinations
from soft_twin.errors import InputError, RunError, UsageError
from soft_twin.graph import Course, graph
from soft_twin.processes import environment
from soft_twin.recording.report import table, write_report
from soft_twin.robots.cable_tube import CableTube
from soft_twin.sensing.broad import read_broad

WARM_UP, QUICK_WARM_UP = 10.0, 2.0  # [s]
PROFILE = {"inclinations_deg": [135.0, 90.0, 45.0, 0.0, -45.0], "move_time": 2.0, "hold_time": 2.0}
QUICK_PROFILE = {"inclinations_deg": [45.0, 0.0], "move_time": 1.0, "hold_time": 1.0}
RECORDING_TIME, QUICK_RECORDING_TIME = 25.0, 5.0  # [s] of a recording, unless more is asked for
REST = 1.0  # [s] before a recording's first movement


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot in config/, or path of a description")
    parser.add_argument("--imu", type=Path, metavar="FILE", help="a real IMU recording (BROAD's .mat) moves the base")
    parser.add_argument(
        "--start", type=float, metavar="S", help="second of the recording to begin with; default: its first movement"
    )
    parser.add_argument(
        "--duration", type=float, metavar="S", help=f"seconds of it to play; default {RECORDING_TIME:g}"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the results go; default out/ROBOT")
    parser.add_argument("--quick", action="store_true", help="a short run: fewer attitudes, less time at each")


def run(arguments: argparse.Namespace) -> int:
    robot = load_robot(arguments.robot)
    if not isinstance(robot, CableTube):
        raise UsageError(f"'{robot.name}' has no course to run: try `ros2 launch soft_twin {robot.name}.launch.py`")
    graph(robot)
    course = _course(arguments)
    folder = _writable(arguments.out or Path("out") / robot.name)
    conduct = _conductor()
    variables = environment(folder / "log")
    os.environ.update(variables)
    path = folder / "run.mcap"
    print(f"{robot.name} on emulated hardware, in ROS domain {variables['ROS_DOMAIN_ID']}", flush=True)
    try:
        conduct(robot, course, path, variables)
    except RunError as error:
        raise RunError(f"{error}; recorded until then: {path}") from error
    except KeyboardInterrupt:
        print(f"interrupted; recorded until then: {path}")
        raise
    report = write_report(path, folder, robot, source=arguments.imu.stem if arguments.imu else "profile")
    print(f"\n{table(report)}\n\n{folder}: run.mcap, report.json, report.png")
    return 0


def _course(arguments: argparse.Namespace) -> Course:
    """The course that the arguments ask for; files and times are checked here, before anything is started."""
    warm_up = QUICK_WARM_UP if arguments.quick else WARM_UP
    if arguments.imu is None:
        profile = QUICK_PROFILE if arguments.quick else PROFILE
        motion = inclinations(profile["inclinations_deg"], profile["move_time"], profile["hold_time"])
        return Course(profile, motion.duration, warm_up)
    trial = read_broad(arguments.imu)
    start = arguments.start
    if start is None:
        start = max(float(np.argmax(trial.movement)) / trial.rate - REST, 0.0)
    duration = arguments.duration
    if duration is None:
        available = (len(trial.movement) - 1) / trial.rate - start
        duration = min(QUICK_RECORDING_TIME if arguments.quick else RECORDING_TIME, available)
    try:
        RecordedMotion(trial, start, duration)
    except InputError as error:
        raise UsageError(f"--start, --duration: {error}") from error
    part = {"recording": str(arguments.imu.resolve()), "start": float(start), "duration": float(duration)}
    return Course(part, duration, warm_up)


def _writable(folder: Path) -> Path:
    """A folder that results can be written into, made where missing.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"cannot write into '{folder}': {error.strerror}; say --out DIR") from error
    return folder


def _conductor():
    """The function that leads the nodes; it needs ROS, which the rest of this module does not."""
    for package, remedy in (("rclpy", "source a ROS 2 installation"), ("soft_twin_msgs", "build this workspace")):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"the Python package '{package}' is missing: {remedy}, or use `make run`")
    from soft_twin_ros.conductor import conduct

    return conduct
