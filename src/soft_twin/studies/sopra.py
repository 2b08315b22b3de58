"""A pneumatic arm: each of its six chambers at 60 kPa bends it to another side (SORS, section IV-C).

The body is data/mesh_sopra/sopra_494.vtk, the SoPrA arm that SORS has, too: linear tetrahedra, hanging by its end at
z = 0. Its chambers are the closed inner shells of the mesh, three in the upper and three in the lower segment, 120°
apart. The paper's fit: Neo-Hookean, E 346.5 kPa, ν 0.358, 1167 kg/m³, weight included.

By its symmetry, the three chambers of a segment should move the tip equally far, 120° apart, each away from itself. The
paper leaves fibres out and has linear tetrahedra. One cell is the whole thickness of a wall here, so that those lock,
each chamber's in another way. Quadratic ones on the same cells bend alike, but a homogeneous body is then so soft that
its chambers balloon: above 30 kPa no equilibrium is found. The real arm has threads around its chambers (Toshimitsu et
al. 2021, "SoPrA", arXiv 2103.10726), so here they are fibres in the walls, along circles around the nearest chamber's
axis, as good as inextensible. Picture: sopra.png. Then one measured segment: `sopra_segment`.
"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.spatial import cKDTree

from soft_twin.errors import MeshError, UsageError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads import Gravity, Pressure
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.materials.fibres import Fibres
from soft_twin.mechanics.model import Model
from soft_twin.mesh.elements import element_named
from soft_twin.mesh.files import read_mesh
from soft_twin.mesh.mesh import Mesh, make_mesh
from soft_twin.mesh.selection import enclosed_volume, shells, split_faces
from soft_twin.parallel import compute_here
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.studies import sopra_segment
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

FILE = Path("mesh_sopra") / "sopra_494.vtk"
YOUNG_MODULUS, POISSON_RATIO, DENSITY = 346.5e3, 0.358, 1167.0
PRESSURE, LOW_PRESSURE = 60e3, 20e3  # [Pa]
CHAMBERS = 6
FIBRES = 4e6  # [Pa], smeared over the walls; four times as stiff ones move the tip 2 % less
END, SAME = 1e-3, 1e-4  # [m]: from a chamber's end, and between nodes that are one another's image


@dataclass(frozen=True)
class Bend:
    """What one chamber does.

    Attributes:
        segment: "upper" or "lower".
        chamber: direction of the chamber from the axis [°].
        moved: (3,) displacement of the middle of the tip from where it hangs [m].
        iterations, seconds: of the solve.
        shape: (n, 3).
    """

    segment: str
    chamber: float
    moved: np.ndarray
    iterations: int
    seconds: float
    shape: np.ndarray

    @property
    def across(self) -> float:
        """How far the tip moved across the axis [m]."""
        return float(np.hypot(*self.moved[:2]))

    @property
    def direction(self) -> float:
        """To where the tip moved across the axis [°]."""
        return _angle(self.moved)


def run(folder: Path, data: Path) -> str:
    """All chambers, as the paper has it and with quadratic cells and fibres; then the segment where its recordings are.

    Raises:
        UsageError: the mesh is missing from `data`.
        MeshError: it has not six chambers.
    """
    if not (data / FILE).is_file():
        raise UsageError(f"no mesh of the arm at '{data / FILE}': --data or $SOFT_TWIN_DATA says where recordings are")
    mesh = read_mesh(data / FILE)
    curved = quadratic(mesh)
    cases = {
        "tet4, 20 kPa": (mesh, LOW_PRESSURE, 0.0),
        "tet10, 20 kPa": (curved, LOW_PRESSURE, 0.0),
        "tet4, 60 kPa (paper)": (mesh, PRESSURE, 0.0),
        "tet4 with fibres, 60 kPa": (mesh, PRESSURE, FIBRES),
        "tet10 with fibres, 60 kPa": (curved, PRESSURE, FIBRES),
    }
    found = dict(zip(cases, compute_here(_bends_of, list(cases.values()), "arms"), strict=True))
    shown = list(found.values())[-1]
    _draw(folder / "sopra.png", curved, shown)
    return "\n\n".join([regularity(mesh), comparison(found), table(shown), sopra_segment.report(folder, data)])


def quadratic(mesh: Mesh) -> Mesh:
    """A mesh of linear tetrahedra with nodes in the middle of their edges."""
    element = element_named("tet10")
    pairs = np.sort(mesh.cells[:, np.array(element.edges)], axis=2)
    edges, index = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    middles = len(mesh.nodes) + index.reshape(len(mesh.cells), -1)
    nodes = np.vstack([mesh.nodes, mesh.nodes[edges].mean(axis=1)])
    return make_mesh(nodes, np.hstack([mesh.cells, middles]), element, "arm")


def bends(mesh: Mesh, pressure: float = PRESSURE, fibres: float = 0.0) -> list[Bend]:
    """Of each chamber, those of the upper segment first, by direction; `fibres`: their stiffness [Pa], if any."""
    chambers = [Pressure(chamber) for chamber in chambers_of(mesh)]
    materials = [Material(energy_named("neo_hookean", YOUNG_MODULUS, POISSON_RATIO), DENSITY)]
    if fibres:
        directions, walls = hoops(mesh, [chamber.surface for chamber in chambers])
        materials.append(Material(Fibres(fibres, directions), 0.0, walls))
    body = Body(mesh, materials, mesh.nodes[:, 2] > -1e-6)
    model = Model(body, [Gravity(), *chambers])
    hanging = equilibrium(model).pose
    tip = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 1e-6
    found = []
    for chamber in chambers:
        chamber.pressure, began = pressure, perf_counter()
        solved = equilibrium(model, hanging)
        seconds, chamber.pressure = perf_counter() - began, 0.0
        middle = _middle(mesh, chamber.surface)
        segment = "upper" if middle[2] > 0.5 * mesh.nodes[:, 2].min() else "lower"
        moved = (solved.pose.points - hanging.points)[tip].mean(axis=0)
        found.append(
            Bend(segment, _from_x(mesh, chamber.surface), moved, solved.iterations, seconds, solved.pose.points)
        )
    return sorted(found, key=lambda bend: (bend.segment != "upper", bend.chamber))


def _bends_of(case: tuple[Mesh, float, float]) -> list[Bend]:
    return bends(*case)


def hoops(mesh: Mesh, chambers: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors (m, 3) around the axis of the chamber that is nearest to each cell, and the indices of the cells
    that are beside a chamber; the axis goes through the middles of its ends."""
    centres = mesh.nodes[mesh.cells[:, :4]].mean(axis=1)
    nearest = np.full(len(centres), np.inf)
    directions = np.tile([1.0, 0.0, 0.0], (len(centres), 1))
    for chamber in chambers:
        x = mesh.nodes[np.unique(chamber)]
        low, high = x[:, 2].min(), x[:, 2].max()
        start = x[x[:, 2] < low + END].mean(axis=0)
        axis = x[x[:, 2] > high - END].mean(axis=0) - start
        around = np.cross(axis / np.linalg.norm(axis), centres - start)
        distance = np.linalg.norm(around, axis=1)
        beside = (centres[:, 2] > low) & (centres[:, 2] < high) & (distance < nearest)
        nearest[beside] = distance[beside]
        directions[beside] = around[beside] / distance[beside, None]
    return directions, np.flatnonzero(np.isfinite(nearest))


