"""One measured segment of a pneumatic arm, one chamber at 100 to 400 mbar (data/arm_segment_sopra): its tip's travel.

The recordings belong to Dubied et al. 2022, "Sim-to-Real for Soft Robots Using Differentiable FEM" (arXiv 2201.12560).
What their public scripts say of the segment (github.com/srl-ethz/diffPD_sim2real, python/1segment_arm) is used here:

* a cylinder of radius 22.2 mm, 100 mm long, four chambers between walls that form a cross of 4.4 mm (Cross.stl), the
  outer wall 2.03 mm and the walls of a square hole 2.27 mm thick, the hole's faces |x| + |y| = 10.11 mm, the end at the
  tip 6.93 mm thick (soft1_arm_env.py); the other end is taken to be alike;
* E 263.8 kPa, 1070 kg/m³ (soft1arm.py); ν 0.49;
* these scripts belong to the recordings `segment-*`; the `_V3` ones used here are taken to be of the same arm;
* how the tip's middle follows from its three markers: two are 9.645 mm beyond it, the third 28.2 mm on the other side
  (AC2_env.py). It hangs from its base.

The chambers of this arm are wound with thread one by one (Toshimitsu et al. 2021, "SoPrA", arXiv 2103.10726): fibres
along the walls, around each chamber, of a stiffness that nothing is known of. So there is one prediction with the
authors' E and fibres as good as inextensible, nothing fitted; one without fibres; and E and the fibres' stiffness
fitted to the four travels. The mesh is our own, swept, of hex20r. Picture: segment.png.
"""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import least_squares

from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import Prescribed
from soft_twin.mechanics.loads import Gravity, Pressure
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.materials.fibres import Fibres
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh, boundary_faces, make_mesh
from soft_twin.mesh.selection import centres_and_normals, shells
from soft_twin.parallel import compute_here, terminal_progress
from soft_twin.recording.c3d_files import read_markers
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

FOLDER = Path("arm_segment_sopra")
PRESSURES = np.array([100.0, 200.0, 300.0, 400.0])  # [mbar]
MBAR = 100.0  # [Pa]
RADIUS, OUTER_WALL, CROSS, HOLE_WALL, CAP, LENGTH = 22.2e-3, 2.03e-3, 4.4e-3, 2.27e-3, 6.93e-3, 0.1  # [m]
HOLE = 10.11e-3 / np.sqrt(2.0)  # half a side [m]
BEYOND, ACROSS = 9.645e-3, 18.555e-3  # [m]: two markers beyond the tip's middle, the third from there
YOUNG_MODULUS, POISSON_RATIO, DENSITY = 263.8e3, 0.49, 1070.0
STIFF, START = 16e6, (350e3, 1e6)  # [Pa]: fibres as good as inextensible; E and fibres that the fit starts with
STEP = 0.05  # of the parameters' logarithms, for differences
MOST_FITTED = 10  # steps of the fit
CHAMBERS = 4


def report(folder: Path, data: Path) -> str:
    """Table and picture, or that there are no recordings."""
    files = [data / FOLDER / f"{pressure:.0f}mbar_V3.c3d" for pressure in PRESSURES]
    if not all(file.is_file() for file in files):
        return f"measured segment: skipped, no recordings in {data / FOLDER}"
    measured = np.array([measured_travel(read_markers(file)) for file in files])
    mesh = segment_mesh()
    (fitted,) = compute_here(_fit_of, [(mesh, measured[:, 1])], "fits of the segment")
    models = {"predicted": (YOUNG_MODULUS, STIFF), "fitted": fitted}
    cases = [(mesh, *parameters, PRESSURES) for parameters in models.values()]
    *both, (alone,) = compute_here(_travels_of, [*cases, (mesh, YOUNG_MODULUS, 0.0, PRESSURES[:1])], "segments")
    found = dict(zip(models, both, strict=True))
    _draw(folder / "segment.png", mesh, measured, found)
    return (
        f"{table(measured, models, found)}\n"
        f"without fibres, E {1e-3 * YOUNG_MODULUS:.0f} kPa: {1e3 * alone:.1f} mm at {PRESSURES[0]:.0f} mbar"
    )


def measured_travel(frames: np.ndarray) -> np.ndarray:
    """Of frames (t, 7, 3) [m], four markers at the base and three at the tip: how far the tip's middle is from where it
    was before the step, half a second after the step and in the last half second before the chamber is vented (2,) [m].
    """
    side = frames[:, 4:6].mean(axis=1)
    tip = side - BEYOND / ACROSS * (frames[:, 6] - side) - frames[:, :4].mean(axis=1)
    away = np.linalg.norm(tip - tip[10:40].mean(axis=0), axis=1)
    high = np.flatnonzero(away > 0.7 * away.max())
    early, end = high[0] + 50, high[-1] - 10
    return np.array([away[early - 5 : early + 5].mean(), away[end - 50 : end].mean()])


