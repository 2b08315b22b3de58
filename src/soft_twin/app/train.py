"""`soft-twin train ROBOT --data DIR --out FILE`: a robot's surface by simulation, its warp by scans or markers."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from soft_twin.errors import UsageError
from soft_twin.files import checked_output, is_missing
from soft_twin.parallel import Workers, add_worker_arguments, terminal_progress

if TYPE_CHECKING:
    from soft_twin.learning.correction import Correction

SUFFIX = ".safetensors"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name or description of a robot with a part `learning`")
    recording = "frames.csv, with PLY files of scans or C3D files of markers; or a recording of either's topic"
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help=recording)
    topics = parser.add_mutually_exclusive_group()
    topics.add_argument("--scan", metavar="TOPIC", help="of a recording's clouds; default: the only one there is")
    topics.add_argument("--markers", metavar="TOPIC", help="of a recording's markers, where there are clouds, too")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=f"weights, {SUFFIX}")
    parser.add_argument("--store", type=Path, metavar="DIR", help="of the simulations; default out/train/ROBOT")
    parser.add_argument("--simulations", type=int, metavar="N", help="default: what the description says")
    parser.add_argument(
        "--epochs", type=int, default=150, metavar="N", help="of the warp at the most; default 150; fewer shorten all"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the training; default 0")
    parser.add_argument("--device", choices=("cpu", "gpu"), help="that networks are trained on; default: JAX's choice")
    add_worker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        from soft_twin.app.train_report import told
        from soft_twin.learning.devices import use_device
        from soft_twin.learning.pipeline import Pipeline
        from soft_twin.learning.samples import check_samples
        from soft_twin.learning.simulations import learnable
    except ImportError as error:
        raise UsageError(f"training needs JAX ({error.name} is missing): pip install soft_twin[learning]") from None
    if arguments.epochs < 1:
        raise UsageError(f"--epochs {arguments.epochs}: expected 1 or more")
    if not 0 <= arguments.seed < 2**32:
        raise UsageError(f"--seed {arguments.seed}: expected 0 to {2**32 - 1}")
    if arguments.simulations is not None and arguments.simulations < 1:
        raise UsageError(f"--simulations {arguments.simulations}: expected 1 or more")
    if checked_output(arguments.out, "weights").suffix != SUFFIX:
        raise UsageError(f"--out {arguments.out}: expected a file that ends in {SUFFIX}")
    workers = Workers.of(arguments)
    device = use_device(arguments.device)
    robot, learning = learnable(arguments.robot)
    check_samples(len(robot.chamber_names), arguments.simulations or learning.simulations)
    store = arguments.store or Path("out/train") / robot.name
    data = _folder(arguments, robot, store)
    pipeline = Pipeline(robot, learning, data, store, workers, terminal_progress)
    frames = len(pipeline.recording.pressures)
    terminal_progress("")
    print(f"{frames} frames of {robot.name}; networks are trained on {device}", flush=True)
    learned = pipeline.learn(pipeline.simulate(arguments.simulations), arguments.seed, arguments.epochs)
    terminal_progress("")
    unwritten = _save(learned.correction, arguments.out, store)
    lines, odd = told(learned, pipeline)
    for line in odd:
        print(line, file=sys.stderr)
    print("\n".join(lines))
    if unwritten is not None:
        raise unwritten
    print(f"weights: {arguments.out}")
    return 0


def _save(correction: "Correction", path: Path, store: Path) -> UsageError | None:
    """Write weights, into the store where they cannot be written any more: what is wrong then."""
    from soft_twin.learning.storage import save

    try:
        save(correction, path)
    except UsageError as error:
        kept = store / path.name
        save(correction, kept)
        return UsageError(f"{error}; they are kept as '{kept}'")
    return None


def _folder(arguments: argparse.Namespace, robot, store: Path) -> Path:
    """Of the frames: what a recording of topics says is written beside the simulations."""
    from soft_twin.learning.frames import TABLE
    from soft_twin.learning.recorded_frames import Topics, write_frames
    from soft_twin.learning.simulations import pressure_limits
    from soft_twin.recording.storage import is_recording

    data = arguments.data
    if not is_missing(data / TABLE) or not is_recording(data):
        for option in ("scan", "markers"):
            if (topic := getattr(arguments, option)) is not None:
                raise UsageError(
                    f"--{option} {topic}: '{data}' is no recording of topics (.mcap, .db3, a bag's folder)"
                )
        return data
    folder, topics = store / "frames", Topics(arguments.scan, arguments.markers)
    written = write_frames(data, folder, list(robot.chamber_names), pressure_limits(robot), topics)
    if written.left_out:
        numbers = ", ".join(str(number) for number in written.left_out)
        print(f"markers {numbers} (from 0) are left out: they were never seen without pressure", file=sys.stderr)
    return folder
