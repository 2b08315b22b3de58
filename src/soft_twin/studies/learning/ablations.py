"""How large the networks should be, and what each part of a correction is worth: the mannequin, as the paper's Figures
9, 13, 15 and 16.

N_fk of several sizes beside simulations at the unseen pressures; the warp alone, as the paper has it, with other
numbers of neurons, kernels and scanned points, without the geometric regularisation, and on simulated shapes instead of
N_fk's. Simulations, scans and weights are those of `learning/mannequin` in the folder beside this one, made there as
far as they are missing; each row is stored as it ends. Picture: ablations.png; table.json.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from soft_twin.learning.correction import Correction, ShapeModel
from soft_twin.learning.frames import Recording, Scan
from soft_twin.learning.identity import description_hash
from soft_twin.learning.input_map import InputMap
from soft_twin.learning.layer import SurfaceLayer, grid
from soft_twin.learning.simulations import (
    SurfaceMesh,
    learnable,
    simulate_all,
    simulated,
    surface_of,
)
from soft_twin.learning.surfaces import SurfaceFit
from soft_twin.learning.teaching import learn_shapes, learn_warp
from soft_twin.learning.training import WarpTraining, Weights
from soft_twin.learning.warp import warped
from soft_twin.parallel import Workers, compute_all, terminal_progress
from soft_twin.studies.learning.mannequin import ROBOT
from soft_twin.studies.learning.prediction import MM, TESTED, distances_to, errors_of, told
from soft_twin.studies.learning.shape import learned
from soft_twin.studies.results import write_picture, write_text

matplotlib.use("Agg")

SHAPE_LAYERS, SHAPE_NEURONS = (1, 2, 3), (32, 64, 128, 256)
WARP_NEURONS, KERNELS, POINTS = (4, 8, 24, 50, 100), (16, 49, 100), (100, 300)


@dataclass(frozen=True)
class Variant:
    """What is tried: N_fk, or else the warp alone.

    Attributes:
        kind: "N_fk", "warp", or "warp, simulated shapes".
        layers, neurons: hidden ones, and of each.
        kernels: of the warp.
        points: of each scan; 0: all.
        geometry: whether the warp is regularised.
    """

    kind: str
    layers: int
    neurons: int
    kernels: int = 0
    points: int = 0
    geometry: bool = True


def variants(learning) -> list[Variant]:
    """All that are tried, for what a description says of learning."""
    plain = Variant("warp", learning.warp_layers, learning.warp_neurons, learning.kernels)
    shapes = [Variant("N_fk", layers, neurons) for layers in SHAPE_LAYERS for neurons in SHAPE_NEURONS]
    warps = [plain, replace(plain, kind="warp, simulated shapes"), replace(plain, geometry=False)]
    warps += [replace(plain, neurons=count) for count in WARP_NEURONS]
    warps += [replace(plain, kernels=count) for count in KERNELS] + [replace(plain, points=count) for count in POINTS]
    return list(dict.fromkeys([*shapes, *warps]))


def run(folder: Path, data: Path) -> str:
    """Learn or load, try everything, compare; `data` is not used."""
    robot, learning = learnable(ROBOT)
    beside = folder.parent / ROBOT
    learned(robot, learning, beside)
    tried = variants(learning)
    work = partial(tried_variant, str(beside), f"{description_hash(robot)} {learning.model_dump_json()}")
    rows = compute_all(work, tried, Workers(1), folder / "rows", terminal_progress, "variants")
    terminal_progress("")
    content = [
        vars(each) | {key: float(value) for key, value in row.items()} for each, row in zip(tried, rows, strict=True)
    ]
    write_text(folder / "table.json", json.dumps({"rows": content}, indent=1))
    draw(folder, content, variants(learning)[len(SHAPE_LAYERS) * len(SHAPE_NEURONS)])
    return table(content)


def tried_variant(beside: str, digest: str, variant: Variant) -> dict[str, np.ndarray]:
    """Mean and largest error [mm] of a variant at the unseen pressures, and the processor time of its training [s].
    `digest` is what stored results belong to."""
    begin = time.process_time()
    if variant.kind == "N_fk":
        robot, learning, correction, _, surface, simulated = _known(beside, digest)
        simulations = simulate_all(
            robot,
            learning.surface,
            learning.simulations,
            Workers(0),
            Path(beside) / "simulations",
            None,
            learning.parts,
        )
        sizes = correction.shapes.inflation, variant.layers
        shapes, _ = learn_shapes(simulations, surface, *sizes, say=terminal_progress, neurons=variant.neurons)
        errors = shape_errors(shapes, surface, *simulated)
    else:
        errors = _warp_errors(beside, digest, variant)
    mean, largest = errors.mean(axis=0)
    return {"mean_mm": mean, "largest_mm": largest, "seconds": np.array(time.process_time() - begin)}


def shape_errors(shapes: ShapeModel, surface: SurfaceMesh, pressures: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(f, 2) mean and largest distance [mm] of N_fk's points from the same ones of simulations (f, p, 3) [m]."""
    fit = replace(SurfaceFit.at_rest(surface.points, surface.triangles), knots=shapes.knots)
    control = jax.vmap(shapes.control_of)(shapes.inputs_of(pressures))
    off = np.linalg.norm(fit.at_points(np.asarray(control)) - MM * points[:, fit.disc.source], axis=-1)
    return np.column_stack([off.mean(axis=1), off.max(axis=1)])