def segment_mesh(along: int = 6, around: int = 3, element: str = "hex20r") -> Mesh:
    """The segment, hanging from z = 0, with surfaces "base", "chamber 1" (on the side of +x), "chamber 2", …; volumes
    "hoop 1", … "cross 4" of the walls around each chamber and between two.

    Args:
        along, around: cells of a chamber along the axis and around it.
        element: of hexahedra.
    """
    sectors = CHAMBERS * (around + 2)
    chamber, place = np.divmod(np.arange(sectors), around + 2)
    hollow = place < around
    occupied = np.ones((3, sectors, along + 2), int)
    occupied[:, hollow, 1:-1] = 2 + chamber[hollow, None]
    occupied[1, hollow, 1:-1] = 0
    occupied[1, ~hollow, 1:-1] = 2 + CHAMBERS + chamber[~hollow, None]
    labels = {2 + i: f"hoop {i + 1}" for i in range(CHAMBERS)}
    labels |= {2 + CHAMBERS + i: f"cross {i + 1}" for i in range(CHAMBERS)}
    grid = voxel_mesh(occupied, 1.0, element, labels)
    heights = np.concatenate([[0.0], np.linspace(CAP, LENGTH - CAP, along + 1), [LENGTH]]) - LENGTH
    height = np.interp(grid.nodes[:, 2], np.arange(len(heights)), heights)
    nodes = np.column_stack([_section(grid.nodes[:, 0], grid.nodes[:, 1] % sectors, around), height])
    keys = np.round(2.0 * grid.nodes).astype(int) % [8, 2 * sectors, 4 * len(heights)]
    _, first, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    mesh = make_mesh(nodes[first], places.ravel()[grid.cells], grid.element, "segment", grid.volumes)
    return Mesh(mesh.nodes, mesh.cells, mesh.element, mesh.volumes, _surfaces(mesh))


def _section(layer: np.ndarray, sector: np.ndarray, around: int) -> np.ndarray:
    """Places (n, 2) [m] in the section: layers 0…3 are the hole, the chambers' inner and outer walls, the outside;
    sectors are `around` to a chamber, the first of which lies around +x, and two to the wall between two."""
    turns, within = np.divmod(sector + 1e-9, around + 2)
    ticks = [0.0, around, around + 1, around + 2]
    outer = RADIUS - OUTER_WALL
    edge = 0.25 * np.pi - np.arcsin(0.5 * CROSS / outer)
    angle = np.interp(within, ticks, [-edge, edge, 0.25 * np.pi, 0.5 * np.pi - edge])
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    inner = HOLE + HOLE_WALL
    half = inner - CROSS / np.sqrt(2.0)
    flats = [(HOLE, HOLE * half / inner, HOLE), (inner, half, 0.5 * (inner + half))]  # face, half its width, corner
    layers = [
        np.column_stack([np.interp(within, ticks, [x, x, c, y]), np.interp(within, ticks, [-y, y, c, x])])
        for x, y, c in flats
    ]
    layers = np.array([*layers, outer * circle, RADIUS * circle])
    below = np.minimum(layer.astype(int), 2)
    share, each = (layer - below)[:, None], np.arange(len(layer))
    x, y = ((1.0 - share) * layers[below, each] + share * layers[below + 1, each]).T
    turn = 0.5 * np.pi * turns
    return np.column_stack([np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y])


def _surfaces(mesh: Mesh) -> dict[str, np.ndarray]:
    chambers = sorted(shells(mesh)[1:], key=lambda faces: _angle(mesh.nodes[np.unique(faces)].mean(axis=0)))
    faces = boundary_faces(mesh)
    surfaces = {"base": faces[centres_and_normals(mesh, faces)[0][:, 2] > -1e-9]}
    return surfaces | {f"chamber {i + 1}": chamber for i, chamber in enumerate(chambers)}


def fibre_directions(mesh: Mesh) -> np.ndarray:
    """Unit vectors (m, 3) along the walls around the chambers, in planes across the axis; where there are no fibres,
    any."""
    directions = np.tile([1.0, 0.0, 0.0], (len(mesh.cells), 1))
    centres = mesh.nodes[mesh.cells[:, :8]].mean(axis=1)
    for i in range(CHAMBERS):
        hoop, cross, middle = mesh.volume(f"hoop {i + 1}"), mesh.volume(f"cross {i + 1}"), 0.5 * np.pi * i
        radius = np.hypot(*centres[hoop, :2].T)
        flat = radius < 0.5 * (RADIUS + HOLE)
        angle = np.where(flat, middle, np.arctan2(centres[hoop, 1], centres[hoop, 0])) + 0.5 * np.pi
        directions[hoop, 0], directions[hoop, 1] = np.cos(angle), np.sin(angle)
        directions[cross] = [np.cos(middle + 0.25 * np.pi), np.sin(middle + 0.25 * np.pi), 0.0]
    return directions


