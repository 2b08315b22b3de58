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
from soft_twin.recording.ply_files import read_ply

MAX_SIZE = 100_000_000  # [bytes]
MAX_MEMORY = 900_000_000  # [bytes] that reading a file may take
DRAWN = 20_000  # points of a mesh
MESHES, TABLES = (".stl", ".obj", ".off"), (".csv", ".txt", ".xyz")
SUFFIXES = (".ply", *MESHES, *TABLES)


def read_target(path: str | Path, whole: bool | None = None, seed: int = 0) -> ShapeTarget:
    """The target in a file, in metres.

    Args:
        path: .ply, .stl, .obj or .off; or a table of points x, y, z, with their normals perhaps, a line each, between
            commas or spaces.
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
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = np.loadtxt(StringIO(text), delimiter="," if "," in text[:1000] else None, ndmin=2)
    except (ValueError, UnicodeDecodeError, OSError, MemoryError) as error:
        raise InputError(f"target '{path}' is not readable as a table of numbers: {one_line(error)}") from error
    if rows.shape[1:] not in ((3,), (6,)):
        raise InputError(f"target '{path}' has {rows.shape[1]} columns: expected x, y, z, and nx, ny, nz perhaps")
    return rows[:, :3], rows[:, 3:] if rows.shape[1] == 6 else None
