"""The friction of cables, by a recorded motion: emulated robots of two frictions that nobody tells, and their twins.

Upright, winches bend the robot by 4 mm to and fro, one after the other, within the description's limits; a tracker sees
its tip at 50 Hz with 0.2 mm of noise. The twin, tuned before by a release with slack cables, finds μ from that. Then it
predicts what it was not tuned by: the robot is let go horizontal while other winches move; beside it the same twin
without friction. Told as well: what a release says of μ whose winches hold. Files: moved_….mcap, which
`soft-twin calibrate slender --friction` reads; table.json; friction.png, the unseen motions.
"""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.calibration.moved import FRICTION, moved_twin
from soft_twin.calibration.release import Release, read_release
from soft_twin.calibration.tune import NOISE, tune
from soft_twin.calibration.tuned import DT, percent
from soft_twin.emulation.plant import Plant
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.parallel import terminal_progress
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.robots.cable_tube import CableTube
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.shared import (
    Motion,
    emulated_robot,
    gravity_at,
    tracked,
    tuned_twin,
    write_table,
)

matplotlib.use("Agg")

FRICTIONS = (0.1, 0.25)
DURATION = 6.0  # [s]
OUT, PULL = -0.002, 0.004  # [m] that winches let out, and pull
UPRIGHT, HORIZONTAL = 90.0, 0.0  # [°]
SIMULATIONS = 6


def run(folder: Path, data: Path) -> str:
    """Record, tune, predict; `data` is not used."""
    found = [_row(folder, friction) for friction in FRICTIONS]
    terminal_progress("")
    rows = [row for row, _ in found]
    draw(folder / "friction.png", found)
    write_table(folder, {"rows": rows, "loop": "bodies stepped directly"})
    return table(rows)


