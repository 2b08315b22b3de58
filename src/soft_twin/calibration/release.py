"""A robot that hangs straight in a hand, and is let go: what was recorded of it, and what no release looks like.

A recording is taken at its word nowhere: gravity is what was measured after the release, in base_link, of a base that
stands still; where the tracker lost the tip nothing is known of it, and nothing is put in its place.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import RecordingError
from soft_twin.files import one_line
from soft_twin.recording.reader import Series, arrays, read_messages
from soft_twin.recording.recorded_run import check_clocks
from soft_twin.recording.robots import METADATA, prefix
from soft_twin.recording.storage import metadata

TIPS = ("tip/pose", "truth/tip")  # a tracker's, an emulation's
RELEASED = "released"  # what run/phase says from then on
REPEATED = 2.5  # [s] between phases that are the same one, told again: `ros2 topic pub` does so once a second
SHORTEST = 0.2  # [s]
FEWEST = 4  # steps of a twin that can be compared
GAP = 2.5  # of the tracker's period: between poses that are further apart nothing is known
BLIND = 0.2  # [s] that winches, too, must be unseen for: what moves on meanwhile is known well enough by both ends
TURNED = 2.0  # [°] that the base may turn by while the robot falls: an error of gravity as an IMU's
UNITS = 0.03  # share of its length by which gravity may be longer or shorter


@dataclass(frozen=True)
class Release:
    """What was recorded.

    Attributes:
        times: (t,) since the release [s], of poses that are numbers.
        tips: (t, 3) in base_link [m].
        gravity: (3,) in base_link [m/s²], mean.
        wound: displacement of each winch by its cable's name, (t,) [m]; None: not recorded.
        unseen: from when to when nothing of the winches was recorded [s], the first time; None: never.
    """

    times: np.ndarray
    tips: np.ndarray
    gravity: np.ndarray
    wound: dict[str, np.ndarray] | None = None
    unseen: tuple[float, float] | None = None

    def at_steps(self, dt: float) -> np.ndarray:
        """(k, 1, 3) the tip at the ends of steps of `dt` [s], linearly between what was measured."""
        return self._at_steps(dt, self.tips.T)[:, None]

    def seen_at_steps(self, dt: float) -> np.ndarray:
        """(k,) whether the tip was measured around the ends of steps of `dt` [s].

        Raises:
            RecordingError: at fewer than FEWEST of them.
        """
        steps = self._steps(dt)
        after = np.searchsorted(self.times, steps - 1e-9)
        before = np.clip(after - 1, 0, None)
        wide = self.times[after] - self.times[before] > GAP * np.median(np.diff(self.times)) + 1e-9
        seen = ~wide & (steps >= self.times[0] - 1e-9)
        if seen.sum() < FEWEST:
            raise RecordingError(
                f"a release of {self.times[-1]:.3g} s, seen at {seen.sum()} ends of steps of {dt:g} s: expected "
                f"{FEWEST} or more, by shorter steps or a tracker that sees the tip"
            )
        return seen

    def wound_at_steps(self, dt: float, names: list[str]) -> np.ndarray:
        """(k, c) displacements of the winches of these cables at the ends of steps of `dt` [s].

        Raises:
            RecordingError: they were not recorded.
        """
        if self.wound is None:
            raise RecordingError("no topic cables/state after the release: it says what the winches do")
        self.check_names(names)
        return self._at_steps(dt, [self.wound[name] for name in names])

    def check_names(self, names: list[str]) -> None:
        """Refuse winches that were recorded, but not those of all these cables.

        Raises:
            RecordingError: there are such.
        """
        if self.wound is None:
            return
        missing = [name for name in names if name not in self.wound]
        if missing:
            raise RecordingError(f"cables/state: no {', '.join(missing)}, only {', '.join(self.wound) or 'nothing'}")

    def check_seen(self) -> None:
        """Refuse winches of which nothing was recorded for a while: they may have gone anywhere.

        Raises:
            RecordingError: there is such a while.
        """
        if self.unseen is not None:
            begin, end = self.unseen
            raise RecordingError(
                f"cables/state: nothing from {begin:.2f} to {end:.2f} s after the release: expected what the winches "
                "do as long as the tip is recorded, without gaps"
            )

    def _steps(self, dt: float) -> np.ndarray:
        """(k,) ends [s]."""
        return dt * np.arange(1, int(self.times[-1] / dt + 1e-9) + 1)

    def _at_steps(self, dt: float, columns) -> np.ndarray:
        """(k, m) of m columns (t,)."""
        return np.array([np.interp(self._steps(dt), self.times, column) for column in columns]).T


def read_release(path: str | Path, namespace: str, robot: str | None = None) -> Release:
    """The release in a recording: topics `tip/pose` (a tracker's; else `truth/tip`) and `gravity`, and `cables/state`
    where it is there, from when `run/phase` says "released", or from its start, until it says something else.

    Args:
        path: of the recording.
        namespace: of its topics, with or without slashes around it.
        robot: name of the robot that it shall be of.

    Raises:
        RecordingError: a topic is missing or in another frame, there is too little after the release, the base turns in
            it, or it says that it is of another robot, or its phases are of another clock than its poses, or there are
            several releases.
    """
    _check_robot(path, robot)
    namespace = namespace.strip("/")
    series = {name.removeprefix(prefix(namespace)): topic for name, topic in arrays(path).items()}
    tip = next((name for name in TIPS if name in series), None)
    if tip is None or "gravity" not in series:
        missing = " or ".join(TIPS) if tip is None else "gravity"
        raise RecordingError(f"{path}: no topic {missing} under '{namespace}': it has {', '.join(series) or 'nothing'}")
    _check_frames(path, {prefix(namespace) + name for name in (tip, "gravity")}, {namespace, robot})
    if "run/phase" in series:
        check_clocks(path, [series[tip], series["gravity"]])
    begin, end = _released(path, series.get("run/phase"), series[tip])
    times, tips = _tips(path, series[tip], begin, end)
    gravity = _gravity(path, series["gravity"], begin, begin + int(1e9 * times[-1]))
    cables = series.get("cables/state")
    return Release(times, tips, gravity, _wound(path, cables, begin, times), _unseen(cables, begin, times[-1]))


def _check_robot(path: str | Path, robot: str | None) -> None:
    told = metadata(path, METADATA).get("robot", robot)
    if robot is not None and told != robot:
        raise RecordingError(f"{path}: recorded of '{one_line(told)}', not of '{robot}'")


def _check_frames(path: str | Path, topics: set[str], owners: set[str | None]) -> None:
    """Refuse what is not in base_link, with or without its owner's name before it."""
    known = {"", "base_link"} | {f"{owner}/base_link" for owner in owners if owner}
    found = {(message.topic, message.data.header.frame_id) for message in read_messages(path, topics)}
    for topic, frame in sorted(found):
        if frame.strip("/") not in known:
            raise RecordingError(f"{path}: {topic} in frame '{one_line(frame)}', expected 'base_link'")


def _tips(path: str | Path, tip: Series, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (t,) since `begin` [ns] in order [s], up to `end`, and places (t, 3) [m], where a tracker has seen it."""
    later = (tip.stamp >= begin) & (tip.stamp <= end) & np.isfinite(tip["position"]).all(axis=1)
    times = 1e-9 * (tip.stamp[later] - begin)
    if len(times) < 3 or times.max() < SHORTEST:
        raise RecordingError(f"{path}: {len(times)} poses of the tip after the release: too few to see a motion")
    times, first = np.unique(times, return_index=True)  # of poses twice at one time the median gap is 0
    return times, tip["position"][later][first]


def _gravity(path: str | Path, gravity: Series, begin: int, end: int) -> np.ndarray:
    """(3,) its mean between two times [ns], of a base that stands still."""
    vectors = gravity["vector"][(gravity.stamp >= begin) & (gravity.stamp <= end)]
    if not len(vectors):
        raise RecordingError(f"{path}: no gravity after the release")
    if not np.isfinite(vectors).all():
        raise RecordingError(f"{path}: gravity that is no number after the release")
    lengths, mean = np.linalg.norm(vectors, axis=1), vectors.mean(axis=0)
    wrong = lengths[np.abs(lengths / STANDARD_GRAVITY - 1.0) > UNITS]
    if len(wrong):
        raise RecordingError(f"{path}: gravity of {wrong[0]:.4g} m/s², expected {STANDARD_GRAVITY:g}")
    along = vectors @ mean / lengths / max(float(np.linalg.norm(mean)), 1e-12)
    turned = float(np.degrees(np.arccos(np.clip(along, -1.0, 1.0))).max())
    if turned > TURNED:
        raise RecordingError(
            f"{path}: gravity turns by {turned:.3g}° from its mean after the release, expected at most {TURNED:g}°: "
            "the base must stand still while the robot falls"
        )
    return mean


def _wound(path: str | Path, cables: Series | None, begin: int, times: np.ndarray) -> dict[str, np.ndarray] | None:
    """Displacements by cable (t,) [m] at times [s] since `begin` [ns]."""
    if cables is None:
        return None
    order = np.argsort(cables.stamp, kind="stable")
    when = 1e-9 * (cables.stamp[order] - begin)
    needed = slice(max(0, int(np.searchsorted(when, 0.0, side="right")) - 1), int(np.searchsorted(when, times[-1])) + 1)
    when, rows = when[needed], cables["position"][order][needed]
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        row, column = wrong[0]
        raise RecordingError(
            f"{path}: cables/state: no number for {one_line(cables.names[column])} {when[row]:.3g} s after the release"
        )
    return {name: np.interp(times, when, column) for name, column in zip(cables.names, rows.T, strict=True)}


def _unseen(cables: Series | None, begin: int, end: float) -> tuple[float, float] | None:
    """From when to when nothing is told of the winches, the first time from 0 to `end` [s] since `begin` [ns]."""
    if cables is None:
        return None
    told = np.unique(1e-9 * (cables.stamp - begin))
    wide = max(GAP * float(np.median(np.diff(told))), BLIND) if len(told) > 1 else BLIND
    edges = np.concatenate([[min(0.0, told[0])], told, [max(end, told[-1])]])
    gaps = np.flatnonzero((np.diff(edges) > wide) & (edges[1:] > 0.0) & (edges[:-1] < end))
    return (max(0.0, float(edges[gaps[0]])), min(end, float(edges[gaps[0] + 1]))) if len(gaps) else None


def _released(path: str | Path, phases: Series | None, tip: Series) -> tuple[int, int]:
    """From when to when the robot falls [ns]: while the phase says so, once or again and again; where none does, while
    its tip is told."""
    end = int(tip.stamp.max())
    if phases is None or not (says := np.array([name == RELEASED for name in phases["data"]])).any():
        return int(tip.stamp.min()), end
    anew = says & ~np.append(False, says[:-1] & (np.diff(phases.stamp) < 1e9 * REPEATED))
    if anew.sum() > 1:
        raise RecordingError(
            f"{path}: phase '{RELEASED}' begins {anew.sum()} times in it: expected a recording of one release"
        )
    begin = int(np.argmax(says))
    return int(phases.stamp[begin]), int(phases.stamp[begin:][~says[begin:]].min(initial=end))
