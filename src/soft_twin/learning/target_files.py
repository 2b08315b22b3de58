"""Target surfaces from files: meshes, of which points are drawn evenly by area, and clouds of points.

A mesh's corners stand where its triangles are small, not where its surface is; drawn points are as dense everywhere.
"""

import warnings
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import meshio
import numpy as np

from soft_twin.errors import InputError, UsageError
from soft_twin.files import bounded_memory, checked_file, checked_path, one_line
from soft_twin.learning.shape_target import ShapeTarget
from soft_twin.mesh.triangles import drawn_places, face_normals
from soft_twin.recording.ply_files import AXES, NORMALS, read_ply

MAX_SIZE = 100_000_000  # [bytes]
MAX_MEMORY = 900_000_000  # [bytes] that reading a file may take
DRAWN = 20_000  # points of a mesh
MESHES, TABLES = (".stl", ".obj", ".off"), (".csv", ".txt", ".xyz")
SUFFIXES = (".ply", *MESHES, *TABLES)


def read_target(path: str | Path, whole: bool | None = None, seed: int = 0) -> ShapeTarget:
    """The target in a file, in metres.

    Args:
        path: .ply, .stl, .obj or .off; or a table of points x, y, z, with their normals nx, ny, nz perhaps, a line
            each, between commas, semicolons, tabs or spaces. Where its first line names these columns, others may
            stand beside them.
        whole: it has no holes; None: a mesh has none, a cloud may have some.
        seed: of the points that are drawn of a mesh.

    Raises:
        UsageError: there is no such file, or none of these kinds.
        InputError: it is broken, or no surface.
    """
    path = checked_path(path, "target", UsageError)
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"target '{path}': expected a file that ends in {', '.join(SUFFIXES)}")
    checked_file(path, "target", MAX_SIZE, UsageError)
    if path.suffix.lower() == ".ply":
        points, normals, triangles = read_ply(path)
    elif path.suffix.lower() in MESHES:
        (points, triangles), normals = _mesh(path), None
    else:
        (points, normals), triangles = _table(path), np.zeros((0, 3), int)
    try:
        if not len(triangles):
            return ShapeTarget.of(points, normals, bool(whole))
        return ShapeTarget.of(*_drawn(points, triangles, seed), whole is not False)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _drawn(points: np.ndarray, triangles: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(DRAWN, 3) points of a mesh, and the normals of their triangles."""
    if not np.isfinite(points[triangles]).all():
        raise InputError("target: its triangles have corners that are not finite")
    normals, areas = face_normals(points, triangles)
    if not 0.0 < areas.sum() < np.inf:
        raise InputError(f"target: its {len(triangles)} triangles have no area")
    chosen, shares = drawn_places(points, triangles, DRAWN, np.random.default_rng(seed))
    return np.einsum("ks,ksd->kd", shares, points[triangles[chosen]]), normals[chosen]


def _mesh(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with warnings.catch_warnings(), bounded_memory(MAX_MEMORY):
            warnings.simplefilter("ignore")
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # meshio talks
                content = meshio.read(path)
    except (Exception, SystemExit) as error:  # meshio's readers raise anything on a broken file, and exit on some
        raise InputError(f"target '{path}' is not readable: {one_line(error)}") from error
    parts = [block.data for block in content.cells if block.type == "triangle"]
    for block in content.cells:
        if block.type == "quad":
            parts += [block.data[:, [0, 1, 2]], block.data[:, [0, 2, 3]]]
    triangles = np.vstack(parts) if parts else np.zeros((0, 3), int)
    points = np.asarray(content.points, float)
    if not len(triangles) or points.ndim != 2 or points.shape[1] != 3:
        raise InputError(f"target '{path}' has no triangles")
    if triangles.min() < 0 or triangles.max() >= len(points):
        raise InputError(f"target '{path}' has triangles with corners that are none of its {len(points)} points")
    return points, triangles


def _table(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """(k, 3) points and normals, if there are some: of the columns of these names, or as they stand where none has
    one."""
    lines, names, mark = _lines(path)
    columns = None
    if set(AXES) <= set(names):
        columns = [names.index(name) for name in (AXES + NORMALS if set(NORMALS) <= set(names) else AXES)]
    try:
        rows = np.loadtxt([line for _, line in lines], delimiter=mark, ndmin=2, usecols=columns)
    except (ValueError, MemoryError, IndexError) as error:  # the last by an old numpy, of a short row
        raise InputError(
            _wrong_line(path, lines, mark) or f"target '{path}' is not readable: {one_line(error)}"
        ) from error
    if rows.shape[1:] not in ((3,), (6,)):
        raise InputError(
            f"target '{path}' has {rows.shape[1]} columns: expected x, y, z, and nx, ny, nz perhaps, or a first line "
            "that names them"
        )
    return rows[:, :3], rows[:, 3:] if rows.shape[1] == 6 else None


def _lines(path: Path) -> tuple[list[tuple[int, str]], list[str], str | None]:
    """Numbered lines of values, the names of their columns if there are some, and what stands between them; None:
    spaces or tabs.

    Raises:
        InputError: it is no text, or has no values.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a mark before it
    except (UnicodeDecodeError, OSError, MemoryError) as error:
        raise InputError(f"target '{path}' is not readable as a table of numbers: {one_line(error)}") from error
    stripped = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1))
    lines = [(number, line) for number, line in stripped if line]
    first = lines[0][1] if lines else ""
    mark = next((each for each in ";\t," if each in first), None)
    heads, names = first.split(mark), []
    if not any(map(_is_number, heads)):
        names = [head.strip(" \"'").lower().partition(" ")[0] for head in heads]
        lines = lines[1:]
    if not lines:
        raise InputError(f"target '{path}' has no points: expected a line of x, y, z for each")
    if mark in (";", "\t"):  # a comma can only be a decimal point
        lines = [(number, line.replace(",", ".")) for number, line in lines]
    return lines, names, None if mark == "\t" else mark


def _wrong_line(path: Path, lines: list[tuple[int, str]], mark: str | None) -> str:
    """Which line is the first that has no numbers, or another number of them than the first; empty: none."""
    width = len(lines[0][1].split(mark))
    for number, line in lines:
        words = line.split(mark)
        if len(words) != width or not all(map(_is_number, words)):
            return f"target '{path}':{number}: '{one_line(line[:80])}': expected {width} numbers"
    return ""


def _is_number(word: str) -> bool:
    try:
        float(word.strip().replace(",", "."))
    except ValueError:
        return False
    return True
