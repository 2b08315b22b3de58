"""`soft-twin diff A B`: what differs between two recordings; exit status 1 where something does."""

import argparse

from soft_twin.recording.diff import diff, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", help="a recording: a bag's folder, .mcap or .db3")
    parser.add_argument("second", help="another one")
    parser.add_argument("--timing", action="store_true", help="also compare wall times, such as those of solves")


def run(arguments: argparse.Namespace) -> int:
    rows = diff(arguments.first, arguments.second, arguments.timing)
    print(table(rows))
    return 0 if all(row.same for row in rows) else 1
