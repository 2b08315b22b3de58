"""Locking: how far a cantilever under its weight bends, against refinement, with every element.

A beam of 10 × 10 × 100 mm on cubes, so that no element gains or loses by the geometry, and the slender robot's tube on
meshes that a user would take; its default mesh has shorter cells towards the clamp. Small deflections, as the tangent
at rest gives them. The reference is the finest mesh of 20-node hexahedra; Timoshenko's beam, with Cowper's shear
coefficient, does not know that a full clamp keeps the section from shrinking across. Pictures: beam.png, tube.png.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import UsageError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.materials import energy_named
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh
from soft_twin.robots import load_robot
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

RATIOS = (0.3, 0.45, 0.49)
YOUNG_MODULUS, DENSITY = 0.8e6, 1150.0
SIDE, LENGTH = 0.01, 0.1
BEAMS = {
    "tet4": (1, 2, 4, 6),
    "tet10": (1, 2, 3),
    "hex8": (1, 2, 4, 6),
    "hex8f": (1, 2, 4, 6),
    "hex20": (1, 2, 3),
    "hex20r": (1, 2, 3),
}
FINEST = 5  # 20-node hexahedra over the side of the beam that the reference has
TUBES = {
    "hex8": ((1, 8, 20), (2, 16, 40), (3, 24, 60)),
    "hex8f": ((1, 8, 20), (2, 16, 40), (3, 24, 60)),
    "hex20": ((1, 6, 10), (1, 8, 20), (2, 12, 30)),
    "hex20r": ((1, 6, 10), (1, 6, 20), (1, 8, 20), (2, 12, 30)),
}
TUBE_SIZES = {"tet4": (1.5e-3, 0.9e-3), "tet10": (3.0e-3, 1.8e-3)}  # [m] for Gmsh
FINEST_TUBE = (2, 16, 60)
COLOURS = dict(zip(BEAMS, ("#d55e00", "#e69f00", "#999999", "#cc79a7", "#009e73", "#0072b2"), strict=True))


@dataclass(frozen=True)
class Row:
    """Tip deflections of one mesh.

    Attributes:
        element: name.
        cells, unknowns: how many.
        note: what is special about the mesh.
        shares: (3,) deflection through the reference's, at RATIOS; NaN where the stiffness is singular.
    """

    element: str
    cells: int
    unknowns: int
    shares: np.ndarray
    note: str = ""


@dataclass(frozen=True)
class Study:
    """One body's rows; reference [m] and Timoshenko's deflection [m], (3,) each, at RATIOS; which meshes could not be
    made, and why."""

    name: str
    rows: list[Row]
    reference: np.ndarray
    coarser: np.ndarray
    timoshenko: np.ndarray
    left_out: str = ""


def run(folder: Path, data: Path) -> str:
    """Both studies; `data` is not used."""
    tables = []
    for study in (beam(), tube()):
        _draw(folder / f"{study.name}.png", study)
        tables.append(table(study))
    return "\n\n".join(tables)


def beam() -> Study:
    """The beam, on cubes."""
    meshes = [_cubes(element, count) for element, counts in BEAMS.items() for count in counts]
    inertia, area = SIDE**4 / 12.0, SIDE**2
    shear = [10.0 * (1.0 + nu) / (12.0 + 11.0 * nu) for nu in RATIOS]
    return _study("beam", meshes, _cubes("hex20r", FINEST), _cubes("hex20r", FINEST - 1), inertia, area, shear)


def tube() -> Study:
    """The slender robot's body; without Gmsh, no tetrahedra, which its table says."""
    robot = load_robot("slender")
    body = robot.body
    outer, inner, length = 0.5 * body.outer_diameter, 0.5 * body.lumen_diameter, body.length
    swept = [(name, divisions) for name, choices in TUBES.items() for divisions in choices]
    meshes = [sweep_tube(inner, outer, length, divisions, name) for name, divisions in swept]
    tetrahedra, left_out = _gmsh_tubes(inner, outer, length)
    default = robot.build_mesh()
    reference = sweep_tube(inner, outer, length, FINEST_TUBE)
    coarser = sweep_tube(inner, outer, length, (1, 12, 40))
    area, inertia = np.pi * (outer**2 - inner**2), np.pi * (outer**4 - inner**4) / 4.0
    shear = [_tube_shear(nu, inner / outer) for nu in RATIOS]
    study = _study("tube", tetrahedra + meshes, reference, coarser, inertia, area, shear)
    rows = [*study.rows, replace(_row(default, study.reference), note="the default mesh")]
    return replace(study, rows=rows, left_out=left_out)


def table(study: Study) -> str:
    """A study as lines of text: deviations from the reference."""
    head = " ".join(f"{f'ν = {nu:g}':>9}" for nu in RATIOS)
    lines = [
        f"{study.name}: tip deflection under its own weight, deviation from the reference",
        f"{'element':9} {'cells':>6} {'unknowns':>9} {head}",
    ]
    for row in study.rows:
        deviations = " ".join(_percent(share) for share in row.shares)
        lines.append(f"{row.element:9} {row.cells:6d} {row.unknowns:9d} {deviations}  {row.note}".rstrip())
    for name, values in (("next coarser reference", study.coarser), ("Timoshenko", study.timoshenko)):
        deviations = " ".join(_percent(share) for share in values / study.reference)
        lines.append(f"{name:26} {deviations}")
    lines.append(f"{'reference [mm]':26} " + " ".join(f"{1e3 * value:9.4f}" for value in study.reference))
    if study.left_out:
        lines.append(f"left out: {study.left_out}")
    return "\n".join(lines)


