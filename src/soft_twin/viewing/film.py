"""A recording as a film: how its robots looked at any of its moments."""

import logging
from bisect import bisect_right
from pathlib import Path
from typing import Any

import numpy as np

from soft_twin.errors import InputError, RecordingError
from soft_twin.files import one_line
from soft_twin.recording.reader import Stored, read_stored, topic_types
from soft_twin.viewing.look import SHOWN, Look, Topic, shown_topics

PERIOD = 0.04  # [s] between two moments of a topic that are kept
DRAWN = tuple(f"/{end}" for end in SHOWN)
MOST = 200 * 10**6  # [bytes] of a topic; beyond, every second moment is left out

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
        topics = {
            name: (robot, topic)
            for name, (robot, topic) in shown_topics(topic_types(path)).items()
            if wanted in (None, robot)
        }
        self.robots = sorted({robot for robot, _ in topics.values()})
        if not self.robots:
            whose = "" if wanted is None else f" of '{one_line(wanted)}'"
            raise RecordingError(
                f"{path}: nothing{whose} that can be shown: no robot's topic body, markers or twin/tip"
            )
        tracks = {name: _Track(topic) for name, (_, topic) in topics.items()}
        for message in read_stored(path, list(topics)):
            tracks[message.topic].take(message)
        self._tracks = [(topics[name][0], track) for name, track in tracks.items() if track.times]
        drawn = [track.times for name, track in tracks.items() if track.times and name.endswith(DRAWN)]
        if not drawn:
            raise RecordingError(f"{path}: nothing of {', '.join(self.robots)} can be shown")
        self._start = min(times[0] for times in drawn)
        self.duration = 1e-9 * (max(times[-1] for times in drawn) - self._start)

    def at(self, seconds: float) -> dict[str, Look]:
        """How each robot looked so long after the beginning."""
        looks = {robot: Look() for robot in self.robots}
        for robot, track in self._tracks:
            track.show(looks[robot], self._start + round(1e9 * seconds))
        return looks


class _Track:
    """What a topic said, thinned.

    Attributes:
        times: when [ns], ascending.
    """

    def __init__(self, topic: Topic):
        self.times: list[int] = []
        self._topic, self._said = topic, []
        self._period, self._size, self._told = PERIOD, 0, False

    def take(self, message: Stored) -> None:
        if self.times and 0 <= message.log_time - self.times[-1] < 1e9 * self._period:
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
        if self._size > MOST:
            self.times, self._said = self.times[::2], self._said[::2]
            self._size, self._period = sum(map(_size_of, self._said)), 2.0 * self._period

    def show(self, look: Look, moment: int) -> None:
        """Put what it had said by then into a look."""
        if (count := bisect_right(self.times, moment)) > 0:
            self._topic.show(look, self._said[count - 1])


def _size_of(said: Any) -> int:
    return said.nbytes if isinstance(said, np.ndarray) else 0
