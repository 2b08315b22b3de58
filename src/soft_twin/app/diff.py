"""`soft-twin diff A B`: what differs between two recordings; exit status 1 where something does."""

import argparse

from soft_twin.files import one_line
from soft_twin.recording.diff import diff, not_compared, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", help="a recording: a bag's folder, .mcap or .db3")
    parser.add_argument("second", help="another one")
    parser.add_argument("--timing", action="store_true", help="also compare wall times, such as those of solves")


def run(arguments: argparse.Namespace) -> int:
    rows = diff(arguments.first, arguments.second, arguments.timing)
    print(table(rows))
    if topics := not_compared(arguments.first, arguments.second):
        print(f"not compared, of types that are not known: {', '.join(map(one_line, topics))}")
    return 0 if all(row.same for row in rows) else 1
