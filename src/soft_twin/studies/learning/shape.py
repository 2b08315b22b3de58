"""The membrane takes ten shapes: pressures found by the learned surface, with and without its correction.

Targets are the reality of the description at the unseen pressures, as its scanner sees them: clouds without
correspondences, with holes, moved and turned at random. The pressures that are found are given to the reality, for as
long as the target's were; distances are between its surface and the target's true one. Simulations, scans and weights
are those of `learning/membrane` in the folder beside this one, made there as far as they are missing; everything is
stored as it ends. Pictures: deviations.png (colour maps, as the paper's Figure 19); table.json.
"""

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from soft_twin.errors import UsageError
from soft_twin.learning.correction import Correction
from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.identity import reality_hash
from soft_twin.learning.shape_control import PARTS, ShapeControl, ShapeSolution, registered
from soft_twin.learning.shape_target import ShapeTarget
from soft_twin.learning.simulations import inflation_of, learnable
from soft_twin.learning.storage import load, save
from soft_twin.learning.teaching import learn_warp
from soft_twin.learning.training import WarpTraining
from soft_twin.mesh.triangles import drawn
from soft_twin.parallel import Workers, compute_all, terminal_progress
from soft_twin.studies.learning.membrane import ROBOT
from soft_twin.studies.learning.prediction import (
    MM,
    SHOWN,
    frame_cases,
    learned_shapes,
    reality_of,
    recorded,
    scanned,
)
from soft_twin.studies.results import write_picture, write_text

matplotlib.use("Agg")

TURNED, SHIFTED = 0.15, 0.05  # [rad], [m] standard deviations of each part of a target's movement
TRUTH, TESTED = 20_000, 2500  # points drawn over the target's surface, and over the one that is reached
BEGIN, PLAIN, CORRECTED = "half inflated", "simulated (N_fk)", "corrected"


def run(folder: Path, data: Path, robot: str = ROBOT) -> str:
    """Learn or load, search, try on the reality, compare; `data` is not used."""
    robot, learning = learnable(robot)
    correction, frames, cases = learned(robot, learning, folder.parent / robot.name)
    frames, cases = frames[learning.frames :], cases[learning.frames :]
    controls = {PLAIN: ShapeControl(correction.shapes, names=robot.chamber_names)}
    controls[CORRECTED] = ShapeControl(correction, names=robot.chamber_names)
    targets = moved_targets(frames, learning.seed)
    found = {name: [control.solve(target) for target in targets] for name, control in controls.items()}
    pressures = {name: [each.pressures for each in own] for name, own in found.items()}
    half = correction.shapes.inflation.pressures_of(np.full((1, len(robot.chamber_names)), 0.5))[0]
    pressures = {BEGIN: [half] * len(frames)} | pressures
    digest = reality_hash(robot)
    work = partial(reached_shape, str(robot.path), digest)
    tried = [np.array([case[1], *each]) for own in pressures.values() for case, each in zip(cases, own, strict=True)]
    points = compute_all(work, tried, Workers(0), folder / "reached", terminal_progress, "shapes of the reality")
    terminal_progress("")
    count, reached = len(frames), iter(each["points"] for each in points)
    maps = {name: [deviations(next(reached), frames[i], i) for i in range(count)] for name in pressures}
    content = _content(maps, found, pressures, frames, correction)
    write_text(folder / "table.json", json.dumps(content, indent=1))
    draw(folder, maps)
    return table(content)


def learned(robot, learning, folder: Path) -> tuple[Correction, list[dict[str, np.ndarray]], list[np.ndarray]]:
    """The correction that is in the folder, or made there; frames of the reality and their cases.

    Raises:
        UsageError: the correction in the folder is of another description, or was trained on other frames.
    """
    inflation, path = inflation_of(robot, folder / "simulations"), folder / f"{robot.name}.safetensors"
    frames = scanned(robot, learning, inflation, folder)
    if path.is_file():
        correction = load(path)
        correction.check(robot)
        _check_frames(correction, robot, frames[: learning.frames], path)
    else:
        _, shapes, _, _ = learned_shapes(robot, learning, folder)
        recording = recorded(robot, frames[: learning.frames], shapes, folder / "scans")
        correction = learn_warp(shapes, recording, robot, WarpTraining.described(learning), say=terminal_progress)
        save(correction, path)
    return correction, frames, frame_cases(robot, learning, inflation, learning.frames + learning.unseen)


def _check_frames(correction: Correction, robot, frames: list[dict[str, np.ndarray]], path: Path) -> None:
    with TemporaryDirectory() as folder:  # scans that are there are those of the weights
        digest = recorded(robot, frames, correction.shapes, Path(folder)).digest
    if correction.data != digest:
        raise UsageError(
            f"'{path}' was trained on other frames than the reality of {robot.path} gives now: take it away, or say "
            f"another folder by --out"
        )


