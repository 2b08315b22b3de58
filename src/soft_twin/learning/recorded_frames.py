"""Frames for training from a recording of a scanner's clouds, or of markers, beside the chambers' pressures.

While pressures stand, a shape may be seen many times: of each time in which they stood, the last cloud, or the mean of
the last markers, is a frame, and how long pressures had stood is told. Pressures stand while their mean over a second
leaves no chamber's SLACK around where it was: sensors of valves may be noisier than that. Where noise takes even means
out of it, the slack is CERTAIN times what two of them differ by. So the last half second before they change does not
count. Pressures that creep towards what they were told last stand all the time, where commands are there to say so: a
pump that takes its time makes no second frame of the same shape. Where markers are on the body is what was seen of them
while there was no pressure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from soft_twin.errors import InputError, RecordingError
from soft_twin.learning.frames import Scan, write_markers, write_recording
from soft_twin.recording.clouds import cloud_arrays
from soft_twin.recording.reader import Message, Series, arrays, read_messages, topic_types

CLOUD, POSES = "sensor_msgs/msg/PointCloud2", "geometry_msgs/msg/PoseArray"
PRESSURES, STATE, COMMAND, MARKERS = "soft_twin_msgs/msg/Pressures", "chambers/state", "chambers/command", "markers"
BASE = "base_link"
SLACK = 0.02  # of a chamber's range of pressures
CERTAIN = 4.0  # standard deviations: what noise alone does less than once in ten thousand times
NEWS = 1e-3  # of a chamber's range: what is told anew, and differs by less, is told again
SETTLED = 1.0  # [s] under the same pressures before a shape counts; pressures and markers are means over as long
QUIET, NORMAL = 0.25, 0.3186  # share of what is normally distributed that is nearer than so many deviations
GAP = 2.5  # of the pressures' period: nobody knows them for longer than that, and than SETTLED, after they were told
NS = 1e-9


@dataclass(frozen=True)
class Topics:
    """Of what was seen: of clouds, or of markers; None: the only one there is, of clouds where there are any."""

    scan: str | None = None
    markers: str | None = None


class Written(NamedTuple):
    """How many frames there are, and which markers (by their numbers, from 0) are left out, since they were never seen
    without pressure."""

    frames: int
    left_out: tuple[int, ...] = ()


def write_frames(
    recording: Path, folder: Path, names: list[str], limits: np.ndarray, topics: Topics | None = None
) -> Written:
    """Write the folder that `read_recording` reads.

    Args:
        recording: a file or folder that rosbag2 wrote.
        folder: to be written.
        names: the robot's chambers.
        limits: (a, 2) of their pressures [Pa].
        topics: of what was seen.

    Raises:
        RecordingError: it is broken; topics are missing, or several could be meant; other chambers; clouds or markers
            in another frame, clouds without normals, or markers that are now more, now fewer; or nothing was seen while
            pressures stood, or no marker while there was no pressure.
        UsageError: the folder cannot be written, or markers are there, and c3d is not installed.
    """
    types, topics = topic_types(recording), topics or Topics()
    state = _topic(recording, types, PRESSURES, None, STATE)
    stands = _Stands(recording, state, names, limits)
    if topics.markers is not None or (topics.scan is None and CLOUD not in types.values() and POSES in types.values()):
        return _write_markers(stands, _topic(recording, types, POSES, topics.markers, MARKERS), folder, names)
    return _write_scans(stands, _topic(recording, types, CLOUD, topics.scan), folder, names)


class _Stands:
    """The times of a recording in which pressures stood.

    Args:
        recording: it.
        state: topic of the pressures.
        names: of the chambers.
        limits: (a, 2) of their pressures [Pa].
    """

    def __init__(self, recording: Path, state: str, names: list[str], limits: np.ndarray):
        self.recording, self._state, self._limits = recording, state, limits
        told = state.removesuffix(STATE) + COMMAND
        try:
            series = arrays(recording, [state, told])
        except RecordingError:  # commands that no driver would take say nothing; if it is the states, that is told
            series = arrays(recording, [state])
        self._stamps, self._pressures, logged = _pressures(recording, series[state], names)
        periods = np.diff(self._stamps)
        self._known_for = max(SETTLED, GAP * float(np.median(periods))) if len(periods) else SETTLED
        means, first, last = around(self._stamps, self._pressures)
        spans = np.ptp(limits, axis=1)
        self._slack = SLACK * spans
        lasting = np.maximum(self._slack, CERTAIN * np.sqrt(2.0) * noise_of(self._stamps, means))
        commands = _commands(series[told], names, spans, logged) if told in series else np.full(len(logged), -1)
        self._starts, self._first = standing(means, lasting, last, commands), first

    def seen(self, topic: str) -> Iterator[tuple[int, float, Message]]:
        """What a topic had while pressures stood: the row since which they did, the stamp [s], and the message.

        Raises:
            RecordingError: nothing.
        """
        nothing, first, last = True, np.inf, -np.inf
        for message in read_messages(self.recording, [topic]):
            stamp = NS * (message.data.header.stamp.sec * 10**9 + message.data.header.stamp.nanosec)
            first, last = min(first, stamp), max(last, stamp)
            row = int(np.searchsorted(self._stamps, stamp, side="right")) - 1
            if row >= 0 and self._stood(row, stamp):
                nothing = False
                yield int(self._starts[row]), stamp, message
        if nothing:
            self._check_clocks(topic, first, last)
            raise RecordingError(
                f"{self.recording}: nothing on '{topic}' was seen after pressures had stood for {SETTLED:g} s, among "
                f"{len(self._stamps)} messages of '{self._state}'"
            )

    def _check_clocks(self, topic: str, first: float, last: float) -> None:
        """Refuse stamps [s] that are all before the first of the pressures', or after the last."""
        off = max(self._stamps[0] - last, first - self._stamps[-1])
        if off > SETTLED:
            raise RecordingError(
                f"{self.recording}: all of '{topic}' is {off:.1f} s {'before' if last < self._stamps[0] else 'after'} "
                f"'{self._state}' by its stamps: expected those of one clock"
            )

    def without_pressure(self, start: int, stamp: float) -> bool:
        """Whether there was no pressure in the last second before a stamp [s], while pressures stood from a row on."""
        away = np.abs(self._mean(start, stamp) - np.clip(0.0, *self._limits.T))
        return bool((away <= self._slack).all())

    def told(self, last: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray]:
        """(f, a) pressures [Pa], and how long (f,) they had stood [s], by rows and the stamps [s] of what was seen."""
        found = [self._mean(start, stamp) for start, stamp in last.items()]
        held = [stamp - self._since(start) for start, stamp in last.items()]
        return np.clip(found, *self._limits.T), np.array(held)

    def _stood(self, row: int, stamp: float) -> bool:
        """Whether pressures of a row are known, still are at a stamp [s], and have stood for long enough there: their
        means for half of it, since the first of these may be of the way there."""
        if stamp - self._stamps[row] > self._known_for:
            return False
        start = self._starts[row]
        lasted = stamp - self._stamps[start] >= 0.5 * SETTLED and stamp - self._since(start) >= SETTLED
        return lasted and bool(np.isfinite(self._pressures[row]).all())

    def _since(self, start: int) -> float:
        """Stamp [s] of the first of the pressures whose mean stood from a row on."""
        return float(self._stamps[self._first[start]])

    def _mean(self, start: int, stamp: float) -> np.ndarray:
        """(a,) pressures in the last seconds before a stamp, as far as they stood."""
        stamps = self._stamps
        counted = (stamps <= stamp) & (stamps > stamp - SETTLED) & (np.arange(len(stamps)) >= self._first[start])
        counted[np.searchsorted(stamps, stamp, side="right") - 1] = True  # the newest, however old it is
        return self._pressures[counted].mean(axis=0)


