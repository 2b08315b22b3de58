"""What a recorded run of a robot came to: errors, delays and shapes, without and with compensation.

The emulated robot publishes what really happens under `truth/`; without those topics (a real robot) there are no
errors, but all that concerns the nodes is still here. Times are seconds since the first message of the recording.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from soft_twin.recording.reader import Series, arrays, is_complete
from soft_twin.recording.robots import check_topics
from soft_twin.robots.cable_tube import CableTube

PASSES = ("without", "with")
PROFILE = "profile"
SETTLED = 0.5  # [s] at the end of a hold that its values are taken from
STILL = np.radians(0.5)  # [rad/s] a base that turns slower is held
SHORTEST_HOLD = 0.4  # [s]
WINDOW = 2.0  # [s] length of the windows that a run without holds is cut into
MOST_WINDOWS = 12
SLOW = 0.98  # an emulated robot with a pace below this did not keep up with real time
STALE = 0.5  # [s] a shape farther away in time is not that of the moment
LARGEST = 1e6  # [m], [m/s²], [s] beyond which a value is none
UNIT = 0.01  # by which the length of a quaternion may differ from 1
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Interval:
    """A named part of the run, from start to end [s]."""

    name: str
    start: float
    end: float

    def contains(self, time: np.ndarray) -> np.ndarray:
        return (time >= self.start) & (time < self.end)


@dataclass(frozen=True)
class Curve:
    """Values (n,) or (n, k) over time (n,) [s]."""

    time: np.ndarray
    values: np.ndarray

    def within(self, interval: Interval) -> np.ndarray:
        """The values in an interval."""
        return self.values[interval.contains(self.time)]

    def part(self, interval: Interval) -> "Curve":
        """The curve in an interval."""
        return Curve(self.time[interval.contains(self.time)], self.within(interval))


@dataclass(frozen=True)
class Stand:
    """The robot while its base is held in one attitude, or in one window of a moving run.

    Attributes:
        interval: when; its name is that of the pass.
        inclination: median angle of the base's axis to the ground [rad], see `inclination`.
        attitude: (3, 3) base_link → world at a moment of about that inclination, at which a shape was recorded.
        tip: (3,) the robot's tip at that moment [m], base_link.
        error: median distance between tip and target [m].
        tilt: median angle between the tip's axis and the base's [rad].
        body: (k, 3) points along the body from base to tip at that moment [m], base_link; none where not recorded.
    """

    interval: Interval
    inclination: float
    attitude: np.ndarray
    tip: np.ndarray
    error: float
    tilt: float
    body: np.ndarray


@dataclass(frozen=True)
class Pose:
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
        twin_error: distance between the twin's and the robot's tip [m].
        gravity_error: angle between estimated and true gravity [rad].
        commanded, measured: cable displacements [m], (n, c).
        cable_names: of their columns.
        solve_time: wall time of each solve [s].
        latency: from the IMU sample to the published cable command [s].
        twin_latency: from the IMU sample to the published tip of the twin [s]; also without compensation.
        correlation: Pearson's r of the twin's and the robot's tip over both passes; NaN without truth.
        binding: how many solves had each limit binding.
        solves, unsettled: how many solves there were, and how many still moved the twin (as gravity did).
        pace: seconds of the emulated robot's time that a second of real time was; empty without emulation.
    """

    robot: str
    source: str
    length: float
    complete: bool
    duration: float
    passes: tuple[Interval, ...]
    poses: tuple[Pose, ...]
    tip_error: Curve
    twin_error: Curve
    gravity_error: Curve
    commanded: Curve
    measured: Curve
    cable_names: tuple[str, ...]
    solve_time: Curve
    latency: Curve
    twin_latency: Curve
    correlation: float
    binding: dict[str, int] = field(default_factory=dict)
    solves: int = 0
    unsettled: int = 0
    pace: Curve = field(default_factory=lambda: Curve(np.empty(0), np.empty(0)))

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


