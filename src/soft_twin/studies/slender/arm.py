"""A base that a robot arm carries through five poses and back, twice within 180 s (the paper's Figure 15).

Straight and bent by 30°, compensated and with winches that stay where they are right upright. r is the paper's eq. 24
of the robot's tip with that of a dynamic twin whose winches do the same, seen in base_link, where little moves that is
compensated, and by a tracker that stands still, as the paper's does, where all moves with the base. The dynamic twin
keeps no loop waiting, and has twice as many cells along the body as the controller's; one with the controller's is told
beside it. The paper names neither its poses nor their distance: ours are as far apart as 1 % of a Panda's largest
speed, 17 mm/s, allows.
Files: table.json, arm.mcap, arm.png.
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
from soft_twin.robots import load_robot
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.carried import (
    BENT,
    HELD,
    LET_BE,
    LOOP,
    STRAIGHT,
    Way,
    carry,
    errors_mm,
    gravity_errors_deg,
    in_world,
)
from soft_twin.studies.slender.loop import PERIOD, History, correlation, shadow
from soft_twin.studies.slender.poses import BaseAttitude, record
from soft_twin.studies.slender.shared import Motion, emulated_robot, tuned_twin, tuned_values, variant, write_table

matplotlib.use("Agg")

POSES = [
    BaseAttitude(90.0),
    BaseAttitude(45.0),
    BaseAttitude(0.0, 60.0),
    BaseAttitude(-30.0, 60.0),
    BaseAttitude(30.0, -60.0),
]
PLACES = 1e-3 * np.array(
    [[0.0, 0.0, 0.0], [160.0, 0.0, 40.0], [200.0, 150.0, 0.0], [60.0, 220.0, -60.0], [-80.0, 100.0, 40.0]]
)  # [m]
FINE = {"element": "hex20r", "divisions": [1, 6, 20], "grading": 1.4, "turn_deg": 30.0}  # the dynamic twin's mesh
LEG, ROUNDS = 18.0, 2  # [s] from pose to pose
TARGETS = {"straight": STRAIGHT, "30° bend": BENT}
PAPER = {"straight": {"compensated": 0.9830, "not": 0.9653}, "30° bend": {"compensated": 0.9439, "not": 0.9394}}
REACH = {"straight": 0.995, "30° bend": 0.98}


@dataclass(frozen=True)
class Row:
    """A run.

    Attributes:
        shape, way: which, and how it was controlled.
        correlation, correlation_in_world: with the dynamic twin, in base_link and for a tracker that stands still.
        correlation_coarse: in base_link, with one that has the controller's mesh.
        rms_mm, largest_mm: distance of the tip from its target.
        apart_mm: rms distance of robot and dynamic twin.
        gravity_deg: largest error of gravity's direction.
    """

    shape: str
    way: str
    correlation: float
    correlation_in_world: float
    correlation_coarse: float
    rms_mm: float
    largest_mm: float
    apart_mm: float
    gravity_deg: float


def run(folder: Path, data: Path) -> str:
    """Carry the robot four times; `data` is not used."""
    real = emulated_robot(folder)
    twin, found = tuned_twin(folder, real)
    fine = variant(folder, "slender_fine", {**tuned_values(found), "body.meshes.hex20r": FINE})
    cases = [(shape, way) for shape in TARGETS for way in (HELD, LET_BE)]
    work = partial(carried, str(real.path), str(twin.path), str(fine.path))
    runs = compute_here(work, cases, "runs of 180 s")
    rows = [row(*case, *each) for case, each in zip(cases, runs, strict=True)]
    pairs = [(history, virtual) for history, virtual, _ in runs]
    write_table(folder, {"rows": [asdict(each) for each in rows], "paper": PAPER, "reach": REACH, "loop": LOOP})
    draw(folder / "arm.png", cases, pairs)
    names = [f"{shape}, {way.name}" for shape, way in cases]
    record(folder / "arm.mcap", twin, dict(zip(names, (history for history, _ in pairs), strict=True)))
    return table(rows)


def rounds() -> SplineMotion:
    """The base's motion: from pose to pose without a stop."""
    order = [*list(range(len(POSES))) * ROUNDS, 0]
    attitudes = Rotation.concatenate([POSES[i].attitude for i in order])
    return SplineMotion(LEG * np.arange(len(order)), attitudes, PLACES[order])


