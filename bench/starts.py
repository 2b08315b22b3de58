"""How long the nodes of an emulated robot take from their start until they compensate, and what they compute for it.

The first start finds no compiled kernels, later ones find those of the first. The nodes keep Python's bytecode, as they
do for everybody who has not set PYTHONDONTWRITEBYTECODE, which costs each start seconds of processor time.
"""

import argparse
import tempfile
from pathlib import Path

from soft_twin.app.measuring import Figure, until_interrupted
from soft_twin.errors import RunError

PATIENCE = 300.0  # [s] for a start
LOOK_PERIOD = 0.05  # [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--robot", default="slender", help="name of a robot in config/, or path of a description")
    parser.add_argument("--launch", action="store_true", help="under `ros2 launch`, where that is")
    parser.add_argument("--later", type=int, default=3, metavar="N", help="starts after the first")


def measure(robot: str = "slender", later: int = 3, launch: bool = False) -> list[Figure]:
    """Wall and processor time of the first start, and of the best and the worst later one.

    Raises:
        RunError: a node ended, or did not get ready.
    """
    from soft_twin_ros.running.launched import launcher

    if launch:
        print(f"by {launcher()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soft_twin-starts-") as folder:
        kernels = Path(folder) / "kernels"
        kernels.mkdir()
        starts = until_interrupted(
            _start(robot, Path(folder), kernels, launch, number, 1 + later) for number in range(1 + later)
        )
    (first, first_ready, first_computed), others = starts[0], starts[1:]
    figures = [
        Figure("first.compensating", "first start, until it compensates", first, "s", "12"),
        Figure("first.ready", "first start, until all nodes are ready", first_ready, "s"),
        Figure("first.processor", "first start, processor time of all nodes", first_computed, "s"),
    ]
    if others:
        compensating, ready, computed = zip(*others, strict=True)
        figures += [
            Figure("later.compensating", "later starts, until it compensates, best", min(compensating), "s", "4"),
            Figure("later.slowest", "later starts, until it compensates, worst", max(compensating), "s"),
            Figure("later.ready", "later starts, until all nodes are ready, best", min(ready), "s"),
            Figure("later.processor", "later starts, processor time of all nodes, least", min(computed), "s"),
        ]
    return figures


def _start(robot: str, logs: Path, kernels: Path, launch: bool, number: int, count: int) -> tuple[float, float, float]:
    """Start the nodes for the `number`th time of `count`, from 0: seconds until the twin compensates and until all are
    ready, and processor time by then."""
    from soft_twin_ros.running.arguments import robots_of
    from soft_twin_ros.running.graph import MANAGED
    from soft_twin_ros.watcher import watched

    print("first start" if number == 0 else f"start {1 + number} of {count}", flush=True)
    variables = {"NUMBA_CACHE_DIR": str(kernels), "PYTHONDONTWRITEBYTECODE": ""}  # empty: as if it were not set
    text = f"{{starts: {robot}}}"
    (request,) = robots_of(text)
    names = [node.name for node in request.specs]
    solver = max((name for name in names if name in MANAGED), key=MANAGED.index)
    with watched([request], logs / str(number), variables, text if launch else "") as running:
        health, unready, compensating = running.watcher.robots["starts"].health, {}, None
        while compensating is None or unready:
            running.watcher.look(LOOK_PERIOD)
            running.check()
            before, unready = unready or dict.fromkeys(names), health.unready()
            for name in before.keys() - unready.keys():
                print(f"{running.since:6.1f} s  {name}: {health.message(name)}", flush=True)
            if compensating is None and solver not in unready:
                compensating = running.since
            if running.since > PATIENCE:
                raise RunError(f"not ready after {PATIENCE:g} s: {unready}")
        computed = running.processes["starts"].processor_times
        print(
            "processor time: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in computed.items()), flush=True
        )
        return compensating, running.since, sum(computed.values())
