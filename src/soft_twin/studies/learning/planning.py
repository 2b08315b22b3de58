"""The manipulator touches a ball past sticks: planned by the learned surface, with and without its correction.

The paper's Figure 20. Plans begin with the body bent to one side of a stick, and end with its tip in a ball on the
other, before a second stick. The scene was chosen such that, as a corrected surface has it, plans by the uncorrected
one come too near. Both surfaces plan with the same clearance and the same seeds; then the emulated reality of the
description is given the pressures along each plan, as it would without sticks, and what counts is how far it stays
from them. Simulations, scans and weights are those of `learning/manipulator` in the folder beside this one, made
there as far as they are missing; everything is stored as it ends. Picture: planning.png; table.json.
"""

import json
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.learning.batches import batched
from soft_twin.learning.correction import Correction
from soft_twin.learning.identity import reality_hash
from soft_twin.learning.layer import highest_edge, lattice
from soft_twin.learning.planning import Ball, Plan, Planner, Scene, Shapes, Stick
from soft_twin.learning.simulations import learnable
from soft_twin.parallel import Workers, compute_all, terminal_progress
from soft_twin.studies.learning.manipulator import ROBOT
from soft_twin.studies.learning.prediction import reality_of
from soft_twin.studies.learning.shape import learned, reached_shape
from soft_twin.studies.results import label_space, write_picture, write_text

matplotlib.use("Agg")

SCENE = Scene(
    sticks=(
        Stick((0.0, -0.120, 0.020), (0.0, -0.120, 0.350), 0.006),  # across the straight way
        Stick((-0.341, 0.150, 0.170), (-0.041, -0.370, 0.170), 0.006),  # behind the ball
    ),
    ball=Ball((-0.165, -0.095, 0.170), 0.020),
    clearance=0.005,
)
START = np.array([0.0, 0.8, 0.0, 0.0, 0.6, 0.0])  # shares of inflation
SEEDS = 3
POINTS = 625  # of the surface
RIM = 1e-3  # [m] that points of the real tip's edge are lower at rest than the highest
STEPS, BETWEEN, SECONDS = 20, 8, 30.0  # of an execution: shapes, those put between two of them, and under load at each
MM = 1e3
PLAIN, CORRECTED = "simulated (N_fk)", "corrected"


def run(folder: Path, data: Path) -> str:
    """Learn or load, plan, try on the reality, compare; `data` is not used."""
    robot, learning = learnable(ROBOT)
    correction, _, _ = learned(robot, learning, folder.parent / ROBOT)
    models = surfaces(correction)
    digest = reality_hash(robot)
    plans = {name: [planned(shapes, name, seed) for seed in range(SEEDS)] for name, shapes in models.items()}
    inflation = correction.shapes.inflation
    cases = [
        np.array([SECONDS, *pressures])
        for own in plans.values()
        for plan in own
        for pressures in inflation.pressures_of(plan.along(STEPS))
    ]
    work = partial(reached_shape, str(robot.path), digest)
    found = compute_all(work, cases, Workers(0), folder / "executed", terminal_progress, "shapes of the reality")
    terminal_progress("")
    rest = reality_of(str(robot.path), digest)[0].shape(np.zeros(len(START)))
    tip = np.flatnonzero(rest[:, 2] > rest[:, 2].max() - RIM)
    reached = np.array([each["points"] for each in found]).reshape(len(models), SEEDS, STEPS, -1, 3)
    executed = dict(zip(models, reached, strict=True))
    content = {name: judged(models[name], plans[name], executed[name], tip) for name in models}
    write_text(folder / "table.json", json.dumps({"rows": content}, indent=1))
    draw(folder, content, executed)
    return table(content)


def surfaces(correction: Correction) -> dict[str, Shapes]:
    """Surfaces by shares of inflation, without and with the correction."""
    uv = lattice(POINTS)
    return {PLAIN: batched(correction.shapes.surface(uv)), CORRECTED: batched(correction.surface(uv))}


def planned(shapes: Shapes, name: str, seed: int) -> Plan:
    """The plan of a surface."""
    terminal_progress(f"planning by the {name} surface, {seed + 1} of {SEEDS}")
    rest = shapes(np.zeros((1, len(START))))[0]
    return Planner(shapes, highest_edge(rest), SCENE, seed=seed).plan(START)


