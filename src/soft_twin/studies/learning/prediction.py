"""A robot's warp to reality: prediction errors before and after, beside no correction and beside other losses.

The twin is simulated under every corner of its pressures and a Halton sequence between; the reality of its
description is scanned in frames for training and unseen ones. Errors are distances of the predicted surface to the
true one, which is known here without noise and holes. All cores simulate. Everything is stored as it ends: killed and
started again, the study goes on. Several seeds, five unless it is said, train everything: N_fk, with simulations parted
anew, what the robot makes of its pressures and the warp, with frames left out in other company. Pictures: shapes.png
(colour maps, as the paper's Figure 10), histograms.png; table.json; scans/ and markers/, recordings that `soft-twin
train ROBOT --data` reads; ROBOT.safetensors.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.emulation.scanner import scan
from soft_twin.emulation.surface_reality import SurfaceReality
from soft_twin.learning.correction import Correction, ShapeModel
from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.frames import MarkerRecording, Recording, Scan, read_recording, write_recording
from soft_twin.learning.identity import description_hash, reality_hash
from soft_twin.learning.input_map import InputMap
from soft_twin.learning.layer import grid
from soft_twin.learning.markers import learn_warp_by_markers
from soft_twin.learning.registration import learn_warp_by_registration
from soft_twin.learning.samples import check_samples, random_shares
from soft_twin.learning.simulations import (
    Simulations,
    inflation_of,
    learnable,
    simulate_all,
    surface_of,
)
from soft_twin.learning.storage import save
from soft_twin.learning.teaching import learn_shapes, learn_warp
from soft_twin.learning.training import WarpTraining, Weights
from soft_twin.parallel import Workers, compute_all, terminal_progress
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.studies.learning.captured import captured
from soft_twin.studies.results import label_space, write_picture, write_text

if TYPE_CHECKING:
    from soft_twin.descriptions.learning import Learning

matplotlib.use("Agg")

SEEDS = 5
TESTED = 2500  # points of a surface
MM = 1e3
BEST, MARKED = "corrected", "corrected, by markers"
UNTOLD = "corrected, times not told"
FIXED = "the warp alone, fixed correspondences"
SHOWN = 3  # frames in colour maps, or as many as there are
FLAT = 0.2  # of its width: a surface no higher than that at rest is drawn from above


def predict(name: str, folder: Path, count: int | None = None, seed: int = 0, seeds: int = SEEDS) -> str:
    """Simulate a robot, scan it, train, compare; the table.

    Args:
        name: of the robot in config/, or path of its description.
        folder: of the results.
        count: of simulations; None: as many as the description says.
        seed, seeds: of the trainings, the first one and how many.
    """
    robot, learning = of_simulations(name, count)
    simulations, shapes, surrogate, seconds = learned_shapes(robot, learning, folder, seed)
    truths = scanned(robot, learning, shapes.inflation, folder)
    seen, unseen = truths[: learning.frames], truths[learning.frames :]
    recording = recorded(robot, seen, shapes, folder / "scans")
    corrections, took = _trained(robot, learning, shapes, recording, seed)
    if learning.markers is not None:
        at_rest = reality_at_rest(robot, learning, folder)
        markers = captured(robot, learning, at_rest, seen, shapes.limits, 1e-3 * shapes.size, folder / "markers")
        corrections[MARKED], took[MARKED] = _trained_by_markers(robot, learning, shapes, markers, seed)
    terminal_progress("")
    best = corrections[BEST]
    rows = {"simulated (N_fk)": np.array([errors_of(best, unseen, False)])}
    rows |= {name: np.array([errors_of(each, unseen, True)]) for name, each in corrections.items()}
    save(best, folder / f"{robot.name}.safetensors")
    draw(folder, best, unseen)
    seconds = {"shapes": seconds} | took
    known = {"described": learnable(name)[1].simulations, "first_seed": seed}

    def tell() -> dict:
        """What is known by now, which is written: an interruption keeps it."""
        content = _content(rows, surrogate, seconds, simulations, description_hash(robot), recording.digest) | known
        write_text(folder / "table.json", json.dumps(content, indent=1))
        return content

    tell()
    others = by_other_seeds(robot, folder, count, range(seed + 1, seed + seeds))
    rows[BEST] = np.array([rows[BEST][0], *(each["errors"] for each in others)])
    return table(tell())


def of_simulations(name: str, count: int | None) -> tuple[FemRobot, "Learning"]:
    """As `learnable`, of another number of simulations, where one is given.

    Raises:
        UsageError: as `learnable`.
        InputError: too few simulations for the robot's pressures.
    """
    robot, learning = learnable(name)
    check_samples(len(robot.chamber_names), learning.simulations if count is None else count)
    return robot, learning if count is None else learning.model_copy(update={"simulations": count})


def by_other_seeds(robot, folder: Path, count: int | None, seeds: Sequence[int]) -> list[dict[str, np.ndarray]]:
    """What trainings of everything by other seeds come to; each is stored as it ends."""
    work = partial(trained_by_seed, str(folder), reality_hash(robot), str(robot.path), count)
    return compute_all(work, seeds, store=folder / "seeds", say=terminal_progress, name="trainings by other seeds")


def trained_by_seed(folder: str, digest: str, path: str, count: int | None, seed: int) -> dict[str, np.ndarray]:
    """Errors (f, 2) [mm] on the unseen pressures, of so many simulations, and scans and frames that are there. `digest`
    is what stored results belong to."""
    robot, learning = of_simulations(path, count)
    _, shapes, surrogate, _ = learned_shapes(robot, learning, Path(folder), seed)
    truths = scanned(robot, learning, shapes.inflation, Path(folder))
    recording = recorded(robot, truths[: learning.frames], shapes, Path(folder) / "scans")
    order = np.random.default_rng([seed, 4]).permutation(learning.frames)
    training = WarpTraining.described(learning, seed=seed)
    correction = learn_warp(shapes, recording.chosen(order), robot, training, say=terminal_progress)
    return {"errors": errors_of(correction, truths[learning.frames :], True), "surrogate": np.array(surrogate)}


def learned_shapes(robot, learning, folder: Path, seed: int = 0) -> tuple[Simulations, ShapeModel, float, float]:
    """The simulations, what stands for them, its error [mm], and the processor time of its training [s]."""
    surface, store = surface_of(robot.build_twin(), learning.surface, learning.parts), folder / "simulations"
    simulations = simulate_all(
        robot, learning.surface, learning.simulations, Workers(0), store, terminal_progress, learning.parts
    )
    inflation, begin = inflation_of(robot, store), time.process_time()
    layers, say = learning.shape_layers, terminal_progress
    shapes, surrogate = learn_shapes(simulations, surface, inflation, layers, seed, say=say)
    return simulations, shapes, surrogate, time.process_time() - begin


def recorded(robot, seen: list[dict[str, np.ndarray]], shapes: ShapeModel, folder: Path) -> Recording:
    """The frames for training, written as `soft-twin train` reads them, and read."""
    names, (pressures, held) = robot.chamber_names, told(seen)
    write_recording(folder, pressures, names, [Scan(each["scan"], each["normals"]) for each in seen], held)
    return read_recording(folder, names, shapes.limits, 1e-3 * shapes.size)


def told(frames: list[dict[str, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """(f, a) pressures [Pa], and how long they had stood (f,) [s], of frames."""
    return tuple(np.array([frame[name] for frame in frames]) for name in ("pressures", "held"))


def _trained(
    robot, learning, shapes: ShapeModel, recording: Recording, seed: int
) -> tuple[dict[str, Correction], dict[str, float]]:
    """Corrections by name, and the processor time of each training [s]."""
    corrections, seconds = {}, {}

    def train(name: str, inputs: InputMap | None = None, seen=recording, **options) -> Correction:
        begin, training = time.process_time(), WarpTraining.described(learning, seed=seed, **options)
        corrections[name] = learn_warp(shapes, seen, robot, training, inputs, terminal_progress)
        seconds[name] = time.process_time() - begin
        return corrections[name]

    none, discs = InputMap.none(len(robot.chamber_names)), Weights(patch=shapes.patch)
    inputs = train("the inputs alone", epochs=0, weights=discs).inputs
    train(BEST, inputs)
    train(UNTOLD, seen=replace(recording, held=None))
    train("the warp alone", inputs=none, weights=discs)
    train("the warp alone, confidence 1", inputs=none, weights=Weights(confidence=None, patch=shapes.patch))
    train("the warp alone, points as points", inputs=none, weights=Weights())
    begin, training = time.process_time(), WarpTraining.described(learning, seed=seed, weights=Weights())
    fixed = learn_warp_by_registration(shapes, recording, robot, training, none, terminal_progress)
    corrections[FIXED], seconds[FIXED] = fixed, time.process_time() - begin
    return corrections, seconds


def _trained_by_markers(
    robot, learning, shapes: ShapeModel, recording: MarkerRecording, seed: int
) -> tuple[Correction, float]:
    """One correction, and the processor time of its training [s]."""
    begin, training = time.process_time(), WarpTraining.described(learning, seed=seed)
    correction = learn_warp_by_markers(shapes, recording, robot, training, terminal_progress)
    return correction, time.process_time() - begin


def scanned(robot, learning, inflation, folder: Path, more: int = 0) -> list[dict[str, np.ndarray]]:
    """The reality in all frames: pressures, how long they had stood, true points and triangles, scan and normals.

    Those for training are first, then the unseen ones, then as many as `more` for what learns from more frames.
    """
    first = learning.frames + learning.unseen
    cases = frame_cases(robot, learning, inflation, first) + frame_cases(robot, learning, inflation, more, first, 3)
    work = partial(seen_shape, str(robot.path), reality_hash(robot), learning.seed)
    found = compute_all(work, cases, Workers(0), folder / "frames", terminal_progress, "scans of the reality")
    return [each | {"held": case[1]} for each, case in zip(found, cases, strict=True)]


def frame_cases(robot, learning, inflation, count: int, first: int = 0, draw: int = 1) -> list[np.ndarray]:
    """Of each frame: its number, seconds under load, and pressures [Pa]."""
    random = np.random.default_rng([learning.seed, draw])
    pressures = inflation.pressures_of(random_shares(len(robot.chamber_names), count, random))
    dwell = random.uniform(*learning.reality.dwell, count)
    rows = zip(range(first, first + count), dwell, pressures, strict=True)
    return [np.array([number, seconds, *row]) for number, seconds, row in rows]


def seen_shape(path: str, digest: str, seed: int, case: np.ndarray) -> dict[str, np.ndarray]:
    """One frame of the reality of a seed: number, seconds under load, and pressures. `digest` is what stored results
    belong to."""
    reality, learning = reality_of(path, digest, seed)
    number, seconds, pressures = int(case[0]), float(case[1]), case[2:]
    points = reality.shape(pressures, seconds)
    random = np.random.default_rng([learning.seed, 2, number])
    seen, normals = scan(points, reality.triangles, learning.scanner, random)
    return {
        "pressures": pressures, "points": points, "triangles": reality.triangles, "scan": seen, "normals": normals,
    }  # fmt: skip


@lru_cache(maxsize=1)
def reality_of(path: str, digest: str, seed: int | None = None):
    """The reality of a description, of another seed than the description's where one is given, and what it says of
    learning; kept while the digest is the same."""
    robot, learning = learnable(path)
    if seed is not None:
        learning = learning.model_copy(update={"seed": seed})
    return SurfaceReality(robot, learning), learning


def reality_at_rest(robot, learning, folder: Path) -> dict[str, np.ndarray]:
    """The reality's points and triangles without pressure."""
    work = partial(shape_at_rest, str(robot.path), reality_hash(robot))
    return compute_all(work, ["rest"], store=folder / "frames")[0]