def _write_scans(stands: _Stands, topic: str, folder: Path, names: list[str]) -> Written:
    last: dict[int, tuple[float, Scan]] = {}
    for start, stamp, message in stands.seen(topic):  # as files have them: in any order
        if start not in last or stamp >= last[start][0]:
            last[start] = stamp, _scan(stands.recording, message)
    last = dict(sorted(last.items()))
    pressures, held = stands.told({start: stamp for start, (stamp, _) in last.items()})
    write_recording(folder, pressures, names, [scan for _, scan in last.values()], held)
    return Written(len(last))


def _write_markers(stands: _Stands, topic: str, folder: Path, names: list[str]) -> Written:
    last, count = {}, None
    for start, stamp, message in stands.seen(topic):
        places = _places(stands.recording, message)
        count = len(places) if count is None else count
        if len(places) != count:
            raise RecordingError(f"{stands.recording}: '{topic}' has now {count} markers, now {len(places)}")
        several = [*last.get(start, []), (stamp, places)]
        newest = max(at for at, _ in several)
        last[start] = [(at, own) for at, own in several if at > newest - SETTLED]
    last = {start: sorted(several, key=lambda each: each[0]) for start, several in sorted(last.items())}
    resting = [
        own for start, several in last.items() if stands.without_pressure(start, several[-1][0]) for _, own in several
    ]
    rest = _seen_mean(resting) if resting else np.full((count, 3), np.nan)
    known = np.isfinite(rest).all(axis=1)
    if not known.any():
        raise RecordingError(
            f"{stands.recording}: no marker of '{topic}' was seen after there had been no pressure for {SETTLED:g} s, "
            "which tells where on the body each is"
        )
    pressures, held = stands.told({start: several[-1][0] for start, several in last.items()})
    markers = np.array([_seen_mean([own for _, own in several]) for several in last.values()])
    write_markers(folder, pressures, names, markers[:, known], rest[known], held)
    return Written(len(last), tuple(np.flatnonzero(~known).tolist()))