def judged(shapes: Shapes, plans: list[Plan], executed: np.ndarray, tip: np.ndarray) -> dict:
    """What a surface's plans are worth on the reality.

    Args:
        shapes: the surface that planned.
        plans: its plans.
        executed: (seeds, steps, p, 3) the reality on each [m].
        tip: numbers of the reality's points around its tip.
    """
    along = [SCENE.clearances(shapes(plan.along(BETWEEN * (STEPS - 1) + 1))) for plan in plans]
    real = [SCENE.clearances(with_between(each)) for each in executed]
    least = np.array([each.min() for each in real])
    off = SCENE.ball.distance(executed[:, -1][:, tip].mean(axis=1))
    return {
        "planned_mm": [MM * float(each.min()) for each in along],
        "executed_mm": [MM * float(each) for each in least],
        "hits": int((least <= 0.0).sum()),
        "tip_from_ball_mm": [MM * float(each) for each in off],
        "seconds": [plan.seconds for plan in plans],
        "shapes": [plan.tried for plan in plans],
        "length": [plan.length for plan in plans],
        "along_mm": [(MM * each).tolist() for each in along],
        "executed_along_mm": [(MM * each).tolist() for each in real],
    }


def with_between(shapes: np.ndarray) -> np.ndarray:
    """(n, p, 3) shapes with others on straight lines between them: ((n − 1) BETWEEN + 1, p, 3)."""
    at = np.linspace(0.0, len(shapes) - 1.0, BETWEEN * (len(shapes) - 1) + 1)
    first = np.minimum(at.astype(int), len(shapes) - 2)
    share = (at - first)[:, None, None]
    return (1.0 - share) * shapes[first] + share * shapes[first + 1]


def table(content: dict) -> str:
    """Clearances and contacts of the plans on the reality."""
    lines = [
        f"{'planned by':18} {'clearance planned [mm]':>23} {'executed, least [mm]':>21} {'hits':>8} "
        f"{'tip outside the ball [mm]':>26} {'plan [s]':>9}"
    ]
    for name, row in content.items():
        outside = max(0.0, *row["tip_from_ball_mm"])
        lines.append(
            f"{name:18} {min(row['planned_mm']):23.1f} {min(row['executed_mm']):21.1f} "
            f"{row['hits']:3d} of {len(row['executed_mm'])} {outside:26.1f} {np.median(row['seconds']):9.1f}"
        )
    return "\n".join([*lines, f"asked for: {MM * SCENE.clearance:.0f} mm from the sticks"])


def draw(folder: Path, content: dict, executed: dict[str, np.ndarray]) -> None:
    """Swept shapes of the first plan of each surface on the reality, and clearances along the ways."""
    figure = Figure(figsize=(13.0, 4.6), layout="constrained")
    for place, (name, shapes) in enumerate(executed.items(), 1):
        plot = figure.add_subplot(1, 3, place, projection="3d")
        for share, points in zip(np.linspace(0.0, 1.0, 6), shapes[0][:: max(1, STEPS // 5)], strict=False):
            plot.scatter(*(MM * points[::3]).T, s=2.0, color=matplotlib.colormaps["viridis"](share), alpha=0.5)
        for stick in SCENE.sticks:
            plot.plot(*(MM * np.array([stick.start, stick.end])).T, color="#d55e00", lw=3.0)
        plot.scatter(*(MM * np.array(SCENE.ball.centre)), s=250.0, color="#cc79a7")
        told = "hits a stick" if content[name]["executed_mm"][0] <= 0.0 else "is free"
        plot.set_title(f"planned: {name}; the reality {told}", fontsize=9)
        label_space(plot)
        plot.view_init(elev=25.0, azim=-70.0)
    plot = figure.add_subplot(1, 3, 3)
    for (name, row), colour in zip(content.items(), ("#d55e00", "#0072b2"), strict=True):
        for i, (along, real) in enumerate(zip(row["along_mm"], row["executed_along_mm"], strict=True)):
            way = np.linspace(0.0, 1.0, len(along))
            plot.plot(way, along, ":", color=colour, lw=1.0, label=f"{name}, planned" if i == 0 else None)
            plot.plot(way, real, "-", color=colour, lw=1.2, label=f"{name}, executed" if i == 0 else None)
    plot.axhline(0.0, color="black", lw=0.8)
    plot.set(xlabel="share of the way", ylabel="clearance from the sticks [mm]")
    plot.yaxis.tick_right()  # on the left is the height of the view beside it
    plot.yaxis.set_label_position("right")
    plot.legend(frameon=False, fontsize=8)
    write_picture(folder / "planning.png", figure, dpi=110)
