"""Hanging cantilevers of two silicones, seen by LIDAR: what the cloud of one says of the other.

The twin is that of `validate silicone`, quadratic tetrahedra with the authors' moduli, which were fitted with linear
ones that lock: it hangs too low. What moves it is its weight over its modulus. A correction is learned from the cloud
of one silicone, without correspondences, and tested on the other's: how much stiffer a material is than its modulus
says, one number, and a warp. As in the validation, the clouds' offset across the plane of bending is found along.
"""

from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from soft_twin.calibration.markers import Markers
from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.frames import Recording, Scan
from soft_twin.learning.layer import lattice
from soft_twin.learning.samples import Inflation
from soft_twin.learning.shape_twins import ShapeTwin, plain_surface
from soft_twin.learning.teaching import learn_shapes, learn_warp, thinned
from soft_twin.learning.training import WarpTraining, Weights
from soft_twin.mesh.triangles import grid_triangles
from soft_twin.parallel import Say
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.studies.learning.real.tested import Tested
from soft_twin.studies.silicone import OFFSETS, POISSON_RATIO, SILICONES, Cantilever

SOFTEST = 22.3e3  # [Pa] shear modulus whose load is 1
LOADS = np.array([[0.15, 1.6]])  # of SOFTEST's
GRID = (86, 13)  # points along and across the front
HALF_WIDTHS = ([-0.0995, -0.08, -0.07, 0.0695], [0.029, 0.029, 0.014, 0.014])  # of the front [m], at x [m]
SHAPES, KERNELS, SIDE = 40, 49, 60
AROUND, LONELY = 8, 3.0  # a point that is so many times further from its 8th neighbour than others is a stray one
MM = 1e3


class HangingShapes(ShapeTwin):
    """The front of a cantilever under its weight over its modulus.

    Args:
        cantilever: it.
    """

    def __init__(self, cantilever: Cantilever):
        self._cantilever, self.limits = cantilever, LOADS
        mesh = cantilever.model.body.mesh
        places = _front(mesh.nodes[:, 2].max())
        self._places = Markers(mesh, places)
        self.surface = plain_surface(places + cantilever.shift, grid_triangles(*GRID))
        self._pose = None

    @property
    def inflation(self) -> Inflation:
        """Loads as actuation; shares are of their logarithms: a wrong modulus is then the same shift everywhere."""
        loads = np.exp(np.linspace(*np.log(LOADS[0]), 17))[:, None]
        return Inflation(loads, np.log(loads))

    def shapes_of(self, pressures: np.ndarray) -> np.ndarray:
        """See ShapeTwin; loads in place of pressures."""
        found = []
        for (load,) in pressures:
            self._cantilever.young_modulus.set(2.0 * (1.0 + POISSON_RATIO) * SOFTEST / load)
            self._pose = equilibrium(self._cantilever.model, self._pose).pose
            found.append(self._places.at(self._pose.points) + self._cantilever.shift)
        return np.array(found)


def tested(data: Path, say: Say | None = None) -> list[Tested]:
    """Each silicone by the other's cloud.

    Raises:
        UsageError: the recordings are not there.
    """
    cantilevers = {name: Cantilever(data, name) for name in SILICONES}
    lessons = {name: _lesson(each, say) for name, each in cantilevers.items()}
    rows = []
    for name, other in (("h_m_c", "h_e_c"), ("h_e_c", "h_m_c")):
        own, unseen = lessons[name], lessons[other]
        training = WarpTraining(KERNELS, 2, 24, weights=Weights(patch=own.shapes.patch))  # one cloud: none to leave out
        correction = learn_warp(own.shapes, own.recording, None, training, say=say)
        errors = [unseen.errors(np.asarray(found)) for found in unseen.predicted(correction)]
        (before, most), (after, least) = errors
        titles = SILICONES[name][0], SILICONES[other][0]
        rows.append(Tested("hanging silicone, cloud", *titles, "mm", before, after, most, least))
    return rows


def _front(z: float) -> np.ndarray:
    """(p, 3) places on the front of the undeformed body, just inside its border [m]."""
    x = np.linspace(HALF_WIDTHS[0][0], HALF_WIDTHS[0][-1], GRID[0])
    y = np.interp(x, *HALF_WIDTHS)[:, None] * np.linspace(-1.0, 1.0, GRID[1])
    return np.stack([np.repeat(x[:, None], GRID[1], axis=1), y, np.full(GRID, z)], axis=-1).reshape(-1, 3)


class _Lesson:
    """One silicone: shapes of its twin, and its cloud as a recording of one frame."""

    def __init__(self, shapes, load: float, scan: Scan):
        self.shapes, self.load, self.scan = shapes, load, scan
        self.recording = Recording(np.array([[load]]), [scan])

    def predicted(self, correction) -> list[np.ndarray]:
        """Surfaces on a lattice [m] at this silicone's load, as simulated and by another's correction."""
        uv, load = lattice(SIDE**2), np.array([self.load])
        return [correction.simulated(load, uv), correction(load, uv)]

    def errors(self, points: np.ndarray) -> tuple[float, float]:
        """Mean and 95th percentile of the cloud's distances [mm], where its offset along z is best."""
        triangles = grid_triangles(SIDE, SIDE)
        found = [surface_distances(self.scan.points - [0.0, 0.0, z], points, triangles) for z in OFFSETS[::2]]
        best = min(found, key=np.median)
        return MM * float(best.mean()), MM * float(np.percentile(best, 95.0))


def _lesson(cantilever: Cantilever, say: Say | None) -> _Lesson:
    twin, load = HangingShapes(cantilever), SOFTEST / cantilever.authors
    shapes, _ = learn_shapes(twin.simulations(SHAPES, say), twin.surface, twin.inflation, 2, say=say)
    points = without_strays(cantilever.cloud)
    normals = _towards_camera(points)
    shape = twin.shapes_of(np.array([[load]]))[0]
    medians = [np.median(cKDTree(shape).query(points - [0.0, 0.0, z])[0]) for z in OFFSETS]
    offset = [0.0, 0.0, OFFSETS[int(np.argmin(medians))]]
    return _Lesson(shapes, load, thinned(Scan(points - offset, normals)))


def without_strays(points: np.ndarray) -> np.ndarray:
    """Points (k, 3) without those that lie alone, as a camera has them at edges."""
    apart = cKDTree(points).query(points, AROUND + 1)[0][:, -1]
    return points[apart < LONELY * np.median(apart)]


def _towards_camera(points: np.ndarray) -> np.ndarray:
    """(k, 3) normals of the planes through points and those around, towards +z."""
    around = points[cKDTree(points).query(points, 2 * AROUND)[1]]
    around = around - around.mean(axis=1, keepdims=True)
    normals = np.linalg.eigh(np.einsum("kni,knj->kij", around, around))[1][:, :, 0]
    return normals * np.where(normals[:, 2:] < 0.0, -1.0, 1.0)
