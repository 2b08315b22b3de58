"""Random faults at motors, valves and IMUs in simulated time, judged from outside; see soft_twin.studies.campaigns."""

import argparse

from soft_twin.app.measuring import Figure
from soft_twin.checks import checked_count
from soft_twin.parallel import Workers, add_worker_arguments, terminal_progress
from soft_twin.studies.campaigns import CAMPAIGNS, open_campaign
from soft_twin.studies.campaigns.base import (
    Campaign,
    Result,
    reproduction,
    run_campaign,
    run_guarded,
)

SEEDS_SHOWN = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--campaign", choices=CAMPAIGNS, help="only this one; default all")
    parser.add_argument("--cases", type=int, default=3000, metavar="N", help="of each campaign; default 3000")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="case i is that of seed N + i; default 0")
    parser.add_argument("--case", type=int, metavar="I", help="only case I, told in full")
    add_worker_arguments(parser, default=2)


def measure(
    campaign: str | None = None,
    cases: int = 3000,
    seed: int = 0,
    case: int | None = None,
    workers: int = 2,
    cluster: str | None = None,
) -> list[Figure]:
    """Figures of the cases of one campaign, or of all; every violation is told with the line that brings it back.

    Raises:
        InputError: no case.
    """
    cases, figures = checked_count(cases, "--cases"), []
    for name in [campaign] if campaign else CAMPAIGNS:
        if case is not None:
            result = _run_one(open_campaign(name), seed + case)
        else:
            chosen = open_campaign(name)
            seeds = range(seed, seed + max(round(cases * chosen.share), 1))
            result = run_campaign(chosen, seeds, Workers(workers, cluster), terminal_progress)
            terminal_progress("")
            _print_failures(result)
        figures += _figures(result)
    return figures


def _run_one(campaign: Campaign, seed: int) -> Result:
    print(campaign.story(seed))
    result = Result(campaign.name)
    result.add(seed, run_guarded(campaign, seed))
    for violation in result.failed.get(seed, []):
        print(f"{violation.time:8.3f} s  {violation.kind}: {violation.detail}")
    return result


def _print_failures(result: Result) -> None:
    for kind, count in result.kinds().most_common():
        seeds = result.seeds(kind)
        first = next(one for one in result.failed[seeds[0]] if one.kind == kind)
        print(f"{result.name}: {kind}: {count} cases; at {first.time:.3f} s: {first.detail}")
        for seed in seeds[:SEEDS_SHOWN]:
            print(f"    {reproduction(result.name, seed)}")


def _figures(result: Result) -> list[Figure]:
    name = result.name
    return [
        Figure(f"{name}.cases", f"{name}: cases", float(result.cases)),
        Figure(f"{name}.violated", f"{name}: cases with a violation", float(len(result.failed)), "", "0"),
        Figure(f"{name}.kinds", f"{name}: kinds of violation", float(len(result.kinds())), "", "0"),
        Figure(f"{name}.seconds", f"{name}: time it took", result.seconds, "s"),
    ]
