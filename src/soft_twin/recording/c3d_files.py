"""Marker recordings in C3D files: takes over time, and named markers of a body at rest."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO
from itertools import count, takewhile
from pathlib import Path
from typing import TypeVar

import numpy as np

from soft_twin.errors import RecordingError, UsageError
from soft_twin.files import bounded_memory, checked_file, one_line, whole_file

MAX_SIZE = 200_000_000  # [bytes]
MAX_MEMORY = 800_000_000  # [bytes] that reading a file may take
MAX_FRAMES = 1_000_000
METRES = {"mm": 1e-3, "cm": 1e-2, "dm": 1e-1, "m": 1.0}  # of POINT:UNITS
RATE = 100.0  # [1/s] of a take that is written; a body at rest has none
LONGEST_LIST = 255  # of a parameter: the format's dimensions are bytes, further labels are in LABELS2, LABELS3, …
T = TypeVar("T")


@dataclass(frozen=True)
class MarkerSet:
    """Named markers of a body at rest.

    Attributes:
        names: the labels.
        points: (m, 3) [m]; NaN for one that was not seen.
    """

    names: tuple[str, ...]
    points: np.ndarray


def read_markers(path: str | Path) -> np.ndarray:
    """Markers (t, m, 3) of a C3D file, in its unit.

    Raises:
        UsageError: the package c3d is not installed.
        RecordingError: the file is missing, too large, or broken.
    """
    return _read(path, _frames)


def read_marker_set(path: str | Path) -> MarkerSet:
    """The markers of a take of a body at rest: means of the frames that see them, in metres by the file's own unit.

    Raises:
        UsageError: the package c3d is not installed.
        RecordingError: the file is missing, too large, broken, or of a unit that is no length; markers without names.
    """
    return _read(path, _named)


def write_marker_set(path: Path, markers: MarkerSet) -> None:
    """A C3D file of one frame, in millimetres; markers that are NaN are marked as not seen.

    Raises:
        UsageError: the package c3d is not installed, or the file cannot be written.
    """
    c3d, seen = _package(), np.isfinite(markers.points).all(axis=1)
    rows = np.zeros((len(markers.names), 5), np.float32)
    rows[:, :3] = np.where(seen[:, None], markers.points / METRES["mm"], 0.0)
    rows[~seen, 3:] = -1.0
    writer = c3d.Writer(point_rate=RATE, point_units="mm  ")
    for suffix, start in zip(_suffixes(), range(0, len(markers.names), LONGEST_LIST), strict=False):
        labels = markers.names[start : start + LONGEST_LIST]
        text, length = writer.pack_labels(labels)
        writer.point_group.add_str(f"LABELS{suffix}", "", text, length, len(labels))
        writer.point_group.add_str(f"DESCRIPTIONS{suffix}", "", " " * len(labels), 1, len(labels))
    writer.add_frames([(rows, np.zeros((0, 1)))])
    content = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what there is nothing of: analog channels
        writer.write(content)
    try:
        with whole_file(path) as partial:
            partial.write_bytes(content.getvalue())
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def _suffixes() -> Iterator[str]:
    """Of the names of a list's parts: none, 2, 3, …"""
    yield ""
    yield from map(str, count(2))


def _labels(reader) -> list[str]:
    """The names of a file's markers, in the order of their columns."""
    parts = takewhile(lambda part: part is not None, (reader.get(f"POINT:LABELS{suffix}") for suffix in _suffixes()))
    return [str(label).strip() for part in parts for label in part.string_array]


def _package():
    try:
        import c3d
    except ImportError:
        raise UsageError("the recordings are c3d files: pip install c3d") from None
    return c3d


def _read(path: str | Path, read: Callable[..., T]) -> T:
    """What `read` makes of a reader of a file.

    Raises:
        UsageError, RecordingError: see read_markers.
    """
    c3d = _package()
    checked_file(path, "recording", MAX_SIZE, RecordingError)
    try:
        with Path(path).open("rb") as stream, warnings.catch_warnings(), bounded_memory(MAX_MEMORY):
            warnings.simplefilter("ignore")
            with redirect_stdout(StringIO()):  # it talks
                return read(c3d.Reader(stream))
    except Exception as error:  # the reader raises anything on a broken file
        raise RecordingError(f"{path}: not readable as a C3D file: {one_line(error)}") from error


def _named(reader) -> MarkerSet:
    names = tuple(_labels(reader))
    unit = reader.get("POINT:UNITS")
    length = "" if unit is None else unit.string_value.strip()
    if length not in METRES:
        raise ValueError(f"its unit is '{length}', expected one of {', '.join(METRES)}")
    if not all(names) or len(set(names)) != len(names):
        raise ValueError("markers without names, or of one name")
    rows = _rows(reader, slice(None))
    if rows.shape[1] != len(names):
        raise ValueError(f"{rows.shape[1]} markers of {len(names)} names")
    seen = rows[:, :, 3] >= 0.0
    times, total = seen.sum(axis=0), (rows[:, :, :3] * seen[:, :, None]).sum(axis=0)
    means = np.where(times[:, None] > 0, total / np.maximum(times, 1)[:, None], np.nan)
    return MarkerSet(names, METRES[length] * means)


def _frames(reader) -> np.ndarray:
    return _rows(reader, slice(3))


def _rows(reader, columns: slice) -> np.ndarray:
    """(t, m, …) columns of the frames' markers: x, y, z, residual (−1: not seen), cameras."""
    if not 0 < reader.frame_count <= MAX_FRAMES or reader.point_used < 1:
        raise ValueError(f"{reader.frame_count} frames of {reader.point_used} markers")
    markers = np.array([points[:, columns] for _, points, _ in reader.read_frames()], dtype=float)
    if markers.ndim != 3 or not np.isfinite(markers[..., :3]).all():
        raise ValueError("markers that are no numbers")
    return markers
