"""A robot's correction where nothing was chosen: on realities of other seeds than the description's.

Each seed draws other errors of thickness, leaks, pressures and times, and noise of the scanner. A reality is scanned in
as many frames as the description says, and at UNSEEN more pressures; a correction is learned of each, on top of one
N_fk. Its simulations are those of learning/ROBOT in the folder beside this one, or are made there; each reality's
results are stored as they end. Picture: realities.png; table.json.
"""

import json
import time
from functools import lru_cache, partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.learning.correction import ShapeModel
from soft_twin.learning.identity import reality_hash
from soft_twin.learning.teaching import learn_warp
from soft_twin.learning.training import WarpTraining, Weights
from soft_twin.parallel import compute_all, terminal_progress
from soft_twin.studies.learning.prediction import BEST, errors_of, learned_shapes, of_simulations, recorded, scanned
from soft_twin.studies.results import write_picture, write_text

matplotlib.use("Agg")

ROBOT = "manipulator"
FIRST, SEEDS = 1, 4
UNSEEN = 20
PLAIN, INPUTS = "simulated (N_fk)", "the inputs alone"


def run(
    folder: Path, data: Path, robot: str = ROBOT, simulations: int | None = None, seed: int = FIRST, seeds: int = SEEDS
) -> str:
    """Scan each reality, learn, compare; `data` is not used."""
    robot, _ = of_simulations(robot, simulations)
    work = partial(tried_on, str(folder), reality_hash(robot), str(robot.path), simulations)
    every = range(seed, seed + seeds)
    found = compute_all(work, every, store=folder / "seeds", say=terminal_progress, name=f"realities of {robot.name}")
    terminal_progress("")
    content = {"robot": robot.name, "realities": {str(own): told(each) for own, each in zip(every, found, strict=True)}}
    write_text(folder / "table.json", json.dumps(content, indent=1))
    draw(folder, robot.name, every, found)
    return table(content)


def tried_on(folder: str, digest: str, path: str, count: int | None, seed: int) -> dict[str, np.ndarray]:
    """Errors (UNSEEN, 2) [mm] on the reality of a seed by the rows of the table, how far N_fk is from simulations that
    it does not know [mm], and the processor time of what was learned on top of it [s]. `digest` is what stored results
    belong to."""
    robot, learning = of_simulations(path, count)
    shapes, surrogate = _shapes(str(Path(folder).parent / robot.name), digest, path, count)
    learning, own = learning.model_copy(update={"seed": seed, "unseen": UNSEEN}), Path(folder) / f"reality_{seed}"
    frames = scanned(robot, learning, shapes.inflation, own)
    recording, unseen = recorded(robot, frames[: learning.frames], shapes, own / "scans"), frames[learning.frames :]
    begin, training = time.process_time(), WarpTraining.described(learning)
    first = WarpTraining.described(learning, epochs=0, weights=Weights(patch=shapes.patch))
    straight = learn_warp(shapes, recording, robot, first, say=terminal_progress)
    between = time.process_time()
    best = learn_warp(shapes, recording, robot, training, straight.inputs, terminal_progress)
    seconds = np.array([between - begin, time.process_time() - between])
    rows = {
        PLAIN: errors_of(best, unseen, False), INPUTS: errors_of(straight, unseen, True),
        BEST: errors_of(best, unseen, True),
    }  # fmt: skip
    return rows | {"surrogate": np.array(surrogate), "seconds": seconds}


@lru_cache(maxsize=1)
def _shapes(folder: str, digest: str, path: str, count: int | None) -> tuple[ShapeModel, float]:
    """What stands for the simulations in a folder, and its error [mm]."""
    robot, learning = of_simulations(path, count)
    _, shapes, surrogate, _ = learned_shapes(robot, learning, Path(folder))
    return shapes, surrogate


def told(found: dict[str, np.ndarray]) -> dict:
    """Of one reality: means over its unseen pressures."""
    rows = {}
    for name in (PLAIN, INPUTS, BEST):
        mean, largest = found[name].mean(axis=0)
        before = found[PLAIN].mean(axis=0)
        rows[name] = {
            "mean_mm": mean, "largest_mm": largest,
            "mean_change": mean / before[0] - 1.0, "largest_change": largest / before[1] - 1.0,
        }  # fmt: skip
    inputs, warp = found["seconds"].tolist()
    return {"rows": rows, "surrogate_mm": float(found["surrogate"]), "seconds": {"inputs": inputs, "warp": warp}}


def table(content: dict) -> str:
    """Errors on the unseen pressures of each reality."""
    lines = [
        f"{content['robot']}, {UNSEEN} unseen pressures of each reality",
        f"{'seed':>4} {'':18} {'mean [mm]':>10} {'largest [mm]':>13} {'change':>8} {'largest':>8}",
    ]
    for seed, own in content["realities"].items():
        for name, row in own["rows"].items():
            lines.append(
                f"{seed:>4} {name:18} {row['mean_mm']:10.2f} {row['largest_mm']:13.1f} "
                f"{100 * row['mean_change']:6.0f} % {100 * row['largest_change']:6.0f} %"
            )
    every = list(content["realities"].values())
    inputs, warp = (np.mean([own["seconds"][key] for own in every]) for key in ("inputs", "warp"))
    lines.append(f"N_fk is {every[0]['surrogate_mm']:.2f} mm from simulations that it was not trained on")
    lines.append(f"processor time of one training: inputs {inputs:.0f} s, warp {warp:.0f} s")
    return "\n".join(lines)


def draw(folder: Path, name: str, seeds: range, found: list[dict[str, np.ndarray]]) -> None:
    """Every unseen pressure's error after, over that before, by reality."""
    figure = Figure(figsize=(5.4, 4.6), layout="constrained")
    plot = figure.subplots()
    for i, (seed, own) in enumerate(zip(seeds, found, strict=True)):
        before = own[PLAIN][:, 0]
        plot.plot(before, own[INPUTS][:, 0], "x", color=f"C{i}", alpha=0.6)
        plot.plot(before, own[BEST][:, 0], "o", color=f"C{i}", label=f"seed {seed}")
    plot.plot([], [], "kx", alpha=0.6, label=INPUTS)
    plot.axline((0.0, 0.0), slope=1.0, color="0.7", linewidth=1.0)
    plot.set(xlabel="mean error of N_fk [mm]", ylabel="corrected [mm]", title=f"{name}: unseen pressures")
    plot.set_xlim(left=0.0)
    plot.set_ylim(bottom=0.0)
    plot.legend(frameon=False, fontsize=8)
    write_picture(folder / "realities.png", figure, dpi=110)
