"""`soft-twin run ROBOT --weights FILE`: the emulated robot takes a shape, that of a mesh or a cloud in a file or the
one that its weights predict at some pressures, shown to it as a cloud; how far its chambers and its surface are from
there in the end."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_twin.errors import RecordingError, UsageError
from soft_twin.files import whole_file
from soft_twin.recording.reader import arrays
from soft_twin.recording.robots import prefix
from soft_twin.robots.base import DrivenRobot

if TYPE_CHECKING:
    from soft_twin.learning.correction import Correction
    from soft_twin_ros.running.takes_shape import TakesShape

HOLD, QUICK_HOLD = 10.0, 3.0  # [s]
LAST = 1.0  # [s] of the hold, over which pressures are averaged
MOVING = 0.005  # of the highest command, by which chambers that still move change over half of that
MM = 1e3


def weights_of(robot: DrivenRobot, file: Path) -> "Correction":
    """The robot's.

    Raises:
        UsageError: JAX is missing, or they are another robot's.
        RecordingError: the file is none of weights.
    """
    import soft_twin.learning

    try:
        correction = soft_twin.learning.load(file)
    except ImportError as error:
        raise UsageError(f"--weights needs JAX ({error.name} is missing): pip install soft_twin[learning]") from None
    correction.check(robot)
    return correction


def asked_pressures(robot: DrivenRobot, limits: np.ndarray, text: str | None) -> np.ndarray:
    """(a,) [Pa] as they are asked for, numbers between commas; without, half of what each chamber may have.

    Raises:
        UsageError: another number of them, no numbers, or beyond their limits.
    """
    if text is None:
        return limits.mean(axis=1)
    names = robot.chamber_names
    try:
        found = np.array([float(word) for word in text.split(",")])
    except ValueError:
        raise UsageError(f"--pressures {text}: expected numbers between commas [Pa]") from None
    if len(found) != len(names):
        raise UsageError(f"--pressures {text}: expected {len(names)} of them [Pa], of {', '.join(names)}")
    for name, value, (low, high) in zip(names, found, limits, strict=True):
        if not low <= value <= high:
            raise UsageError(f"--pressures: {name} {value:g} Pa is outside {low:g}…{high:g} Pa")
    return found


@dataclass(frozen=True)
class Goal:
    """The shape that a robot shall take.

    Attributes:
        points: (k, 3) [m] that it is shown.
        pressures: (a,) at which it is predicted [Pa].
        pose: of the points, "fixed" in base_link or "free".
        whole: they have no holes.
        off: how far the surface that is predicted at pressures (a,) [Pa] is from there, point by point [m]; NaN for
            those opposite a hole.
        words: what it is.
    """

    points: np.ndarray
    pressures: np.ndarray
    pose: str
    whole: bool
    off: Callable[[np.ndarray], np.ndarray]
    words: str


def goal_by_pressures(correction: "Correction", pressures: np.ndarray) -> Goal:
    """The shape that is predicted at pressures (a,) [Pa]."""
    points = correction(pressures)

    def off(others: np.ndarray) -> np.ndarray:
        return np.linalg.norm(correction(others) - points, axis=1)

    return Goal(points, pressures, "fixed", False, off, "the shape of these pressures")


def goal_from_file(correction: "Correction", robot: DrivenRobot, file: Path, pose: str) -> Goal:
    """The shape in a file, a mesh or a cloud in metres, and where it is met best.

    Raises:
        UsageError, RecordingError, InputError: it is no target of this robot, see `read_target` and `ShapeControl`.
    """
    from soft_twin.learning.shape_control import ShapeControl
    from soft_twin.learning.target_files import read_target

    target, control = read_target(file), ShapeControl(correction, names=robot.chamber_names)
    found = control.solve(target, pose)

    def off(others: np.ndarray) -> np.ndarray:
        return control.distances(target, others, found.pose, pose)

    limits = f"; limits bind: {', '.join(found.active_limits)}" if found.active_limits else ""
    words = f"{file.name}, which is met within {MM * found.mean:.2f} mm, at most {MM * found.largest:.2f} mm{limits}"
    return Goal(target.points / MM, found.pressures, pose, target.whole, off, words)


def shape_sequence(folder: Path, goal: Goal, file: Path, quick: bool) -> "TakesShape":
    """How the run goes by a file of weights; the surface to take is written to target.csv in the folder."""
    from soft_twin_ros.running.takes_shape import TakesShape

    target = (folder / "target.csv").resolve()
    np.savetxt(target, goal.points, fmt="%.7f", delimiter=",")
    duration = QUICK_HOLD if quick else HOLD
    return TakesShape({}, str(target), str(file.resolve()), duration, goal.pose, goal.whole)


def write_shape_report(
    path: Path, folder: Path, robot: DrivenRobot, correction: "Correction", goal: Goal
) -> dict[str, Any]:
    """What came of a recorded run, into report.json: pressures that the target is predicted at, that were commanded,
    and that the emulated chambers had; how far the surface that is predicted at the latter is from the target; and
    which chambers had not come to rest.

    Raises:
        RecordingError: the recording has no phase `with`, or no pressures then.
    """
    commanded, had, moved = _last_pressures(path, robot)
    apart = MM * goal.off(np.clip(had, *correction.shapes.limits.T))
    rows = np.round([goal.pressures, commanded, had], 1).T
    report = {
        "robot": robot.name,
        "target": goal.words,
        "chambers": {
            name: dict(zip(("target_Pa", "commanded_Pa", "had_Pa"), values, strict=True))
            for name, values in zip(robot.chamber_names, rows.tolist(), strict=True)
        },
        "largest_error_Pa": {
            "commanded": round(float(np.abs(commanded - goal.pressures).max()), 1),
            "had": round(float(np.abs(had - goal.pressures).max()), 1),
        },
        "surface_error_mm": {"mean": round(float(np.nanmean(apart)), 4), "max": round(float(np.nanmax(apart)), 4)},
    }
    still_moving = np.abs(moved) > MOVING * np.abs(commanded).max()
    if still_moving.any():
        pairs = zip(robot.chamber_names, moved / (0.5 * LAST), still_moving, strict=True)
        report["still_moving_Pa_per_s"] = {name: round(float(rate), 1) for name, rate, moves in pairs if moves}
    with whole_file(folder / "report.json") as partial:
        partial.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return report


def shape_table(report: dict[str, Any]) -> str:
    """A report as lines of text."""
    lines = [f"target: {report['target']}", f"{'chamber':<16} {'target [Pa]':>12} {'commanded':>10} {'had':>8}"]
    for name, row in report["chambers"].items():
        lines.append(f"{name:<16} {row['target_Pa']:>12.0f} {row['commanded_Pa']:>10.0f} {row['had_Pa']:>8.0f}")
    errors, surface = report["largest_error_Pa"], report["surface_error_mm"]
    lines.append(f"{'largest error':<16} {'':>12} {errors['commanded']:>10.0f} {errors['had']:>8.0f}")
    if rates := report.get("still_moving_Pa_per_s"):
        words = ", ".join(f"{name} by {rate:+.0f} Pa/s" for name, rate in rates.items())
        lines.append(f"still moving when the run ended: {words}; what they had is not what they would have had")
    lines.append(f"surface from its target, by the weights: {surface['mean']:.2f} mm, at most {surface['max']:.2f} mm")
    return "\n".join(lines)


def _last_pressures(path: Path, robot: DrivenRobot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a,) each: commanded, and of the emulated chambers, over the hold's LAST seconds, and how much these rise from
    its first half to its second [Pa]."""
    names = [f"{prefix(robot.name)}{name}" for name in ("run/phase", "chambers/command", "truth/chambers")]
    series = arrays(path, names)
    phases = series.get(names[0])
    ends = [] if phases is None else phases.log_time[phases["data"] == "end"].tolist()
    if not ends:
        raise RecordingError(f"{path}: no phase 'end' in it: the shape was not held to the end")
    found = []
    for name in names[1:]:
        topic = series.get(name)
        then = [] if topic is None else (topic.log_time > ends[0] - 1e9 * LAST) & (topic.log_time <= ends[0])
        if not np.any(then):
            raise RecordingError(f"{path}: nothing on {name} while the shape was held")
        order = [topic.names.index(chamber) for chamber in robot.chamber_names]
        values = topic["pressures"][then][:, order]
        found.append(values.mean(axis=0))
    half = len(values) // 2
    moved = values[half:].mean(axis=0) - values[:half].mean(axis=0) if half else np.zeros(values.shape[1])
    return found[0], found[1], moved
