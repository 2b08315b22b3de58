"""A base that is held in a hand, which trembles and is jerked (the paper's portable experiments).

The hand turns slowly; it trembles at 9 Hz by TREMOR; and it is jerked thrice by JERK and back. Straight, compensated
and with winches that stay where they are right upright. Tremor of this frequency and size is that of a strong essential
tremor; a physiological one is a tenth of it. Files: table.json, handheld.mcap, handheld.png.
"""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from soft_twin.emulation.spline_motion import SplineMotion
from soft_twin.parallel import compute_here
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.carried import (
    HELD,
    LET_BE,
    LOOP,
    STRAIGHT,
    Way,
    carry,
    errors_mm,
    gravity_errors_deg,
    smooth,
)
from soft_twin.studies.slender.loop import PERIOD, History
from soft_twin.studies.slender.poses import record
from soft_twin.studies.slender.shared import emulated_robot, tuned_twin, write_table

matplotlib.use("Agg")

STILL, DURATION = 4.0, 24.0  # [s] until it trembles, and of all
TREMOR_HZ, TREMOR_DEG, TREMOR_MM = 9.0, 0.5, 0.5  # amplitudes of each axis
JERKS = (12.0, 16.0, 20.0)  # [s]
JERK_DEG, JERK_MM, JERK_TIME, JERK_BACK = 25.0, 50.0, 0.3, 1.5  # size, [s] that it takes, and until the way back
SLOWLY = ((0.0, 60.0), (8.0, 30.0), (16.0, 10.0), (24.0, 45.0))  # [s], inclination to the ground [°]
KNOTS_PER_SECOND = 200
PHASES = {"still": (0.0, STILL), "tremor": (STILL, JERKS[0]), "tremor and jerks": (JERKS[0], DURATION)}


@dataclass(frozen=True)
class Row:
    """A phase of a run.

    Attributes:
        phase, way: which, and how it was controlled.
        rms_mm, largest_mm: distance of the tip from its target.
        gravity_deg: largest error of gravity's direction.
        winches_mm_s: rms of what the commands ask of the fastest winch.
    """

    phase: str
    way: str
    rms_mm: float
    largest_mm: float
    gravity_deg: float
    winches_mm_s: float


def run(folder: Path, data: Path) -> str:
    """Hold the robot in a hand, twice; `data` is not used."""
    real = emulated_robot(folder)
    twin, _ = tuned_twin(folder, real)
    work = partial(carried, str(real.path), str(twin.path))
    ways = [HELD, LET_BE]
    histories = compute_here(work, ways, "runs of 24 s")
    rows = [row(phase, way, history) for phase in PHASES for way, history in zip(ways, histories, strict=True)]
    write_table(folder, {"rows": [asdict(each) for each in rows], "loop": LOOP})
    draw(folder / "handheld.png", ways, histories)
    runs = {way.name: history for way, history in zip(ways, histories, strict=True)}
    record(folder / "handheld.mcap", twin, runs)
    return table(rows)


def carried(real: str, twin: str, way: Way) -> History:
    """The history of a way; descriptions by their paths."""
    return carry(real, twin, STRAIGHT, way, hand(), 0.0).after(0.0)


def hand(seed: int = 0) -> SplineMotion:
    """How the hand moves; `seed`: of the phases of the tremor and the directions of the jerks."""
    rng = np.random.default_rng(seed)
    times = np.arange(round(KNOTS_PER_SECOND * DURATION) + 1) / KNOTS_PER_SECOND
    begins, inclinations = np.array(SLOWLY).T
    legs = np.clip(np.searchsorted(begins, times, side="right") - 1, 0, len(begins) - 2)
    share = smooth((times - begins[legs]) / np.diff(begins)[legs])
    slow = 90.0 - (inclinations[legs] + share * np.diff(inclinations)[legs])
    trembles = (smooth(times - STILL) * smooth(DURATION - times))[:, None] * np.sin(
        2.0 * np.pi * TREMOR_HZ * times[:, None] + rng.uniform(0.0, 2.0 * np.pi, 6)
    )
    turns, places = TREMOR_DEG * trembles[:, :3], TREMOR_MM * trembles[:, 3:]
    for begin in JERKS:
        there = smooth((times - begin) / JERK_TIME) - smooth((times - begin - JERK_BACK) / JERK_TIME)
        for path, size in ((turns, JERK_DEG), (places, JERK_MM)):
            direction = rng.standard_normal(3)
            path += size * there[:, None] * direction / np.linalg.norm(direction)
    attitudes = Rotation.from_euler("x", slow[:, None], degrees=True) * Rotation.from_rotvec(np.radians(turns))
    return SplineMotion(times, attitudes, 1e-3 * places)


def row(phase: str, way: Way, history: History) -> Row:
    """A row of the table."""
    part = history.after(*PHASES[phase])
    errors = errors_mm(part, STRAIGHT)
    rates = 1e3 * np.diff(part.asked, axis=0) / PERIOD
    return Row(
        phase=phase,
        way=way.name,
        rms_mm=float(np.sqrt((errors**2).mean())),
        largest_mm=float(errors.max()),
        gravity_deg=float(gravity_errors_deg(part).max()),
        winches_mm_s=float(np.sqrt((rates**2).mean(axis=0)).max()),
    )


def table(rows: list[Row]) -> str:
    """One line a phase and way."""
    lines = [
        f"{'hand':17} {'winches':12} {'rms error [mm]':>14} {'largest':>8} {'gravity [°]':>11} "
        f"{'asked, rms [mm/s]':>17}"
    ]
    lines += [
        f"{each.phase:17} {each.way:12} {each.rms_mm:14.2f} {each.largest_mm:8.2f} {each.gravity_deg:11.2f} "
        f"{each.winches_mm_s:17.2f}"
        for each in rows
    ]
    return "\n".join([*lines, f"loop: {LOOP}"])


def draw(path: Path, ways: list[Way], histories: list[History]) -> None:
    """Errors of tip and gravity over time."""
    figure = Figure(figsize=(9.5, 5.0), layout="constrained")
    tips, gravities = figure.subplots(2, 1, sharex=True)
    for way, history in zip(ways, histories, strict=True):
        tips.plot(history.times, errors_mm(history, STRAIGHT), label=way.name)
    gravities.plot(histories[0].times, gravity_errors_deg(histories[0]), color="0.3")
    tips.set(ylabel="tip from target [mm]", ylim=(0.0, None))
    gravities.set(xlabel="time [s]", ylabel="gravity's error [°]", ylim=(0.0, None))
    tips.legend(fontsize=8)
    for axes in (tips, gravities):
        axes.axvline(STILL, color="0.6", linestyle=":")
        for begin in JERKS:
            axes.axvspan(begin, begin + JERK_BACK + JERK_TIME, color="0.93")
        axes.grid(alpha=0.3)
    write_picture(path, figure, dpi=110)
