"""What was recorded of a robot: pressures, and scans without correspondences or markers with gaps.

A recording is a folder: `frames.csv` has a line for each frame, its file's name, its pressures [Pa], and, where it is
known, in a last column `held`, how long they had stood [s]. Files are PLY files of points [m] with normals, or C3D
files of named markers, whose places on the body `rest.c3d` tells: the same markers without pressure. `train` reads
either.
"""

import contextlib
import csv
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soft_twin.errors import RecordingError, UsageError
from soft_twin.files import checked_file, one_line, whole_file
from soft_twin.learning.units import units_of
from soft_twin.mesh.triangles import vertex_normals
from soft_twin.recording.c3d_files import MarkerSet, read_marker_set, write_marker_set
from soft_twin.recording.ply_files import read_ply, write_ply

MAX_SIZE = 200_000_000  # [bytes]
TABLE, REST = "frames.csv", "rest.c3d"
HELD = "held"  # column of the seconds
MARKERS = ".c3d"  # suffix of a file of markers
LEAST = 30  # points of a scan
SMALL = 0.02  # of the highest pressure that chambers may have: frames of no higher ones are in another unit
NEAR, FAR = 0.1, 3.0  # of a surface's size: a scan that lies further away is of something else, or in another unit


@dataclass(frozen=True)
class Scan:
    """One frame of a scanner: points (k, 3) [m] and normals (k, 3), in base_link."""

    points: np.ndarray
    normals: np.ndarray


@dataclass(frozen=True)
class Recording:
    """Frames of a robot.

    Attributes:
        pressures: (f, a) [Pa].
        scans: of each frame.
        digest: SHA-256 of the files.
        held: (f,) how long pressures had stood [s]; None: not told.
        files: (f,) of the frames; none: they are of no file.
    """

    pressures: np.ndarray
    scans: Sequence[Scan]
    digest: str = ""
    held: np.ndarray | None = None
    files: Sequence[str] = ()

    def name(self, row: int) -> str:
        """Of a frame, for messages."""
        return _name(self.files, row)

    def chosen(self, rows: np.ndarray) -> "Recording":
        """Some of its frames."""
        held, files = _chosen(self.held, self.files, rows)
        return Recording(self.pressures[rows], [self.scans[row] for row in rows], self.digest, held, files)


@dataclass(frozen=True)
class MarkerRecording:
    """Frames of a robot with markers.

    Attributes:
        pressures: (f, a) [Pa].
        markers: (f, k, 3) [m], in base_link; NaN for one that was not seen.
        rest: (k, 3) of them without pressure [m].
        digest: SHA-256 of the files.
        held: (f,) how long pressures had stood [s]; None: not told.
        files: (f,) of the frames; none: they are of no file.
    """

    pressures: np.ndarray
    markers: np.ndarray
    rest: np.ndarray
    digest: str = ""
    held: np.ndarray | None = None
    files: Sequence[str] = ()

    def name(self, row: int) -> str:
        """Of a frame, for messages."""
        return _name(self.files, row)

    def chosen(self, rows: np.ndarray) -> "MarkerRecording":
        """Some of its frames."""
        held, files = _chosen(self.held, self.files, rows)
        return MarkerRecording(self.pressures[rows], self.markers[rows], self.rest, self.digest, held, files)


def _name(files: Sequence[str], row: int) -> str:
    return f"frame {row} ({files[row]})" if len(files) else f"frame {row}"


def _chosen(held: np.ndarray | None, files: Sequence[str], rows: np.ndarray):
    return None if held is None else held[rows], [files[row] for row in rows] if len(files) else ()


def write_recording(
    folder: Path,
    pressures: np.ndarray,
    names: Sequence[str],
    scans: Sequence[Scan],
    held: np.ndarray | None = None,
) -> None:
    """The folder of a recording of scans; `names` are the chambers', `held` (f,) how long pressures had stood [s].

    Raises:
        UsageError: it cannot be written.
    """
    files = [f"frame_{i:04d}.ply" for i in range(len(scans))]
    with _table_at_last(folder, files, pressures, names, held):
        for file, scan in zip(files, scans, strict=True):
            write_scan(folder / file, scan)


def write_markers(
    folder: Path,
    pressures: np.ndarray,
    names: Sequence[str],
    markers: np.ndarray,
    rest: np.ndarray,
    held: np.ndarray | None = None,
) -> None:
    """The folder of a recording of markers (f, k, 3), NaN where not seen, and at rest (k, 3) [m]; `names` are the
    chambers', `held` (f,) how long pressures had stood [s].

    Raises:
        UsageError: it cannot be written, or c3d is not installed.
    """
    labels = tuple(f"M{i:03d}" for i in range(len(rest)))
    files = [f"frame_{i:04d}.c3d" for i in range(len(markers))]
    with _table_at_last(folder, files, pressures, names, held):
        for file, points in zip((*files, REST), (*markers, rest), strict=True):
            write_marker_set(folder / file, MarkerSet(labels, points))


