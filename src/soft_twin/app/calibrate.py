"""`soft-twin calibrate ROBOT REC`: E, damping, friction by a recorded motion, see soft_twin.calibration.tune.

How to record one: docs/slender.md.
"""

import argparse
import sys
from pathlib import Path

from soft_twin.app.folders import writable
from soft_twin.calibration.moved import check_cables_alone
from soft_twin.calibration.release import read_release
from soft_twin.calibration.tune import search_grid, tune
from soft_twin.calibration.tuned import DT, SIMULATIONS, Tuned, check_options
from soft_twin.errors import ConvergenceError, RecordingError, UsageError
from soft_twin.parallel import Workers, add_worker_arguments, check_alone, terminal_progress
from soft_twin.robots import load_robot
from soft_twin.robots.base import DrivenRobot

RECORDING = (
    "of its release: lying, all cables let out (slack), held straight by hand and let go; topics tip/pose (or "
    "truth/tip), gravity and cables/state, run/phase 'released' at the moment of it; see docs/slender.md"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name or description of the robot")
    parser.add_argument("recording", type=Path, help=RECORDING)
    parser.add_argument("--namespace", metavar="NAME", help="of the recorded topics; default the robot's name")
    parser.add_argument(
        "--dt",
        type=float,
        default=DT,
        metavar="S",
        help=f"step of the twin [s], as where it will be used: steps damp by themselves; default {DT:g}",
    )
    parser.add_argument(
        "--simulations", type=int, default=SIMULATIONS, metavar="N", help=f"at most; default {SIMULATIONS}"
    )
    parser.add_argument(
        "--friction", action="store_true", help="of the cables alone: winches move in it, and are on cables/state"
    )
    parser.add_argument("--grid", action="store_true", help="also the paper's 25 trials, with their heat map")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="for pictures and what is not computed twice; default out/calibrate/ROBOT",
    )
    add_worker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    robot = load_robot(arguments.robot)
    if not isinstance(robot, DrivenRobot):
        raise UsageError(f"'{robot.name}' is calibrated by its nodes' action `calibrate`, not by a release")
    if arguments.friction and arguments.grid:
        raise UsageError("--grid is of releases with slack cables, --friction of winches that move: leave one out")
    if arguments.friction:
        check_cables_alone(robot)
    if not arguments.grid:
        check_alone(arguments, "without --grid")
    check_options(arguments.dt, arguments.simulations)
    workers = Workers.of(arguments)
    release = read_release(arguments.recording, arguments.namespace or robot.name, robot.name)
    folder = writable(arguments.out or Path("out/calibrate") / robot.name)
    options = {"dt": arguments.dt, "simulations": arguments.simulations, "friction": arguments.friction}
    try:
        found = tune(robot.path, release, say=_tell, store=folder / "simulations", **options)
    except (ConvergenceError, RecordingError) as error:
        raise type(error)(f"{arguments.recording}: {error}") from error
    if arguments.grid:
        print(_grid(arguments, workers, folder, robot, release, found))
    print(found.in_words())
    return 0


def _grid(
    arguments: argparse.Namespace, workers: Workers, folder: Path, robot: DrivenRobot, release, found: Tuned
) -> str:
    from soft_twin.studies.slender.tune import draw, table

    grid = search_grid(robot.path, release, workers, folder / "trials", terminal_progress, dt=arguments.dt)
    terminal_progress("")
    draw(folder / "tune.png", robot.path, release, grid, found, arguments.dt)
    return f"{table(grid, found)}\npicture: {folder / 'tune.png'}\n"


def _tell(line: str) -> None:
    print(line, file=sys.stderr)
