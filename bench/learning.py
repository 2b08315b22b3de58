"""What learning is worth, and what one step of shape control takes.

What takes long is read where experiments have left it: errors at unseen pressures of `learning/NAME`, what is missing,
direct learning, real tips; what has not been run has no rows. What is measured here is shape control of the membrane:
one step, split, and how many there are, over targets of 20 000 points.

Networks have the sizes of the description. They are those of `--weights`, or trained here in a minute or two on few
simulations of the twin and fewer scans: then they err more, and take as long. Targets are not what the networks say:
half of them are the twin's simulations, half the emulated reality's, at pressures that nothing was trained on, drawn
evenly over the surface, without normals, moved and turned at random.
"""

import argparse
import json
import os
import time
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402

from soft_twin.app.measuring import Figure  # noqa: E402
from soft_twin.emulation.scanner import scan  # noqa: E402
from soft_twin.emulation.surface_reality import SurfaceReality  # noqa: E402
from soft_twin.errors import RecordingError, UsageError  # noqa: E402
from soft_twin.learning.frames import Recording, Scan  # noqa: E402
from soft_twin.learning.samples import random_shares  # noqa: E402
from soft_twin.learning.simulations import (  # noqa: E402
    gathered,
    inflation_of,
    learnable,
    simulated,
    surface_of,
)
from soft_twin.mesh.triangles import drawn  # noqa: E402
from soft_twin.parallel import terminal_progress  # noqa: E402

VERTICES, SAMPLES = 20_000, 1000
SCANS, EPOCHS = 8, 30
DWELL = 30.0  # [s] of the reality under its pressures
RESULTS = Path("out/experiment/learning")
ROBOTS = ("membrane", "manipulator", "mannequin", "bellows")
TRAINED = ("shapes", "the inputs alone", "corrected")  # parts of one training
LESS = {"scans": 0.2, "markers": 0.1}  # share that is missing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--weights", type=Path, metavar="FILE", help="of the membrane; default: trained here")
    parser.add_argument("--simulations", type=int, default=40, metavar="N", help="for training here; default 40")
    parser.add_argument(
        "--results", type=Path, default=RESULTS, metavar="DIR", help=f"of experiments learning/…; default {RESULTS}"
    )
    parser.add_argument("--targets", type=int, default=10, metavar="N", help="default 10")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of pressures and movements; default 0")