def carried(real: str, twin: str, fine: str, case: tuple[str, Way]) -> tuple[History, Motion, Motion]:
    """The history of a case (shape, way), and what dynamic twins with the fine mesh and with the controller's make of
    it; descriptions by their paths."""
    shape, way = case
    history = carry(real, twin, TARGETS[shape], way, rounds(), 0.0)
    return history.after(0.0), *(_shadow(each, history) for each in (fine, twin))


def _shadow(twin: str, history: History) -> Motion:
    """What a dynamic twin, by its description's path, makes of a history, from 0 s on."""
    body = load_robot(twin).build_dynamic_twin(PERIOD)
    body.straighten()
    virtual, begun = shadow(body, history), history.times >= 0.0
    return Motion(virtual.times[begun], virtual.tips[begun], virtual.axes[begun])


def row(shape: str, way: Way, history: History, virtual: Motion, coarse: Motion) -> Row:
    """A row of the table; `coarse`: the dynamic twin with the controller's mesh."""
    motion, errors = rounds(), errors_mm(history, TARGETS[shape])
    places = np.array([motion.place(t) for t in history.times])
    seen = [in_world(history, tips, places) for tips in (history.tips, virtual.tips)]
    return Row(
        shape=shape,
        way=way.name,
        correlation=correlation(history.tips, virtual.tips),
        correlation_in_world=correlation(*seen),
        correlation_coarse=correlation(history.tips, coarse.tips),
        rms_mm=float(np.sqrt((errors**2).mean())),
        largest_mm=float(errors.max()),
        apart_mm=1e3 * float(np.sqrt(((history.tips - virtual.tips) ** 2).sum(axis=1).mean())),
        gravity_deg=float(gravity_errors_deg(history).max()),
    )


def table(rows: list[Row]) -> str:
    """One line a run, and what the paper says."""
    lines = [
        f"{'shape':10} {'winches':12} {'r in base_link':>14} {'in world':>9} {'coarse':>7} "
        f"{'rms error [mm]':>14} {'largest':>8} {'apart':>6} {'gravity [°]':>11}"
    ]
    lines += [
        f"{each.shape:10} {each.way:12} {each.correlation:14.4f} {each.correlation_in_world:9.6f} "
        f"{each.correlation_coarse:7.4f} {each.rms_mm:14.2f} {each.largest_mm:8.2f} {each.apart_mm:6.2f} "
        f"{each.gravity_deg:11.2f}"
        for each in rows
    ]
    for shape, numbers in PAPER.items():
        lines.append(
            f"paper, {shape}: {numbers['compensated']:.4f}, not compensated {numbers['not']:.4f}; "
            f"reach {REACH[shape]:g}"
        )
    return "\n".join([*lines, f"loop: {LOOP}"])


def draw(path: Path, cases: list[tuple[str, Way]], found: list[tuple[History, Motion]]) -> None:
    """Distance of robot and twin from the target over time."""
    figure = Figure(figsize=(9.5, 5.0), layout="constrained")
    plots = dict(zip(TARGETS, figure.subplots(len(TARGETS), 1, sharex=True), strict=True))
    for (shape, way), (history, virtual) in zip(cases, found, strict=True):
        axes, target = plots[shape], np.array(TARGETS[shape])
        (line,) = axes.plot(history.times, errors_mm(history, TARGETS[shape]), label=f"{way.name}: emulated robot")
        away = 1e3 * np.linalg.norm(virtual.tips - target, axis=1)
        axes.plot(history.times, away, "--", color=line.get_color(), label=f"{way.name}: twin")
    for shape, axes in plots.items():
        axes.set(title=shape, ylabel="tip from target [mm]", ylim=(0.0, 1.4 * axes.get_ylim()[1]))
        axes.set_xticks(LEG * np.arange(len(POSES) * ROUNDS + 1))
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="upper center", ncols=2)
    plots["30° bend"].set_xlabel("time [s]; a tick is a pose")
    write_picture(path, figure, dpi=110)
