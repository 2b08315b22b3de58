"""How fast may the base turn and travel before the straight robot's tip error doubles?

Turns: from upright to horizontal and back, a second between, by quintics of growing peak rate. Travels: 0.3 m sideways
and back at 45° to the ground, at growing peak speed. The error is the largest distance of the tip from its target from
the start to a second after the end; "doubled" is against the slowest, interpolated. Each as measured (`as now`), with
gravity turned on by the gyroscope's rates (`looking ahead`), travels with the base's acceleration in it (`effective`).
The fast turns once more by a robot that is damped as little as the description says, and its twin.
Files: table.json, speed.mcap (the fastest turn of each way), speed.png.
"""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from soft_twin.emulation.base_motion import BaseMotion, InclinationProfile
from soft_twin.emulation.spline_motion import SplineMotion
from soft_twin.parallel import compute_here
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.carried import LEAD, LOOP, SMOOTHING, STRAIGHT, Way, carry, doubled_at, errors_mm
from soft_twin.studies.slender.loop import History
from soft_twin.studies.slender.poses import BaseAttitude, record
from soft_twin.studies.slender.shared import (
    emulated_robot,
    tuned_twin,
    tuned_values,
    variant,
    write_table,
)

matplotlib.use("Agg")

TURNS = (30.0, 60.0, 120.0, 240.0, 480.0)  # [°/s] at their fastest
TRAVELS = (0.1, 0.3, 0.6, 1.2)  # [m/s] likewise
FAST = (120.0, 480.0)  # [°/s] of turns that are done with little damping as well
LITTLE = "turn, little damping"
DISTANCE, PAUSE, AFTER = 0.3, 1.0, 1.0  # [m], [s], [s]
NOW, AHEAD = Way("as now"), Way("looking ahead", lead=LEAD)
EFFECTIVE = Way("effective", lead=LEAD, smoothing=SMOOTHING)
PAPER, REACH = {"turn": "1 % of an arm's greatest speed"}, {"turn_deg_s": 60.0}
KNOTS = 9  # of a way
PEAK_OF_QUINTIC, PEAK_OF_CUBIC = 1.875, 1.5  # largest rate over the mean


@dataclass(frozen=True)
class Row:
    """A run: "turn" at °/s, with LITTLE damping as well, or "travel" at m/s, how it was controlled, and the tip's
    largest and rms error [mm]."""

    kind: str
    speed: float
    way: str
    largest_mm: float
    rms_mm: float


def run(folder: Path, data: Path) -> str:
    """Turn and travel, faster and faster; `data` is not used."""
    real = emulated_robot(folder)
    twin, found = tuned_twin(folder, real)
    moved = {key: value for key, value in tuned_values(found).items() if key != "body.damping"}
    little = variant(folder, "slender_real_little_damped", {}), variant(folder, "slender_little_damped", moved)
    pairs = {kind: (str(real.path), str(twin.path)) for kind in ("turn", "travel")}
    pairs[LITTLE] = tuple(str(each.path) for each in little)
    cases = [("turn", speed, way) for speed in TURNS for way in (NOW, AHEAD)]
    cases += [("travel", speed, way) for speed in TRAVELS for way in (NOW, EFFECTIVE)]
    cases += [(LITTLE, speed, way) for speed in FAST for way in (NOW, AHEAD)]
    histories = compute_here(partial(move, pairs), cases, "runs")
    rows = []
    for (kind, speed, way), history in zip(cases, histories, strict=True):
        errors = errors_mm(history, STRAIGHT)
        rows.append(Row(kind, speed, way.name, float(errors.max()), float(np.sqrt((errors**2).mean()))))
    limits = doubling([row for row in rows if row.kind != LITTLE])
    numbers = {"doubled at": limits, "paper": PAPER, "reach": REACH, "loop": LOOP}
    write_table(folder, {"rows": [asdict(row) for row in rows], **numbers})
    fastest = {f"{way.name}, {speed:g} °/s": history
               for (kind, speed, way), history in zip(cases, histories, strict=True)
               if (kind, speed) == ("turn", TURNS[-1])}  # fmt: skip
    record(folder / "speed.mcap", twin, fastest)
    draw(folder / "speed.png", rows)
    return table(rows, limits)


