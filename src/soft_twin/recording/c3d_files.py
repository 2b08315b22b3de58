"""Marker recordings in C3D files."""

import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np

from soft_twin.errors import RecordingError, UsageError
from soft_twin.files import bounded_memory, checked_file, one_line

MAX_SIZE = 200_000_000  # [bytes]
MAX_MEMORY = 800_000_000  # [bytes] that reading a file may take
MAX_FRAMES = 1_000_000


def read_markers(path: str | Path) -> np.ndarray:
    """Markers (t, m, 3) of a C3D file, in its unit.

    Raises:
        UsageError: the package c3d is not installed.
        RecordingError: the file is missing, too large, or broken.
    """
    try:
        import c3d
    except ImportError:
        raise UsageError("the recordings are c3d files: pip install c3d") from None
    checked_file(path, "recording", MAX_SIZE, RecordingError)
    try:
        with Path(path).open("rb") as stream, warnings.catch_warnings(), bounded_memory(MAX_MEMORY):
            warnings.simplefilter("ignore")
            with redirect_stdout(StringIO()):  # it talks
                return _frames(c3d.Reader(stream))
    except Exception as error:  # the reader raises anything on a broken file
        raise RecordingError(f"{path}: not readable as a C3D file: {one_line(error)}") from error


def _frames(reader) -> np.ndarray:
    if not 0 < reader.frame_count <= MAX_FRAMES or reader.point_used < 1:
        raise ValueError(f"{reader.frame_count} frames of {reader.point_used} markers")
    markers = np.array([points[:, :3] for _, points, _ in reader.read_frames()], dtype=float)
    if markers.ndim != 3 or not np.isfinite(markers).all():
        raise ValueError("markers that are no numbers")
    return markers
