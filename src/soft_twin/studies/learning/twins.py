"""The same learning on top of unlike twins: finite elements, arcs, and a chain of plates in MuJoCo.

The manipulator's reality is corrected from its own finite elements and from constant curvature with a radius, whose two
constants a segment are measured in one pose; that of the bellows from finite elements and from a chain of plates
(`crude`). Frames, unseen pressures, networks and losses are the same; simulations and scans of finite elements are
those of `learning/NAME` in the folder beside this one. Each row is stored as it ends. Picture: twins.png; table.json.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.errors import UsageError
from soft_twin.learning.correction import ShapeModel
from soft_twin.learning.identity import reality_hash
from soft_twin.learning.input_map import InputMap
from soft_twin.learning.shape_twins import ShapeTwin
from soft_twin.learning.simulations import inflation_of, learnable, pressure_limits
from soft_twin.learning.teaching import learn_shapes, learn_warp
from soft_twin.learning.training import WarpTraining, Weights
from soft_twin.parallel import compute_all, terminal_progress
from soft_twin.studies.learning.crude.arcs import ArcShapes, measured_segment
from soft_twin.studies.learning.crude.chain import Bellows, ChainShapes
from soft_twin.studies.learning.prediction import errors_of, learned_shapes, recorded, scanned
from soft_twin.studies.results import write_picture, write_text

matplotlib.use("Agg")

FEM, ARCS, CHAIN = "finite elements", "constant curvature", "MuJoCo"
TWINS = (("manipulator", FEM), ("manipulator", ARCS), ("bellows", FEM), ("bellows", CHAIN))
MEASURED_AT = 80e3  # [Pa] of the pose in which the arcs' constants are measured
ROWS = ("simulated", "the warp alone", "the inputs alone", "corrected")


def run(folder: Path, data: Path) -> str:
    """Learn, compare; `data` is not used."""
    cases = []
    for name, twin in TWINS:
        robot, _ = learnable(name)
        try:
            _ = chain_of(robot) if twin == CHAIN else None
        except UsageError as error:
            print(f"left out: {error}", flush=True)
            continue
        cases.append((name, twin, str(robot.path), reality_hash(robot)))
    work = partial(learned_on, str(folder.parent))
    rows = compute_all(work, cases, store=folder / "rows", say=terminal_progress, name="twins")
    terminal_progress("")
    content = [
        {"robot": name, "twin": twin} | {key: np.asarray(value).tolist() for key, value in row.items()}
        for (name, twin, _, _), row in zip(cases, rows, strict=True)
    ]
    write_text(folder / "table.json", json.dumps({"rows": content}, indent=1))
    draw(folder, content)
    return table(content)


def learned_on(above: str, case: tuple[str, str, str, str]) -> dict[str, np.ndarray]:
    """Errors (2,) [mm], mean and largest at the unseen pressures, of each correction on top of a twin. A case is the
    name of a robot, which twin, the path of the description, and the digest that stored results belong to; simulations
    are in the folder of that name `above`."""
    name, twin, path, _ = case
    robot, learning = learnable(path)
    beside = Path(above) / name
    if twin == FEM:
        simulations, shapes, surrogate, seconds = learned_shapes(robot, learning, beside)
        one = simulations.seconds
    else:
        shapes, surrogate, one, seconds = _learned(robot, learning, {ARCS: arcs_of, CHAIN: chain_of}[twin])
    inflation = inflation_of(robot, beside / "simulations")  # the frames are the same for all twins
    truths = scanned(robot, learning, inflation, beside)
    seen, unseen = truths[: learning.frames], truths[learning.frames :]
    recording, begin = recorded(robot, seen, shapes, beside / "scans"), time.process_time()
    none, discs = InputMap.none(len(robot.chamber_names)), Weights(patch=shapes.patch)

    def learn(inputs: InputMap | None = None, **options):
        training = WarpTraining.described(learning, **options)
        return learn_warp(shapes, recording, robot, training, inputs, terminal_progress)

    alone = learn(epochs=0, weights=discs)
    found = {"the warp alone": learn(none, weights=discs), "the inputs alone": alone, "corrected": learn(alone.inputs)}
    errors = {name: errors_of(each, unseen, True).mean(axis=0) for name, each in found.items()}
    return {
        "simulated": errors_of(alone, unseen, False).mean(axis=0),
        **errors,
        "surrogate": np.array(surrogate),
        "simulation_s": np.array(one),
        "training_s": np.array(seconds + time.process_time() - begin),
    }


def _learned(robot, learning, twin_of: Callable[..., ShapeTwin]) -> tuple[ShapeModel, float, float, float]:
    """What stands for a twin's simulations, its error [mm], and the processor times of one and of the training [s]."""
    twin = twin_of(robot)
    simulations, begin = twin.simulations(learning.simulations, terminal_progress), time.process_time()
    shapes, surrogate = learn_shapes(
        simulations, twin.surface, twin.inflation, learning.shape_layers, say=terminal_progress
    )
    return shapes, surrogate, simulations.seconds, time.process_time() - begin


