"""Files that are broken, odd or false, each read: no traceback, hang, gigabyte, or nonsense may come of it."""

import argparse
import contextlib
import time
from collections import Counter

from soft_twin.app.fuzzing.judge import FAULTS, Outcome, judge
from soft_twin.app.fuzzing.workers import judged
from soft_twin.app.measuring import Figure
from soft_twin.checks import checked_count
from soft_twin.parallel import terminal_progress, time_left

SHOWN = 10  # faults that are told in full


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--cases", type=int, default=5000, metavar="N", help="default 5000")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="case i is that of seed N + i; default 0")
    parser.add_argument("--case", type=int, metavar="I", help="only case I, in this process, told in full")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes; default 2")


def measure(cases: int = 5000, seed: int = 0, case: int | None = None, workers: int = 2) -> list[Figure]:
    """How many of the cases ended in each fault; every fault is told with the line that brings it back.

    Raises:
        InputError: no process, or no case.
    """
    workers, cases = checked_count(workers, "--workers"), checked_count(cases, "--cases")
    start, faults, kinds = time.monotonic(), [], Counter()
    outcomes = [judge(seed + case)] if case is not None else judged(range(seed, seed + cases), workers)
    done = refused = 0
    with contextlib.suppress(KeyboardInterrupt):  # what is done counts
        for outcome in outcomes:
            done, refused = done + 1, refused + outcome.refused
            if case is not None:
                print(outcome)
            if outcome.fault:
                kinds[outcome.kind, outcome.fault] += 1
                faults.append(outcome)
                _tell(outcome, len(faults))
            _progress(done, cases, len(faults), time.monotonic() - start)
    for (kind, fault), count in kinds.most_common():
        print(f"{kind}: {fault}: {count}")
    return _figures(done, refused, faults, time.monotonic() - start)


def _progress(done: int, cases: int, faults: int, seconds: float) -> None:
    terminal_progress(f"{done} of {cases}, {faults} faults, {time_left(seconds / done * (cases - done))}")


def _tell(outcome: Outcome, number: int) -> None:
    if number <= SHOWN:
        detail = outcome.detail.strip()
        print(f"{outcome.kind}: {outcome.fault}: {detail if number == 1 else detail[-300:]}")
        print(f"    soft-twin bench fuzz --case {outcome.seed}", flush=True)


def _figures(done: int, refused: int, faults: list[Outcome], seconds: float) -> list[Figure]:
    counts = Counter(outcome.fault for outcome in faults)
    return [
        Figure("cases", "files read", float(done)),
        Figure("refused", "refused by a named error", float(refused)),
        *(Figure(fault, fault, float(counts[fault]), "", "0") for fault in FAULTS),
        Figure("seconds", "time it took", seconds, "s"),
    ]
