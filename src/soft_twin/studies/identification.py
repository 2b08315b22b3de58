"""Identification: parameters found by exact gradients and by Bayesian search, and how many simulations each needed.

First a beam whose parameters are known, then the real one of `validate beam`: its rest under three loads, and rest and
the first moments after the release together. Both look in the domains of SORS, table II, from the same start; what is
counted is each simulation of each experiment, a recording at rest or a motion. The material is elastic here, without
relaxation, as gradients through time ask for. Picture: search.png.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.calibration.experiments import Experiment, Hanging
from soft_twin.calibration.identify import CANTILEVER, Identified, by_gradients, by_search
from soft_twin.calibration.markers import Markers
from soft_twin.errors import UsageError
from soft_twin.parallel import compute_here
from soft_twin.studies.beam import (
    MARKERS,
    PARAMETERS,
    STEP,
    TIP,
    beam_model,
    compare,
    hanging,
    material_parameters,
    read_recordings,
    released,
)  # fmt: skip

matplotlib.use("Agg")
from soft_twin.studies.results import write_picture

START = {"young_modulus": 150e3, "poisson_ratio": 0.4, "density": 900.0, "mass_damping": 10.0}
TRUTH = {"young_modulus": 264e3, "poisson_ratio": 0.45, "density": 1070.0}
SIDES = np.array(
    [[-0.05, 0.0, 0.015], [-0.02, 0.03, 0.015], [-0.07, 0.015, 0.03]]
)  # more markers [m], where all is known
WINDOW = 0.4  # [s] after the release
EVALUATIONS = 25  # of all experiments, with gradients
TRIALS = {"rest": 40, "motion": 40}
# Two parameters of a beam at rest under two loads, from six markers without noise; and the real one's tasks.
KNOWN = {"known, rest: E, ν": ("young_modulus", "poisson_ratio"), "known, rest: E, ρ": ("young_modulus", "density")}
REAL = REST, MOTION = "beam, rest: E, ρ", "beam, rest and motion: E, ν, ρ, α"
UNITS = {
    "young_modulus": ("E", 1e-3, "kPa"), "poisson_ratio": ("ν", 1.0, ""), "density": ("ρ", 1.0, "kg/m³"),
    "mass_damping": ("α", 1.0, "1/s"),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One identification: what of, by which method, and what was found."""

    task: str
    method: str
    found: Identified


def run(folder: Path, data: Path) -> str:
    """The known beam, and the real one where its recordings are."""
    tasks, note = list(KNOWN), ""
    try:
        read_recordings(data)
        tasks += REAL
    except UsageError as missing:
        note = f"\nThe real beam is left out: {missing}"
    cases = [(task, method, data, Extent.of(task)) for task in tasks for method in ("gradients", "search")]
    rows = compute_here(identified, cases, "identifications")
    _draw(folder / "search.png", rows)
    return table(rows) + note


@dataclass(frozen=True)
class Extent:
    """How much is computed: evaluations with gradients, trials of the search, and time of a motion [s]."""

    evaluations: int
    trials: int
    window: float

    @classmethod
    def of(cls, task: str) -> "Extent":
        return cls(EVALUATIONS, TRIALS["motion" if task == MOTION else "rest"], WINDOW)


def identified(case: tuple[str, str, Path, Extent]) -> Row:
    """The row of a task and a method, in the same domains and from the same start for both."""
    task, method, data, extent = case
    if task in KNOWN:
        experiments: list[Experiment] = list(known_beam())
        names, start = KNOWN[task], TRUTH | {name: START[name] for name in KNOWN[task]}
    else:
        experiments, names, start = real(task, data, extent.window)
    domains = {name: CANTILEVER[name] for name in names}
    for each in experiments:
        each.set(start)
    if method == "gradients":
        return Row(task, method, by_gradients(experiments, start, domains, extent.evaluations))
    return Row(task, method, by_search(experiments, domains, extent.trials, start))


def known_beam() -> list[Hanging]:
    """The beam at rest under two loads, measured with TRUTH."""
    experiments = []
    for load in (0.0, 0.5):
        model = beam_model(load)
        markers = Markers(model.body.mesh, np.vstack([MARKERS[TIP], SIDES]))
        each = Hanging(model, markers, markers.rest[None], material_parameters(model))
        each.set(TRUTH)
        each.measured = each.positions()
        experiments.append(each)
    return experiments


def real(task: str, data: Path, window: float) -> tuple[list[Experiment], tuple[str, ...], dict[str, float]]:
    """Of the real beam at rest, or at rest and in motion: experiments, what is sought, and where it starts."""
    recordings = read_recordings(data)
    rest: list[Experiment] = [hanging(each) for each in recordings.values()]
    if task == REST:
        return rest, ("young_modulus", "density"), START | {"poisson_ratio": PARAMETERS["poisson_ratio"]}
    motion = [released(each, compare(each, window).release, window, relaxing=False) for each in recordings.values()]
    return rest + motion, tuple(START), START


def table(rows: list[Row]) -> str:
    """The rows as lines of text."""
    lines = [f"{'':34} {'by':9} {'simulations':>11} {'eq. 20':>12} {'eq. 21':>12}  found"]
    for row in rows:
        found = row.found
        values = ", ".join(_value(name, value) for name, value in found.values.items())
        lines.append(
            f"{row.task:34} {row.method:9} {found.simulations:11d} {1e3 * found.error:9.2g} mm"
            f" {1e3 * found.chamfer:9.2g} mm  {values}"
        )
    truth = ", ".join(_value(name, value) for name, value in TRUTH.items())
    lines.append(f"known: {truth}. Every simulation of the gradients' is differentiated too, by adjoints or forward.")
    lines.append(f"Motions: {WINDOW:g} s after the release in steps of {1e3 * STEP:g} ms.")
    return "\n".join(lines)


def _value(name: str, value: float) -> str:
    symbol, scale, unit = UNITS[name]
    return f"{symbol} {scale * value:.6g} {unit}".rstrip()


def _draw(path: Path, rows: list[Row]) -> None:
    tasks = list(dict.fromkeys(row.task for row in rows))
    figure = Figure(figsize=(4.2 * len(tasks), 3.8), layout="constrained")
    for axes, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        for row in rows:
            if row.task == task:
                count, best = row.found.history.T
                axes.semilogy(count, 1e3 * np.maximum(best, 1e-12), "o-", markersize=3, label=row.method)
        axes.set(title=task, xlabel="simulations")
        axes.grid(alpha=0.3)
    figure.axes[0].set(ylabel="best root mean square marker distance [mm]")
    figure.axes[0].legend(fontsize=8)
    write_picture(path, figure, dpi=110)
