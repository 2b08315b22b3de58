"""Nonsense for the nodes of an emulated robot: nobody may fall over, print a traceback, or leave a question unanswered.

Messages, requests, parameters and goals are random, and come from one number; when they come, and what they meet, is a
matter of time, so that a fault need not come back. What was done is in the journal. `transitions` leads nodes with
sense, and looks whether they work again.
"""

import argparse
import re
import time
from pathlib import Path

from soft_twin.app.measuring import Figure
from soft_twin.errors import RunError
from soft_twin.files import one_line
from soft_twin.parallel import terminal_progress

PATIENCE = 300.0  # [s] until the nodes are ready
FALLEN = re.compile(r"Traceback|Segmentation fault|core dumped|Warning:")
SHOWN = 1500  # characters of a fault


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--robot", default="slender", help="name of a robot in config/, or path of a description")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    parser.add_argument("--seconds", type=float, default=120.0, metavar="S", help="default 120")
    parser.add_argument("--out", type=Path, default=Path("out/bench/nonsense"), help="folder of logs and journal")


def measure(
    robot: str = "slender", seed: int = 0, seconds: float = 120.0, out: Path = Path("out/bench/nonsense")
) -> list[Figure]:
    """How many acts there were, and what went wrong; each fault is told.

    Raises:
        RunError: the nodes did not get ready.
    """
    from soft_twin_ros.nonsense import Nonsense, Nuisance
    from soft_twin_ros.running.arguments import robots_of
    from soft_twin_ros.watcher import watched

    (request,) = robots_of(f"{{nonsense: {robot}}}")
    names = [node.name for node in request.specs]
    words = [*request.robot.actuator_names, "nonsense/base_link"] if hasattr(request.robot, "actuator_names") else []
    out.mkdir(parents=True, exist_ok=True)
    with watched([request], out, {}) as running, (out / "journal.txt").open("w", encoding="utf-8") as journal:
        watcher, read = running.watcher, dict.fromkeys(names, 0)
        watcher.wait_for(
            lambda: not watcher.robots["nonsense"].health.unready(), PATIENCE, lambda: "the nodes are not ready"
        )
        nuisance = Nuisance(watcher, "nonsense", names, Nonsense(seed, words or ["tip"]))
        begun, acts, fallen, faults = time.monotonic(), 0, 0, []
        try:
            while (since := time.monotonic() - begun) < seconds:
                journal.write(f"{since:8.2f} s  {one_line(nuisance.act())}\n")
                journal.flush()
                acts += 1
                faults += _fallen(out / "nonsense", read)
                terminal_progress(f"{acts} acts, {len(faults + nuisance.faults)} faults, {seconds - since:.0f} s to go")
                running.check()
        except (RunError, KeyboardInterrupt) as error:  # what was done counts
            fallen, faults = int(isinstance(error, RunError)), [*faults, *([str(error)] if str(error) else [])]
        terminal_progress("")
    for fault in [*faults, *nuisance.faults]:
        print(fault[:SHOWN], flush=True)
    return [
        Figure("acts", "acts", float(acts)),
        Figure("ended", "nodes that ended", float(fallen), "", "0"),
        Figure("told", "tracebacks and warnings of Python", float(len(faults) - fallen), "", "0"),
        Figure("unanswered", "questions without an answer", float(len(nuisance.faults)), "", "0"),
    ]


def _fallen(logs: Path, read: dict[str, int]) -> list[str]:
    """What nodes have printed since that none should; `read`: how far each log was looked at."""
    found = []
    for name, place in read.items():
        text = (logs / f"{name}.log").read_bytes()[place:].decode(errors="replace")
        read[name] = place + len(text.encode())
        if wrong := FALLEN.search(text):
            found.append(f"{name}: {text[wrong.start() :]}")
    return found
