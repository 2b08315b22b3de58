"""A pneumatic arm: each of its six chambers at 60 kPa bends it to another side (SORS, section IV-C).

The body is data/mesh_sopra/sopra_494.vtk, the SoPrA arm that SORS has, too: linear tetrahedra, hanging by its end at
z = 0. Its chambers are the closed inner shells of the mesh, three in the upper and three in the lower segment, 120°
apart. The paper's fit: Neo-Hookean, E 346.5 kPa, ν 0.358, 1167 kg/m³, weight included, fibres left out.

By its symmetry, the three chambers of a segment should move the tip equally far, 120° apart, each away from itself; how
far the mesh is from that symmetry is what the table's spread shows. Picture: sopra.png.

Then one measured segment, one chamber at 100 to 400 mbar (data/arm_segment_sopra): how far its tip travels. Its mesh is
our own, of hexahedra around the axis, 104 mm long as the markers' planes are apart. The rest is assumed, near the
arm's mesh: 40 mm across, a hole of 6 mm along the axis, three chambers of 92° between radii of 7 and 16 mm, walls of
4 mm, end caps of 5 mm; fibres left out. Once with the paper's material, once with its E fitted. Picture: segment.png.
"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.errors import ConvergenceError, MeshError
from soft_twin.twin.body import Body, Material
from soft_twin.twin.constraints import Prescribed
from soft_twin.twin.energies import energy_named
from soft_twin.twin.forces import Gravity, Pressure
from soft_twin.twin.mesh import Mesh, boundary_faces, make_mesh
from soft_twin.twin.mesh_files import read_mesh
from soft_twin.twin.model import Model
from soft_twin.twin.selection import centres_and_normals, shells
from soft_twin.twin.solve import equilibrium
from soft_twin.twin.voxels import voxel_mesh
from soft_twin.validation.beam import recorded

matplotlib.use("Agg")

FILE = Path("mesh_sopra") / "sopra_494.vtk"
YOUNG_MODULUS, POISSON_RATIO, DENSITY = 346.5e3, 0.358, 1167.0
PRESSURE = 60e3  # [Pa]
CHAMBERS = 6

SEGMENT = Path("arm_segment_sopra")
PRESSURES = np.array([100.0, 200.0, 300.0, 400.0])  # [mbar]
LENGTH, CAP = 0.104, 0.005  # [m]
RADII = np.array([0.003, 0.007, 0.016, 0.020])  # [m]: hole, chambers from … to, outside
SECTOR = 92.0  # of a chamber [°]
MBAR = 100.0  # [Pa]


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
    """All chambers, then the segment where its recordings are.

    Raises:
        MeshError: the mesh is missing from `data`, or has not six chambers.
    """
    mesh = read_mesh(data / FILE)
    found = bends(mesh)
    _draw(folder / "sopra.png", mesh, found)
    return table(found) + "\n\n" + _segment(folder, data / SEGMENT)


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


def _segment(folder: Path, recordings: Path) -> str:
    files = [recordings / f"{pressure:.0f}mbar_V3.c3d" for pressure in PRESSURES]
    if not all(file.is_file() for file in files):
        return f"measured segment: skipped, no recordings in {recordings}"
    measured = np.array([measured_travel(recorded(file)) for file in files])
    mesh = segment_mesh()
    trial = np.concatenate([np.arange(50.0, 400.0, 50.0), np.arange(400.0, 440.0, 10.0), np.arange(440.0, 500.0, 2.0)])
    curve = travels(mesh, YOUNG_MODULUS, trial)
    fitted = fitted_modulus(trial, curve, PRESSURES, measured[:, 1])
    papers, ours = np.interp(PRESSURES, trial, curve), travels(mesh, fitted, PRESSURES)
    _draw_segment(folder / "segment.png", mesh, measured, (trial, curve), (fitted, ours))
    reached = trial[np.isfinite(curve)].max()
    lines = [
        segment_table(measured, papers, fitted, ours),
        f"with the paper's E, no equilibrium was found above {reached:.0f} mbar",
    ]
    if fitted < 1.001 * YOUNG_MODULUS * PRESSURES.max() / reached:
        lines.append(f"the fit ends at its bound: with a lower E, none was found at {PRESSURES.max():.0f} mbar")
    return "\n".join(lines)


def measured_travel(frames: np.ndarray) -> np.ndarray:
    """Of frames (t, 7, 3) [m], four markers at the base and three at the tip: how far the tip's middle is from where it
    was before the step, half a second after the step and in the last half second before the chamber is vented (2,) [m].
    """
    tip = frames[:, 4:].mean(axis=1) - frames[:, :4].mean(axis=1)
    away = np.linalg.norm(tip - tip[10:40].mean(axis=0), axis=1)
    high = np.flatnonzero(away > 0.7 * away.max())
    early, end = high[0] + 50, high[-1] - 10
    return np.array([away[early - 5 : early + 5].mean(), away[end - 50 : end].mean()])


def segment_mesh(along: int = 8, around: int = 4, element: str = "hex8f") -> Mesh:
    """The assumed segment, hanging from z = 0, with surfaces "base", "chamber 1" (on the side of +x), "chamber 2", ….

    Args:
        along, around: cells of a chamber along the axis and around it.
        element: of hexahedra.
    """
    sectors = 3 * (around + 1)
    occupied = np.ones((3, sectors, along + 2), bool)
    occupied[1, np.arange(sectors) % (around + 1) < around, 1:-1] = False
    grid = voxel_mesh(occupied, 1.0, element)
    sector = np.linspace(-0.5 * SECTOR, 0.5 * SECTOR, around + 1)
    angles = np.append((np.array([[0.0], [120.0], [240.0]]) + sector).ravel(), 360.0 - 0.5 * SECTOR)
    heights = np.concatenate([[0.0], np.linspace(CAP, LENGTH - CAP, along + 1), [LENGTH]]) - LENGTH
    radius, angle, height = (
        np.interp(grid.nodes[:, i], np.arange(len(ticks)), ticks) for i, ticks in enumerate((RADII, angles, heights))
    )
    nodes = np.column_stack([radius * np.cos(np.radians(angle)), radius * np.sin(np.radians(angle)), height])
    keys = np.round(2.0 * grid.nodes).astype(int) % [2 * len(RADII), 2 * sectors, 2 * len(heights)]
    _, first, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    mesh = make_mesh(nodes[first], places.ravel()[grid.cells], grid.element, "segment")
    chambers = sorted(shells(mesh)[1:], key=lambda faces: _from_x(mesh.nodes[np.unique(faces)].mean(axis=0)))
    faces = boundary_faces(mesh)
    surfaces = {"base": faces[centres_and_normals(mesh, faces)[0][:, 2] > -1e-9]}
    surfaces |= {f"chamber {i + 1}": chamber for i, chamber in enumerate(chambers)}
    return Mesh(mesh.nodes, mesh.cells, mesh.element, mesh.volumes, surfaces)


def travels(mesh: Mesh, young_modulus: float, pressures: np.ndarray) -> np.ndarray:
    """How far the tip's middle is from where it hangs, one chamber at each of the rising `pressures` [mbar] [m]; nan
    from the first without an equilibrium near the one before it on."""
    material = Material(energy_named("neo_hookean", young_modulus, POISSON_RATIO), DENSITY)
    chamber = Pressure("chamber 1")
    model = Model(Body(mesh, material), [Gravity(), chamber], [Prescribed("base")])
    pose = hanging = equilibrium(model).pose
    tip = mesh.nodes[:, 2] < 1e-9 - LENGTH
    found = np.full(len(pressures), np.nan)
    for i, pressure in enumerate(pressures):
        chamber.pressure = MBAR * pressure
        try:
            pose = equilibrium(model, pose, load_steps=1).pose
        except ConvergenceError:
            break
        found[i] = np.linalg.norm((pose.points - hanging.points)[tip].mean(axis=0))
    return found


def fitted_modulus(trial: np.ndarray, curve: np.ndarray, pressures: np.ndarray, measured: np.ndarray) -> float:
    """Young's modulus [Pa] whose travels are nearest to those measured, in squares, from the travels `curve` with the
    paper's at pressures `trial`: but for the weight, a body's shape depends on pressure / modulus only. Not lower
    than the curve reaches."""
    known = np.isfinite(curve)
    trial, curve = np.append(0.0, trial[known]), np.append(0.0, curve[known])
    factors = np.linspace(pressures.max() / trial.max(), 3.0, 2001)
    off = np.interp(pressures / factors[:, None], trial, curve) - measured
    return float(YOUNG_MODULUS * factors[(off**2).sum(axis=1).argmin()])


def segment_table(measured: np.ndarray, papers: np.ndarray, fitted: float, ours: np.ndarray) -> str:
    """Travels against those measured."""
    lines = [
        f"one measured segment, tip's travel [mm]; E fitted to these four: {1e-3 * fitted:.0f} kPa",
        f"{'pressure':>9} {'measured':>10} {'(0.5 s)':>8} {'E 346.5 kPa':>12} {f'E {1e-3 * fitted:.0f} kPa':>12}",
    ]
    for pressure, (early, late), paper, our in zip(PRESSURES, 1e3 * measured, 1e3 * papers, 1e3 * ours, strict=True):
        cells = ["no equilibrium" if np.isnan(each) else f"{each:.1f}" for each in (paper, our)]
        lines.append(f"{pressure:4.0f} mbar {late:10.1f} {early:8.1f} {cells[0]:>12} {cells[1]:>12}")
    return "\n".join(lines)


def _from_x(vector: np.ndarray) -> float:
    """Angle from +x [°], rounded so that nearly 360 is 0."""
    return round(_angle(vector), 3) % 360.0


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


def _draw_segment(path: Path, mesh: Mesh, measured: np.ndarray, paper: tuple, fitted: tuple) -> None:
    figure = Figure(figsize=(9.0, 4.4), layout="constrained")
    plot, view = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
    plot.plot(PRESSURES, 1e3 * measured[:, 1], "ko", label="measured, before the vent")
    plot.plot(PRESSURES, 1e3 * measured[:, 0], "o", color="0.5", fillstyle="none", label="measured, after 0.5 s")
    plot.plot(paper[0], 1e3 * paper[1], ".-", color="#0072b2", label=f"E {1e-3 * YOUNG_MODULUS:.1f} kPa (paper)")
    plot.plot(PRESSURES, 1e3 * fitted[1], "s--", color="#d55e00", label=f"E {1e-3 * fitted[0]:.0f} kPa (fitted)")
    top = 1.5e3 * measured.max()
    plot.set(xlabel="pressure [mbar]", ylabel="tip's travel [mm]", xlim=(0.0, 450.0), ylim=(0.0, top))
    plot.grid(alpha=0.3)
    plot.legend(fontsize=8)
    x = 1e3 * mesh.nodes
    for name, colour in (("base", "0.6"), ("chamber 1", "#d55e00"), ("chamber 2", "#0072b2"), ("chamber 3", "#0072b2")):
        for face in mesh.surface(name)[:, :4]:
            if np.ptp(x[face, 2]) < 1e-6:
                view.fill(x[face, 0], x[face, 1], facecolor="none", edgecolor=colour, linewidth=1.0)
    view.set(aspect="equal", xlabel="x [mm]", ylabel="y [mm]", title="assumed section (pressurised: orange)")
    figure.savefig(path, dpi=110)
