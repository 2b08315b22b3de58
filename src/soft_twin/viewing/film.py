"""A recording as a film: how its robots looked at any of its moments."""

import logging
import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from soft_twin.errors import InputError, RecordingError
from soft_twin.files import one_line
from soft_twin.recording.reader import Stored, read_stored, tell_back
from soft_twin.viewing.look import TOPICS, Lines, Look, Row, Topic, shown_topics, topic_of

PERIOD = 0.04  # [s] between two moments of a topic that are kept
MOST = 200 * 10**6  # [bytes] of a topic; beyond, periods are twice as long
BODIES = (TOPICS["body"], TOPICS["markers"])  # of which moments are left out first
LEAP = 3600 * 10**9  # [ns] in which nobody said anything: no pause of a robot
SMALL, VALUE = 500, 100  # [bytes] of a pose, or of words; of a value and its name

logger = logging.getLogger(__name__)


class Film:
    """How robots looked, by what they had said until then.

    Args:
        path: of a recording: a bag's folder, .mcap or .db3.
        namespace: of the only robot that is wanted.

    Attributes:
        robots: namespaces.
        duration: from the first body that is drawn to the last [s].

    Raises:
        RecordingError: it cannot be read, or nothing in it can be shown.
    """

    def __init__(self, path: str | Path, namespace: str | None = None):
        wanted = None if namespace is None else namespace.strip("/")
        tracks = _tracks(path)
        shown = shown_topics({name: track.kind for name, track in tracks.items()})
        there = sorted({robot for robot, _ in shown.values()})
        if not there:
            missing = "no topic body, markers or twin/tip in a robot's namespace, as in /left/body"
            raise RecordingError(f"{path}: nothing that can be shown: {missing}")
        if wanted is not None and wanted not in there:
            others = ", ".join(map(one_line, there))
            raise RecordingError(f"{path}: nothing of '{one_line(wanted)}' that can be shown; it has {others}")
        self.robots = there if wanted is None else [wanted]
        self._tracks = [(robot, tracks[name]) for name, (robot, _) in shown.items() if robot in self.robots]
        if not any(track.times and track.draws for _, track in self._tracks):
            raise RecordingError(f"{path}: nothing of {', '.join(map(one_line, self.robots))} can be shown")
        _cut_leaps(path, [track for _, track in self._tracks])
        drawn = [track.times for _, track in self._tracks if track.times and track.draws]
        self._start = min(times[0] for times in drawn)
        self.duration = 1e-9 * (max(times[-1] for times in drawn) - self._start)

    def at(self, seconds: float) -> dict[str, Look]:
        """How each robot looked so long after the beginning, all of it at one moment, the newest that is kept."""
        moment = self._start + round(1e9 * seconds)
        looks, kept = {robot: Look() for robot in self.robots}, dict.fromkeys(self.robots, moment)
        for robot, track in self._tracks:
            kept[robot] = min(kept[robot], track.kept(moment))
        silent: dict[str, float] = {}
        for robot, track in self._tracks:
            track.show(looks[robot], kept[robot])
            if track.draws:
                silent[robot] = min(silent.get(robot, math.inf), track.silent(moment))
        for robot, look in looks.items():
            look.silent = silent[robot]
        return looks


def _cut_leaps(path: str | Path, tracks: Sequence["_Track"]) -> None:
    """Leave out long times in which nobody said anything, and say so."""
    cut, left_out = {}, 0  # [ns] by times, before each of them
    times = sorted({time for track in tracks for time in track.times})
    for earlier, time in pairwise([times[0], *times]):
        left_out += time - earlier if time - earlier > LEAP else 0
        cut[time] = left_out
    if left_out:
        told = "%s: for %.4g s nobody said anything, as where a clock was set or files were joined: left out"
        logger.warning(told, path, 1e-9 * left_out)
        for track in tracks:
            track.times = [time - cut[time] for time in track.times]


def _tracks(path: str | Path) -> dict[str, "_Track"]:
    """What each topic that may be a robot's said, by full names."""
    tracks: dict[str, _Track] = {}
    for message in read_stored(path):
        track = tracks.get(message.topic)
        if track is None and (found := topic_of(message.topic, message.type_name)) is not None:
            track = tracks[message.topic] = _Track(found[1], message.type_name)
        if track is not None and track.kind == message.type_name:
            track.take(message)
    for track in tracks.values():
        track.end()
    tell_back(path, max((track.back for track in tracks.values()), default=0))
    return tracks


class _Track:
    """What a topic said, thinned: of each period, the newest.

    Attributes:
        kind: type of its messages.
        times: when [ns], ascending.
        back: by how much a message came before the latest one until then, at most [ns].
    """

    def __init__(self, topic: Topic, kind: str):
        self.kind, self.times, self.back = kind, [], 0
        self._topic, self._said = topic, []
        self._newest: Stored | None = None  # of a period that may go on
        self._period, self._size, self._told, self._latest = PERIOD, 0, False, 0

    @property
    def draws(self) -> bool:
        """Whether a robot that says it is there."""
        return self._topic.draws

    def take(self, message: Stored) -> None:
        if self._newest is not None and message.log_time // self._length != self._newest.log_time // self._length:
            self.end()
        self._newest = message
        self._latest = max(self._latest, message.log_time)
        self.back = max(self.back, self._latest - message.log_time)

    @property
    def _length(self) -> int:
        """Of a period [ns]."""
        return round(1e9 * self._period)

    def end(self) -> None:
        """Keep what is newest."""
        message = self._newest
        if message is None:
            return
        try:
            said = self._topic.read(message.data if self._topic.whole else message.decode())
        except (RecordingError, InputError, AttributeError, TypeError, ValueError) as error:
            if not self._told:
                logger.warning("a message of '%s' cannot be shown: %s", one_line(message.topic), one_line(error))
            self._told = True
            return
        at = bisect_right(self.times, message.log_time)  # at the end, but in files that tools have merged
        self.times.insert(at, message.log_time)
        self._said.insert(at, said)
        self._size += _size_of(said)
        while self._size > MOST and len(self.times) > 1:
            self._thin()

    def _thin(self) -> None:
        """Of each period, of twice the length from now on, keep the oldest: so the film begins where it did."""
        self._period *= 2.0
        oldest = {time // self._length: at for at, time in reversed(list(enumerate(self.times)))}
        kept = sorted(oldest.values())
        self.times, self._said = [self.times[at] for at in kept], [self._said[at] for at in kept]
        self._size = sum(map(_size_of, self._said))

    def show(self, look: Look, moment: int) -> None:
        """Put what it had said by then into a look."""
        if (count := bisect_right(self.times, moment)) > 0:
            self._topic.show(look, self._said[count - 1])

    def kept(self, moment: int) -> int:
        """When the newest body by then was said, where bodies were left out; else that moment."""
        left_out = self._topic in BODIES and self._period > PERIOD and self.silent(moment) < self._period
        return self.times[bisect_right(self.times, moment) - 1] if left_out else moment

    def silent(self, moment: int) -> float:
        """For how long it had said nothing by then, at the least [s]; infinite before it began."""
        count = bisect_right(self.times, moment)
        return max(1e-9 * (moment - self.times[count - 1]) - self._period, 0.0) if count else math.inf


def _size_of(said: Any) -> int:
    """What it takes of memory, roughly [bytes]."""
    if isinstance(said, np.ndarray):
        return said.nbytes
    if isinstance(said, dict):
        return sum(map(_size_of, said.values()))
    if isinstance(said, Row):
        return SMALL + VALUE * len(said.values)
    return said.segments.nbytes + said.colours.nbytes if isinstance(said, Lines) else SMALL
