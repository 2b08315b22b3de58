"""`soft-twin calibrate ROBOT REC`: E, damping, friction by a recorded motion, see soft_twin.calibration.tune."""

import argparse
import sys
from pathlib import Path

from soft_twin.calibration.release import read_release
from soft_twin.calibration.tune import search_grid, tune
from soft_twin.calibration.tuned import DT, SIMULATIONS, Tuned
from soft_twin.errors import UsageError
from soft_twin.parallel import Workers, add_worker_arguments, terminal_progress
from soft_twin.robots import load_robot
from soft_twin.robots.base import DrivenRobot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name or description of the robot")
    parser.add_argument("recording", type=Path, help="of its release: topics tip/pose (or truth/tip) and gravity")
    parser.add_argument("--namespace", metavar="NAME", help="of the recorded topics; default the robot's name")
    parser.add_argument("--dt", type=float, default=DT, metavar="S", help=f"step of the twin [s]; default {DT:g}")
    parser.add_argument(
        "--simulations", type=int, default=SIMULATIONS, metavar="N", help=f"at most; default {SIMULATIONS}"
    )
    parser.add_argument(
        "--friction", action="store_true", help="of the cables alone: winches move in it, and are on cables/state"
    )
    parser.add_argument("--grid", action="store_true", help="also the paper's 25 trials, with their heat map")
    parser.add_argument("--out", type=Path, metavar="DIR", help="for the grid; default out/calibrate/ROBOT")
    add_worker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    robot = load_robot(arguments.robot)
    if not isinstance(robot, DrivenRobot):
        raise UsageError(f"'{robot.name}' is calibrated by its nodes' action `calibrate`, not by a release")
    if arguments.friction and arguments.grid:
        raise UsageError("--grid is of releases with slack cables, --friction of winches that move: leave one out")
    release = read_release(arguments.recording, arguments.namespace or robot.name)
    options = {"dt": arguments.dt, "simulations": arguments.simulations, "friction": arguments.friction}
    found = tune(robot.path, release, say=_tell, **options)
    if arguments.grid:
        print(_grid(arguments, robot, release, found))
    print(found.in_words())
    return 0


def _grid(arguments: argparse.Namespace, robot: DrivenRobot, release, found: Tuned) -> str:
    from soft_twin.studies.slender.tune import draw, table

    folder, workers = arguments.out or Path("out/calibrate") / robot.name, Workers.of(arguments)
    grid = search_grid(robot.path, release, workers, folder / "trials", terminal_progress, dt=arguments.dt)
    terminal_progress("")
    draw(folder / "tune.png", robot.path, release, grid, found, arguments.dt)
    return f"{table(grid, found)}\npicture: {folder / 'tune.png'}\n"


def _tell(line: str) -> None:
    print(line, file=sys.stderr)
