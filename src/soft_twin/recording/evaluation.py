"""What a recorded run of a robot came to: errors, delays and shapes, without and with compensation.

The emulated robot publishes what really happens under `truth/`; without those topics (a real robot) there are no
errors, but all that concerns the nodes is still here. Times are seconds since the first message of the recording.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from soft_twin.errors import UsageError
from soft_twin.recording.plate_run import PlateRun, plate_run
from soft_twin.recording.reader import Series, arrays, topic_types
from soft_twin.recording.recorded_run import (
    PASSES,
    Curve,
    Interval,
    Run,
    axes_of,
    check_clocks,
    check_not_mixed,
    check_one_run,
)
from soft_twin.recording.robots import check_actuators, check_types, prefix, recorded_namespace
from soft_twin.recording.storage import is_complete
from soft_twin.robots.base import DrivenRobot, Robot
from soft_twin.robots.tensegrity import TensegrityArm

PROFILE = "profile"
SETTLED = 0.5  # [s] at the end of a hold that its values are taken from
STILL = np.radians(0.5)  # [rad/s] a base that turns slower is held
SHORTEST_HOLD = 0.4  # [s]
WAITING = 0.5  # of the longest hold between moves: what is shorter, at a pass's ends, is none
SAME = np.radians(1.0)  # between inclinations of a pass that are one
NEAR = np.radians(5.0)  # between those of two passes that may be one attitude
WINDOW = 2.0  # [s] length of the windows that a run without holds is cut into
MOST_WINDOWS = 12
SLOW = 0.98  # an emulated robot with a pace below this did not keep up with real time
STALE = 0.5  # [s] a shape farther away in time is not that of the moment
GAP = 2.5  # of a topic's period, and STALE: nothing is known between messages that are further apart
TIMES_ALONE = (
    *("imu/data", "imu/data_raw", "imu/temperature", "twin/target", "chambers/joint_state", "truth/cables"),
    *("truth/chambers", "plate/imu/data", "plate/imu/data_raw", "plate/imu/temperature", "plate/gravity"),
)  # of which no more is evaluated
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Stand:
    """The robot while its base is held in one attitude, or in one window of a moving run.

    Attributes:
        interval: when; its name is that of the pass.
        moment: the time that its shape is of [s].
        inclination: median angle of the base's axis to the ground [rad], see `inclination`.
        attitude: (3, 3) base_link → world at a moment of about that inclination, at which a shape was recorded.
        tip: (3,) the robot's tip at that moment [m], base_link.
        error: median distance between tip and target [m].
        tilt: median angle between the tip's axis and the base's [rad]; NaN where its orientation is unknown.
        body: (k, 3) points along the body from base to tip at that moment [m], base_link; none where not recorded. Of
            an arm of struts, their bottoms and then their tops.
        target: (3,) where the tip should be [m], base_link.
        estimate: as `body`, where a twin has it that estimates the shape.
    """

    interval: Interval
    moment: float
    inclination: float
    attitude: np.ndarray
    tip: np.ndarray
    error: float
    tilt: float
    body: np.ndarray
    target: np.ndarray
    estimate: np.ndarray | None = None


@dataclass(frozen=True)
class HeldAttitude:
    """The same attitude of the base in both passes: stands by name of the pass; one may be missing."""

    stands: Mapping[str, Stand]

    @property
    def inclination(self) -> float:
        """[rad]"""
        return float(np.mean([stand.inclination for stand in self.stands.values()]))


@dataclass(frozen=True)
class Evaluation:
    """A run in numbers.

    Attributes:
        robot, source: the robot's name; "profile" or the name of the recording that moved the base.
        length: of the undeformed body [m].
        complete: the recording was ended properly.
        duration: from its first to its last message [s].
        passes: the parts of the run without and with compensation.
        poses: attitudes of the base, in the order of the run.
        tip_error: distance between the robot's tip and the target over time [m].
        twin_error: distance between the twin's and the robot's tip [m]; none where one of both was not recorded.
        gravity_error: angle between estimated and true gravity [rad], likewise.
        shape_error: mean distance of the twin's points from the robot's [m], of those that both name.
        commanded, measured: cable displacements [m], (n, c).
        cable_names: of their columns.
        commanded_pressures, measured_pressures: of chambers [Pa], (n, c).
        chamber_names: of their columns.
        solve_time: wall time of each solve [s].
        latency: from the IMU sample to the published command of cables or chambers [s].
        twin_latency: from the IMU sample to the published tip of the twin [s]; also without compensation.
        correlation: Pearson's r of the twin's and the robot's tip over both passes; NaN without truth.
        binding: how many solves had each limit binding.
        solves, unsettled: how many solves there were, and how many still moved the twin (as gravity did).
        estimates: the robot's shape was estimated, nothing held its tip: errors are those of what is believed of it.
        pace: seconds of the emulated robot's time that a second of real time was; empty without emulation.
        plate: how the orientation of its plate was held; None: nobody did that.
    """

    robot: str
    source: str
    length: float
    complete: bool
    duration: float
    passes: tuple[Interval, ...]
    poses: tuple[HeldAttitude, ...]
    tip_error: Curve
    twin_error: Curve
    gravity_error: Curve
    shape_error: Curve
    commanded: Curve
    measured: Curve
    cable_names: tuple[str, ...]
    commanded_pressures: Curve
    measured_pressures: Curve
    chamber_names: tuple[str, ...]
    solve_time: Curve
    latency: Curve
    twin_latency: Curve
    correlation: float
    binding: dict[str, int] = field(default_factory=dict)
    solves: int = 0
    unsettled: int = 0
    estimates: bool = False
    pace: Curve = field(default_factory=lambda: Curve(np.empty(0), np.empty(0)))
    plate: PlateRun | None = None

    @property
    def slow(self) -> tuple[float, float]:
        """For how long the emulated robot did not keep up with real time [s], and at what pace then; 1 if it did."""
        lengths = np.diff(self.pace.time, prepend=0.0)[1:]
        paces = self.pace.values[1:]
        behind = paces < SLOW
        if not behind.any():
            return 0.0, 1.0
        return float(lengths[behind].sum()), float(np.average(paces[behind], weights=lengths[behind]))

    def in_passes(self, curve: Curve) -> np.ndarray:
        """Values of a curve in the passes, without warm-up and pauses."""
        return np.concatenate([curve.within(interval) for interval in self.passes] or [curve.values[:0]])


def evaluate(path: str | Path, robot: Robot, source: str = PROFILE, namespace: str | None = None) -> Evaluation:
    """Evaluate a recorded run.

    Args:
        path: of the recording.
        robot: the robot that was run.
        source: what moved the base: "profile", or the name of a recording. A profile's poses are the attitudes in
            which the base is held. A recording's base never rests, so its run is cut into windows of WINDOW
            seconds (longer ones where that makes more than MOST_WINDOWS), which are paired between the passes by
            the time since the pass began. So is the run of an arm whose shape is estimated.
        namespace: of the robot's topics; see `recorded_namespace`.

    Raises:
        RecordingError: the file is missing or no recording, or has nothing of the robot, or of several, or of another,
            or a topic of another type, or several runs, or a stretch of time twice, or stamps of another clock than
            that by which it was sent.
        UsageError: runs of robots like this one are not evaluated.
    """
    look = next((look for kind, look in LOOKS.items() if isinstance(robot, kind)), None)
    if look is None:
        raise UsageError(f"runs of '{robot.name}' are not evaluated: {type(robot).__name__} is not among the kinds")
    topics = topic_types(path)
    namespace = recorded_namespace(path, topics, robot, namespace)
    begin = prefix(namespace)
    own = arrays(path, {topic for topic in topics if topic.startswith(begin)}, {begin + name for name in TIMES_ALONE})
    check_types(path, topics, namespace)
    check_not_mixed(path, own.values())
    check_clocks(path, own.values())
    check_one_run(path, own.get(f"{begin}run/phase"))
    return look(path, robot, source, own, namespace)


def _of_driven(path: str | Path, robot: DrivenRobot, source: str, series: Mapping, namespace: str) -> Evaluation:
    """A robot whose tip is held while its base turns."""
    run = Run(series, namespace, robot.target_tip)
    check_actuators(path, run.series.get("solver/status"), robot)
    passes = run.passes()
    truth = run.curve("truth/tip", "position", (3,))
    return Evaluation(
        **_common(path, robot, source, run, truth),
        length=_length(run, robot),
        poses=_poses(run, passes, held=source == PROFILE),
        tip_error=Curve(truth.time, np.linalg.norm(truth.values - run.target(truth.time), axis=1)),
        latency=run.delay("cables/command" if robot.cable_names else "chambers/command"),
        plate=plate_run(run),
    )


def _of_arm(path: str | Path, arm: TensegrityArm, source: str, series: Mapping, namespace: str) -> Evaluation:
    """An arm whose shape is estimated: `without` its sensors, its tip is where the straight arm has it."""
    highest = np.full(arm.model.cylinder_count, arm.model.laws.pressure_range[1])
    run = Run(series, namespace, arm.forward(highest).tip())
    truth = run.curve("truth/tip", "position", (3,))
    common = _common(path, arm, source, run, truth)
    return Evaluation(
        **common,
        length=float(np.linalg.norm(run.target(np.zeros(1))[0])),
        poses=_estimated(run, common["passes"], common["twin_error"]),
        tip_error=common["twin_error"],
        latency=Curve(np.empty(0), np.empty(0)),
        estimates=True,
    )


def _common(path: str | Path, robot: Robot, source: str, run: "Run", truth: Curve) -> dict[str, Any]:
    """What is evaluated alike for every robot, by the fields of Evaluation."""
    passes, status = run.passes(), run.series.get("solver/status")
    return {
        "robot": robot.name,
        "source": source,
        "complete": is_complete(path),
        "duration": run.end,
        "passes": passes,
        "twin_error": _twin_error(run, truth),
        "gravity_error": _gravity_error(run),
        "shape_error": _shape_error(run),
        "commanded": run.curve("cables/command", "position", (len(_columns(run, "cables", robot)),)),
        "measured": run.curve("cables/state", "position", (len(_columns(run, "cables", robot)),)),
        "cable_names": _columns(run, "cables", robot),
        "commanded_pressures": run.curve("chambers/command", "pressures", (len(_columns(run, "chambers", robot)),)),
        "measured_pressures": run.curve("chambers/state", "pressures", (len(_columns(run, "chambers", robot)),)),
        "chamber_names": _columns(run, "chambers", robot),
        "solve_time": run.curve("solver/status", "duration"),
        "twin_latency": run.delay("twin/tip"),
        "correlation": _correlation(run, truth, passes),
        "binding": _binding(status),
        "solves": 0 if status is None else len(status),
        "unsettled": 0 if status is None else int(np.sum(~status["converged"])),
        "pace": run.curve("truth/pace", "data"),
    }


LOOKS: dict[type, Callable[..., Evaluation]] = {DrivenRobot: _of_driven, TensegrityArm: _of_arm}


def inclination(attitude: np.ndarray) -> float:
    """Angle between the base's axis and the ground [rad]: π/2 upright, 0 horizontal, negative pointing down.

    Turning about a horizontal x axis of the base, it goes on beyond upright: 3π/4 is 45° past it.

    Args:
        attitude: (3, 3) base_link → world.
    """
    axis = attitude[:, 2]
    horizontal = axis - (axis @ UP) * UP
    return float(np.arctan2(axis @ UP, np.linalg.norm(horizontal) * _side(attitude)))


def vertical_plane(attitude: np.ndarray) -> np.ndarray:
    """(2, 3) world directions "across" and "up" of the vertical plane through the base's axis.

    Across points where the axis points at inclinations below upright.
    """
    axis = attitude[:, 2]
    across = (axis - (axis @ UP) * UP) * _side(attitude)
    if np.linalg.norm(across) < 1e-3:
        across = np.cross(attitude[:, 0], UP)
    return np.array([across / np.linalg.norm(across), UP])


def _side(attitude: np.ndarray) -> float:
    """+1 where the base's axis leans to the side of x × up, else −1."""
    return -1.0 if attitude[:, 2] @ np.cross(attitude[:, 0], UP) < 0.0 else 1.0


