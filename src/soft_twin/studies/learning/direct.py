"""The membrane learned without simulations, from as many scans as its correction has and from ten times as many.

The paper's Figure 11: direct learning (eqs. 18–20) beside the correction of a twin by 40 scans, on the same 10 unseen
pressures. Simulations, scans and weights are those of `learning/membrane` in the folder beside this one, made there as
far as they are missing; everything is stored as it ends. Picture: direct.png; table.json.
"""

import json
import time
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.learning.direct import learn_directly
from soft_twin.learning.frames import Recording, Scan
from soft_twin.learning.layer import grid
from soft_twin.learning.simulations import learnable
from soft_twin.parallel import terminal_progress
from soft_twin.studies.learning.membrane import ROBOT
from soft_twin.studies.learning.prediction import TESTED, distances_to, predictions, scanned, told
from soft_twin.studies.learning.shape import learned
from soft_twin.studies.results import write_picture, write_text

matplotlib.use("Agg")

TIMES = 10  # as many frames


def run(folder: Path, data: Path, robot: str = ROBOT) -> str:
    """Learn or load, compare; `data` is not used."""
    robot, learning = learnable(robot)
    beside = folder.parent / robot.name
    correction, _, _ = learned(robot, learning, beside)
    first, shapes = learning.frames + learning.unseen, correction.shapes
    frames = scanned(robot, learning, shapes.inflation, beside, (TIMES - 1) * learning.frames)
    few, unseen = frames[: learning.frames], frames[learning.frames : first]
    uv = grid(TESTED)
    rows = {
        "simulated (N_fk)": (predictions(correction, unseen, uv, False), 0, 0.0),
        "corrected": (predictions(correction, unseen, uv), len(few), 0.0),
    }
    for own in (few, few + frames[first:]):
        pressures, held = told(own)
        recording = Recording(pressures, [Scan(each["scan"], each["normals"]) for each in own], held=held)
        begin = time.process_time()
        surface = learn_directly(shapes, recording, say=terminal_progress)
        seconds = time.process_time() - begin
        rows[f"direct, {len(own)} frames"] = [surface(frame["pressures"], uv) for frame in unseen], len(own), seconds
    terminal_progress("")
    content, all_distances = {}, {}
    for name, (predicted, count, seconds) in rows.items():
        distances = [distances_to(points, frame) for points, frame in zip(predicted, unseen, strict=True)]
        all_distances[name] = np.concatenate(distances)
        mean, largest = np.mean([[each.mean(), each.max()] for each in distances], axis=0)
        content[name] = {"frames": count, "mean_mm": mean, "largest_mm": largest, "seconds": seconds}
    write_text(folder / "table.json", json.dumps({"rows": content}, indent=1))
    draw(folder, robot.name, all_distances)
    return table(content)


def table(content: dict) -> str:
    """Errors on the unseen pressures."""
    lines = [
        f"{'errors on unseen pressures':28} {'frames':>7} {'mean [mm]':>10} {'largest [mm]':>13} {'training [s]':>13}"
    ]
    for name, row in content.items():
        took = f"{row['seconds']:13.0f}" if row["seconds"] else f"{'':13}"
        lines.append(f"{name:28} {row['frames']:7d} {row['mean_mm']:10.2f} {row['largest_mm']:13.1f} {took}")
    return "\n".join(lines)


def draw(folder: Path, robot: str, distances: dict[str, np.ndarray]) -> None:
    """Histograms of the distances to the true surface of a robot."""
    figure = Figure(figsize=(7.0, 3.8), layout="constrained")
    plot = figure.subplots()
    bins = np.linspace(0.0, np.percentile(np.concatenate(list(distances.values())), 99.0), 60)
    for (name, own), colour in zip(distances.items(), ("#d55e00", "#0072b2", "#999999", "#009e73"), strict=True):
        plot.hist(own, bins, histtype="step", color=colour, label=f"{name}, mean {own.mean():.2f} mm")
    plot.set(xlabel="distance to the true surface [mm]", ylabel="points", title=f"{robot}, all unseen pressures")
    plot.legend(frameon=False)
    write_picture(folder / "direct.png", figure, dpi=110)
