"""Whether what was recorded can be of the robot at its pressures: scans and markers beside the twin's own surfaces.

The reality differs from its twin by a few hundredths of the surface's size; scans that were shifted, turned over,
scaled or given to other pressures, by much more. What is wrong by less is told after the training, see `outliers`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial import cKDTree

from soft_twin.errors import RecordingError
from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.frames import MarkerRecording, Recording
from soft_twin.learning.samples import Inflation
from soft_twin.mesh.triangles import vertex_normals

FAR = 0.1  # of the surface's size: median distance of a frame's points from it
SMALLEST, LARGEST = 0.25, 1.5  # spread of a frame's points about their middle, of the surface's
LEAST_COSINE = 0.3  # mean, of normals and the surface's
ODD, ODD_SIZE = 5.0, 0.005  # times the frames' median error, and of the surface's size: a frame that is wrong by itself
CHECKED = 40  # frames that are simulated to be checked, evenly chosen


def checked_rows(count: int) -> np.ndarray:
    """(c,) numbers of the frames that are simulated to be checked, of so many."""
    return np.unique(np.linspace(0, count - 1, min(count, CHECKED)).round().astype(int))


def check_inflation(
    pressures: np.ndarray, names: Sequence[str], inflation: Inflation, name: Callable[[int], str]
) -> None:
    """Refuse frames with pressures (f, a) [Pa] under which the twin balloons; `name` says a frame's.

    Raises:
        RecordingError: the first of them.
    """
    over = np.argwhere(pressures > (1.0 + 1e-6) * inflation.limits[:, 1])
    if len(over):
        i, j = over[0]
        raise RecordingError(
            f"{name(i)}: {names[j]} {pressures[i, j]:g} Pa: the twin balloons above {inflation.limits[j, 1]:g} Pa, and "
            "learns nothing of what is beyond"
        )


def check_frames(
    recording: Recording | MarkerRecording, rows: Sequence[int], shapes: Sequence[np.ndarray], triangles: np.ndarray
) -> None:
    """Refuse frames that are not of the surface.

    Args:
        recording: it.
        rows: numbers (c,) of the frames whose surfaces are known.
        shapes: the twin's surface (p, 3) [m] at the pressures of each.
        triangles: (t, 3) of the surface, outward.

    Raises:
        RecordingError: a frame is of another size, lies elsewhere, or is turned over; its file is named.
    """
    for row, points in zip(rows, shapes, strict=True):
        name = recording.name(row)
        if isinstance(recording, MarkerRecording):
            seen = recording.markers[row]
            _check_place(seen[np.isfinite(seen).all(axis=1)], points, triangles, name, whole=False)
        else:
            scan = recording.scans[row]
            _check_place(scan.points, points, triangles, name)
            _check_normals(scan.points, scan.normals, points, triangles, name)


def outliers(errors: np.ndarray, size: float) -> np.ndarray:
    """(n,) numbers of the frames whose errors (f,) [mm] are many times the others', of a surface of a size [mm]."""
    return np.flatnonzero(errors > np.maximum(ODD * np.median(errors), ODD_SIZE * size))


def _check_place(seen: np.ndarray, points: np.ndarray, triangles: np.ndarray, name: str, whole: bool = True) -> None:
    spread, own = _spread(seen), _spread(points)
    if whole and not SMALLEST * own <= spread <= LARGEST * own:
        raise RecordingError(
            f"{name}: its points are spread {spread:.3g} m about their middle, those of the twin's surface at its "
            f"pressures {own:.3g} m: is it in another unit, or of something else?"
        )
    size = float(np.ptp(points, axis=0).max())
    off = float(np.median(surface_distances(seen, points, triangles)))
    if off > FAR * size:
        raise RecordingError(
            f"{name}: its points are {off:.3g} m from the twin's surface at its pressures, in the median, of a body of "
            f"{size:.3g} m: is it in base_link, and of these pressures?"
        )


def _check_normals(seen: np.ndarray, normals: np.ndarray, points: np.ndarray, triangles: np.ndarray, name: str) -> None:
    own = vertex_normals(points, triangles)[cKDTree(points).query(seen)[1]]
    cosine = float((normals * own).sum(axis=1).mean())
    if cosine < -LEAST_COSINE:
        raise RecordingError(
            f"{name}: its normals point into the body (mean cosine with the twin's {cosine:.2f}): turn them over; or "
            "is the scan upside down?"
        )
    if cosine < LEAST_COSINE:
        raise RecordingError(
            f"{name}: its normals are not the surface's (mean cosine with the twin's {cosine:.2f}, expected nearly 1)"
        )


def _spread(points: np.ndarray) -> float:
    """Root mean square distance from the middle."""
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))