def arcs_of(robot) -> ArcShapes:
    """The manipulator as two arcs."""
    sweep, twin = robot.description.body.mesh.sweep, robot.build_twin()
    ends = segment_ends(sweep)
    segments = [
        measured_segment(twin, range(3 * k, 3 * k + 3), chamber_directions(3), own, MEASURED_AT)
        for k, own in enumerate(ends)
    ]
    return ArcShapes(segments, sweep.length, 0.5 * sweep.outer_diameter, pressure_limits(robot))


def chain_of(robot) -> ChainShapes:
    """The bellows as a chain of plates, with what its description says of walls that are smeared.

    Raises:
        UsageError: MuJoCo is not installed.
    """
    body = robot.description.body
    sweep = body.mesh.sweep
    inner, outer = 0.5 * sweep.inner_diameter, 0.5 * sweep.outer_diameter
    low, high = inner + sweep.radial[0], outer - sweep.radial[2]  # of the chambers
    chamber = np.pi / 6.0 * (high**2 - low**2)  # a sixth of the ring
    walls = np.pi * (outer**2 - inner**2) - 3.0 * chamber
    second = 0.25 * np.pi * (outer**4 - inner**4) - 0.125 * np.pi * (high**4 - low**4)
    arm = 2.0 / np.pi * (high**3 - low**3) / (high**2 - low**2)  # of a sector of 60°
    matrix, plate = body.materials[0], body.materials[1]
    around = body.fibres[0]  # rods of small pitch, which give walls a part of their stiffness along the axis
    modulus = matrix.young_modulus + around.modulus * np.sin(np.radians(around.pitch_deg)) ** 4
    common = (chamber, arm, modulus * walls, modulus * second, matrix.density * walls)
    segments = [
        Bellows(*own, tuple(range(3 * k, 3 * k + 3)), chamber_directions(3), *common)
        for k, own in enumerate(segment_ends(sweep))
    ]
    section = np.pi * (outer**2 - inner**2)
    return ChainShapes(segments, sweep.length, outer, pressure_limits(robot), plate=plate.density * section)


def chamber_directions(count: int) -> np.ndarray:
    """(count, 2) from the axis to the middles of chambers, which take turns with walls as wide; the first from +x."""
    angles = np.pi / count * (2.0 * np.arange(count) + 0.5)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def segment_ends(sweep) -> list[tuple[float, float]]:
    """Where the chambers of each segment begin and end [m]."""
    heights = np.concatenate([[0.0], np.cumsum(sweep.along)])
    rows = dict.fromkeys((hollow.first[2], hollow.last[2]) for hollow in sweep.hollows)
    return [(float(heights[first]), float(heights[last + 1])) for first, last in rows]


def table(content: list[dict]) -> str:
    """Errors on the unseen pressures."""
    lines = [
        f"{'mean (largest) [mm]':32} "
        + " ".join(f"{name:>18}" for name in ROWS)
        + f" {'change':>8} {'N_fk':>6} {'one shape [s]':>14}"
    ]
    for row in content:
        cells = " ".join(f"{row[name][0]:10.2f} ({row[name][1]:5.1f})" for name in ROWS)
        change = 100.0 * (row["corrected"][0] / row["simulated"][0] - 1.0)
        name = f"{row['robot']}, {row['twin']}"
        lines.append(f"{name:32} {cells} {change:6.0f} % {row['surrogate']:6.2f} {row['simulation_s']:14.4f}")
    return "\n".join(lines)


def draw(folder: Path, content: list[dict]) -> None:
    """Mean errors of each twin, as simulated and corrected."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    robots = list(dict.fromkeys(row["robot"] for row in content))
    for plot, robot in zip(np.atleast_1d(figure.subplots(1, len(robots))), robots, strict=True):
        own = [row for row in content if row["robot"] == robot]
        for i, row in enumerate(own):
            places = np.arange(len(ROWS)) + 0.35 * i
            plot.bar(places, [row[name][0] for name in ROWS], 0.33, label=row["twin"])
        plot.set_xticks(np.arange(len(ROWS)) + 0.17, [name.replace("the ", "") for name in ROWS], fontsize=8)
        plot.set(title=robot, ylabel="mean error, unseen pressures [mm]")
        plot.legend(frameon=False, fontsize=8)
    write_picture(folder / "twins.png", figure, dpi=110)
