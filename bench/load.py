"""Whole runs of the slender robot on emulated hardware while other processes keep the machine busy."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from soft_twin.app.measuring import Figure, until_interrupted

RUN_TIME = 300.0  # [s] that one run may take at most


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--load", type=int, default=16, metavar="N", help="processes that are busy meanwhile")
    parser.add_argument("--times", type=int, default=10, metavar="N", help="runs: start, home, play, enable, play")


def measure(load: int = 16, times: int = 10) -> list[Figure]:
    """How many of so many quick runs came to their end, and how far the emulated robot fell behind in them."""
    with busy(load), tempfile.TemporaryDirectory(prefix="soft_twin-load-") as folder:
        reports = until_interrupted(_run(Path(folder) / str(number), number + 1, times) for number in range(times))
    whole = [report for report in reports if report]
    told = [error for report in whole if (error := report["tip_error_mm"]["with"]["max"]) is not None]
    paces = [report["emulation"]["pace"] for report in whole if report["emulation"]] or [np.nan]
    slow = [report["emulation"]["slow_for_s"] for report in whole if report["emulation"]] or [np.nan]
    return [
        Figure("runs", "runs begun", len(reports)),
        Figure("whole", "runs that came to their end", len(whole), "", str(len(reports))),
        Figure("slowest_pace", "slowest mean pace of the emulated robot while it was behind", min(paces)),
        Figure("slow_for_s", "longest time it was behind in a run", max(slow), "s"),
        Figure("worst_tip_error_mm", "worst tip error with compensation", max(told, default=np.nan), "mm"),
    ]


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but keep processors busy, at ordinary priority, as long as this one lives;
    each in a session of its own, as a program of another terminal is."""
    spin = f"import os\nos.setpriority(0, 0, max(0, os.getpriority(0, 0)))\nwhile os.getppid() == {os.getpid()}: pass"
    processes = [subprocess.Popen([sys.executable, "-c", spin], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _run(folder: Path, number: int, times: int) -> dict | None:
    """The report of a run, None where it did not come to its end; what went wrong is printed."""
    command = [sys.executable, "-m", "soft_twin.app.cli", "run", "slender", "--quick", "--out", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIME, check=False)
    except subprocess.TimeoutExpired:
        print(f"run {number} of {times}: not done after {RUN_TIME:g} s", flush=True)
        return None
    said = (done.stderr or done.stdout).strip().splitlines()
    print(
        f"run {number} of {times}: " + ("done" if done.returncode == 0 else said[-1] if said else "failed"), flush=True
    )
    return json.loads((folder / "report.json").read_text(encoding="utf-8")) if done.returncode == 0 else None