def travels(mesh: Mesh, young_modulus: float, fibres: float, pressures: np.ndarray = PRESSURES) -> np.ndarray:
    """How far the tip's middle is from where it hangs [m], one chamber at each of the rising `pressures` [mbar]; nan
    from the first without an equilibrium near the one before it on. `fibres`: their stiffness [Pa], 0 for none."""
    materials = [Material(energy_named("neo_hookean", young_modulus, POISSON_RATIO), DENSITY)]
    if fibres:
        walls = np.concatenate(list(mesh.volumes.values()))
        materials.append(Material(Fibres(fibres, fibre_directions(mesh)), 0.0, walls))
    chamber = Pressure("chamber 1")
    model = Model(Body(mesh, materials), [Gravity(), chamber], [Prescribed("base")])
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


def fit(
    mesh: Mesh, measured: np.ndarray, start: tuple[float, float] = START, pressures: np.ndarray = PRESSURES
) -> tuple[float, float]:
    """E and the fibres' stiffness [Pa] whose travels at `pressures` (p,) [mbar] are nearest to those measured (p,) [m],
    in squares of their logarithms; a travel without equilibrium is wrong by a factor e."""

    tried = 0

    def off(logarithms: np.ndarray) -> np.ndarray:
        nonlocal tried
        tried += 1
        terminal_progress(f"fit of the segment: {tried} of at most {MOST_FITTED * (1 + len(start))} simulations")
        ratios = np.log(travels(mesh, *np.exp(logarithms), pressures) / measured)
        return np.where(np.isnan(ratios), 1.0, ratios)

    found = least_squares(
        off, np.log(start), diff_step=STEP / np.log(start), xtol=1e-3, ftol=1e-4, max_nfev=MOST_FITTED
    )
    young_modulus, fibres = np.exp(found.x)
    return float(young_modulus), float(fibres)


def _travels_of(case: tuple[Mesh, float, float, np.ndarray]) -> np.ndarray:
    return travels(*case)


def _fit_of(case: tuple[Mesh, np.ndarray]) -> tuple[float, float]:
    return fit(*case)


def table(measured: np.ndarray, models: dict[str, tuple[float, float]], found: dict[str, np.ndarray]) -> str:
    """Travels against those measured, before the vent and (half a second after the step)."""
    lines = [
        "one measured segment, tip's travel [mm]",
        f"{'':40} " + " ".join(f"{pressure:6.0f} mbar" for pressure in PRESSURES),
    ]
    rows = {"measured before the vent": measured[:, 1], "measured 0.5 s after the step": measured[:, 0]}
    for name, (young_modulus, fibres) in models.items():
        rows[f"{name}: E {1e-3 * young_modulus:.0f} kPa, fibres {1e-6 * fibres:.2f} MPa"] = found[name]
    for name, values in rows.items():
        cells = ["none" if np.isnan(value) else f"{1e3 * value:.1f}" for value in values]
        lines.append(f"{name:40} " + " ".join(f"{cell:>11}" for cell in cells))
    return "\n".join(lines)


def _angle(vector: np.ndarray) -> float:
    """From +x [°], rounded so that nearly 360 is 0."""
    return float(np.round(np.degrees(np.arctan2(vector[1], vector[0])), 3) % 360.0)


def _draw(path: Path, mesh: Mesh, measured: np.ndarray, found: dict[str, np.ndarray]) -> None:
    figure = Figure(figsize=(9.0, 4.4), layout="constrained")
    plot, view = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.5, 1.0]})
    plot.plot(PRESSURES, 1e3 * measured[:, 1], "ko", label="measured, before the vent")
    plot.plot(PRESSURES, 1e3 * measured[:, 0], "o", color="0.5", fillstyle="none", label="measured, after 0.5 s")
    for (name, travel), colour in zip(found.items(), ("#0072b2", "#d55e00"), strict=True):
        plot.plot(PRESSURES, 1e3 * travel, ".-", color=colour, label=name)
    plot.set(
        xlabel="pressure [mbar]", ylabel="tip's travel [mm]", xlim=(0.0, 450.0), ylim=(0.0, 1.5e3 * measured.max())
    )
    plot.grid(alpha=0.3)
    plot.legend(fontsize=8)
    x = 1e3 * mesh.nodes
    for name in mesh.surfaces:
        colour = {"base": "0.6", "chamber 1": "#d55e00"}.get(name, "#0072b2")
        for face in mesh.surface(name)[:, [0, 4, 1, 5, 2, 6, 3, 7]]:
            if np.ptp(x[face, 2]) < 1e-6:
                view.fill(x[face, 0], x[face, 1], facecolor="none", edgecolor=colour, linewidth=1.0)
    view.set(aspect="equal", xlabel="x [mm]", ylabel="y [mm]", title="section (pressurised: orange)")
    write_picture(path, figure, dpi=110)