def _row(folder: Path, friction: float) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Of a robot: the table's row, and tips (k, 3) [m] of the unseen motion, the robot's and as predicted."""
    real = emulated_robot(folder, f"slender_real_{friction:g}", **{"emulated.cable_friction": friction})
    twin, _ = tuned_twin(folder, real)
    path = folder / f"moved_{friction:g}.mcap"
    seen, names = driven(Plant(real), winches((3, 0, 5)), UPRIGHT), twin.cable_names
    record_motion(path, twin, tracked(seen, np.random.default_rng(0)), winches((3, 0, 5)), gravity_at(UPRIGHT))
    options = {"simulations": SIMULATIONS, "say": terminal_progress, "friction": True, "store": folder / "simulations"}
    found = tune(twin.path, read_release(path, twin.name), **options)
    other = driven(Plant(real), winches((1, 5, 4)), HORIZONTAL)
    kept = other.times, other.tips, gravity_at(HORIZONTAL)
    unseen = Release(*kept, dict(zip(names, winches((1, 5, 4)).T, strict=True)))
    still = Release(*kept, dict.fromkeys(names, 0.0 * other.times))
    predicted = {
        "with friction": predict(twin, unseen, found.values),
        "without": predict(twin, unseen, {FRICTION: 0.0}),
    }
    tips = {"emulated robot": unseen.at_steps(DT)[:, 0]} | predicted
    row = {
        "friction": friction,
        "found": found.values,
        "uncertainties": found.uncertainties,
        "seconds": found.seconds,
        "predicted_mm": {name: rms_mm(each - tips["emulated robot"]) for name, each in predicted.items()},
        "held_deviation": 1.0 / sensitivity(twin, still, found.values),
        "moved_deviation": 1.0 / sensitivity(twin, read_release(path, twin.name), found.values),
    }
    return row, tips


def winches(order: tuple[int, int, int]) -> np.ndarray:
    """(t, c) displacements [m] every DT: these pull one after the other, overlapping, and all others are let out."""
    times = DT * np.arange(round(DURATION / DT) + 1)
    wound = OUT * np.minimum(times / 0.5, 1.0)[:, None] * np.ones(6)
    for place, winch in enumerate(order):
        hat = np.clip(1.0 - np.abs(times - 1.5 * (place + 1)) / 1.5, 0.0, None)
        wound[:, winch] = np.maximum(wound[:, winch], OUT) * (1.0 - hat) + PULL * hat
    return wound


def driven(body: Plant, wound: np.ndarray, inclination: float) -> Motion:
    """A body that was held straight and is let go while its winches move (t, c) [m]."""
    body.straighten()
    base, rows = MovingBase(gravity_at(inclination)), [(0.0, body.tip, body.tip_direction)]
    for step, now in enumerate(wound[1:], 1):
        body.step(DT, now, base)
        rows.append((DT * step, body.tip, body.tip_direction))
    return Motion(*(np.array(column) for column in zip(*rows, strict=True)))


def record_motion(path: Path, robot: CableTube, motion: Motion, wound: np.ndarray, gravity: np.ndarray) -> None:
    """What `soft-twin calibrate --friction` reads."""
    with SimulatedRecording(path, robot) as recording:
        recording.text("run/phase", 0.0, "released")
        for when, tip, axis, now in zip(motion.times, motion.tips, motion.axes, wound, strict=True):
            recording.vector("gravity", float(when), gravity)
            recording.pose("tip/pose", float(when), tip, axis)
            recording.joints("cables/state", float(when), robot.cable_names, now, np.zeros(len(now)))


def predict(twin: CableTube, release: Release, values: dict[str, float]) -> np.ndarray:
    """(k, 3) tips of a twin with these values in a motion [m]."""
    experiment = moved_twin(twin.path, release, DT)
    experiment.set(values)
    return experiment.positions()[:, 0]


def rms_mm(apart: np.ndarray) -> float:
    """Of differences (k, 3) [m]."""
    return 1e3 * float(np.sqrt((apart**2).sum(axis=1).mean()))


def sensitivity(twin: CableTube, release: Release, values: dict[str, float]) -> float:
    """By how many standard deviations of the tracker a motion changes with ln μ, all else known: one over
    the standard deviation of ln μ."""
    experiment = moved_twin(twin.path, release, DT)
    experiment.set(values)
    slopes = experiment.positions_and_slopes([FRICTION])[1]
    return values[FRICTION] / NOISE * float(np.linalg.norm(slopes))


def table(rows: list[dict[str, Any]]) -> str:
    """A line a robot."""
    columns = f"{'found':>17} {'unseen motion, rms [mm]: μ known':>34} {'not':>6}"
    lines = [f"{'μ':>6} {columns} {'± μ: winches held':>19} {'moved':>7}"]
    for row in rows:
        found, spread, predicted = row["found"][FRICTION], row["uncertainties"][FRICTION], row["predicted_mm"]
        lines.append(
            f"{row['friction']:6.2f} {found:7.3f} ± {percent(spread):>7} {predicted['with friction']:34.2f} "
            f"{predicted['without']:6.2f} {100.0 * row['held_deviation']:17.0f} % "
            f"{100.0 * row['moved_deviation']:5.1f} %"
        )
    return "\n".join(lines)


def draw(path: Path, found: list[tuple[dict[str, Any], dict[str, np.ndarray]]]) -> None:
    """The tip in the unseen motions: the robot's, and as predicted with friction and without."""
    figure = Figure(figsize=(4.6 * len(found), 5.0), layout="constrained")
    plots = figure.subplots(2, len(found), sharex=True, sharey="row", squeeze=False)
    for column, (row, tips) in zip(plots.T, found, strict=True):
        for axes, axis in zip(column, (0, 1), strict=True):
            for (name, each), style in zip(tips.items(), ("-", "--", ":"), strict=True):
                axes.plot(DT * np.arange(1, len(each) + 1), 1e3 * each[:, axis], style, label=name)
            axes.set_ylabel(f"tip, {'xy'[axis]} [mm]")
            axes.grid(alpha=0.3)
        column[0].set_title(f"μ = {row['friction']:g}, found {row['found'][FRICTION]:.3f}")
        column[1].set_xlabel("time [s]")
    plots[0, 0].legend(fontsize=8)
    write_picture(path, figure, dpi=110)
