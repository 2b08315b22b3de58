"""Hanging silicone against its LIDAR cloud: the shear modulus of two dog-bone cantilevers, and how near they come.

20 × 6 × 3 cm, Ecoflex 50 and MoldStar 15, clamped at one end (Arnavaz, Nielsen, Kry, Macklin, Erleben, Computer
Graphics Forum 2023; clouds, mesh and pose in data/silicone_lidar). Linear tetrahedra of this mesh lock in bending, and
a modulus that was fitted with them is too small; here they are quadratic. The clouds are off along z, across the plane
of bending, by up to a centimetre: that offset is found along with the modulus. Distances are those of the cloud's
points to points all over the body's surface; stray points of the camera are in it, so the modulus is that of the least
median. Pictures: one of each silicone.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar

from soft_twin.calibration.distances import chamfer_distance, nearest_distances
from soft_twin.calibration.markers import Markers
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import MeshError, UsageError
from soft_twin.files import checked_file, one_line
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import NeoHookean
from soft_twin.mechanics.model import Model
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.files import MAX_FILE_SIZE
from soft_twin.mesh.mesh import Mesh, boundary_faces, make_mesh
from soft_twin.recording.npz import read_npz
from soft_twin.solvers.derivatives.parameters import Elastic
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

SILICONES = {"h_e_c": ("Ecoflex 50", 22.3e3), "h_m_c": ("MoldStar 15", 50.1e3)}  # and the authors' shear moduli [Pa]
MESH = "cantilever_f640_v322.tet"
CLAMP = 0.07  # [m] nodes with x from here on are held
SEEN_CLAMP = -0.028  # [m] x in the world from where on the cloud shows the clamp
DENSITY, POISSON_RATIO = 1080.0, 0.49
DOMAIN = (0.5, 3.0)  # of the authors' modulus
TOLERANCE = 0.01  # of the logarithm of the modulus
POINTS = 3000  # of the cloud, evenly chosen
MAX_CLOUD = 500_000_000  # [bytes]
OFFSETS = np.linspace(-0.03, 0.03, 61)  # [m] offsets along z that are tried
CENTRE_LINE = np.array([[-0.03, -0.029], [-0.07, -0.045], [-0.11, -0.063], [-0.15, -0.09]])  # of h_m_c, x and y [m]


@dataclass(frozen=True)
class Fit:
    """A silicone with some shear modulus [Pa]: surface (s, 3) and centre line (c, 2) [m], offset of the cloud along z
    [m], mean and median distance of its points to the surface, and the Chamfer distance of the side it shows [m]."""

    modulus: float
    surface: np.ndarray
    line: np.ndarray
    offset: float
    distance: float
    median: float
    chamfer: float


class Cantilever:
    """One silicone's model, cloud (p, 3) [m], and how many simulations it has needed."""

    def __init__(self, data: Path, name: str, element: str = "tet10"):
        """`element`: "tet10", or "tet4" as the authors had it.

        Raises:
            UsageError: its files are not there.
        """
        folder = data / "silicone_lidar"
        if not folder.is_dir():
            raise UsageError(f"no clouds of silicone in {folder}: --data or $SOFT_TWIN_DATA says where they are")
        recorded = read_npz(folder / f"{name}_world_cm.npz", ("points_world_cm", "object_transform_cm"), MAX_CLOUD)
        self.cloud = 1e-2 * recorded["points_world_cm"]
        self.cloud = self.cloud[self.cloud[:, 0] < SEEN_CLAMP]
        self.cloud = self.cloud[:: max(1, len(self.cloud) // POINTS)]
        self.shift = 1e-2 * recorded["object_transform_cm"][:3, 3]
        mesh = read_tet(folder / MESH, element)
        self.authors = SILICONES[name][1]
        law = NeoHookean(2.0 * (1.0 + POISSON_RATIO) * self.authors, POISSON_RATIO)
        body = Body(mesh, Material(law, DENSITY), mesh.nodes[:, 0] > CLAMP - 1e-9)
        self.model = Model(body, [Gravity([0.0, -STANDARD_GRAVITY, 0.0])])
        self.young_modulus = Elastic(body.parts[0].material, "young_modulus")
        self._faces = boundary_faces(mesh)
        rest = surface_points(mesh.nodes, self._faces)
        self._front = (rest[:, 2] > rest[:, 2].max() - 1e-6) & (rest[:, 0] < CLAMP)
        self.line = Markers(mesh, np.linspace([-0.0999, 0.0, 0.0], [0.07, 0.0, 0.0], 60))
        self.simulations, self._pose = 0, None

    def fit(self, modulus: float) -> Fit:
        """With a shear modulus [Pa].

        Raises:
            ConvergenceError: no equilibrium.
        """
        self.young_modulus.set(2.0 * (1.0 + POISSON_RATIO) * modulus)
        self.simulations += 1
        self._pose = equilibrium(self.model, self._pose).pose
        surface = surface_points(self._pose.points, self._faces) + self.shift
        line = (self.line.at(self._pose.points) + self.shift)[:, :2]
        medians = [np.median(nearest_distances(self.cloud - [0.0, 0.0, z], surface)) for z in OFFSETS]
        offset = float(OFFSETS[int(np.argmin(medians))])
        seen = self.cloud - [0.0, 0.0, offset]
        distances = nearest_distances(seen, surface)
        front = surface[self._front]
        chamfer = chamfer_distance(front, seen)
        return Fit(modulus, surface, line, offset, float(distances.mean()), float(np.median(distances)), chamfer)

    def best(self) -> Fit:
        """The modulus whose median distance is least, by Brent's method on its logarithm."""
        low, high = np.log(self.authors * np.array(DOMAIN))
        found = minimize_scalar(
            lambda log: self.fit(float(np.exp(log))).median, bounds=(low, high), options={"xatol": TOLERANCE}
        )
        return self.fit(float(np.exp(found.x)))


def run(folder: Path, data: Path) -> str:
    """Both silicones."""
    lines = [
        f"{'silicone':12} {'':15} {'μ [kPa]':>8} {'mean':>7} {'median':>7} {'Chamfer, front':>15} {'offset':>7} [mm]"
    ]
    for name, (title, authors) in SILICONES.items():
        cantilever = Cantilever(data, name)
        before, after = cantilever.fit(authors), cantilever.best()
        locked = Cantilever(data, name, "tet4").fit(authors)
        for what, fit in (("authors', tet4", locked), ("authors', tet10", before), ("found, tet10", after)):
            values = 1e3 * np.array([fit.distance, fit.median, fit.chamfer, fit.offset])
            lines.append(
                f"{title:12} {what:15} {1e-3 * fit.modulus:8.1f} {values[0]:7.2f} {values[1]:7.2f}"
                f" {values[2]:15.2f} {values[3]:7.1f}"
            )
        lines.append(f"{title:12} simulations: {cantilever.simulations}")
        if name == "h_m_c":
            lines.append(_centre_line(after))
        draw(folder / f"{name}.png", title, cantilever, before, after)
    return "\n".join(lines)


def read_tet(path: Path, name: str = "tet10") -> Mesh:
    """The mesh of lines "v x y z" [cm] and "t i j k l", of tet4, or with nodes on its edges of tet10, in metres."""
    checked_file(path, "mesh", MAX_FILE_SIZE, MeshError)
    try:
        rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        nodes = 1e-2 * np.array([row[1:4] for row in rows if row and row[0] == "v"], dtype=float)
        cells = np.array([row[1:5] for row in rows if row and row[0] == "t"], dtype=int)
    except ValueError as error:
        raise MeshError(f"mesh '{path}' is not readable: {one_line(error)}") from error
    element = ELEMENTS[name]
    if name == "tet4":
        return make_mesh(nodes, cells, element, path.name)
    pairs = np.sort(cells[:, np.array(element.edges)], axis=2)
    edges, index = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    middles = len(nodes) + index.reshape(len(cells), -1)
    return make_mesh(np.vstack([nodes, nodes[edges].mean(axis=1)]), np.hstack([cells, middles]), element, path.name)


def surface_points(nodes: np.ndarray, faces: np.ndarray, count: int = 4) -> np.ndarray:
    """Points (s, 3) all over linear or quadratic triangles (f, 3 or 6), `count` (count + 1)/2 of each."""
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(count), np.arange(count)))
    i, j = i[i + j < count], j[i + j < count]
    a, b = (i + 1.0 / 3.0) / count, (j + 1.0 / 3.0) / count
    L = np.column_stack([1.0 - a - b, a, b])
    quadratic = np.column_stack([L * (2.0 * L - 1.0), 4.0 * L * np.roll(L, -1, axis=1)])
    values = L if faces.shape[1] == 3 else quadratic
    return np.einsum("sk,fki->fsi", values, nodes[faces]).reshape(-1, 3)