def on_shapes(correction: Correction, control: np.ndarray, uv: np.ndarray) -> np.ndarray:
    """(p, 3) points [m], at parameters (p, 2), of a surface of these control points [mm] that is warped as it is."""
    shapes = correction.shapes
    coefficients = correction.warp(shapes.normalised(jnp.asarray(control, jnp.float32))).reshape(-1, 3)
    points, kernels = (SurfaceLayer(each, shapes.knots).points(control) for each in (uv, correction.kernels))
    return np.asarray(warped(points, kernels, coefficients, correction.width, shapes.size)) / MM


def _warp_errors(beside: str, digest: str, variant: Variant) -> np.ndarray:
    """(f, 2) mean and largest error [mm] of a warp alone in each unseen frame."""
    robot, learning, known, frames, surface, simulated = _known(beside, digest)
    seen, unseen, shapes = frames[: learning.frames], frames[learning.frames :], known.shapes
    weights = Weights(patch=shapes.patch) if variant.geometry else Weights(patch=shapes.patch, geometry=0.0)
    training = WarpTraining(variant.kernels, variant.layers, variant.neurons, learning.kernel_width, weights)
    none = InputMap.none(len(robot.chamber_names))
    correction = learn_warp(shapes, _recording(seen, variant.points), robot, training, none, terminal_progress)
    if variant.kind == "warp":
        return errors_of(correction, unseen, True)
    uv, fit = grid(TESTED), replace(SurfaceFit.at_rest(surface.points, surface.triangles), knots=shapes.knots)
    points = [on_shapes(correction, MM * fit.fit(each), uv) for each in simulated[1]]
    distances = [distances_to(each, frame) for each, frame in zip(points, unseen, strict=True)]
    return np.array([[each.mean(), each.max()] for each in distances])


def _recording(frames: list[dict[str, np.ndarray]], points: int) -> Recording:
    """Frames with scans of so many points at most, evenly left out; 0: all."""
    scans = []
    for frame in frames:
        count = len(frame["scan"])
        rows = np.arange(count) if not points else np.unique(np.linspace(0, count - 1, points).astype(int))
        scans.append(Scan(frame["scan"][rows], frame["normals"][rows]))
    pressures, held = told(frames)
    return Recording(pressures, scans, held=held)


