"""The report of a run: report.json for programs, report.png and a table for people."""

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from soft_twin.errors import RecordingError
from soft_twin.recording import report_picture
from soft_twin.recording.evaluation import PASSES, PROFILE, Curve, Evaluation, HeldAttitude, evaluate
from soft_twin.recording.plate_run import HeldAim
from soft_twin.robots.base import Robot


def write_report(
    path: str | Path, folder: str | Path, robot: Robot, source: str = PROFILE, namespace: str | None = None
) -> dict[str, Any]:
    """Evaluate a recorded run and write `report.json` and `report.png`.

    Args:
        path: of the recording.
        folder: where the report goes; made where missing.
        robot: the robot that was run.
        source: "profile", or the name of the recording that moved the base; see `evaluation.evaluate`.
        namespace: of the robot's topics; see `robots.recorded_namespace`.

    Returns:
        The content of report.json.

    Raises:
        RecordingError: the recording is unreadable or has nothing of the robot, or the folder cannot be written; what
            was in the folder is as it was.
    """
    evaluation = evaluate(path, robot, source, namespace)
    if not evaluation.solves and not evaluation.poses:
        passes = " or ".join(f"'{name}'" for name in PASSES)
        raise RecordingError(
            f"{path}: no solves in it, and no phase {passes} of which the truth is known: there is nothing to report"
        )
    report = summary(evaluation)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(evaluation, report, folder)
    except OSError as error:
        raise RecordingError(f"cannot write the report into '{folder}': {error.strerror or error}") from error
    return report


def _write(evaluation: Evaluation, report: dict[str, Any], folder: Path) -> None:
    """Both files, in a folder of their own first: an old report is replaced by a whole new one, or stays."""
    with tempfile.TemporaryDirectory(prefix=".report-", dir=folder) as new:
        text = json.dumps(report, indent=2, allow_nan=False) + "\n"
        Path(new, "report.json").write_text(text, encoding="utf-8")
        report_picture.draw(evaluation, Path(new, "report.png"))
        for name in ("report.json", "report.png"):
            os.replace(Path(new, name), folder / name)


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as the content of report.json: millimetres, milliseconds, degrees, grams; None where nothing is
    known. Of a plate that was held there is more."""
    return {
        "robot": evaluation.robot,
        "source": evaluation.source,
        "poses": [_pose(pose) for pose in evaluation.poses],
        "tip_error_mm": {name: _over_poses(evaluation, name) for name in PASSES},
        "tick_ms": _times(evaluation, evaluation.solve_time),
        "latency_ms": _times(evaluation, evaluation.latency),
        "twin_latency_ms": _times(evaluation, evaluation.twin_latency),
        "correlation": _number(evaluation.correlation, 6),
        "twin_error_mm": _times(evaluation, evaluation.twin_error),
        "shape_error_mm": _times(evaluation, evaluation.shape_error),
        "gravity_error_deg": _times(evaluation, evaluation.gravity_error, math.degrees(1.0)),
        "solves": evaluation.solves,
        "unsettled_solves": evaluation.unsettled,
        "binding_limits": evaluation.binding,
        "duration_s": _number(evaluation.duration, 3),
        "recording_complete": evaluation.complete,
        "emulation": _emulation(evaluation),
    } | _plate(evaluation)


def _plate(evaluation: Evaluation) -> dict[str, Any]:
    """Of a robot that held its plate's orientation."""
    if evaluation.plate is None:
        return {}
    angles = _times(evaluation, evaluation.plate.error, math.degrees(1.0))
    return {"orientation_error_deg": angles, "aims": [_aim(aim) for aim in evaluation.plate.aims]}


def _aim(aim: HeldAim) -> dict[str, Any]:
    x, y, z = aim.axis.tolist()
    return {
        "phase": aim.interval.name,
        "start_s": _number(aim.interval.start, 2),
        "pitch_deg": _number(math.degrees(math.atan2(x, math.hypot(y, z))), 2),
        "roll_deg": _number(math.degrees(math.atan2(-y, z)), 2),
        "orientation_error_deg": _number(math.degrees(aim.error), 3),
        "payload_g": _number(1e3 * aim.payload, 0),
        "found_g": _number(1e3 * aim.found, 0),
        "deviation_g": _number(1e3 * aim.deviation, 0),
    }


def _emulation(evaluation: Evaluation) -> dict[str, Any] | None:
    """How the emulated robot kept up with real time; None for a real robot."""
    if not len(evaluation.pace.time):
        return None
    slow_for, pace = evaluation.slow
    return {"degraded": slow_for > 0.0, "slow_for_s": _number(slow_for, 1), "pace": _number(pace, 2)}


def table(report: dict[str, Any]) -> str:
    """A report as lines of text: one line a pose, then what concerns the nodes, each without and with compensation."""
    return "\n".join([*_pose_lines(report), "", *_aim_lines(report), *_node_lines(report)])


