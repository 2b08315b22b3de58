"""Frames for training from a recording of a scanner's clouds beside the chambers' pressures.

While pressures stand, a scanner may see the same shape many times: the last cloud of each time in which they stood is a
frame, and how long they had stood is told. Pressures stand while none leaves SLACK of its range around where it was.
"""

from pathlib import Path

import numpy as np

from soft_twin.errors import InputError, RecordingError
from soft_twin.learning.frames import Scan, write_recording
from soft_twin.recording.clouds import cloud_arrays
from soft_twin.recording.reader import Message, Series, arrays, read_messages, topic_types

CLOUD, PRESSURES, STATE = "sensor_msgs/msg/PointCloud2", "soft_twin_msgs/msg/Pressures", "chambers/state"
BASE = "base_link"
SLACK = 0.02  # of a chamber's range of pressures
SETTLED = 1.0  # [s] under the same pressures before a cloud counts; pressures are means over as long
NS = 1e-9


def write_frames(
    recording: Path, folder: Path, names: list[str], limits: np.ndarray, scan_topic: str | None = None
) -> int:
    """Write the folder that `read_recording` reads; how many frames there are.

    Args:
        recording: a file or folder that rosbag2 wrote.
        folder: to be written.
        names: the robot's chambers.
        limits: (a, 2) of their pressures [Pa].
        scan_topic: of the clouds; None: the only one there is.

    Raises:
        RecordingError: it is broken; topics are missing, or several could be meant; other chambers; clouds in another
            frame or without normals; or pressures never stood while there was a cloud.
        UsageError: the folder cannot be written.
    """
    types = topic_types(recording)
    state = _topic(recording, types, PRESSURES, None, STATE)
    topic = _topic(recording, types, CLOUD, scan_topic)
    stamps, pressures = _pressures(recording, arrays(recording, [state])[state], names)
    starts = standing(pressures, SLACK * np.ptp(limits, axis=1))
    last: dict[int, tuple[float, Scan]] = {}
    for message in read_messages(recording, [topic]):
        stamp = NS * (message.data.header.stamp.sec * 10**9 + message.data.header.stamp.nanosec)
        row = int(np.searchsorted(stamps, stamp, side="right")) - 1
        if row >= 0 and stamp - stamps[starts[row]] >= SETTLED:
            last[starts[row]] = stamp, _scan(recording, message)
    if not last:
        raise RecordingError(
            f"{recording}: no cloud of '{topic}' was seen after pressures had stood for {SETTLED:g} s, among "
            f"{len(stamps)} messages of '{state}'"
        )
    found = [_mean(stamps, pressures, start, stamp) for start, (stamp, _) in last.items()]
    held = np.array([stamp - stamps[start] for start, (stamp, _) in last.items()])
    write_recording(folder, np.clip(found, *limits.T), names, [scan for _, scan in last.values()], held)
    return len(last)


def standing(pressures: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """(n,) the row from which on pressures (n, a) have stood, each within a slack (a,) of where it was then."""
    starts, start = np.zeros(len(pressures), int), 0
    for row, own in enumerate(pressures):
        if (np.abs(own - pressures[start]) > slack).any():
            start = row
        starts[row] = start
    return starts


def _mean(stamps: np.ndarray, pressures: np.ndarray, start: int, stamp: float) -> np.ndarray:
    """(a,) pressures in the last seconds before a cloud, as far as they stood."""
    counted = (stamps <= stamp) & (stamps > stamp - SETTLED) & (np.arange(len(stamps)) >= start)
    counted[np.searchsorted(stamps, stamp, side="right") - 1] = True  # the newest, however old it is
    return pressures[counted].mean(axis=0)


def _topic(recording: Path, types: dict[str, str], kind: str, asked: str | None, ending: str = "") -> str:
    found = [topic for topic, own in types.items() if own == kind and topic.endswith(ending)]
    if asked is not None and asked in found:
        return asked
    if asked is None and len(found) == 1:
        return found[0]
    wanted = f"'{asked}'" if asked else f"one topic of {kind}" + f" called {ending}" * bool(ending)
    raise RecordingError(f"{recording}: expected {wanted}; there is {', '.join(found) or 'none'} of {kind}")


def _pressures(recording: Path, series: Series, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Stamps (n,) [s], one after the other, and pressures (n, a) [Pa] in the order of the chambers."""
    if sorted(series.names) != sorted(names):
        raise RecordingError(
            f"{recording}: its chambers are {', '.join(series.names)}; the robot's are {', '.join(names)}"
        )
    stamps, order = np.unique(NS * series.stamp, return_index=True)
    values = series["pressures"][order][:, [series.names.index(name) for name in names]]
    if not np.isfinite(values).all():
        raise RecordingError(f"{recording}: pressures that are no finite numbers")
    return stamps, values


def _scan(recording: Path, message: Message) -> Scan:
    frame, namespace = message.data.header.frame_id, message.topic.rpartition("/")[0].strip("/")
    if frame not in (BASE, f"{namespace}/{BASE}"):
        raise RecordingError(f"{recording}: a cloud of '{message.topic}' is in frame '{frame}', expected {BASE}")
    try:
        points, normals = cloud_arrays(message.data)
    except InputError as error:
        raise RecordingError(f"{recording}: '{message.topic}': {error}") from error
    if normals is None:
        raise RecordingError(
            f"{recording}: clouds of '{message.topic}' have no fields normal_x, normal_y, normal_z, which scans need"
        )
    return Scan(points, normals)
