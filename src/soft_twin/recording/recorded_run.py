"""A recorded run's topics as curves over its own time: what evaluations start from."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.errors import RecordingError
from soft_twin.recording.reader import BACK, Series
from soft_twin.recording.robots import prefix

PASSES = ("without", "with")
LARGEST = 1e6  # [m], [m/s²], [s] beyond which a value is none
APART = 2.0  # [s] by which the stamps of a slow graph are never all before the times at which it sent
UNIT = 0.01  # by which the length of a quaternion may differ from 1


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


class Run:
    """A recording's topics by their names in the robot's namespace, with times in seconds since its start."""

    def __init__(self, series: Mapping[str, Series], namespace: str, target: Sequence[float]):
        """`target`: (3,) where the tip should be before the first solve says it [m]."""
        self._target = np.array(target, dtype=float)
        self._curves: dict[tuple[str, str, tuple[int, ...]], Curve] = {}
        self.series = {name.removeprefix(prefix(namespace)): topic for name, topic in series.items()}
        ends = [(topic.log_time.min(), topic.log_time.max()) for topic in series.values()]
        self.start = min((start for start, _ in ends), default=0)
        self.end = self.seconds(max((end for _, end in ends), default=0))

    def seconds(self, nanoseconds: np.ndarray | int) -> np.ndarray | float:
        return (nanoseconds - self.start) * 1e-9

    def curve(self, topic: str, name: str, shape: tuple[int, ...] = ()) -> Curve:
        """A field over the stamps of its messages; empty, with rows of `shape`, where the topic was not recorded. It is
        made once: each of many holds keeps points of it."""
        key = topic, name, shape
        if key not in self._curves:
            self._curves[key] = self._curve(topic, name, shape)
        return self._curves[key]

    def _curve(self, topic: str, name: str, shape: tuple[int, ...]) -> Curve:
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
        """(n, 3) the tip's target at these times: those of the newest solves, before the first the robot's own [m]."""
        solves = self.curve("solver/status", "target", (3,))
        rows = np.vstack([self._target, solves.values])
        return rows[np.searchsorted(solves.time, time, side="right")]

    def passes(self) -> tuple[Interval, ...]:
        phases = self.curve("run/phase", "data")
        ends = [*phases.time[1:], self.end]
        spans = zip(phases.values, phases.time, ends, strict=False)
        return tuple(Interval(str(name), float(start), float(end)) for name, start, end in spans if name in PASSES)


def check_clocks(path: str | Path, series: Collection[Series]) -> None:
    """See that stamps and the times at which messages were sent are of one clock: phases have the latter alone.

    Args:
        path: of the recording, for messages.
        series: topics of one robot.

    Raises:
        RecordingError: no message was sent within APART of its stamp, before or after.
    """
    delays = [topic.publish_time - topic.stamp for topic in series]
    nearest = [1e-9 * delay[np.argmin(np.abs(delay))] for delay in delays if delay.any()]  # all 0: without stamps
    least = min(nearest, key=abs, default=0.0)
    if abs(least) > APART:
        side = "before" if least > 0.0 else "after"
        raise RecordingError(
            f"{path}: stamps are {abs(least):.4g} s {side} the times at which messages were sent: expected one clock; "
            "of a recording that was played and recorded again take the first, of simulated time one without it"
        )


def check_not_mixed(path: str | Path, series: Collection[Series]) -> None:
    """See that no stretch of time was recorded twice.

    Args:
        path: of the recording, for messages.
        series: topics of one robot.

    Raises:
        RecordingError: messages of more than BACK are in it twice, see `Series.twice`.
    """
    longest = 1e-9 * max((topic.twice for topic in series), default=0)
    if longest > BACK:
        raise RecordingError(
            f"{path}: {longest:.4g} s are in it twice, as where the clock was set back while it was recorded, or files "
            "of the same time were joined: expected a recording of one run by one clock"
        )


def check_one_run(path: str | Path, phases: Series | None) -> None:
    """See that a recording has each pass once.

    Args:
        path: of the recording, for messages.
        phases: what is recorded of `run/phase`.

    Raises:
        RecordingError: one of PASSES begins several times.
    """
    begun = [] if phases is None else phases["data"].tolist()
    for name in PASSES:
        if begun.count(name) > 1:
            raise RecordingError(
                f"{path}: phase '{name}' begins {begun.count(name)} times in it: expected a recording of one run"
            )


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


def axes_of(quaternions: np.ndarray) -> np.ndarray:
    """(n, 3) z axes of quaternions (n, 4) x, y, z, w, of which there may be none."""
    return Rotation.from_quat(quaternions).as_matrix()[:, :, 2] if len(quaternions) else np.empty((0, 3))
