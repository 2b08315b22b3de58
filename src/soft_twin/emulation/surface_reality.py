"""The emulated reality of a robot whose surface is learned: richer physics than its twin's, at rest under pressures.

Its mesh is the twin's, or a finer one: that of `emulated` is as coarse as real time asks for. Its law is
Mooney–Rivlin's; threads, errors of thickness, leaks and creep are what `learning.reality` says. Creep is a loss of
stiffness, E (1 − g (1 − e^{−t/τ})) after the time t under load; at rest, all moduli times s are the same as all loads
over s.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import InputError
from soft_twin.mechanics.materials.mooney_rivlin import MooneyRivlin
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.mesh.facets import facets
from soft_twin.mesh.mesh import Mesh
from soft_twin.robots.fem_meshes import build_mesh, relief
from soft_twin.robots.fem_models import FemBuilder
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.solvers.equilibrium import equilibrium

if TYPE_CHECKING:
    from soft_twin.descriptions.learning import Learning, Thickness

DOWN = np.array(UPRIGHT_GRAVITY)  # [m/s²]
WAVES = 60  # of the field of thickness
TINY = 1e-12  # [m] radius of what is on the axis


class SurfaceReality:
    """See the module's docstring.

    Attributes:
        triangles: (t, 3) of the surface, outward, in the numbers of its points.
        leaks: (a,) share of its pressure that each chamber loses.
    """

    def __init__(self, robot: FemRobot, learning: "Learning"):
        """
        Raises:
            DescriptionError, MeshError: the robot cannot be built so.
        """
        random, self._learning = np.random.default_rng(learning.seed), learning
        body = robot.description.body
        own = replace(robot, description=_with_fibres(robot.description, learning))
        source = learning.reality.mesh or body.mesh
        mesh = build_mesh(source, robot.path.resolve().parent)
        if learning.reality.thickness is not None:
            lift = 0.0 if source.voxels is None else relief(source.voxels, mesh.nodes)
            flat = uneven(replace(mesh, nodes=mesh.nodes - lift), learning.reality.thickness, random)
            mesh = replace(mesh, nodes=flat.nodes + lift)
        law = partial(_law, second=learning.reality.second_constant)
        self._model = FemBuilder(own, emulated=True, mesh=mesh, law=law).model()
        found = facets(mesh, mesh.surface(learning.surface), learning.parts)
        self._weights, self.triangles = found.weights, found.triangles
        self.leaks = random.uniform(0.0, 2.0 * learning.reality.leak, len(robot.chamber_names))

    @property
    def model(self) -> Model:
        """Its body, loads and chambers."""
        return self._model

    def shape(self, pressures: np.ndarray, seconds: float = 0.0) -> np.ndarray:
        """(p, 3) points of its surface [m], so many seconds after the chambers got pressures (a,) [Pa].

        Raises:
            InputError: pressures or seconds are no finite numbers.
            ConvergenceError: it has no equilibrium there.
        """
        pressures = checked_vector(pressures, len(self.leaks), "pressures")
        if not (np.isfinite(seconds) and seconds >= 0.0):
            raise InputError(f"seconds under load: {seconds} is not 0 or more")
        reality = self._learning.reality
        left = 1.0 - reality.creep * (1.0 - np.exp(-seconds / reality.creep_time))
        self._model.forces[0].vector = DOWN / left
        self._model.efforts = (1.0 - self.leaks) * pressures / left
        return self._weights @ self._settled().points

    def _settled(self) -> Pose:
        return equilibrium(self._model).pose


def uneven(mesh: Mesh, thickness: "Thickness", random: np.random.Generator) -> Mesh:
    """A mesh whose sheet, or wall of a tube, is of another thickness everywhere: what is below the sheet moves with its
    lower side, what is within the wall with its inner one.

    The field is a sum of waves of random directions and phases, whose lengths are spread about `length` as those of a
    field with a Gaussian correlation. Of a wall, it is that of the space at its outer side: it is closed around.
    """
    if thickness.sheet is not None:
        z = _thinned(mesh.nodes[:, 2], thickness.sheet, mesh.nodes[:, :2], thickness, random)
        return replace(mesh, nodes=np.column_stack([mesh.nodes[:, :2], z]))
    radius = np.maximum(np.hypot(*mesh.nodes[:, :2].T), TINY)
    outer = np.column_stack([thickness.wall[1] / radius[:, None] * mesh.nodes[:, :2], mesh.nodes[:, 2]])
    moved = _thinned(radius, thickness.wall, outer, thickness, random)
    return replace(mesh, nodes=np.column_stack([(moved / radius)[:, None] * mesh.nodes[:, :2], mesh.nodes[:, 2]]))


def _thinned(
    height: np.ndarray,
    layer: tuple[float, float],
    places: np.ndarray,
    thickness: "Thickness",
    random: np.random.Generator,
) -> np.ndarray:
    """(n,) where nodes come to whose heights (n,) lie in or below a layer, which is uneven by their places (n, d)."""
    low, high = layer
    waves = random.normal(0.0, 1.0 / thickness.length, (WAVES, places.shape[1]))
    phases = random.uniform(0.0, 2.0 * np.pi, WAVES)
    field = np.sqrt(2.0 / WAVES) * np.cos(places @ waves.T + phases).sum(axis=1)
    lower = high - (high - low) * np.exp(thickness.deviation * field)
    base = height.min()
    below = base + (height - base) * (lower - base) / (low - base) if low > base else height
    within = lower + (height - low) * (high - lower) / (high - low)
    return np.where(height >= low, within, below)


def _law(young_modulus: float, poisson_ratio: float, second: float) -> MooneyRivlin:
    """With a share of its shear modulus in c2."""
    half = 0.25 * young_modulus / (1.0 + poisson_ratio)
    bulk = young_modulus / (3.0 * (1.0 - 2.0 * poisson_ratio))
    return MooneyRivlin((1.0 - second) * half, second * half, bulk)


def _with_fibres(description, learning: "Learning"):
    """A description whose body has the reality's threads, too."""
    fibres = description.body.fibres + learning.reality.fibres
    return description.model_copy(update={"body": description.body.model_copy(update={"fibres": fibres})})
