"""The warp by markers: known points of the surface, some of which are not seen in a frame (Sec. III-E, eq. 13).

Where a marker sits, its parameters (u, v), is found once: where the simulated surface without pressure is nearest to
the marker without pressure.
"""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial import cKDTree

from soft_twin.errors import RecordingError
from soft_twin.learning.correction import MM, Correction, ShapeModel
from soft_twin.learning.frames import MarkerRecording
from soft_twin.learning.knots import Knots
from soft_twin.learning.layer import SurfaceLayer, grid
from soft_twin.learning.losses import Cloud
from soft_twin.learning.matching import MarkerMatch
from soft_twin.learning.surfaces import bases
from soft_twin.learning.teaching import Lesson, Seen
from soft_twin.learning.training import WarpTraining, Weights
from soft_twin.parallel import Say

TRIED = 10_000  # points of the surface where the search for the nearest begins
OFF = 0.1  # of the surface's size: a marker that is further away from it sits on something else


def marker_parameters(shapes: ShapeModel, rest: np.ndarray) -> np.ndarray:
    """(k, 2) parameters of markers that are at (k, 3) [m] without pressure.

    Raises:
        RecordingError: a marker is not on the surface.
    """
    none = np.clip(0.0, *shapes.limits.T)
    control = np.asarray(shapes.control(jnp.asarray(none, jnp.float32)), float)
    return nearest_parameters(control, shapes.knots, MM * np.asarray(rest, float), OFF * shapes.size)


def nearest_parameters(control: np.ndarray, knots: Knots, points: np.ndarray, far: float) -> np.ndarray:
    """(k, 2) parameters where a surface (Mu, Mv, 3) with knots is nearest to points (k, 3).

    Raises:
        RecordingError: a point is further away than `far`.
    """
    uv = grid(TRIED)
    tried = SurfaceLayer(uv, knots, float).points(control)
    begin = uv[cKDTree(np.asarray(tried)).query(points)[1]]
    found = np.array([_nearest(control, knots, point, start) for point, start in zip(points, begin, strict=True)])
    away = np.linalg.norm(SurfaceLayer(found, knots, float).points(control) - points, axis=1)
    if (away > far).any():
        i = int(np.argmax(away))
        raise RecordingError(f"marker {i + 1} of {len(points)} is {away[i]:.3g} mm away from the surface at rest")
    return found


def learn_warp_by_markers(
    shapes: ShapeModel, recording: MarkerRecording, robot, training: WarpTraining, say: Say | None = None
) -> Correction:
    """As `learn_warp`, by a recording of markers.

    Raises:
        RecordingError: a marker is not on the surface.
        ConvergenceError: training diverges.
    """
    uv, there = marker_parameters(shapes, recording.rest), np.isfinite(recording.markers).all(axis=2)
    points = jnp.asarray(np.where(there[..., None], MM * recording.markers, 0.0), jnp.float32)
    clouds = Cloud(points, jnp.zeros_like(points), jnp.asarray(there, jnp.float32))
    lesson = Lesson(Seen(recording.pressures, recording.held, clouds, recording.digest), MarkerMatch(clouds), uv)
    weights = training.weights or Weights(watched=shapes.patch)
    return lesson.learn(shapes, robot, replace(training, weights=weights), None, say)


def _nearest(control: np.ndarray, knots: Knots, point: np.ndarray, start: np.ndarray) -> np.ndarray:
    """(2,) parameters where a surface is nearest to a point (3,), by Gauss and Newton from a start."""

    def at(uv: np.ndarray, *derivatives: int) -> np.ndarray:
        u, v = (bases(uv[None], knots, derivative)[axis][0] for axis, derivative in enumerate(derivatives))
        return np.einsum("i,j,ijd->d", u, v, control)

    return least_squares(
        lambda uv: at(uv, 0, 0) - point,
        np.clip(start, 1e-9, 1.0 - 1e-9),
        jac=lambda uv: np.column_stack([at(uv, 1, 0), at(uv, 0, 1)]),
        bounds=(0.0, 1.0),
        xtol=1e-9,
    ).x