def _seen_mean(places: list[np.ndarray]) -> np.ndarray:
    """(k, 3) means of what was seen of each marker; NaN for one that was not."""
    several = np.array(places)
    seen = np.isfinite(several).all(axis=2)
    total = np.where(seen[:, :, None], several, 0.0).sum(axis=0)
    return np.where(seen.any(axis=0)[:, None], total / np.maximum(seen.sum(axis=0), 1)[:, None], np.nan)


def around(stamps: np.ndarray, pressures: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, a) means of pressures (n, a) over SETTLED around each of the stamps (n,) [s], NaN where one of them is, and
    the rows (n,) with which each begins and ends."""
    first = np.searchsorted(stamps, stamps - 0.5 * SETTLED)
    last = np.searchsorted(stamps, stamps + 0.5 * SETTLED, side="right")
    known = np.isfinite(pressures).all(axis=1)
    columns = np.column_stack([np.where(known[:, None], pressures, 0.0), ~known])
    sums = np.vstack([np.zeros(columns.shape[1]), columns.cumsum(axis=0)])
    means = (sums[last] - sums[first]) / (last - first)[:, None]
    return np.where(means[:, -1:] > 0.0, np.nan, means[:, :-1]), first, last - 1


def noise_of(stamps: np.ndarray, means: np.ndarray) -> np.ndarray:
    """(a,) standard deviations of means (n, a) around stamps (n,) [s]: by how far they are from the middle of those
    SETTLED before and after them, which is nothing else where pressures stand or change evenly: a quarter of the time,
    if they stand for three seconds or more."""
    before, after = (np.searchsorted(stamps, stamps + side * SETTLED) for side in (-1.0, 1.0))
    inside = (stamps >= stamps[0] + SETTLED) & (after < len(stamps))
    bends = means[before[inside]] - 2.0 * means[inside] + means[after[inside]]
    bends = np.abs(bends[np.isfinite(bends).all(axis=1)])
    return np.quantile(bends, QUIET, axis=0) / (NORMAL * np.sqrt(6.0)) if len(bends) else np.zeros(means.shape[1])


def standing(means: np.ndarray, slack: np.ndarray, ends: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """(n,) the row from which on means (n, a) have stood, each within a slack (a,) of what it is where that of this row
    ends (n,), so that they have come there; what is NaN, as drivers tell what they do not know yet, has not stood.

    Where they leave it slowly, so that they still stand, and the number of the last command (n,) is what it was, they
    are on their way to it: they go on standing. It is negative where that is not known.
    """
    starts, start, reference = np.zeros(len(means), int), 0, 0
    there = (np.abs(means - means[ends]) <= slack).all(axis=1)
    for row, own in enumerate(means):
        if not (there[reference] and (np.abs(own - means[ends[reference]]) <= slack).all()):
            creeps = there[reference] and there[row] and commands[row] == commands[start] >= 0
            start, reference = start if creeps else row, row
        starts[row] = start
    return starts


def _topic(recording: Path, types: dict[str, str], kind: str, asked: str | None, ending: str = "") -> str:
    there = [topic for topic, own in types.items() if own == kind]
    found = [topic for topic in there if (topic.endswith(ending) if asked is None else topic == asked)]
    if len(found) == 1:
        return found[0]
    wanted = f"'{asked}'" if asked else f"one topic of {kind}" + f" called {ending}" * bool(ending)
    raise RecordingError(f"{recording}: expected {wanted}; there is {', '.join(there) or 'none'} of {kind}")


def _commands(series: Series, names: list[str], spans: np.ndarray, logged: np.ndarray) -> np.ndarray:
    """(n,) the number of the last command when states were logged (n,) [ns], those that say the same being one; −1
    before the first, and where they are not of the chambers, whose ranges are `spans` (a,) [Pa]."""
    if sorted(series.names) != sorted(names) or not len(series):
        return np.full(len(logged), -1)
    values = series["pressures"][:, [series.names.index(name) for name in names]]
    news = ~(np.abs(np.diff(values, axis=0)) <= NEWS * spans).all(axis=1)
    numbers = np.concatenate([[-1, 0], np.cumsum(news)])
    return numbers[np.searchsorted(series.log_time, logged, side="right")]


def _pressures(recording: Path, series: Series, names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stamps (n,) [s], one after the other, pressures (n, a) [Pa] in the order of the chambers, and log times [ns]."""
    if sorted(series.names) != sorted(names):
        raise RecordingError(
            f"{recording}: its chambers are {', '.join(series.names)}; the robot's are {', '.join(names)}"
        )
    stamps, order = np.unique(NS * series.stamp, return_index=True)
    values = series["pressures"][order][:, [series.names.index(name) for name in names]]
    if not np.isfinite(values).all(axis=1).any():
        raise RecordingError(f"{recording}: all pressures are NaN: nobody knew them")
    return stamps, values, series.log_time[order]


def _check_frame(recording: Path, message: Message) -> None:
    frame, namespace = message.data.header.frame_id, message.topic.rpartition("/")[0].strip("/")
    if frame not in (BASE, f"{namespace}/{BASE}"):
        raise RecordingError(f"{recording}: what '{message.topic}' has is in frame '{frame}', expected {BASE}")


def _places(recording: Path, message: Message) -> np.ndarray:
    """(k, 3) of markers [m], NaN where not seen; (0, 0, 0), which none that is measured is at, is how many say that."""
    _check_frame(recording, message)
    positions = (pose.position for pose in message.data.poses)
    places = np.array([[own.x, own.y, own.z] for own in positions], float).reshape(-1, 3)
    places[~places.any(axis=1)] = np.nan
    return places


def _scan(recording: Path, message: Message) -> Scan:
    _check_frame(recording, message)
    try:
        points, normals = cloud_arrays(message.data)
    except InputError as error:
        raise RecordingError(f"{recording}: '{message.topic}': {error}") from error
    if normals is None:
        raise RecordingError(
            f"{recording}: clouds of '{message.topic}' have no fields normal_x, normal_y, normal_z, which scans need"
        )
    return Scan(points, normals)