@contextlib.contextmanager
def _table_at_last(
    folder: Path, files: Sequence[str], pressures: np.ndarray, names: Sequence[str], held: np.ndarray | None
) -> Iterator[None]:
    """A folder to write frames into, and then its table: without one, what was interrupted is no recording."""
    columns, values = [*names], pressures
    if held is not None:
        columns, values = [*names, HELD], np.column_stack([pressures, held])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / TABLE).unlink(missing_ok=True)
        yield
        with whole_file(folder / TABLE) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
            table = csv.writer(stream)
            table.writerow(["file", *columns])
            for file, row in zip(files, values, strict=True):
                table.writerow([file, *(repr(float(each)) for each in row)])
    except OSError as error:
        raise UsageError(f"cannot write the recording '{folder}': {error.strerror}") from error


def write_scan(path: Path, scan: Scan) -> None:
    """A PLY file."""
    write_ply(path, scan.points, scan.normals)


def read_recording(folder: Path, names: Sequence[str], limits: np.ndarray, size: float) -> Recording | MarkerRecording:
    """A recording of a robot, of scans or of markers.

    Args:
        folder: of it; or its table of frames.
        names: the robot's chambers.
        limits: (a, 2) of their pressures [Pa].
        size: of the surface [m].

    Raises:
        RecordingError: files are missing or broken, of other chambers, with pressures beyond their limits or seconds
            below 0, or with a scan in another unit or of something else; or scans and markers in one; or a file that is
            a copy of another.
        UsageError: they are markers, and c3d is not installed.
    """
    table = checked_file(_table_of(Path(folder)), "table of frames", MAX_SIZE, RecordingError)
    files, pressures, held = _read_table(table, names, limits)
    kinds = {Path(file).suffix.lower() for file in files}
    if len(kinds) > 1:
        raise RecordingError(f"{table}: its files are {', '.join(sorted(kinds))}: expected all .ply or all .c3d")
    paths = [table.parent / file for file in files]
    if kinds == {MARKERS}:
        rest = table.parent / REST
        markers, at_rest = _read_markers(paths, rest, size)
        _refuse_copies(paths)
        return MarkerRecording(pressures, markers, at_rest, _digest([table, *paths, rest]), held, files)
    scans = [read_scan(path, size) for path in paths]
    _refuse_copies(paths)
    return Recording(pressures, scans, _digest([table, *paths]), held, files)


def _table_of(folder: Path) -> Path:
    """Of a folder, or of the table itself.

    Raises:
        RecordingError: it is another file.
    """
    if not folder.is_file():
        return folder / TABLE
    if folder.name != TABLE:
        raise RecordingError(f"'{folder}' is no folder with a table of frames: expected one with {TABLE}")
    return folder


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _refuse_copies(paths: Sequence[Path]) -> None:
    """No two frames are one file under two names: noise makes any two looks different."""
    known: dict[bytes, Path] = {}
    for path in paths:
        other = known.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
        if other is not path:
            raise RecordingError(f"{path} is a copy of {other.name}: expected a frame of its own for each line")


def _read_markers(paths: Sequence[Path], rest: Path, size: float) -> tuple[np.ndarray, np.ndarray]:
    """(f, k, 3) markers of frames, in the order of those at rest (k, 3) [m]; NaN where not seen.

    Raises:
        RecordingError: files are missing, broken, in another frame, or have other markers.
    """
    known = read_marker_set(rest)
    if not np.isfinite(known.points).all():
        missed = np.array(known.names)[~np.isfinite(known.points).all(axis=1)]
        raise RecordingError(f"{rest}: {', '.join(missed[:5])} was not seen at rest: nobody knows where it sits")
    check_place(known.points, size, str(rest))
    frames = np.full((len(paths), *known.points.shape), np.nan)
    for own, path in zip(frames, paths, strict=True):
        found = read_marker_set(path)
        if others := [name for name in found.names if name not in known.names]:
            raise RecordingError(f"{path}: {', '.join(others[:5])} is no marker of {rest}")
        own[[known.names.index(name) for name in found.names]] = found.points
        seen = np.isfinite(own).all(axis=1)
        if not seen.any():
            raise RecordingError(f"{path}: not one marker was seen")
        check_place(own[seen], size, str(path))
    return frames, known.points


