"""`soft-twin urdf ROBOT`: its URDF, made from its description, printed or written into a file."""

import argparse
from pathlib import Path

from soft_twin.errors import UsageError
from soft_twin.files import whole_file
from soft_twin.robots import load_robot
from soft_twin.robots.urdf import urdf


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot, or path of its .yaml file")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead of printing it")
    parser.add_argument(
        "--namespace", help="of the robot's nodes, where ros2_control finds its topics (default: its name)"
    )


def run(arguments: argparse.Namespace) -> int:
    text = urdf(load_robot(arguments.robot), namespace=arguments.namespace)
    if arguments.out is None:
        print(text, end="")
        return 0
    try:
        with whole_file(arguments.out) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write '{arguments.out}': {error.strerror}") from error
    return 0