def shape_at_rest(path: str, digest: str, case: str) -> dict[str, np.ndarray]:
    """See reality_at_rest. `digest` is what stored results belong to."""
    reality, _ = reality_of(path, digest)
    return {"points": reality.shape(np.zeros(len(reality.leaks))), "triangles": reality.triangles}


def errors_of(correction: Correction, frames: list[dict[str, np.ndarray]], corrected: bool) -> np.ndarray:
    """(f, 2) mean and largest distance [mm] to the truth in each frame."""
    predicted = predictions(correction, frames, grid(TESTED), corrected)
    distances = [distances_to(points, frame) for points, frame in zip(predicted, frames, strict=True)]
    return np.array([[each.mean(), each.max()] for each in distances])


def _content(rows, surrogate: float, seconds, simulations, description: str, data: str) -> dict:
    before = rows["simulated (N_fk)"].mean(axis=(0, 1))
    told = {}
    for name, errors in rows.items():
        mean, largest = errors.mean(axis=(0, 1))
        told[name] = {
            "mean_mm": mean, "largest_mm": largest, "spread_mm": float(errors[:, :, 0].mean(axis=1).std()),
            "mean_change": mean / before[0] - 1.0, "largest_change": largest / before[1] - 1.0, "seeds": len(errors),
        }  # fmt: skip
    return {
        "rows": told,
        "surrogate_mm": surrogate,
        "seconds": seconds,
        "simulations": len(simulations.points),
        "simulation_s": simulations.seconds,
        "failed": simulations.failed,
        "by_volume": int(simulations.by_volume.sum()),
        "description": description,
        "data": data,
    }


