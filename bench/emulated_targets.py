"""The emulated robot's body under random commands: is every step solved, and what does a step cost.

Targets are the tips of equilibria with random tensions up to a limit, so that they can be reached; winches are ramped
to each in 0.1 to 2 s and hold it for a while. The S shape of docs/ros.md comes first.
"""

import argparse
import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import time  # noqa: E402
from dataclasses import dataclass, field  # noqa: E402

import numpy as np  # noqa: E402

from soft_twin import load_robot  # noqa: E402
from soft_twin.app.measuring import Figure, until_interrupted  # noqa: E402
from soft_twin.emulation.plant import Plant  # noqa: E402
from soft_twin.errors import ConvergenceError, UsageError  # noqa: E402
from soft_twin.mechanics.moving_base import MovingBase  # noqa: E402

PERIOD = 0.02  # [s]
HOLD = 0.2  # [s]
UPRIGHT = np.array([0.0, 0.0, -9.81])
S_SHAPE = [0.01, 0.0, 0.097]  # [m]
RAMP = (0.1, 2.0)  # [s]
TENSIONS = 0.6  # [N], of half of the cables


@dataclass
class Outcome:
    """What the steps of a run were like: processor time of each [ms], Newton iterations of each."""

    times: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--targets", type=int, default=500, help="how many (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="of the targets (default: 0)")
    parser.add_argument("--period", type=float, default=PERIOD, help="of the body's steps [s] (default: 0.02)")


def measure(targets: int, seed: int, period: float) -> list[Figure]:
    """Steps of the slender robot's emulated body that ended before they were solved, and what all of them took.

    Raises:
        UsageError: a period that the shortest ramp has no step of.
    """
    longest = RAMP[0] + HOLD
    if not 0.0 < period <= longest:
        raise UsageError(f"--period {period:g}: expected more than 0, {longest:g} s at most")
    robot = load_robot("slender")
    plant, twin, random = Plant(robot), robot.build_twin(), np.random.default_rng(seed)
    outcome, cables = Outcome(), len(robot.cable_names)
    goals = [robot.build_inverse(twin).solve(UPRIGHT, S_SHAPE).displacements]
    ramps = [0.3]
    while len(goals) <= targets:
        tensions = random.uniform(0.0, TENSIONS, cables) * (random.random(cables) < 0.5)
        goal = _reachable(twin, tensions)
        if goal is not None:
            goals.append(goal)
            ramps.append(float(random.uniform(*RAMP)))
    missed = until_interrupted(
        _misses(plant, before, goal, ramp, period, outcome)
        for before, goal, ramp in zip([np.zeros(cables), *goals], goals, ramps, strict=False)
    )
    return _figures(outcome, plant, sum(missed), len(missed), period)


def _reachable(twin, tensions: np.ndarray) -> np.ndarray | None:
    """Displacements (c,) of the equilibrium with tensions (c,) [N]; None where there is none."""
    try:
        return twin.equilibrium(UPRIGHT, tensions=tensions).displacements
    except ConvergenceError:
        return None


def _misses(plant: Plant, start: np.ndarray, goal: np.ndarray, ramp: float, period: float, outcome: Outcome) -> bool:
    """Drive it from a target to the next; whether a step ended before it was solved."""
    base, damped = MovingBase(UPRIGHT), plant.damped_steps
    for tick in range(1, round((ramp + HOLD) / period) + 1):
        share = min(tick * period / ramp, 1.0)
        begun = time.process_time()
        plant.step(period, start + share * (goal - start), base)
        outcome.times.append(1e3 * (time.process_time() - begun))
        outcome.iterations.append(plant.iterations)
    return plant.damped_steps > damped


def _figures(outcome: Outcome, plant: Plant, missed: int, count: int, period: float) -> list[Figure]:
    times = np.array(outcome.times)
    return [
        Figure("targets", "targets, the S shape first", count),
        Figure("steps", f"steps of {1e3 * period:g} ms", len(times)),
        Figure("targets_unsolved", "targets with a step that was not solved", missed, "", "0"),
        Figure("damped_steps", "steps that ended before they were solved", plant.damped_steps, "", "0"),
        Figure("step_mean_ms", "processor time of a step: mean", float(times.mean()), "ms", f"< {1e3 * period:g}"),
        Figure("step_median_ms", "processor time of a step: median", float(np.median(times)), "ms"),
        Figure("step_p99_ms", "processor time of a step: 99th percentile", float(np.percentile(times, 99)), "ms"),
        Figure("iterations", "iterations of a step, mean", float(np.mean(outcome.iterations))),
    ]