def move(pairs: dict[str, tuple[str, str]], case: tuple[str, float, Way]) -> History:
    """The history of a case (kind, speed, way) of robot and twin, by their descriptions' paths, of its kind."""
    kind, speed, way = case
    return carry(*pairs[kind], STRAIGHT, way, (travel if kind == "travel" else turn)(speed), AFTER).after(0.0)


def turn(peak: float) -> BaseMotion:
    """Upright to horizontal and back at so many °/s at its fastest."""
    return InclinationProfile([0.0], PEAK_OF_QUINTIC * 90.0 / peak, PAUSE)


def travel(peak: float) -> BaseMotion:
    """DISTANCE sideways and back at so many m/s at its fastest."""
    duration = PEAK_OF_CUBIC * DISTANCE / peak
    share = np.linspace(0.0, 1.0, KNOTS)
    way = DISTANCE * share**2 * (3.0 - 2.0 * share)
    times = duration * np.concatenate([share, 1.0 + share[1:]])
    ways = np.concatenate([way, way[-2::-1]])
    attitudes = Rotation.concatenate([BaseAttitude(45.0).attitude] * len(times))
    return SplineMotion(times, attitudes, ways[:, None] * [0.0, 1.0, 0.0])


def doubling(rows: list[Row]) -> dict[str, float | None]:
    """The speed at which the largest error has doubled, of each kind and way; None: at none of these."""
    found = {}
    for kind, way in dict.fromkeys((row.kind, row.way) for row in rows):
        own = [row for row in rows if (row.kind, row.way) == (kind, way)]
        slowest = [row.largest_mm for row in rows if row.kind == kind][0]
        errors = np.array([slowest, *(row.largest_mm for row in own[1:])])
        found[f"{kind}, {way}"] = doubled_at(np.array([row.speed for row in own]), errors)
    return found


def table(rows: list[Row], limits: dict[str, float | None]) -> str:
    """Each run, and where errors have doubled."""
    lines = [f"{'base':20} {'peak':>9} {'controlled':16} {'largest error [mm]':>18} {'rms [mm]':>9}"]
    for row in rows:
        unit = "m/s" if row.kind == "travel" else "°/s"
        lines.append(f"{row.kind:20} {row.speed:5.4g} {unit} {row.way:16} {row.largest_mm:18.2f} {row.rms_mm:9.2f}")
    for name, limit in limits.items():
        lines.append(f"{name}: error doubled at " + ("none of these speeds" if limit is None else f"{limit:.3g}"))
    return "\n".join([*lines, f"paper: {PAPER['turn']}; reach: {REACH['turn_deg_s']:g} °/s", f"loop: {LOOP}"])


def draw(path: Path, rows: list[Row]) -> None:
    """Largest errors over speed."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    for axes, kind, unit in zip(figure.subplots(1, 2), ("turn", "travel"), ("°/s", "m/s"), strict=True):
        for way in dict.fromkeys(row.way for row in rows if row.kind == kind):
            own = [row for row in rows if (row.kind, row.way) == (kind, way)]
            axes.plot([row.speed for row in own], [row.largest_mm for row in own], "o-", label=way)
        first = [row.largest_mm for row in rows if row.kind == kind][0]
        axes.axhline(2.0 * first, color="0.5", linestyle=":", label="twice the slowest's")
        axes.set(xscale="log", xlabel=f"peak [{unit}]", ylabel="tip's largest error [mm]", title=kind)
        speeds = sorted({row.speed for row in rows if row.kind == kind})
        axes.set_xticks(speeds, [f"{speed:g}" for speed in speeds], minor=False)
        axes.set_xticks([], minor=True)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    write_picture(path, figure, dpi=110)