def measure(
    weights: Path | None = None, simulations: int = 40, targets: int = 10, seed: int = 0, results: Path = RESULTS
) -> list[Figure]:
    """Figures of experiments whose results are there, and of the search on all targets."""
    try:
        from soft_twin.learning.shape_control import PARTS, ShapeControl
        from soft_twin.learning.shape_target import ShapeTarget
        from soft_twin.learning.storage import load
    except ImportError as error:
        raise UsageError(f"learning needs JAX ({error.name} is missing): pip install soft_twin[learning]") from None
    if simulations < 4 or targets < 1:
        raise UsageError(f"--simulations {simulations} --targets {targets}: expected 4 and 1 or more")
    robot, learning = learnable("membrane")
    random, reality = np.random.default_rng(seed), SurfaceReality(robot, learning)
    if weights is not None:
        correction = load(weights)
        correction.check(robot)
        inflation = correction.shapes.inflation
    else:
        inflation = inflation_of(robot)
        correction = _trained(robot, learning, reality, inflation, simulations, random)
    pressures = inflation.pressures_of(random_shares(len(robot.chamber_names), targets, random))
    surfaces = _surfaces(robot, learning, reality, inflation, pressures)
    begin = time.perf_counter()
    control = ShapeControl(correction, SAMPLES, robot.chamber_names)
    built, prepared, found = time.perf_counter() - begin, [], []
    for points in surfaces:
        cloud, _ = drawn(points, reality.triangles, VERTICES, random)
        turn = Rotation.from_rotvec(random.normal(0.0, 0.15, 3)).as_matrix()
        begin = time.perf_counter()
        target = ShapeTarget.of(cloud @ turn.T + random.normal(0.0, 0.05, 3), whole=True)
        prepared.append(time.perf_counter() - begin)
        found.append(control.solve(target))
    terminal_progress("")
    seconds = {part: np.concatenate([each.seconds[part] for each in found]) for part in PARTS}
    total, steps = sum(seconds.values()), [each.iterations for each in found]
    own, others = (1e3 * np.mean([each.mean for each in found[i::2]] or [np.nan]) for i in (0, 1))
    return [
        *stored(results),
        Figure("simulations", "simulations trained on (0: weights from a file)", 0 if weights else simulations),
        Figure("samples", "points of the surface", len(found[0].points)),
        Figure("vertices", "points of a target", VERTICES),
        Figure("targets", "targets", len(found)),
        Figure("iteration_ms", "one iteration: median", 1e3 * np.median(total), "ms", "<= 40"),
        Figure("iteration_p99_ms", "  99th percentile", 1e3 * np.percentile(total, 99), "ms"),
        *(Figure(f"{part}_ms", f"  of it {part}", 1e3 * np.median(each), "ms") for part, each in seconds.items()),
        Figure("iterations", "iterations: median", float(np.median(steps)), "", "<= 20"),
        Figure("iterations_most", "  most", max(steps), "", "<= 20"),
        Figure("unsettled", "  searches that did not converge", sum(not each.converged for each in found), "", "0"),
        Figure("solve_ms", "a whole search: median", 1e3 * np.median([_whole(each) for each in found]), "ms"),
        Figure("target_ms", "a target made ready (tree, normals): median", 1e3 * np.median(prepared), "ms"),
        Figure("compile_s", "compiled once", built, "s"),
        Figure("twin_mm", "prediction from target, targets by simulation: mean", own, "mm"),
        Figure("reality_mm", "  targets of the emulated reality", others, "mm"),
    ]


def stored(folder: Path) -> list[Figure]:
    """Figures of experiments whose tables are in a folder.

    Raises:
        RecordingError: a table is broken.
    """
    readers = {
        **dict.fromkeys(ROBOTS, _predicted),
        "direct": _direct,
        "missing": _missing,
        "shape": _shape,
        "planning": _planning,
        "real_tips": _real_tips,
        "real_surfaces": _real_surfaces,
    }
    found = []
    for name, figures in readers.items():
        path = folder / name / "table.json"
        if not path.is_file():
            continue
        try:
            found += figures(name, json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, LookupError, TypeError, AttributeError, UnicodeDecodeError) as error:
            raise RecordingError(f"{path}: not a table of `experiment learning/{name}`: {error!r}") from error
    return found


def _predicted(name: str, table: dict) -> list[Figure]:
    row, parts = table["rows"]["corrected"], [table["seconds"][part] for part in TRAINED]
    return [
        Figure(f"{name}.change", f"{name}, unseen pressures: mean error", 1e2 * row["mean_change"], "%", "<= -70"),
        Figure(f"{name}.largest_change", "  largest error", 1e2 * row["largest_change"], "%", "<= -50"),
        Figure(f"{name}.mm", "  mean error that is left", row["mean_mm"], "mm"),
        Figure(f"{name}.spread_mm", f"  its spread over seeds: {row['seeds']}", row["spread_mm"], "mm"),
        Figure(f"{name}.simulation_s", f"  one of {table['simulations']} simulations", table["simulation_s"], "s"),
        Figure(f"{name}.training_min", "  one training, processor time", sum(parts) / 60.0, "min", "<= 10"),
    ]


def _direct(name: str, table: dict) -> list[Figure]:
    rows = table["rows"]
    most = max((row for key, row in rows.items() if key.startswith("direct")), key=lambda row: row["frames"])
    own = rows["corrected"]
    words = f"corrected by {own['frames']} frames, beside directly by {most['frames']}: mean error"
    return [Figure("direct.ratio", words, own["mean_mm"] / most["mean_mm"], "", "< 1")]


