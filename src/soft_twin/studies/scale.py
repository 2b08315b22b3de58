"""Scale: one body at the sizes of the paper, from 564 to 150 000 coordinates, at rest and in motion (SORS, table III
and figure 1).

A bar of silicone of 10 × 3 × 3 cm in linear tetrahedra, neo-Hookean, E 0.26 MPa, ν 0.45, clamped at one end: its sag
under gravity from the undeformed body, then steps of 5 ms of backward Euler after gravity is switched off, each solved
to its end. All goes through `Model`, the general simulator. Picture: scale.png.
"""

import resource
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.parallel import compute_in_turn
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import BackwardEuler
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

LENGTH, STEP, STEPS = 0.1, 5e-3, 3
GRIDS = ((3, 3, 10), (7, 7, 16), (8, 8, 20), (16, 16, 34), (26, 26, 68))  # voxels; in tetrahedra six times as many
PAPERS = (564, 3_249, 5_184, 30_000, 150_000)


@dataclass(frozen=True)
class Run:
    """One size.

    Attributes:
        unknowns, cells: of the body.
        sag: of the free end [m].
        prepare: time to make the model [s].
        static, static_steps: time [s] and Newton steps of the equilibrium.
        dynamic, dynamic_steps: time [s] and Newton steps of a time step, on average.
        memory: highest of the process so far [bytes].
    """

    unknowns: int
    cells: int
    sag: float
    prepare: float
    static: float
    static_steps: int
    dynamic: float
    dynamic_steps: float
    memory: float


def run(folder: Path, data: Path) -> str:
    """All sizes; `data` is not used."""
    runs = compute_in_turn(bar, GRIDS, "bars")
    _draw(folder / "scale.png", runs)
    return table(runs)


def bar(grid: tuple[int, int, int]) -> Run:
    """The bar in that many voxels across, across and along."""
    start = perf_counter()
    mesh = voxel_mesh(np.ones(grid, dtype=bool), np.array([0.03, 0.03, LENGTH]) / grid, "tet4")
    body = Body(mesh, Material(energy_named("neo_hookean", 0.26e6, 0.45), 1070.0), mesh.nodes[:, 2] < 1e-9)
    gravity = Gravity([0.0, -STANDARD_GRAVITY, 0.0])
    model = Model(body, [gravity])
    marks = [perf_counter()]
    solved = equilibrium(model)
    marks.append(perf_counter())
    end = np.flatnonzero(mesh.nodes[:, 2] > LENGTH - 1e-9)
    sag = float((mesh.nodes[end] - solved.pose.points[end])[:, 1].mean())
    gravity.vector = np.zeros(3)
    moving = BackwardEuler(model, STEP, solved.pose)
    steps = [moving.step().iterations for _ in range(STEPS)]
    marks.append(perf_counter())
    return Run(
        unknowns=model.unknowns.size,
        cells=len(mesh.cells),
        sag=sag,
        prepare=marks[0] - start,
        static=marks[1] - marks[0],
        static_steps=solved.iterations,
        dynamic=(marks[2] - marks[1]) / STEPS,
        dynamic_steps=float(np.mean(steps)),
        memory=1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    )


def table(runs: list[Run]) -> str:
    """One row a size."""
    lines = [
        f"{'paper':>8} {'unknowns':>9} {'cells':>8} {'sag [mm]':>9} {'make [s]':>9} {'rest [s]':>9} {'steps':>6} "
        f"{'a time step [s]':>16} {'steps':>6} {'peak [GB]':>10}"
    ]
    for paper, each in zip(PAPERS, runs, strict=False):
        lines.append(
            f"{paper:8d} {each.unknowns:9d} {each.cells:8d} {1e3 * each.sag:9.2f} {each.prepare:9.2f} "
            f"{each.static:9.2f} {each.static_steps:6d} {each.dynamic:16.3f} {each.dynamic_steps:6.1f} "
            f"{1e-9 * each.memory:10.2f}"
        )
    return "\n".join(lines)


def _draw(path: Path, runs: list[Run]) -> None:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    times, sags = figure.subplots(1, 2)
    unknowns = [each.unknowns for each in runs]
    times.loglog(unknowns, [each.static / each.static_steps for each in runs], "o-", label="Newton step at rest")
    times.loglog(unknowns, [each.dynamic for each in runs], "o-", label="time step of 5 ms")
    times.set(title="time", xlabel="unknowns", ylabel="[s]")
    times.legend()
    sags.semilogx(unknowns, [1e3 * each.sag for each in runs], "o-")
    sags.set(title="sag of linear tetrahedra: they lock", xlabel="unknowns", ylabel="[mm]")
    for axes in (times, sags):
        axes.grid(True, which="both", alpha=0.3)
    write_picture(path, figure, dpi=110)