def _pose(pose: HeldAttitude) -> dict[str, Any]:
    stands = pose.stands
    errors = {name: _number(1e3 * stands[name].error, 4) if name in stands else None for name in PASSES}
    tilts = {name: _number(math.degrees(stands[name].tilt), 3) if name in stands else None for name in PASSES}
    return {
        "inclination_deg": _number(math.degrees(pose.inclination), 1),
        "tip_error_mm": errors,
        "tilt_deg": tilts,
        "start_s": {name: _number(stands[name].interval.start, 2) if name in stands else None for name in PASSES},
    }


def _over_poses(evaluation: Evaluation, name: str) -> dict[str, float | None]:
    errors = [1e3 * pose.stands[name].error for pose in evaluation.poses if name in pose.stands]
    return {
        "mean": _number(np.mean(errors), 4) if errors else None,
        "max": _number(np.max(errors), 4) if errors else None,
    }


def _times(evaluation: Evaluation, curve: Curve, scale: float = 1e3) -> dict[str, Any]:
    """Median and 99th percentile over both passes, and over each of them."""
    parts = {interval.name: _spread(scale * curve.within(interval)) for interval in evaluation.passes}
    return _spread(scale * evaluation.in_passes(curve)) | {name: parts.get(name, _spread(())) for name in PASSES}


def _spread(values: Any) -> dict[str, Any]:
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if not len(values):
        return {"median": None, "p99": None, "count": 0}
    median, p99 = np.percentile(values, [50.0, 99.0])
    return {"median": _number(median, 4), "p99": _number(p99, 4), "count": len(values)}


def _number(value: float, digits: int) -> float | None:
    """Rounded, without a minus before zero; None where it is not finite."""
    return round(float(value), digits) + 0.0 if math.isfinite(value) else None


def _pose_lines(report: dict[str, Any]) -> list[str]:
    if not report["poses"]:
        return ["no poses: the recording has no truth/tip and truth/base in a phase 'without' or 'with'"]
    lines = [f"{'inclination':>12}  {'tip error [mm]':^20}  {'tilt of the tip [deg]':^22}"]
    lines.append(f"{'[deg]':>12}  {'without':>9} {'with':>10}  {'without':>10} {'with':>11}")
    for pose in report["poses"]:
        error, tilt = pose["tip_error_mm"], pose["tilt_deg"]
        lines.append(
            f"{pose['inclination_deg']:>12.1f}  {_cell(error['without']):>9} {_cell(error['with']):>10}  "
            f"{_cell(tilt['without'], 1):>10} {_cell(tilt['with'], 1):>11}"
        )
    means = report["tip_error_mm"]
    lines.append(f"{'mean':>12}  {_cell(means['without']['mean']):>9} {_cell(means['with']['mean']):>10}")
    return lines


def _aim_lines(report: dict[str, Any]) -> list[str]:
    """Of a plate that was held: each target at which the base stood, and what hung on the plate."""
    if "aims" not in report:
        return []
    lines = [f"{'pitch, roll [deg]':>18}  {'off by [deg]':>12}  {'payload [g]':>11}  {'found [g]':>12}"]
    for aim in report["aims"]:
        known = f"{_cell(aim['found_g'], 0)} ± {_cell(aim['deviation_g'], 0)}"
        pose = f"{aim['pitch_deg']:.1f}, {aim['roll_deg']:.1f}"
        off, payload = _cell(aim["orientation_error_deg"]), _cell(aim["payload_g"], 0)
        lines.append(f"{pose:>18}  {off:>12}  {payload:>11}  {known:>12}")
    return [*lines, ""]


def _node_lines(report: dict[str, Any]) -> list[str]:
    rows = [
        ("solve [ms]", report["tick_ms"]),
        ("IMU sample to twin's tip [ms]", report["twin_latency_ms"]),
        ("IMU sample to command [ms]", report["latency_ms"]),
        ("twin's tip to robot's tip [mm]", report["twin_error_mm"]),
        ("twin's shape to robot's shape [mm]", report["shape_error_mm"]),
        ("gravity's direction off by [deg]", report["gravity_error_deg"]),
    ]
    if "orientation_error_deg" in report:
        rows.append(("plate's axis off by [deg]", report["orientation_error_deg"]))
    width = max(len(what) for what, _ in rows)
    lines = [f"{'median / 99th percentile':<{width}}  {'without':>16}  {'with':>16}"]
    for what, values in rows:
        cells = (f"{_cell(values[name]['median'])} / {_cell(values[name]['p99'])}" for name in PASSES)
        lines.append(f"{what:<{width}}  " + "  ".join(f"{cell:>16}" for cell in cells))
    lines.append(f"{'correlation of the two tips':<{width}}  {_cell(report['correlation'], 4):>16}")
    if report["binding_limits"]:
        counts = report["binding_limits"].items()
        shares = (f"{what} {100.0 * count / report['solves']:.0f} %" for what, count in counts)
        lines.append(f"limits that bind, share of the solves: {', '.join(shares)}")
    emulation = report["emulation"]
    if emulation and emulation["degraded"]:
        lines.append(
            f"degraded: the emulated robot ran at {emulation['pace']:.2f} of real time for "
            f"{emulation['slow_for_s']:.1f} s, the machine was too busy or too slow"
        )
    if not report["recording_complete"]:
        lines.append("the recording was cut off: this is the report of what there is of it")
    return lines


def _cell(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
