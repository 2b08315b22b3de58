"""`soft-twin train ROBOT --data DIR --out FILE`: a robot's surface by simulation, its warp by scans or markers."""

import argparse
import sys
from pathlib import Path

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.parallel import Workers, add_worker_arguments, terminal_progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name or description of a robot with a part `learning`")
    recording = "frames.csv, with PLY files of scans or C3D files of markers"
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help=recording)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="weights, .safetensors")
    parser.add_argument("--store", type=Path, metavar="DIR", help="of the simulations; default out/train/ROBOT")
    parser.add_argument("--simulations", type=int, metavar="N", help="default: what the description says")
    parser.add_argument(
        "--epochs", type=int, default=150, metavar="N", help="of the warp at the most; default 150; fewer shorten all"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the training; default 0")
    add_worker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        from soft_twin.learning.storage import save
        from soft_twin.learning.teaching import learn_shapes, learn_warp
    except ImportError as error:
        raise UsageError(f"training needs JAX ({error.name} is missing): pip install soft_twin[learning]") from None
    from soft_twin.learning.frames import MarkerRecording, read_recording
    from soft_twin.learning.markers import learn_warp_by_markers
    from soft_twin.learning.simulations import inflation_of, learnable, pressure_limits, simulate_all, surface_of
    from soft_twin.learning.training import EPOCHS, SHAPE_EPOCHS, WarpTraining

    if arguments.epochs < 1:
        raise UsageError(f"--epochs {arguments.epochs}: expected 1 or more")
    robot, learning = learnable(arguments.robot)
    surface, limits = surface_of(robot.build_twin(), learning.surface, learning.parts), pressure_limits(robot)
    size = float((surface.points.max(axis=0) - surface.points.min(axis=0)).max())
    recording = read_recording(arguments.data, robot.chamber_names, limits, size)
    store = arguments.store or Path("out/train") / robot.name
    count = learning.simulations if arguments.simulations is None else arguments.simulations
    workers = Workers.of(arguments)
    simulations = simulate_all(robot, learning.surface, count, workers, store, terminal_progress, learning.parts)
    inflation, epochs = inflation_of(robot, store), max(1, SHAPE_EPOCHS * arguments.epochs // EPOCHS)
    sizes = learning.shape_layers, arguments.seed, epochs
    shapes, error = learn_shapes(simulations, surface, inflation, *sizes, terminal_progress)
    learn = learn_warp_by_markers if isinstance(recording, MarkerRecording) else learn_warp
    training = WarpTraining.described(learning, seed=arguments.seed, epochs=arguments.epochs)
    correction = learn(shapes, recording, robot, training, say=terminal_progress)
    terminal_progress("")
    save(correction, arguments.out)
    for number, reason in simulations.failed.items():
        print(f"simulation {number} failed and was left out: {reason}", file=sys.stderr)
    print(
        f"{len(simulations.points)} simulations, {int(simulations.by_volume.sum())} of them by volume; those that were "
        f"not trained on are met within {error:.2f} mm; {_words(recording)}; weights: {arguments.out}"
    )
    return 0


def _words(recording) -> str:
    """What was recorded."""
    if hasattr(recording, "scans"):
        return f"{len(recording.scans)} scans"
    missed = np.isnan(recording.markers).any(axis=2).mean()
    return f"{len(recording.markers)} frames of {len(recording.rest)} markers, {100 * missed:.1f} % missed"