class Run:
    """A recording's topics by their names in the robot's namespace, with times in seconds since its start."""

    def __init__(self, series: Mapping[str, Series], namespace: str, robot: CableTube):
        self.robot = robot
        self.series = {name.removeprefix(f"/{namespace}/"): topic for name, topic in series.items()}
        ends = [(topic.log_time.min(), topic.log_time.max()) for topic in series.values()]
        self.start = min((start for start, _ in ends), default=0)
        self.end = self.seconds(max((end for _, end in ends), default=0))

    def seconds(self, nanoseconds: np.ndarray | int) -> np.ndarray | float:
        return (nanoseconds - self.start) * 1e-9

    def curve(self, topic: str, name: str, shape: tuple[int, ...] = ()) -> Curve:
        """A field over the stamps of its messages; empty, with rows of `shape`, where the topic was not recorded."""
        if topic not in self.series or name not in self.series[topic].fields:
            return Curve(np.empty(0), np.empty((0, *shape)))
        series = self.series[topic]
        order = np.flatnonzero(_usable(name, series))
        order = order[np.argsort(series.stamp[order], kind="stable")]
        return Curve(self.seconds(series.stamp[order]), series[name][order])

    def delay(self, topic: str) -> Curve:
        """From the stamp of each message (the measurement behind it) to its publication [s]."""
        if topic not in self.series:
            return Curve(np.empty(0), np.empty(0))
        series = self.series[topic]
        return Curve(self.seconds(series.stamp), (series.publish_time - series.stamp) * 1e-9)

    def target(self, time: np.ndarray) -> np.ndarray:
        """(n, 3) the tip's target at these times: that of the newest solve, before the first the robot's own [m]."""
        solves = self.curve("solver/status", "target", (3,))
        rows = np.vstack([self.robot.target_tip, solves.values])
        return rows[np.searchsorted(solves.time, time, side="right")]

    def passes(self) -> tuple[Interval, ...]:
        phases = self.curve("run/phase", "data")
        ends = [*phases.time[1:], self.end]
        spans = zip(phases.values, phases.time, ends, strict=False)
        return tuple(Interval(str(name), float(start), float(end)) for name, start, end in spans if name in PASSES)


def _usable(name: str, series: Series) -> np.ndarray:
    """(n,) which of a field's values say something: places, turns and vectors that are numbers of a sane size.

    Columns with names (cables) may have NaN among them: what a message left out.
    """
    values = series[name]
    if name not in ("position", "vector", "target", "quaternion_xyzw", "orientation_xyzw", "duration"):
        return np.ones(len(values), dtype=bool)
    rows = values.reshape(len(values), -1)
    if name.endswith("_xyzw"):
        return np.abs(np.linalg.norm(rows, axis=1) - 1.0) < UNIT
    known = np.abs(rows) <= LARGEST
    if name == "position" and series.names:
        return (known | np.isnan(rows)).all(axis=1)
    return known.all(axis=1)


def evaluate(path: str | Path, robot: CableTube, source: str = PROFILE, namespace: str | None = None) -> Evaluation:
    """Evaluate a recorded run.

    Args:
        path: an MCAP recording.
        robot: the robot that was run.
        source: what moved the base: "profile", or the name of a recording. A profile's poses are the attitudes in
            which the base is held. A recording's base never rests, so its run is cut into windows of WINDOW
            seconds (longer ones where that makes more than MOST_WINDOWS), which are paired between the passes by
            the time since the pass began.
        namespace: of the robot's topics; its name by default.

    Raises:
        RecordingError: the file is missing or no recording, or has nothing of the robot.
    """
    series = arrays(path)
    check_topics(path, series, namespace or robot.name)
    run = Run(series, namespace or robot.name, robot)
    passes = run.passes()
    truth = run.curve("truth/tip", "position", (3,))
    status = run.series.get("solver/status")
    return Evaluation(
        robot=robot.name,
        source=source,
        length=robot.body.length,
        complete=is_complete(path),
        duration=run.end,
        passes=passes,
        poses=_poses(run, passes, held=source == PROFILE),
        tip_error=Curve(truth.time, np.linalg.norm(truth.values - run.target(truth.time), axis=1)),
        twin_error=_twin_error(run, truth),
        gravity_error=_gravity_error(run),
        commanded=run.curve("cables/command", "position", (len(robot.cables),)),
        measured=run.curve("cables/state", "position", (len(robot.cables),)),
        cable_names=_cable_names(run),
        solve_time=run.curve("solver/status", "duration"),
        latency=run.delay("cables/command"),
        twin_latency=run.delay("twin/tip"),
        correlation=_correlation(run, truth, passes),
        binding=_binding(status),
        solves=0 if status is None else len(status),
        unsettled=0 if status is None else int(np.sum(~status["converged"])),
        pace=run.curve("truth/pace", "data"),
    )


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


def _poses(run: Run, passes: tuple[Interval, ...], held: bool) -> tuple[Pose, ...]:
    if "truth/tip" not in run.series or "truth/base" not in run.series:
        return ()
    cut = _holds if held else _windows
    stands = {interval.name: _stands(run, cut(run, interval), held) for interval in passes}
    first, second = (stands.get(name, []) for name in PASSES)
    return _paired_by_inclination(first, second) if held else _paired_by_index(first, second)