def _missing(name: str, table: dict) -> list[Figure]:
    found = []
    for what, share in LESS.items():
        whole, less = (
            np.mean([row["mean_mm"] for row in table["rows"] if row["name"] == what and row["missing"] == each])
            for each in (0.0, share)
        )
        words = f"{1e2 * share:.0f} % of {what} missing: mean error"
        found.append(Figure(f"missing.{what}", words, 1e2 * (less / whole - 1.0), "%", "<= 10"))
    return found


def _shape(name: str, table: dict) -> list[Figure]:
    plain, own = (table["rows"][key]["mean_mm"] for key in ("simulated (N_fk)", "corrected"))
    words = "shapes taken by the emulated reality, mean error beside without correction"
    return [
        Figure("shape.change", words, 1e2 * (own / plain - 1.0), "%"),
        Figure("shape.mm", "  mean error", own, "mm"),
    ]


def _planning(name: str, table: dict) -> list[Figure]:
    plain, own = table["rows"]["simulated (N_fk)"], table["rows"]["corrected"]
    return [
        Figure(
            "planning.hits", f"plans of {len(own['executed_mm'])} that hit a stick, corrected", own["hits"], "", "0"
        ),
        Figure("planning.least_mm", "  nearest to a stick", min(own["executed_mm"]), "mm"),
        Figure("planning.plain_hits", "  that hit one, not corrected", plain["hits"]),
        Figure("planning.plan_s", "  a plan: median", float(np.median(own["seconds"])), "s"),
    ]


def _real_surfaces(name: str, table: list) -> list[Figure]:
    changes = [row["after"] / row["before"] - 1.0 for row in table]
    worse = sum(change > 0.0 for change in changes)
    return [
        Figure("real.surfaces", f"real recordings of {len(table)} where a correction is worse than its twin", worse),
        Figure("real.surfaces_change", "  change of the mean error: median", 1e2 * float(np.median(changes)), "%"),
    ]


def _real_tips(name: str, table: dict) -> list[Figure]:
    rows = [each["mm"] for each in table["trunk"].values()]
    means = {key: float(np.mean([row[key] for row in rows])) for key in ("linear", "quadratic", "arcs")}
    half = 0.5 * min(means["linear"], means["quadratic"])
    arm = table["tensegrity_arm"]["mm"]["regression"]
    return [
        Figure("real.tensegrity_mm", "real tensegrity arm's tip, rows held back", arm, "mm", "<= 60"),
        Figure("real.trunk_mm", "real trunk's tip, recordings held back", means["arcs"], "mm", f"<= {half:.0f}"),
    ]


def _whole(solution) -> float:
    """Seconds of a search in all."""
    return float(sum(each.sum() for each in solution.seconds.values()))


def _trained(robot, learning, reality, inflation, simulations: int, random: np.random.Generator):
    """A correction by so many simulations at random pressures and a few scans."""
    from soft_twin.learning.teaching import learn_shapes, learn_warp
    from soft_twin.learning.training import WarpTraining

    pressures = inflation.pressures_of(random_shares(len(robot.chamber_names), simulations, random))
    shapes, _ = learn_shapes(
        gathered(_simulated(robot, learning, inflation, pressures)),
        surface_of(robot.build_twin(), learning.surface, learning.parts),
        inflation,
        learning.shape_layers,
        say=terminal_progress,
    )
    seen = pressures[:SCANS]
    scans = [Scan(*scan(reality.shape(each, DWELL), reality.triangles, learning.scanner, random)) for each in seen]
    training = WarpTraining.described(learning, epochs=EPOCHS)
    return learn_warp(shapes, Recording(seen, scans), robot, training, say=terminal_progress)


def _simulated(robot, learning, inflation, pressures: np.ndarray) -> list[dict[str, np.ndarray]]:
    return simulated(robot, learning.surface, learning.parts, inflation, pressures, say=terminal_progress)


def _surfaces(robot, learning, reality, inflation, pressures: np.ndarray) -> list[np.ndarray]:
    """(p, 3) [m] at each pressures, of the twin and of the reality in turn."""
    simulated = iter(_simulated(robot, learning, inflation, pressures[::2]))
    return [reality.shape(each, DWELL) if i % 2 else next(simulated)["points"] for i, each in enumerate(pressures)]
