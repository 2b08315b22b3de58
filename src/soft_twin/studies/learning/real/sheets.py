"""A sheet of paper and a cushion, known points of which were seen: each shape by the warp that the others teach.

Nothing is known of what held them. So the twin is a thin plate that is held where a few of the points were seen, six of
them, and bends in between with the least of its linear energy (thin-plate splines): it knows nothing of paper, which
does not stretch, or of a cushion, which is blown up. What moves it are the places of the held points, brought into one
pose. The warp is trained on the other points of all shapes but one, and tested on those of that one.
"""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import RBFInterpolator
from scipy.io import loadmat
from scipy.io.matlab import MatReadError
from scipy.spatial.transform import Rotation

from soft_twin.errors import RecordingError, UsageError
from soft_twin.files import checked_file, one_line
from soft_twin.learning.layer import SurfaceLayer, grid
from soft_twin.learning.losses import Cloud
from soft_twin.learning.surfaces import SurfaceFit
from soft_twin.learning.training import Frames, WarpTraining, Weights, train_warp
from soft_twin.learning.warp import warped
from soft_twin.mesh.triangles import grid_triangles
from soft_twin.parallel import Say
from soft_twin.studies.learning.real.tested import Tested

FOLDER = Path("paper_cushion")
SHEETS = {"paper": ("data_kinectPaper.mat", 0), "cushion": ("data_cushion.mat", 2)}  # file, and its flattest shape
MAX_SIZE = 10_000_000  # [bytes]
HELD, SIDE, CONTROL_POINTS, KERNELS = 6, 24, (12, 12), 25
BEYOND = 0.02  # of the sheet's size: how far the plate goes beyond its outermost points
WATCHED = 5.0  # [mm] discs of the frames that say how long to train


def tested(data: Path, say: Say | None = None) -> list[Tested]:
    """Each shape of both sheets by the others, but for the flattest.

    Raises:
        UsageError: the recordings are not there.
        RecordingError: they are broken.
    """
    return [
        row
        for name, (file, flat) in SHEETS.items()
        for row in _each_by_others(name, read_sheet(data / FOLDER / file), flat, say)
    ]


def read_sheet(path: Path) -> np.ndarray:
    """(f, k, 3) points of all shapes [mm].

    Raises:
        UsageError: there is no such file.
        RecordingError: it is broken.
    """
    checked_file(path, "recording", MAX_SIZE, UsageError)
    try:
        content = loadmat(path, squeeze_me=True)["Pgth"]
        found = np.array(
            [np.asarray(each["P"].item() if each["P"].shape == () else each["P"], float).T for each in content]
        )
    except (MatReadError, KeyError, ValueError, TypeError, IndexError, NotImplementedError) as error:
        raise RecordingError(f"{path}: not readable as points of shapes: {one_line(error)}") from error
    if found.ndim != 3 or found.shape[2] != 3 or not np.isfinite(found).all():
        raise RecordingError(f"{path}: expected points (f, k, 3) of finite numbers, found {found.shape}")
    return found