def table(content: dict) -> str:
    """Errors on the unseen pressures, and what they cost."""
    one, count = content["simulation_s"], content["simulations"]
    lines = [
        f"processor time of one simulation: {one:.2f} s, of all: {one * count:.0f} s",
        f"{count} simulations of the {content['described']} that the description asks for ({content['by_volume']} by "
        f"volume, {len(content['failed'])} failed); "
        f"N_fk is {content['surrogate_mm']:.2f} mm from those it was not trained on",
        f"{'errors on unseen pressures':38} {'mean [mm]':>10} {'largest [mm]':>13} {'change':>8} {'largest':>8} "
        f"{'seeds':>6}",
    ]
    for name, row in content["rows"].items():
        spread = f" ± {row['spread_mm']:.2f}" if row["seeds"] > 1 else ""
        lines.append(
            f"{name:38} {row['mean_mm']:10.2f} {row['largest_mm']:13.1f} {100 * row['mean_change']:7.0f} % "
            f"{100 * row['largest_change']:6.0f} % {row['seeds']:6d}{spread}"
        )
    took = ", ".join(f"{name} {value:.0f} s" for name, value in content["seconds"].items())
    return "\n".join([*lines, f"processor time of one training: {took}"])


def draw(folder: Path, correction: Correction, frames: list[dict[str, np.ndarray]]) -> None:
    """Colour maps of the first frames before and after, and the histograms of all."""
    uv = grid(TESTED)
    predicted = {name: predictions(correction, frames, uv, name == "corrected") for name in ("simulated", "corrected")}
    maps = {
        name: [(points, distances_to(points, frame)) for points, frame in zip(own, frames, strict=True)]
        for name, own in predicted.items()
    }
    worst = np.percentile(np.concatenate([each[1] for each in maps["simulated"]]), 98.0)
    flat = np.ptp(correction.shapes.mean[..., 2]) < FLAT * correction.shapes.size
    columns = min(SHOWN, len(frames))
    figure = Figure(figsize=(3.67 * columns, 6.4 if flat else 7.6), layout="constrained")
    axes = figure.subplots(2, columns, squeeze=False, subplot_kw=None if flat else {"projection": "3d"})
    for row, (name, own) in zip(axes, maps.items(), strict=True):
        for i, (plot, (points, distances)) in enumerate(zip(row, own, strict=False)):
            shown = plot.scatter(
                *(MM * points[:, : 2 if flat else 3]).T, c=distances, s=7.0, cmap="turbo", vmin=0.0, vmax=worst
            )
            told = f"mean {distances.mean():.2f}, largest {distances.max():.1f} mm"
            plot.set_title(f"unseen {i + 1}, {name}: {told}", fontsize=8)
            if flat:
                plot.set(aspect="equal", xlabel="x [mm]", ylabel="y [mm]")
                plot.locator_params(nbins=5)
            else:
                label_space(plot)
    figure.colorbar(shown, ax=axes, label="distance to the true surface [mm]", shrink=0.8)
    write_picture(folder / "shapes.png", figure, dpi=110, bbox_inches="tight")  # else labels of 3D axes are cut
    _draw_histograms(folder, {name: np.concatenate([each[1] for each in own]) for name, own in maps.items()})