def read_scan(path: Path, size: float) -> Scan:
    """One PLY file, of a surface of a size [m].

    Raises:
        RecordingError: it is missing, broken, without normals or faces, of too few points, in another unit, or of
            something else.
    """
    points, normals, triangles = read_ply(path)
    if normals is None:
        if not len(triangles):
            raise RecordingError(f"{path}: a scan has normals nx, ny, nz, or faces, whose normals these are")
        own = np.unique(triangles)
        points, normals = points[own], vertex_normals(points, triangles)[own]
    seen = np.isfinite(points).all(axis=1)  # scanners may say NaN where they saw nothing
    points, normals = points[seen], normals[seen]
    if len(points) < LEAST:
        raise RecordingError(f"{path}: expected {LEAST} or more points of finite numbers, found {len(points)}")
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    directed = np.isfinite(lengths) & (lengths > 0.1)
    if not directed.all():
        raise RecordingError(f"{path}: {int((~directed).sum())} of {len(points)} normals have no direction")
    check_place(points, size, str(path))
    return Scan(points, normals / lengths)


def check_place(points: np.ndarray, size: float, name: str) -> None:
    """Refuse points (k, 3) that cannot be of a surface of a size [m] at the origin.

    Raises:
        RecordingError: with the size that they have, and the unit that they seem to be in.
    """
    reach = float(np.median(np.linalg.norm(points, axis=1)))
    if reach <= FAR * size:
        return
    unit = units_of(reach, NEAR * size, FAR * size) or "another frame"
    raise RecordingError(
        f"{name}: its points lie {reach:.4g} m from the base, the surface is {size:.3g} m large: is the scan in "
        f"{unit}? Metres in base_link are expected"
    )


def _read_table(
    path: Path, names: Sequence[str], limits: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray | None]:
    """Names of files, pressures (f, a) [Pa], and how long they had stood (f,) [s], if that is told."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:  # spreadsheets put a mark before it
            reader = csv.reader(stream)
            header, *lines = [(reader.line_num, row) for row in reader if row] or [(1, [])]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path}: not readable as a table: {one_line(error)}") from error
    header, rows = header[1], [row for _, row in lines]
    if header not in (["file", *names], ["file", *names, HELD]):
        raise RecordingError(
            f"{path}: its columns are {', '.join(header)[:200]}; expected file, {', '.join(names)}, and {HELD} [s] if "
            f"it is known how long pressures had stood"
        )
    if not rows:
        raise RecordingError(f"{path}: has no frames: expected a line of {len(header)} values for each")
    for number, row in lines:
        if len(row) != len(header):
            raise RecordingError(f"{path}:{number}: {len(row)} values, expected {len(header)}")
    files = [row[0] for row in rows]
    if any(Path(file).name != file for file in files):
        raise RecordingError(f"{path}: frames are files beside it, without folders")
    if twice := [file for file, count in Counter(files).items() if count > 1]:
        raise RecordingError(f"{path}: {one_line(twice[0])} is there twice: expected a line for each frame, of its own")
    try:
        values = np.array([row[1:] for row in rows], float)
    except ValueError as error:
        raise RecordingError(f"{path}: pressures or seconds that are no numbers: {one_line(error)}") from error
    pressures, held = values[:, : len(names)], values[:, len(names)] if len(header) > len(names) + 1 else None
    _check_pressures(pressures, names, limits, path)
    if held is not None and not (np.isfinite(held) & (held >= 0.0)).all():
        i = int(np.argmin(np.isfinite(held) & (held >= 0.0)))
        raise RecordingError(f"{path}: frame {i}: {HELD} is {held[i]:g} s: expected 0 or more")
    return files, pressures, held


def _check_pressures(pressures: np.ndarray, names: Sequence[str], limits: np.ndarray, path: Path) -> None:
    slack = 1e-6 * np.ptp(limits, axis=1)
    wrong = np.argwhere(~((pressures >= limits[:, 0] - slack) & (pressures <= limits[:, 1] + slack)))
    if len(wrong):
        i, j = wrong[0]
        low, high = limits[j]
        raise RecordingError(f"{path}: frame {i}: {names[j]} {pressures[i, j]:g} Pa is outside {low:g}…{high:g} Pa")
    largest, most = np.abs(pressures).max(), np.abs(limits).max()
    if 0.0 < largest < SMALL * most:
        raise RecordingError(
            f"{path}: no pressure is above {largest:g} Pa, where chambers may have {most:g} Pa: are they in kPa or "
            "mbar? Pascals are expected"
        )