class Plate:
    """The twin of a sheet.

    Args:
        flat: (k, 3) points of the sheet when it is flattest [mm].
    """

    def __init__(self, flat: np.ndarray):
        middle = flat.mean(axis=0)
        axes = np.linalg.svd(flat - middle, full_matrices=False)[2]
        self._axes = axes * [[1.0], [1.0], [np.linalg.det(axes)]]
        self.flat = (flat - middle) @ self._axes.T  # z across the sheet
        self.held = _spread(self.flat[:, :2], HELD)
        low, high = self.flat[:, :2].min(axis=0), self.flat[:, :2].max(axis=0)
        low, high = low - BEYOND * (high - low), high + BEYOND * (high - low)
        ticks = [np.linspace(a, b, SIDE) for a, b in zip(low, high, strict=True)]
        self._places = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        self.size = float((high - low).max())
        rest = np.column_stack([self._places, np.zeros(len(self._places))])
        self.fit = SurfaceFit.at_rest(rest, grid_triangles(SIDE, SIDE), CONTROL_POINTS)
        self.uv = (self.flat[:, :2] - low) / (high - low)

    def aligned(self, points: np.ndarray) -> np.ndarray:
        """(k, 3) a shape's points in the pose in which its held ones are nearest to the flat sheet's."""
        own, rest = points[self.held], self.flat[self.held]
        turn, _ = Rotation.align_vectors(rest - rest.mean(axis=0), own - own.mean(axis=0))
        return turn.apply(points - own.mean(axis=0)) + rest.mean(axis=0)

    def control(self, points: np.ndarray) -> np.ndarray:
        """(M, M, 3) control points of the plate that is held at some points of a shape (k, 3)."""
        bend = RBFInterpolator(self.flat[self.held, :2], points[self.held], kernel="thin_plate_spline")
        return self.fit.fit(bend(self._places))


def _each_by_others(name: str, shapes: np.ndarray, flat: int, say: Say | None) -> list[Tested]:
    plate = Plate(shapes[flat])
    points = np.array([plate.aligned(shape) for shape in shapes])
    control = np.array([plate.control(shape) for shape in points])
    free = np.setdiff1d(np.arange(points.shape[1]), plate.held)
    rows = []
    for i in range(len(shapes)):
        if i == flat:
            continue
        others = np.arange(len(shapes)) != i
        found = _corrected(plate, control, points, others, i, free, say)
        off = [np.linalg.norm(each - points[i, free], axis=1) for each in found]
        errors = [float(each.mean()) for each in off] + [float(each.max()) for each in off]
        rows.append(Tested(f"{name}, known points", f"{others.sum()} shapes", f"shape {i}", "mm", *errors))
    return rows


def _corrected(
    plate: Plate, control: np.ndarray, points: np.ndarray, others: np.ndarray, tested: int, free: np.ndarray, say
) -> tuple[np.ndarray, np.ndarray]:
    """(k, 3) free points of the shape that is tested: by the plate alone, and by the warp that the others teach."""
    knots, centres = plate.fit.knots, grid(KERNELS)
    layer, kernels = SurfaceLayer(plate.uv[free], knots), SurfaceLayer(centres, knots)
    mean = control[others].mean(axis=0)
    spread = float((control[others] - mean).std())

    def frames(rows: np.ndarray) -> Frames:
        own = jnp.asarray(control[rows], jnp.float32)
        seen = jnp.asarray(points[rows][:, free], jnp.float32)
        clouds = Cloud(seen, jnp.zeros_like(seen), jnp.ones(seen.shape[:2]))
        shapes = ((own - mean) / spread).reshape(len(own), -1)
        return Frames(shapes, own, jax.vmap(kernels.points)(own), clouds, True)

    training = WarpTraining(KERNELS, 2, 24, weights=Weights(watched=WATCHED))
    warp = train_warp(frames(others), layer, plate.size, replace(training, width=_width(plate.size)), say).coefficients
    own = frames(np.array([tested]))
    simulated = layer.points(own.control[0])
    bent = warped(simulated, own.kernels[0], warp(own.shapes[0]).reshape(-1, 3), _width(plate.size), plate.size)
    return np.asarray(simulated), np.asarray(bent)


def _width(size: float) -> float:
    """c [1/mm²] of kernels that are about as wide as they are apart."""
    return float(KERNELS) / size**2


def _spread(places: np.ndarray, count: int) -> np.ndarray:
    """Numbers of places (k, 2), each as far as can be from those before it; the first is furthest from the middle."""
    taken = [int(np.argmax(np.linalg.norm(places - places.mean(axis=0), axis=1)))]
    away = np.linalg.norm(places - places[taken[0]], axis=1)
    for _ in range(count - 1):
        taken.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(places - places[taken[-1]], axis=1))
    return np.array(taken)