def _holds(run: Run, interval: Interval) -> list[Interval]:
    """Where the base is still, in one pass; the last sample of a hold belongs to it."""
    base = run.curve("truth/base", "quaternion_xyzw", (4,))
    inside = interval.contains(base.time)
    time, turns = base.time[inside], Rotation.from_quat(base.values[inside])
    if len(time) < 2:
        return []
    still = (turns[:-1].inv() * turns[1:]).magnitude() <= STILL * np.maximum(np.diff(time), 1e-6)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
    found = [Interval(interval.name, time[i], np.nextafter(time[j], np.inf)) for i, j in edges.reshape(-1, 2)]
    return [hold for hold in found if hold.end - hold.start >= SHORTEST_HOLD]


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
    axes = Rotation.from_quat(run.curve("truth/tip", "orientation_xyzw", (4,)).within(cut)).as_matrix()[:, :, 2]
    targets = run.target(tips.time[inside])
    angles = np.unwrap([inclination(turn) for turn in turns])
    moment, body, tip = _body(run, tips, base.time[np.argsort(angles)[len(angles) // 2]])
    return Stand(
        interval=whole,
        inclination=float(np.median(angles)),
        attitude=Rotation.from_quat(_at(base, moment)).as_matrix(),
        tip=tip,
        error=float(np.median(np.linalg.norm(tips.values[inside] - targets, axis=1))),
        tilt=float(np.median(np.arccos(np.clip(axes[:, 2], -1.0, 1.0)))),
        body=body,
    )


def _body(run: Run, tips: Curve, moment: float) -> tuple[float, np.ndarray, np.ndarray]:
    """When a centre line was recorded nearest to a moment, the line (k, 3), and the robot's tip (3,) then.

    The robot's own line ends at its tip; where it is not known, the twin's line stands in for it.
    """
    for topic in ("truth/shape", "shape"):
        shapes = run.curve(topic, "points", (0, 3))
        if len(shapes.time) and np.min(np.abs(shapes.time - moment)) < STALE:
            nearest = np.argmin(np.abs(shapes.time - moment))
            time, line = float(shapes.time[nearest]), shapes.values[nearest]
            return time, line, line[-1] if topic == "truth/shape" else _at(tips, time)
    return moment, np.empty((0, 3)), _at(tips, moment)


def _at(curve: Curve, time: float) -> np.ndarray:
    """The value recorded nearest to that time."""
    return curve.values[np.argmin(np.abs(curve.time - time))]


def _paired_by_inclination(first: list[Stand], second: list[Stand]) -> tuple[Pose, ...]:
    first, second = _without_repetition(first), _without_repetition(second)
    poses = []
    for stand in first:
        mates = [other for other in second if abs(other.inclination - stand.inclination) < np.radians(5.0)]
        poses.append(Pose({s.interval.name: s for s in (stand, *mates[:1])}))
    paired = [pose.stands["with"] for pose in poses if "with" in pose.stands]
    return (*poses, *(Pose({"with": stand}) for stand in second if not any(stand is other for other in paired)))


def _without_repetition(stands: list[Stand]) -> list[Stand]:
    """Stands of one pass, each inclination once: not the waiting before its first or after its last move."""
    kept: dict[int, Stand] = {}
    for place, stand in enumerate(stands):
        key = round(np.degrees(stand.inclination) / 5.0)
        if key not in kept or 0 < place < len(stands) - 1:
            kept[key] = stand
    return sorted(kept.values(), key=lambda stand: stand.interval.start)


def _paired_by_index(first: list[Stand], second: list[Stand]) -> tuple[Pose, ...]:
    count = max(len(first), len(second))
    rows = [[*first[i : i + 1], *second[i : i + 1]] for i in range(count)]
    return tuple(Pose({stand.interval.name: stand for stand in row}) for row in rows)


def _twin_error(run: Run, truth: Curve) -> Curve:
    time, twin, robot = _both_tips(run, truth)
    return Curve(time, np.linalg.norm(twin - robot, axis=1))


def _both_tips(run: Run, truth: Curve) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (n,), the twin's and the robot's tip (n, 3) each, at the times of the truth."""
    twin = run.curve("twin/tip", "position", (3,))
    if not len(twin.time):
        return np.empty(0), np.empty((0, 3)), np.empty((0, 3))
    common = (truth.time >= twin.time[0]) & (truth.time <= twin.time[-1])
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
    if len(order) < 2:
        return Curve(np.empty(0), np.empty(0))
    common = (gravity.time >= base.time[order[0]]) & (gravity.time <= base.time[order[-1]])
    attitude = Slerp(base.time[order], Rotation.from_quat(base.values[order]))(gravity.time[common])
    down = attitude.inv().apply(-UP)
    estimate = gravity.values[common]
    angle = np.arctan2(np.linalg.norm(np.cross(estimate, down), axis=1), np.sum(estimate * down, axis=1))
    return Curve(gravity.time[common], angle)


def _cable_names(run: Run) -> tuple[str, ...]:
    return run.series["cables/command"].names if "cables/command" in run.series else tuple(run.robot.cable_names)


def _binding(status: Series | None) -> dict[str, int]:
    counts: dict[str, int] = {}
    for limits in [] if status is None else status["active_limits"]:
        for limit in limits:
            counts[limit] = counts.get(limit, 0) + 1
    return dict(sorted(counts.items()))
