"""Random faults at the drivers of cables and valves, in simulated time: nothing may move that was not told to."""

import time

from soft_twin.experiments.cable_faults import CableCampaign
from soft_twin.experiments.fault_campaign import Outcome
from soft_twin.experiments.valve_faults import BACKENDS, ValveCampaign
from soft_twin.measuring import Figure


def measure(seconds: float = 660.0, seed: int = 0) -> list[Figure]:
    """Figures of campaigns of so many simulated seconds, with cables and with each kind of valves."""
    start = time.perf_counter()
    cables = CableCampaign(seed).run(seconds)
    valves = sum((ValveCampaign(kind, seed + i).run(seconds) for i, kind in enumerate(BACKENDS)), Outcome())
    return [
        *_figures("cables", "cables: ", cables),
        *_figures("valves", "valves: ", valves),
        Figure("campaign_s", "time it took", time.perf_counter() - start, "s"),
    ]


def _figures(key: str, whose: str, outcome: Outcome) -> list[Figure]:
    injected, unnamed = sum(outcome.faults.values()), sum(outcome.unnamed.values())
    return [
        Figure(f"{key}.minutes", f"{whose}simulated time", outcome.seconds / 60.0, "min", "≥ 10"),
        Figure(f"{key}.faults", f"{whose}faults injected", float(injected), "", "≥ 500"),
        Figure(f"{key}.over_limit", f"{whose}commands beyond their limits", float(outcome.over_limit), "", "0"),
        Figure(f"{key}.runaways", f"{whose}ticks of uncontrolled motion", float(outcome.runaways), "", "0"),
        Figure(f"{key}.unnamed", f"{whose}faults not named", float(unnamed), "", "0"),
        Figure(f"{key}.unrecovered", f"{whose}failed recoveries", float(outcome.unrecovered), "", "0"),
    ]