def chambers_of(mesh: Mesh) -> list[np.ndarray]:
    """Faces (f, 3) of the six closed inner shells, outward from the material.

    Raises:
        MeshError: there are not six.
    """
    chambers = shells(mesh)[1:]
    if len(chambers) != CHAMBERS:
        raise MeshError(f"the arm's mesh has {len(chambers)} closed chambers, not {CHAMBERS}")
    return chambers


def regularity(mesh: Mesh) -> str:
    """How far nodes and chambers are from a symmetry of 120°."""
    sine, cosine = np.sin(2.0 * np.pi / 3.0), np.cos(2.0 * np.pi / 3.0)
    turned = mesh.nodes @ np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    away = cKDTree(mesh.nodes).query(turned)[0]
    lines = [f"turned by 120°, {100.0 * np.mean(away < SAME):.0f} % of the nodes are on another, all within "
             f"{1e3 * away.max():.1f} mm"]  # fmt: skip
    chambers = sorted(chambers_of(mesh), key=lambda faces: (-round(_middle(mesh, faces)[2], 2), _from_x(mesh, faces)))
    for segment, own in (("upper", chambers[:3]), ("lower", chambers[3:])):
        volumes = np.array([-enclosed_volume(mesh.nodes, faces) for faces in own])
        areas = np.array([np.linalg.norm(_areas(mesh, faces), axis=1).sum() for faces in own])
        lines.append(
            f"{segment} chambers: volumes {', '.join(f'{1e6 * each:.2f}' for each in volumes)} cm³, surfaces "
            f"{', '.join(f'{1e4 * each:.2f}' for each in areas)} cm²"
        )
    return "\n".join(lines)