def deflection(mesh: Mesh, poisson_ratio: float) -> float:
    """Mean displacement of the tip [m] across, under the weight, for small deflections, clamped at z = 0.

    NaN where the stiffness is singular, as one column of 20-node hexahedra with reduced quadrature is.
    """
    law = energy_named("corotational", YOUNG_MODULUS, poisson_ratio)
    clamped = mesh.nodes[:, 2] < 1e-9
    body = Body(mesh, Material(law, DENSITY), clamped)
    matrix = body.new_factorisation()

    def fill():
        body.assemble(mesh.nodes, matrix)

    fill()
    weight = body.weight(np.array([STANDARD_GRAVITY, 0.0, 0.0]))
    moved = body.spread(matrix.factorise_and_solve(fill, body.free_values(weight)))
    return float(moved[mesh.group("tip"), 0].mean()) if matrix.shift == 0.0 else np.nan


def timoshenko(load: float, length: float, young_modulus: float, inertia: float, shear_stiffness: float) -> float:
    """Tip deflection [m] of a cantilever under a load [N/m] along it: q L⁴/(8 E I) + q L²/(2 κ G A)."""
    return load * length**4 / (8.0 * young_modulus * inertia) + load * length**2 / (2.0 * shear_stiffness)


def _percent(share: float) -> str:
    return " singular" if np.isnan(share) else f"{100.0 * (share - 1.0):8.2f}%"


def _study(name, meshes, finest: Mesh, coarser: Mesh, inertia: float, area: float, shear: list[float]) -> Study:
    reference, before = (np.array([deflection(mesh, nu) for nu in RATIOS]) for mesh in (finest, coarser))
    rows = [_row(mesh, reference) for mesh in meshes]
    length = float(finest.size[2])
    stiffness = [k * YOUNG_MODULUS / (2.0 * (1.0 + nu)) * area for k, nu in zip(shear, RATIOS, strict=True)]
    load = DENSITY * STANDARD_GRAVITY * area
    closed = np.array([timoshenko(load, length, YOUNG_MODULUS, inertia, value) for value in stiffness])
    return Study(name, rows, reference, before, closed)


def _row(mesh: Mesh, reference: np.ndarray) -> Row:
    shares = np.array([deflection(mesh, nu) for nu in RATIOS]) / reference
    return Row(mesh.element.name, len(mesh.cells), 3 * (len(mesh.nodes) - len(mesh.group("base"))), shares)


def _cubes(element: str, count: int) -> Mesh:
    cells = round(count * LENGTH / SIDE)
    return voxel_mesh(np.ones((count, count, cells), bool), SIDE / count, element)


def _gmsh_tubes(inner: float, outer: float, length: float) -> tuple[list[Mesh], str]:
    """Tubes of tetrahedra; or none, and why."""
    from soft_twin.mesh.generate.gmsh_tube import tube_tetrahedra

    try:
        return [
            tube_tetrahedra(inner, outer, length, size, 2 if name == "tet10" else 1)
            for name, sizes in TUBE_SIZES.items()
            for size in sizes
        ], ""
    except UsageError as error:
        return [], f"{' and '.join(TUBE_SIZES)}: {error}"


def _tube_shear(nu: float, ratio: float) -> float:
    """Cowper's (1966) shear coefficient of a tube whose radii have that ratio."""
    both = (1.0 + ratio**2) ** 2
    return 6.0 * (1.0 + nu) * both / ((7.0 + 6.0 * nu) * both + (20.0 + 12.0 * nu) * ratio**2)


def _draw(path: Path, study: Study) -> None:
    figure = Figure(figsize=(12.0, 7.5), layout="constrained")
    axes = figure.subplots(2, len(RATIOS), sharex=True, sharey="row")
    for k, nu in enumerate(RATIOS):
        _draw_deflection(axes[0, k], study, k)
        _draw_deviation(axes[1, k], study, k)
        axes[0, k].set(title=f"{study.name}, ν = {nu:g}", xscale="log", ylim=(0.4, 1.08))
        axes[1, k].set(xlabel="unknowns", yscale="log", ylim=(1e-2, 150.0))
    axes[0, 0].set(ylabel="tip deflection / reference")
    axes[1, 0].set(ylabel="deviation from the reference [%]")
    axes[0, 0].legend(fontsize=8, loc="lower right")
    write_picture(path, figure, dpi=110)


def _draw_deflection(axes: Axes, study: Study, k: int) -> None:
    _draw_elements(axes, study, k, lambda share: share)
    share = study.timoshenko[k] / study.reference[k]
    axes.axhline(share, color="black", linestyle="--", linewidth=0.8, label="Timoshenko")
    axes.axhspan(0.99, 1.01, color="black", alpha=0.1, label="±1 %")


def _draw_deviation(axes: Axes, study: Study, k: int) -> None:
    _draw_elements(axes, study, k, lambda share: 100.0 * abs(share - 1.0))
    own = 100.0 * abs(study.coarser[k] / study.reference[k] - 1.0)
    axes.axhline(own, color="black", linestyle=":", linewidth=0.8, label="next coarser reference")
    axes.legend(*_last(axes), fontsize=8, loc="lower left")


def _draw_elements(axes: Axes, study: Study, k: int, value: Callable[[float], float]) -> None:
    for name, colour in COLOURS.items():
        rows = [row for row in study.rows if row.element == name and not row.note]
        if rows:
            values = [value(row.shares[k]) for row in rows]
            axes.plot([row.unknowns for row in rows], values, "o-", markersize=4, color=colour, label=name)
    for row in (row for row in study.rows if row.note):
        axes.plot(row.unknowns, value(row.shares[k]), "k*", markersize=9, label=row.note)
    axes.grid(alpha=0.3)


def _last(axes: Axes) -> tuple[list, list]:
    handles, labels = axes.get_legend_handles_labels()
    return handles[-1:], labels[-1:]