def moved_targets(frames: list[dict[str, np.ndarray]], seed: int) -> list[ShapeTarget]:
    """Scans, moved and turned at random."""
    random, targets = np.random.default_rng([seed, 3]), []
    for frame in frames:
        turn = Rotation.from_rotvec(random.normal(0.0, TURNED, 3)).as_matrix()
        shift = random.normal(0.0, SHIFTED, 3)
        targets.append(ShapeTarget.of(frame["scan"] @ turn.T + shift, frame["normals"] @ turn.T))
    return targets


def reached_shape(path: str, digest: str, case: np.ndarray) -> dict[str, np.ndarray]:
    """The reality's surface after seconds under pressures, which a case (1 + a,) is. `digest` is what stored results
    belong to."""
    reality, _ = reality_of(path, digest)
    return {"points": reality.shape(case[1:], float(case[0]))}


def deviations(points: np.ndarray, frame: dict[str, np.ndarray], number: int) -> dict[str, np.ndarray]:
    """Distances [mm] of points drawn over a surface (p, 3) that was reached to the target's true surface, in base_link
    and with the target where it fits best, as its shape alone counts."""
    random, triangles = np.random.default_rng(number), frame["triangles"]
    tested, _ = drawn(points, triangles, TESTED, random)
    target = ShapeTarget.of(*drawn(frame["points"], triangles, TRUTH, random), whole=True)
    return {
        "points": tested,
        "in_base": MM * surface_distances(tested, frame["points"], triangles),
        "shape": MM * registered(target, tested)[1],
    }


def _content(maps, found: dict[str, list[ShapeSolution]], pressures, frames, correction: Correction) -> dict:
    rows, begin = {}, np.mean([each["shape"].mean() for each in maps[BEGIN]])
    true = np.array([frame["pressures"] for frame in frames])
    for name, own in maps.items():
        rows[name] = {
            "mean_mm": float(np.mean([each["shape"].mean() for each in own])),
            "largest_mm": float(np.mean([each["shape"].max() for each in own])),
            "each_mean_mm": [float(each["shape"].mean()) for each in own],
            "each_largest_mm": [float(each["shape"].max()) for each in own],
            "in_base_mean_mm": float(np.mean([each["in_base"].mean() for each in own])),
            "pressures_off_pa": float(np.sqrt(((np.array(pressures[name]) - true) ** 2).mean())),
            "change": float(np.mean([each["shape"].mean() for each in own]) / begin - 1.0),
            "pressures_pa": [[float(value) for value in each] for each in pressures[name]],
        }
    for name, own in found.items():
        iteration = np.concatenate([sum(each.seconds[part] for part in PARTS) for each in own])
        rows[name] |= {
            "predicted_mm": float(np.mean([MM * each.mean for each in own])),
            "iterations": [each.iterations for each in own],
            "converged": [each.converged for each in own],
            "active_limits": [list(each.active_limits) for each in own],
            "iteration_ms": float(1e3 * np.median(iteration)),
        }
    return {"rows": rows, "description": correction.description, "data": correction.data}


def table(content: dict) -> str:
    """What is reached, and what it takes."""
    lines = [
        f"{'reality from target':20} {'mean [mm]':>10} {'largest [mm]':>13} {'mean in base_link [mm]':>23} "
        f"{'pressures off [Pa]':>19} {'iterations':>11}"
    ]
    for name, row in content["rows"].items():
        steps = f"{np.median(row['iterations']):11.0f}" if "iterations" in row else f"{'':11}"
        lines.append(
            f"{name:20} {row['mean_mm']:10.2f} {row['largest_mm']:13.1f} {row['in_base_mean_mm']:23.2f} "
            f"{row['pressures_off_pa']:19.0f} {steps}"
        )
    plain, corrected = (np.array(content["rows"][name]["each_mean_mm"]) for name in (PLAIN, CORRECTED))
    better, count = int((corrected < plain).sum()), len(plain)
    return "\n".join([*lines, f"nearer with the correction: {better} of {count} targets"])


def draw(folder: Path, maps: dict[str, list[dict[str, np.ndarray]]]) -> None:
    """Colour maps of the first targets: how far the reality is from them under the pressures that were found."""
    columns = min(SHOWN, len(maps[PLAIN]))
    figure = Figure(figsize=(3.67 * columns, 6.4), layout="constrained")
    axes = figure.subplots(2, columns, squeeze=False)
    for row, name in enumerate((PLAIN, CORRECTED)):
        for i, plot in enumerate(axes[row]):
            each = maps[name][i]
            shown = plot.scatter(
                *(MM * each["points"][:, :2]).T, c=each["shape"], s=7.0, cmap="turbo", vmin=0.0, vmax=4.0
            )
            mean, largest = each["shape"].mean(), each["shape"].max()
            plot.set_title(f"target {i + 1}, {name}:\nmean {mean:.2f}, largest {largest:.1f} mm", fontsize=8)
            plot.set(aspect="equal", xlabel="x [mm]")
        axes[row, 0].set_ylabel("y [mm]")
    figure.colorbar(shown, ax=axes, label="reality from the target's surface [mm]", shrink=0.8)
    write_picture(folder / "deviations.png", figure, dpi=110)