def _poses(run: Run, passes: tuple[Interval, ...], held: bool) -> tuple[HeldAttitude, ...]:
    if "truth/tip" not in run.series or "truth/base" not in run.series:
        return ()
    cut = _holds if held else _windows
    stands = {interval.name: _stands(run, cut(run, interval), held) for interval in passes}
    first, second = (stands.get(name, []) for name in PASSES)
    return _paired_by_inclination(first, second) if held else _paired_by_index(first, second)


def _holds(run: Run, interval: Interval) -> list[Interval]:
    """Where the base is still, in one pass; the last sample of a hold belongs to it.

    A short rest before the first move or after the last one is a waiting, in which nothing has come to rest.
    """
    base = run.curve("truth/base", "quaternion_xyzw", (4,))
    inside = interval.contains(base.time)
    time, turns = base.time[inside], Rotation.from_quat(base.values[inside])
    if len(time) < 2:
        return []
    still = (turns[:-1].inv() * turns[1:]).magnitude() <= STILL * np.maximum(np.diff(time), 1e-6)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
    found = [Interval(interval.name, time[i], np.nextafter(time[j], np.inf)) for i, j in edges.reshape(-1, 2)]
    lengths = np.array([hold.end - hold.start for hold in found])
    between = np.array([time[0] < hold.start and hold.end < time[-1] for hold in found], dtype=bool)
    waiting = WAITING * lengths[between].max(initial=0.0)
    shortest = np.where(between, SHORTEST_HOLD, max(SHORTEST_HOLD, waiting))
    return [hold for hold, long in zip(found, lengths >= shortest, strict=True) if long]


