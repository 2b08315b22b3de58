"""A pneumatic arm: each of its six chambers at 60 kPa bends it to another side (SORS, section IV-C).

The body is data/mesh_sopra/sopra_494.vtk, the SoPrA arm that SORS has, too: linear tetrahedra, hanging by its end at
z = 0. Its chambers are the closed inner shells of the mesh, three in the upper and three in the lower segment, 120°
apart. The paper's fit: Neo-Hookean, E 346.5 kPa, ν 0.358, 1167 kg/m³, weight included, fibres left out.

By its symmetry, the three chambers of a segment should move the tip equally far, 120° apart, each away from itself; how
far the mesh is from that symmetry is what the table's spread shows. Picture: sopra.png.
"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.errors import MeshError
from soft_twin.twin.body import Body, Material
from soft_twin.twin.energies import energy_named
from soft_twin.twin.forces import Gravity, Pressure
from soft_twin.twin.mesh import Mesh
from soft_twin.twin.mesh_files import read_mesh
from soft_twin.twin.model import Model
from soft_twin.twin.selection import shells
from soft_twin.twin.solve import equilibrium

matplotlib.use("Agg")

FILE = Path("mesh_sopra") / "sopra_494.vtk"
YOUNG_MODULUS, POISSON_RATIO, DENSITY = 346.5e3, 0.358, 1167.0
PRESSURE = 60e3  # [Pa]
CHAMBERS = 6


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
    """All chambers.

    Raises:
        MeshError: the mesh is missing from `data`, or has not six chambers.
    """
    mesh = read_mesh(data / FILE)
    found = bends(mesh)
    _draw(folder / "sopra.png", mesh, found)
    return table(found)


def bends(mesh: Mesh, pressure: float = PRESSURE) -> list[Bend]:
    """Of each chamber, those of the upper segment first, by direction."""
    material = Material(energy_named("neo_hookean", YOUNG_MODULUS, POISSON_RATIO), DENSITY)
    body = Body(mesh, material, mesh.nodes[:, 2] > -1e-6)
    chambers = [Pressure(chamber) for chamber in chambers_of(mesh)]
    model = Model(body, [Gravity(), *chambers])
    hanging = equilibrium(model).pose
    tip = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 1e-6
    found = []
    for chamber in chambers:
        chamber.pressure, began = pressure, perf_counter()
        solved = equilibrium(model, hanging)
        seconds, chamber.pressure = perf_counter() - began, 0.0
        middle = mesh.nodes[np.unique(chamber.surface)].mean(axis=0)
        segment = "upper" if middle[2] > 0.5 * mesh.nodes[:, 2].min() else "lower"
        moved = (solved.pose.points - hanging.points)[tip].mean(axis=0)
        found.append(Bend(segment, _angle(middle), moved, solved.iterations, seconds, solved.pose.points))
    return sorted(found, key=lambda bend: (bend.segment != "upper", bend.chamber))


def chambers_of(mesh: Mesh) -> list[np.ndarray]:
    """Faces (f, 3) of the six closed inner shells, outward from the material.

    Raises:
        MeshError: there are not six.
    """
    chambers = shells(mesh)[1:]
    if len(chambers) != CHAMBERS:
        raise MeshError(f"the arm's mesh has {len(chambers)} closed chambers, not {CHAMBERS}")
    return chambers


def table(found: list[Bend]) -> str:
    """Against the symmetry."""
    lines = [
        f"{'chamber':14} {'tip across [mm]':>16} {'up [mm]':>8} {'direction':>10} {'from chamber':>13} {'solve':>8}"
    ]
    for bend in found:
        away = (bend.direction - bend.chamber) % 360.0
        lines.append(
            f"{bend.segment:6} {bend.chamber:5.0f}° {1e3 * bend.across:17.2f} {1e3 * bend.moved[2]:8.2f} "
            f"{bend.direction:9.1f}° {away:12.1f}° {1e3 * bend.seconds:5.0f} ms"
        )
    for segment in ("upper", "lower"):
        spread, turn = symmetry([bend for bend in found if bend.segment == segment])
        lines.append(
            f"{segment} segment: distances within {100.0 * spread:.1f} % of their mean, "
            f"directions within {turn:.1f}° of 120° apart"
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


def _angle(vector: np.ndarray) -> float:
    return float(np.round(np.degrees(np.arctan2(vector[1], vector[0])), 6) % 360.0)


def _draw(path: Path, mesh: Mesh, found: list[Bend]) -> None:
    figure = Figure(figsize=(13.0, 4.6), layout="constrained")
    plan, *views = figure.subplots(1, 4, width_ratios=[1.4, 1.0, 1.0, 1.0])
    for bend in found:
        colour = "#0072b2" if bend.segment == "upper" else "#d55e00"
        plan.annotate("", 1e3 * bend.moved[:2], (0.0, 0.0), arrowprops={"color": colour, "arrowstyle": "->"})
        plan.text(*(1.08e3 * bend.moved[:2]), f"{bend.segment} {bend.chamber:.0f}°", color=colour, fontsize=7)
    reach = 1.3e3 * max(bend.across for bend in found)
    plan.set(
        xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="x [mm]", ylabel="y [mm]",
        title=f"tip, one chamber at {1e-3 * PRESSURE:.0f} kPa",
    )  # fmt: skip
    plan.grid(alpha=0.3)
    own = [found[0], next(bend for bend in found if bend.segment == "lower")]
    outside = shells(mesh)[0]
    for axes, bend in zip(views, [None, *own], strict=True):
        x = 1e3 * (mesh.nodes if bend is None else bend.shape)
        axes.triplot(x[:, 0], x[:, 2], outside, color="#0072b2", linewidth=0.3)
        title = "undeformed" if bend is None else f"{bend.segment} chamber at {bend.chamber:.0f}°"
        axes.set(aspect="equal", xlabel="x [mm]", ylabel="z [mm]", title=title)
    figure.savefig(path, dpi=110)
