"""The whole graph, measured in the newest recorded run of the slender robot: delays, tip errors, correlation."""

from pathlib import Path

from soft_twin import load_robot
from soft_twin.app.measuring import Figure
from soft_twin.errors import UsageError
from soft_twin.recording.evaluation import evaluate
from soft_twin.recording.report import summary

RECORDING = Path("out/slender/run.mcap")


def measure() -> list[Figure]:
    """Figures of the run in out/slender.

    Raises:
        UsageError: nothing was run yet.
    """
    if not RECORDING.is_file():
        raise UsageError(f"no recording at '{RECORDING}': first do 'soft-twin run slender' in this folder")
    report = summary(evaluate(RECORDING, load_robot("slender")))
    return [figure for figure in _figures(report) if figure.value is not None]


def _figures(report: dict) -> list[Figure]:
    latency, tick, error = report["latency_ms"], report["tick_ms"], report["tip_error_mm"]
    return [
        Figure("latency_ms.median", "IMU sample to cable command, median", latency["median"], "ms", "30"),
        Figure("latency_ms.p99", "IMU sample to cable command, p99", latency["p99"], "ms", "60"),
        Figure("tick_ms.median", "solve, median", tick["median"], "ms", "5"),
        Figure("tick_ms.p99", "solve, p99", tick["p99"], "ms"),
        Figure("tip_error_mm.without", "tip error without compensation, mean", error["without"]["mean"], "mm"),
        Figure("tip_error_mm.with", "tip error with compensation, mean", error["with"]["mean"], "mm", "2.5"),
        Figure("tip_error_mm.worst", "tip error with compensation, worst pose", error["with"]["max"], "mm", "4"),
        Figure("correlation", "correlation of the twin's and the robot's tip", report["correlation"], "", "0.995"),
    ]
