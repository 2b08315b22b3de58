"""The words of a node's command line that are not ROS's: its help, which they are for."""

import argparse
import dataclasses
import inspect
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

from rclpy.node import Node

from soft_twin_ros.parameters import kind_of

USAGE = "%(prog)s [-h] [--ros-args [-r __ns:=/NAMESPACE] [-p NAME:=VALUE] [--params-file FILE] ...]"
WIDTH = 100


def take_words(words: Sequence[str], node: type[Node]) -> None:
    """Print the help of a kind of node where it is asked for, and end the process; words that are neither ROS's nor
    that, which ROS would ignore, end it with status 2 and one line.

    Args:
        words: the command line, program first.
        node: whose module's docstring and parameters are told.
    """
    if not (own := _own(words[1:])):
        return
    parser = argparse.ArgumentParser(
        prog=Path(words[0]).stem,
        usage=USAGE,
        description=inspect.getdoc(inspect.getmodule(node)),
        epilog="\n".join(["parameters:", *_parameters(kind_of(node))]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(own)


def _own(words: Sequence[str]) -> list[str]:
    """Those that stand in no part for ROS, which ends with `--`. To ROS, `robot:=arm` outside of one is an old way to
    rename a topic."""
    own, of_ros = [], False
    for word in words:
        if word == "--ros-args" or (of_ros and word == "--"):
            of_ros = word == "--ros-args"
        elif not of_ros:
            own.append(word)
    return own


def _parameters(kind: type) -> list[str]:
    """A line or more of each parameter: its default, and what it is."""
    lines = []
    for field in dataclasses.fields(kind):
        low, high = field.metadata["range"]
        notes = [] if low is None else [f"{low:g} to {high:g}"]
        if field.metadata["settable"]:
            notes.append("can be set while the node runs")
        about = "; ".join([field.metadata["description"], *notes])
        lines.append(f"  {field.name} = {json.dumps(field.default)}")
        lines += textwrap.wrap(about, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return lines
