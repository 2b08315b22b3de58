"""The IMU's checks: how often gravity is wrong while valid against how often it is there, by the limit of doubt."""

import argparse
import contextlib

from soft_twin.app.measuring import Figure
from soft_twin.checks import checked_count
from soft_twin.parallel import Workers, add_worker_arguments, compute_each, terminal_progress
from soft_twin.studies.campaigns.imu_curve import Point, outcomes, points

HEAD = "check  limit   wrong  > 0.5 s  any moment  not knowable   available  withdrawn > 0.5 s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="of the campaign imu; default 1000")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="case i is that of seed N + i; default 0")
    add_worker_arguments(parser, default=2)


def measure(cases: int = 1000, seed: int = 0, workers: int = 2, cluster: str | None = None) -> list[Figure]:
    """The operating curve; an interruption (Ctrl-C) ends it with the cases that are done.

    Raises:
        InputError: no case.
    """
    cases, done = checked_count(cases, "--cases"), []
    found = compute_each(
        outcomes, range(seed, seed + cases), Workers(workers, cluster), say=terminal_progress, name="cases"
    )
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(found):
        for _, outcome in found:
            done.append(outcome)
    terminal_progress("")
    curve = points(done)
    print(HEAD)
    for point in curve:
        print(_line(point))
    return [Figure("cases", "cases", float(len(done))), *(figure for point in curve for figure in _figures(point))]


def _line(p: Point) -> str:
    shares = (p.wrong, p.long, p.anywhere, p.unknown, p.available, p.withdrawn)
    wrong, long, anywhere, unknown, available, withdrawn = (f"{100.0 * share:.1f} %" for share in shares)
    return (
        f"{p.check:<5} {p.limit:>6g} {wrong:>7} {long:>8} {anywhere:>11} {unknown:>13} {available:>11} {withdrawn:>18}"
    )


def _figures(p: Point) -> list[Figure]:
    what = f"{p.check}, limit {p.limit:g}"
    key = f"{p.check}.{p.limit:g}"
    return [
        Figure(f"{key}.wrong", f"{what}: wrong while valid", 100.0 * p.wrong, "%", "<= 0.5"),
        Figure(f"{key}.long", f"{what}: for more than 0.5 s", 100.0 * p.long, "%", "0"),
        Figure(f"{key}.unknown", f"{what}: wrong, and not knowable", 100.0 * p.unknown, "%"),
        Figure(f"{key}.available", f"{what}: healthy boards, valid", 100.0 * p.available, "%"),
    ]
