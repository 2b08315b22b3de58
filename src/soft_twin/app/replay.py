"""`soft-twin replay RECORDING`: the library once more over a recording, compared with what was recorded."""

import argparse

from soft_twin.recording.replay import replay, table
from soft_twin.recording.robots import recorded_robot, replayed_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", help="of a run: a bag's folder, .mcap or .db3")
    parser.add_argument(
        "--robot", help="name or description of the robot that was run; default: what the recording says"
    )
    parser.add_argument("--namespace", help="of the robot's topics, where the recording has several")


def run(arguments: argparse.Namespace) -> int:
    robot = replayed_robot(recorded_robot(arguments.recording, arguments.robot, arguments.namespace))
    result = replay(arguments.recording, robot, arguments.namespace)
    print(table(result))
    print(f"{len(result.gravity)} samples, {len(result.stamp)} solves, SHA-256 of the outputs {result.digest}")
    return 0