@lru_cache(maxsize=1)
def _known(beside: str, digest: str):
    """Robot, what is said of its learning, correction, frames, its surface, and pressures and points of simulations of
    the unseen frames; kept while the digest is the same."""
    robot, learning = learnable(ROBOT)
    correction, frames, _ = learned(robot, learning, Path(beside))
    surface = surface_of(robot.build_twin(), learning.surface, learning.parts)
    pressures = np.array([frame["pressures"] for frame in frames[learning.frames :]])
    inflation, store = correction.shapes.inflation, Path(beside) / "simulations"
    of_what = robot, learning.surface, learning.parts, inflation
    found = simulated(*of_what, pressures, Workers(0), store, terminal_progress)
    pairs = np.array([each["pressures"] for each in found]), np.array([each["points"] for each in found])
    return robot, learning, correction, frames, surface, pairs


def table(content: list[dict]) -> str:
    """Errors at the unseen pressures."""
    names = []
    for row in content:
        said = [f"{row['layers']} x {row['neurons']} neurons"]
        said += [f"{row['kernels']} kernels"] if row["kernels"] else []
        said += [f"{row['points']} points"] if row["points"] else []
        said += [] if row["geometry"] else ["not regularised"]
        names.append(f"{row['kind']}: {', '.join(said)}")
    width = max(map(len, names))
    lines = [f"{'':{width}} {'mean [mm]':>10} {'largest [mm]':>13} {'training [s]':>13}"]
    for name, row in zip(names, content, strict=True):
        lines.append(f"{name:{width}} {row['mean_mm']:10.2f} {row['largest_mm']:13.1f} {row['seconds']:13.0f}")
    return "\n".join(lines)


def draw(folder: Path, content: list[dict], plain: Variant) -> None:
    """N_fk by its size, the warp by its neurons, and what else is left out of it."""
    figure = Figure(figsize=(11.0, 3.6), layout="constrained")
    sizes, neurons, others = figure.subplots(1, 3)
    for layers in SHAPE_LAYERS:
        rows = [row for row in content if row["kind"] == "N_fk" and row["layers"] == layers]
        sizes.plot(
            [row["neurons"] for row in rows], [row["largest_mm"] for row in rows], "o-", label=f"{layers} hidden"
        )
    sizes.set(title="N_fk beside simulations", xlabel="neurons a layer", ylabel="largest error [mm]", xscale="log")
    _tick(sizes, SHAPE_NEURONS)
    sizes.legend(frameon=False)
    rows = [row for row in content if replace(plain, neurons=row["neurons"]) == Variant(*_key(row))]
    rows.sort(key=lambda row: row["neurons"])
    neurons.plot([row["neurons"] for row in rows], [row["mean_mm"] for row in rows], "o-")
    neurons.set(title="the warp alone", xlabel="neurons a layer of N_rbf", ylabel="mean error [mm]", xscale="log")
    _tick(neurons, sorted(row["neurons"] for row in rows))
    neurons.set_ylim(0.0, 1.2 * max(row["mean_mm"] for row in rows))
    named = {
        "as described": plain,
        "not regularised": replace(plain, geometry=False),
        "on simulated shapes": replace(plain, kind="warp, simulated shapes"),
        **{f"{count} kernels": replace(plain, kernels=count) for count in KERNELS},
        **{f"{count} points a scan": replace(plain, points=count) for count in POINTS},
    }
    found = {Variant(*_key(row)): row["mean_mm"] for row in content}
    others.barh(list(named), [found[each] for each in named.values()])
    others.invert_yaxis()
    others.set(title="the warp alone", xlabel="mean error [mm]")
    write_picture(folder / "ablations.png", figure, dpi=110)


def _tick(axes: Axes, numbers: Sequence[int]) -> None:
    """At these numbers, as they are written, along a logarithmic axis."""
    axes.set_xticks(numbers, [str(number) for number in numbers])
    axes.set_xticks([], minor=True)


def _key(row: dict) -> tuple:
    return tuple(row[name] for name in ("kind", "layers", "neurons", "kernels", "points", "geometry"))