def comparison(cases: dict[str, list[Bend]]) -> str:
    """How symmetric each case is."""
    lines = [
        f"{'':26} {'upper: tip across [mm]':>24} {'within':>8} {'from 120°':>10}  "
        f"{'lower: tip across [mm]':>24} {'within':>8} {'from 120°':>10}"
    ]
    for name, found in cases.items():
        cells = []
        for own in (found[:3], found[3:]):
            spread, turn = symmetry(own)
            travel = " ".join(f"{1e3 * bend.across:7.2f}" for bend in own)
            cells.append(f"{travel:>24} {100.0 * spread:6.1f} % {turn:9.1f}°")
        lines.append(f"{name:26} {'  '.join(cells)}")
    return "\n".join(lines)


def table(found: list[Bend]) -> str:
    """Each chamber, against the symmetry."""
    lines = [
        f"{'chamber':14} {'tip across [mm]':>16} {'up [mm]':>8} {'direction':>10} {'from chamber':>13} {'solve':>8}"
    ]
    for bend in found:
        away = (bend.direction - bend.chamber) % 360.0
        lines.append(
            f"{bend.segment:6} {bend.chamber:5.0f}° {1e3 * bend.across:17.2f} {1e3 * bend.moved[2]:8.2f} "
            f"{bend.direction:9.1f}° {away:12.1f}° {1e3 * bend.seconds:5.0f} ms"
        )
    lines.append("reach: six symmetric bends, away from the chamber (180°)")
    return "\n".join(lines)


def symmetry(found: list[Bend]) -> tuple[float, float]:
    """Of the bends of one segment: largest relative deviation of the distances from their mean, and of the angles
    between neighbours from 120° [°]."""
    across = np.array([bend.across for bend in found])
    turns = np.diff(np.sort([bend.direction % 360.0 for bend in found]), append=np.nan)
    turns[-1] = 360.0 - turns[:-1].sum()
    return float(np.abs(across / across.mean() - 1.0).max()), float(np.abs(turns - 360.0 / len(found)).max())


def _middle(mesh: Mesh, faces: np.ndarray) -> np.ndarray:
    return mesh.nodes[np.unique(faces[:, :3])].mean(axis=0)


def _areas(mesh: Mesh, faces: np.ndarray) -> np.ndarray:
    a, b, c = (mesh.nodes[split_faces(faces)[:, i]] for i in range(3))
    return 0.5 * np.cross(b - a, c - a)


def _from_x(mesh: Mesh, faces: np.ndarray) -> float:
    """Angle of a chamber from +x [°], rounded so that nearly 360 is 0."""
    return round(_angle(_middle(mesh, faces)), 1) % 360.0


def _angle(vector: np.ndarray) -> float:
    return float(np.round(np.degrees(np.arctan2(vector[1], vector[0])), 6) % 360.0)


def _draw_plan(plan: Axes, found: list[Bend]) -> None:
    """Arrows to where the tip goes; their names stand on the left of their heads."""
    for bend in found:
        colour = "#0072b2" if bend.segment == "upper" else "#d55e00"
        plan.annotate("", 1e3 * bend.moved[:2], (0.0, 0.0), arrowprops={"color": colour, "arrowstyle": "->"})
        x, y = np.round(np.array([-bend.moved[1], bend.moved[0]]) / bend.across, 1)
        plan.annotate(
            f"{bend.segment} {bend.chamber:.0f}°", 1e3 * bend.moved[:2], (6.0 * x, 6.0 * y), textcoords="offset points",
            ha=("right", "center", "left")[int(np.sign(x)) + 1], va=("top", "center", "bottom")[int(np.sign(y)) + 1],
            color=colour, fontsize=7,
        )  # fmt: skip
    reach = 1.3e3 * max(bend.across for bend in found)
    plan.set(
        xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="x [mm]", ylabel="y [mm]",
        title=f"tip, one chamber at {1e-3 * PRESSURE:.0f} kPa",
    )  # fmt: skip
    plan.grid(alpha=0.3)


def _draw(path: Path, mesh: Mesh, found: list[Bend]) -> None:
    figure = Figure(figsize=(13.0, 4.6), layout="constrained")
    plan, *views = figure.subplots(1, 4, gridspec_kw={"width_ratios": [1.4, 1.0, 1.0, 1.0]})
    _draw_plan(plan, found)
    own = [found[0], next(bend for bend in found if bend.segment == "lower")]
    outside = split_faces(shells(mesh)[0])
    for axes, bend in zip(views, [None, *own], strict=True):
        x = 1e3 * (mesh.nodes if bend is None else bend.shape)
        axes.triplot(x[:, 0], x[:, 2], outside, color="#0072b2", linewidth=0.3)
        title = "undeformed" if bend is None else f"{bend.segment} chamber at {bend.chamber:.0f}°"
        axes.set(aspect="equal", xlabel="x [mm]", ylabel="z [mm]", title=title)
    write_picture(path, figure, dpi=110)