def _windows(run: Run, interval: Interval) -> list[Interval]:
    """One pass in equal windows, of WINDOW seconds if there are no more than MOST_WINDOWS of them."""
    duration = interval.end - interval.start
    length = max(WINDOW, duration / MOST_WINDOWS)
    count = max(1, int(duration / length + 1e-6))
    starts = interval.start + length * np.arange(count)
    return [Interval(interval.name, start, min(start + length, interval.end)) for start in starts]


def _stands(run: Run, intervals: list[Interval], held: bool) -> list[Stand]:
    cuts = [Interval(i.name, max(i.start, i.end - SETTLED), i.end) if held else i for i in intervals]
    stands = [_stand(run, whole, cut) for whole, cut in zip(intervals, cuts, strict=True)]
    return [stand for stand in stands if stand is not None]


def _stand(run: Run, whole: Interval, cut: Interval) -> Stand | None:
    """Medians over `cut`; None where nothing true was recorded in it."""
    tips = run.curve("truth/tip", "position", (3,))
    inside = cut.contains(tips.time)
    base = run.curve("truth/base", "quaternion_xyzw", (4,)).part(cut)
    if not inside.any() or not len(base.time):
        return None
    turns = Rotation.from_quat(base.values).as_matrix()
    axes = axes_of(run.curve("truth/tip", "orientation_xyzw", (4,)).within(cut))
    targets = run.target(tips.time[inside])
    angles = np.unwrap([inclination(turn) for turn in turns])
    moment, body, tip = _body(run, tips, base.time[np.argsort(angles, kind="stable")[len(angles) // 2]])
    return Stand(
        interval=whole,
        moment=moment,
        inclination=float(np.median(angles)),
        attitude=Rotation.from_quat(_at(base, moment)).as_matrix(),
        tip=tip,
        error=float(np.median(np.linalg.norm(tips.values[inside] - targets, axis=1))),
        tilt=float(np.median(np.arccos(np.clip(axes[:, 2], -1.0, 1.0)))) if len(axes) else float("nan"),
        body=body,
        target=targets[-1],
    )


def _body(run: Run, tips: Curve, moment: float) -> tuple[float, np.ndarray, np.ndarray]:
    """When a centre line was recorded nearest to a moment, the line (k, 3), and the robot's tip (3,) then.

    Where the robot's own line is not known, the twin's stands in for it. A tip may lie beside either: it is any point.
    """
    for topic in ("truth/shape", "shape"):
        shapes = run.curve(topic, "points", (0, 3))
        if len(shapes.time) and np.min(np.abs(shapes.time - moment)) < STALE:
            nearest = np.argmin(np.abs(shapes.time - moment))
            time, line = float(shapes.time[nearest]), shapes.values[nearest]
            return time, line, _at(tips, time)
    return moment, np.empty((0, 3)), _at(tips, moment)


def _at(curve: Curve, time: float) -> np.ndarray:
    """The value recorded nearest to that time."""
    return curve.values[np.argmin(np.abs(curve.time - time))]


def _paired_by_inclination(first: list[Stand], second: list[Stand]) -> tuple[HeldAttitude, ...]:
    """Of those near each other, each with the nearest of the other pass that has none nearer."""
    first, second = _without_repetition(first), _without_repetition(second)
    apart = np.abs(np.subtract.outer([each.inclination for each in first], [each.inclination for each in second]))
    mates: dict[int, Stand] = {}
    for row, column in enumerate(apart.argmin(axis=1)) if apart.size else ():
        if apart[row, column] < NEAR and apart[:, column].argmin() == row:
            mates[row] = second[column]
    rows = [[stand, *([mates[row]] if row in mates else [])] for row, stand in enumerate(first)]
    rows += [[stand] for stand in second if not any(stand is mate for mate in mates.values())]
    return tuple(HeldAttitude({stand.interval.name: stand for stand in row}) for row in rows)


def _without_repetition(stands: list[Stand]) -> list[Stand]:
    """Stands of one pass, each inclination once: not the waiting before its first or after its last move."""
    kept: list[Stand] = []
    for place, stand in enumerate(stands):
        same = [i for i, other in enumerate(kept) if abs(other.inclination - stand.inclination) < SAME]
        if not same:
            kept.append(stand)
        elif 0 < place < len(stands) - 1:
            kept[same[0]] = stand
    return sorted(kept, key=lambda stand: stand.interval.start)


def _paired_by_index(first: list[Stand], second: list[Stand]) -> tuple[HeldAttitude, ...]:
    count = max(len(first), len(second))
    rows = [[*first[i : i + 1], *second[i : i + 1]] for i in range(count)]
    return tuple(HeldAttitude({stand.interval.name: stand for stand in row}) for row in rows)


def _twin_error(run: Run, truth: Curve) -> Curve:
    time, twin, robot = _both_tips(run, truth)
    return Curve(time, np.linalg.norm(twin - robot, axis=1))


def _both_tips(run: Run, truth: Curve) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (n,), the twin's and the robot's tip (n, 3) each, at the times of the truth, but for gaps of the twin's."""
    twin = run.curve("twin/tip", "position", (3,))
    common = _between(twin.time, truth.time)
    if not common.any():
        return np.empty(0), np.empty((0, 3)), np.empty((0, 3))
    time = truth.time[common]
    tips = np.column_stack([np.interp(time, twin.time, column) for column in twin.values.T])
    return time, tips, truth.values[common]


def _correlation(run: Run, truth: Curve, passes: tuple[Interval, ...]) -> float:
    """Pearson's r of two trajectories p, q: Σ (p − p̄)·(q − q̄) / √(Σ |p − p̄|² Σ |q − q̄|²)."""
    time, twin, robot = _both_tips(run, truth)
    used = np.any([interval.contains(time) for interval in passes], axis=0) & np.ones(len(time), dtype=bool)
    if used.sum() < 2:
        return float("nan")
    p = twin[used] - twin[used].mean(axis=0)
    q = robot[used] - robot[used].mean(axis=0)
    scale = np.sqrt(np.sum(p**2) * np.sum(q**2))
    return float(np.sum(p * q) / scale) if scale > 0.0 else float("nan")


def _gravity_error(run: Run) -> Curve:
    base = run.curve("truth/base", "quaternion_xyzw", (4,))
    gravity = run.curve("gravity", "vector", (3,))
    order = np.unique(base.time, return_index=True)[1]
    common = _between(base.time[order], gravity.time)
    if not common.any():
        return Curve(np.empty(0), np.empty(0))
    attitude = Slerp(base.time[order], Rotation.from_quat(base.values[order]))(gravity.time[common])
    down = attitude.inv().apply(-UP)
    estimate = gravity.values[common]
    angle = np.arctan2(np.linalg.norm(np.cross(estimate, down), axis=1), np.sum(estimate * down, axis=1))
    return Curve(gravity.time[common], angle)


def _between(times: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(n,) which of `wanted` lie between two of `times`, which are sorted, without a gap there."""
    if len(times) < 2:
        return np.zeros(len(wanted), dtype=bool)
    periods, after = np.diff(times), np.clip(np.searchsorted(times, wanted), 1, len(times) - 1)
    inside = (wanted >= times[0]) & (wanted <= times[-1])
    return inside & (periods[after - 1] <= max(STALE, GAP * float(np.median(periods))))


def _columns(run: Run, actuators: str, robot: Robot) -> tuple[str, ...]:
    """Names of cables or chambers, in the order of their columns: of the commands, or of what was measured."""
    for topic in (f"{actuators}/command", f"{actuators}/state"):
        if topic in run.series:
            return run.series[topic].names
    return tuple(getattr(robot, f"{actuators[:-1]}_names", ()))


def _length(run: Run, robot: DrivenRobot) -> float:
    """Of the body [m]: along the twin's centre line when it was first recorded, at least as far as the target."""
    reach = float(np.linalg.norm(robot.target_tip))
    lines = run.curve("shape", "points", (0, 3)).values
    if not len(lines) or lines.shape[1] < 2 or not np.isfinite(lines[0]).all():
        return reach
    return max(float(np.linalg.norm(np.diff(lines[0], axis=0), axis=1).sum()), reach)


def _shape_error(run: Run) -> Curve:
    """At the times of the true shapes, where a shape of the twin was recorded within STALE of them."""
    true, twin = run.curve("truth/shape", "points", (0, 3)), run.curve("shape", "points", (0, 3))
    if not len(true.time) or not len(twin.time):
        return Curve(np.empty(0), np.empty(0))
    theirs, own = run.series["truth/shape"].names, run.series["shape"].names
    both = [name for name in theirs if name in own]
    if not both:
        return Curve(np.empty(0), np.empty(0))
    nearest = _nearest(twin.time, true.time)
    near = np.abs(twin.time[nearest] - true.time) < STALE
    first = true.values[near][:, [theirs.index(name) for name in both]]
    second = twin.values[nearest[near]][:, [own.index(name) for name in both]]
    return Curve(true.time[near], np.linalg.norm(first - second, axis=2).mean(axis=1))


def _nearest(times: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Indices of the nearest of `times`, which are sorted, to each of `wanted`."""
    after = np.clip(np.searchsorted(times, wanted), 1, max(len(times) - 1, 1))
    before = wanted - times[after - 1] <= times[after % len(times)] - wanted
    return np.where(before, after - 1, after % len(times))


def _estimated(run: Run, passes: tuple[Interval, ...], estimate_error: Curve) -> tuple[HeldAttitude, ...]:
    """Windows of an arm's run; the errors are those of what is believed of its tip without and with its sensors."""
    if "truth/tip" not in run.series or "truth/base" not in run.series:
        return ()
    poses = []
    for window in [window for interval in passes for window in _windows(run, interval)]:
        stand, errors = _stand(run, window, window), estimate_error.within(window)
        if stand is not None and len(errors):
            found = replace(stand, error=float(np.median(errors)), estimate=_points_at(run, "shape", stand.moment))
            poses.append(HeldAttitude({"without": stand, "with": found}))
    return tuple(poses)


def _points_at(run: Run, topic: str, time: float) -> np.ndarray:
    """(k, 3) points of the shape that was recorded nearest to that time."""
    shapes = run.curve(topic, "points", (0, 3))
    return _at(shapes, time) if len(shapes.time) else np.empty((0, 3))


def _binding(status: Series | None) -> dict[str, int]:
    counts: dict[str, int] = {}
    for limits in [] if status is None else status["active_limits"]:
        for limit in limits:
            counts[limit] = counts.get(limit, 0) + 1
    return dict(sorted(counts.items()))
