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

NAMESPACE = "nonsense"
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

    (request,) = robots_of(f"{{{NAMESPACE}: {robot}}}")
    names = [node.name for node in request.specs]
    nonsense = Nonsense(seed, getattr(request.robot, "actuator_names", ()), f"{NAMESPACE}/base_link")
    out.mkdir(parents=True, exist_ok=True)
    with watched([request], out, {}) as running:
        health = running.watcher.robots[NAMESPACE].health
        running.watcher.wait_for(lambda: not health.unready(), PATIENCE, lambda: "the nodes are not ready")
        nuisance = Nuisance(running.watcher, NAMESPACE, names, nonsense)
        acts, told, ended = _annoy(running, nuisance, seconds, out, names)
    for fault in [*told, *ended, *nuisance.faults]:
        print(fault[:SHOWN], flush=True)
    return [
        Figure("acts", "acts", float(acts)),
        Figure("ended", "nodes that ended", float(len(ended)), "", "0"),
        Figure("told", "tracebacks and warnings of Python", float(len(told)), "", "0"),
        Figure("unanswered", "questions without an answer", float(len(nuisance.faults)), "", "0"),
    ]


def _annoy(running, nuisance, seconds: float, out: Path, names: list[str]) -> tuple[int, list[str], list[str]]:
    """For so long [s], or until a node ends: how many acts there were, what nodes have printed that none should, and
    who has ended."""
    begun, acts, told, read = time.monotonic(), 0, [], dict.fromkeys(names, 0)
    with (out / "journal.txt").open("w", encoding="utf-8") as journal:
        try:
            while (since := time.monotonic() - begun) < seconds:
                journal.write(f"{since:8.2f} s  {one_line(nuisance.act())}\n")
                journal.flush()
                acts += 1
                told += _fallen(out / NAMESPACE, read)
                faults = len(told) + len(nuisance.faults)
                terminal_progress(f"{acts} acts, {faults} faults, {max(seconds - since, 0.0):.0f} s to go")
                running.check()
        except RunError as error:
            return acts, told, [str(error)]
        except KeyboardInterrupt:  # what was done counts
            pass
        finally:
            terminal_progress("")
    return acts, told, []


def _fallen(logs: Path, read: dict[str, int]) -> list[str]:
    """What nodes have printed since that none should; `read`: how far each log was looked at."""
    found = []
    for name, place in read.items():
        new = (logs / f"{name}.log").read_bytes()[place:]
        read[name], text = place + len(new), new.decode(errors="replace")
        if wrong := FALLEN.search(text):
            found.append(f"{name}: {text[wrong.start() :]}")
    return found