def predictions(
    correction: Correction, frames: list[dict[str, np.ndarray]], uv: np.ndarray, corrected: bool = True
) -> list[np.ndarray]:
    """Points (p, 3) [m] at parameters (p, 2) of each frame; how long pressures stood is told to who was trained so."""
    if not corrected:
        return [correction.simulated(frame["pressures"], uv) for frame in frames]
    timed = correction.inputs.reference is not None
    return [correction(frame["pressures"], uv, float(frame["held"]) if timed else None) for frame in frames]


def distances_to(points: np.ndarray, frame: dict[str, np.ndarray]) -> np.ndarray:
    """(p,) of points (p, 3) [m] to the true surface of a frame [mm]."""
    return MM * surface_distances(points, frame["points"], frame["triangles"])


def _draw_histograms(folder: Path, errors: dict[str, np.ndarray]) -> None:
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    plot = figure.subplots()
    bins = np.linspace(0.0, np.percentile(errors["simulated"], 99.5), 60)
    for (name, values), colour in zip(errors.items(), ("#d55e00", "#0072b2"), strict=True):
        plot.hist(values, bins, histtype="step", color=colour, label=f"{name}, mean {values.mean():.2f} mm")
    plot.set(xlabel="distance to the true surface [mm]", ylabel="points", title="all unseen pressures")
    plot.legend(frameon=False)
    write_picture(folder / "histograms.png", figure, dpi=110)