def _centre_line(fit: Fit) -> str:
    order = np.argsort(fit.line[:, 0])
    found = np.interp(CENTRE_LINE[:, 0], *fit.line[order].T)
    pairs = ", ".join(
        f"x {100 * x:.0f}: {100 * y:.1f} of {100 * known:.1f}" for (x, known), y in zip(CENTRE_LINE, found, strict=True)
    )
    return f"{'':12} centre line, y [cm] at x [cm]: {pairs}"


def draw(path: Path, title: str, cantilever: Cantilever, before: Fit, after: Fit) -> None:
    """From the side and from below: cloud, surfaces, centre lines."""
    figure = Figure(figsize=(11.0, 6.0), layout="constrained")
    side, below = figure.subplots(1, 2)
    for axes, other, label in ((side, 1, "y"), (below, 2, "z")):
        axes.plot(*1e2 * after.surface[:, [0, other]].T, ".", markersize=0.7, color="#56b4e9", label="surface, found")
        axes.plot(
            *1e2 * cantilever.cloud[:, [0, other]].T, ".", markersize=0.7, color="black", alpha=0.5, label="cloud"
        )
        axes.set(xlabel="x [cm]", ylabel=f"{label} [cm]", aspect="equal")
        axes.grid(alpha=0.3)
    for fit, style, what in ((before, "--", "authors' μ"), (after, "-", "found")):
        side.plot(*1e2 * fit.line.T, style, color="#d55e00", label=f"{what}: {1e-3 * fit.modulus:.1f} kPa")
    side.set(title=title)
    side.legend(fontsize=8, markerscale=10.0)
    write_picture(path, figure, dpi=110)
