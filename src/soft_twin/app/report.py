"""`soft-twin report RECORDING`: the report of a recorded run, made anew."""

import argparse
import os
from pathlib import Path

from soft_twin.recording.evaluation import PROFILE
from soft_twin.recording.report import table, write_report
from soft_twin.recording.robots import recorded_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", help="of a run: a bag's folder, .mcap or .db3")
    parser.add_argument(
        "--robot", help="name or description of the robot that was run; default: what the recording says"
    )
    parser.add_argument("--namespace", help="of the robot's topics, where the recording has several")
    parser.add_argument("--source", default=PROFILE, help="what moved the base: 'profile' or a recording's name")
    parser.add_argument("--out", type=Path, help="folder for the report; the recording's by default")


def run(arguments: argparse.Namespace) -> int:
    recording = Path(arguments.recording)
    folder = arguments.out or (recording if os.path.isdir(recording) else recording.parent)
    robot = recorded_robot(arguments.recording, arguments.robot, arguments.namespace)
    print(table(write_report(arguments.recording, folder, robot, arguments.source, arguments.namespace)))
    print(f"{folder / 'report.json'}  {folder / 'report.png'}")
    return 0
