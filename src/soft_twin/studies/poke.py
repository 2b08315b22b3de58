"""Poke: a flat cylinder pressed 40 mm into a soft cube and withdrawn (SORS, section IV-B).

A cube of 160 mm with the paper's E 1346 Pa, ν 0.018, α 170 1/s, stable Neo-Hookean, Crank–Nicolson, on 8 × 8 × 6 cells
of hex8: 1 701 coordinates, where the paper's meshes have 3 813 to 5 184: poke_fine.py has as many, and takes half
an hour. Their nodes lie on circles under the cylinder; on equal cubes one point at the rim turns inside out
(det F −0.02). Assumed, for the paper does not say: foam of 30 kg/m³, a cylinder of radius 25 mm, pressed in and
withdrawn in 0.5 s each along a smooth curve. Two ways to hold the cube: it stands on a floor with friction (μ 0.5), or
its base is clamped. The cylinder's contact is without friction, as the paper's; clamped, with μ 0.5, too. The cube
settles under its weight before it is poked. Where faces snap over the rim, steps are shorter: those that take too many
iterations are halved, and grow again once they are easy.

Contact is felt by nodes, as in the paper, and by faces: in them, points of the cylinder's rim and side are not. The
table says by how much it enters the cube between nodes, from points all over the faces. Picture: poke.png.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.contact import Contact, Cylinder, Plane
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh, make_mesh
from soft_twin.parallel import compute_here
from soft_twin.solvers.time.integrators import CrankNicolson
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

SIDE, DEPTH = 0.16, 0.04
YOUNG_MODULUS, POISSON_RATIO, DAMPING = 1346.0, 0.018, 170.0
DENSITY, FRICTION = 30.0, 0.5
RING = 0.99  # of the cylinder's radius: where the outermost nodes under it are
RADIUS, HALF_LENGTH = 0.025, 0.05
CELLS, UNDER, STEP = (8, 6), 0.5, 0.01  # across and along z; share of those across under the cylinder; [s]
SETTLING, STROKE, REST = 0.3, 0.5, 0.3  # [s]; the stroke is the way in, and the way out
SAMPLES = 25  # points over the edge of a face, to see what lies between nodes
HALVINGS = 5  # of a step, at most
HARD, EASY = 15, 6  # iterations: a step that needs more is halved; after one that needs no more the next is doubled
REACH = 1e-4  # [m] of penetration


@dataclass(frozen=True)
class Poke:
    """What happened, in (t,) arrays of one entry a step.

    Attributes:
        support: how the cube is held.
        cells: across, and along z.
        unknowns: number of free coordinates.
        times, depths, forces: [s], [m] below the settled top, what the cylinder is pushed back with [N].
        penetrations, between: of nodes, and of points between them [m].
        determinants, speeds: smallest det F, fastest node [m/s].
        seconds, iterations: of each step.
        left: how far the farthest node is from its settled place at the end [m].
        deepest: (n, 3) nodes at the greatest depth.
        finished: whether every step converged.
    """

    support: str
    cells: tuple[int, int]
    unknowns: int
    times: np.ndarray
    depths: np.ndarray
    forces: np.ndarray
    penetrations: np.ndarray
    between: np.ndarray
    determinants: np.ndarray
    speeds: np.ndarray
    seconds: np.ndarray
    iterations: np.ndarray
    left: float
    deepest: np.ndarray
    finished: bool


def run(folder: Path, data: Path) -> str:
    """The cube on a floor and clamped, and clamped with friction at the cylinder; `data` is not used."""
    pokes = compute_here(poked, [("floor", CELLS, 0.0), ("clamped", CELLS, 0.0), ("clamped", CELLS, FRICTION)], "pokes")
    draw(folder / "poke.png", pokes)
    return table(pokes)


def poked(case: tuple[str, tuple[int, int], float]) -> Poke:
    """The poke of a case (support, cells, friction)."""
    support, cells, friction = case
    return poke(support, cells, friction=friction)


def table(pokes: list[Poke]) -> str:
    """Against the reach."""
    lines = [f"{'':46}" + "".join(f"{each.support:>16}" for each in pokes) + "       reach"]
    rows = [
        ("free coordinates", [f"{each.unknowns}" for each in pokes], "3813…5184"),
        ("every step converged", ["yes" if each.finished else "no" for each in pokes], "yes"),
        ("greatest depth [mm]", [f"{1e3 * each.depths.max():.2f}" for each in pokes], "40"),
        ("largest force [N]", [f"{each.forces.max():.3f}" for each in pokes], "–"),
        ("penetration of nodes [mm]", [f"{1e3 * each.penetrations.max():.1e}" for each in pokes], "≤ 0.1"),
        ("penetration between nodes [mm]", [f"{1e3 * each.between.max():.3f}" for each in pokes], "≤ 0.1"),
        ("smallest det F", [f"{each.determinants.min():.3f}" for each in pokes], "> 0"),
        ("fastest node / cylinder", [f"{each.speeds.max() / _top_speed():.2f}" for each in pokes], "no explosion"),
        ("farthest node from its place at the end [mm]", [f"{1e3 * each.left:.3f}" for each in pokes], "0"),
        ("work that damping took [mJ]", [f"{1e3 * work(each):.2f}" for each in pokes], "–"),
        ("steps, of them shorter ones", [f"{len(each.times)}, {_shorter(each)}" for each in pokes], "–"),
        ("time of a step, median [ms]", [f"{1e3 * np.median(each.seconds):.0f}" for each in pokes], "–"),
        ("iterations of a step, mean", [f"{each.iterations.mean():.1f}" for each in pokes], "–"),
    ]
    lines += [f"{name:46}" + "".join(f"{value:>16}" for value in values) + f"{goal:>14}" for name, values, goal in rows]
    return "\n".join(lines)


def poke(support: str = "floor", cells: tuple[int, int] = CELLS, dt: float = STEP, friction: float = 0.0) -> Poke:
    """Settle, press and withdraw; `support`: "floor" or "clamped"; `friction`: μ between cylinder and cube."""
    mesh = cube(cells)
    base, top = mesh.nodes[:, 2] < 1e-9, mesh.nodes[:, 2] > SIDE - 1e-9
    material = Material(energy_named("stable_neo_hookean", YOUNG_MODULUS, POISSON_RATIO), DENSITY)
    body = Body(mesh, material, base if support == "clamped" else None)
    cylinder = Cylinder([0.5 * SIDE, 0.5 * SIDE, 2.0 * SIDE], RADIUS, HALF_LENGTH)
    constraints = [Contact(cylinder, top, friction=friction)]
    if support == "floor":
        constraints.append(Contact(Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]), base, friction=FRICTION))
    model = Model(body, [Gravity()], constraints)
    integrator = CrankNicolson(model, dt, mass_damping=DAMPING, max_iterations=HARD)
    integrator.advance(SETTLING)
    return _stroke(f"{support}, μ {friction:g}" if friction else support, cells, integrator, cylinder, top)


def cube(cells: tuple[int, int]) -> Mesh:
    """The cube, its nodes moved across z so that those under the cylinder lie on circles."""
    across, along = cells
    mesh = voxel_mesh(np.ones((across, across, along), bool), SIDE / np.array([across, across, along]), "hex8")
    square = mesh.nodes[:, :2] / (0.5 * SIDE) - 1.0
    ring = np.abs(square).max(axis=1)[:, None]
    safe = np.where(square == 0.0, 1e-300, square)
    flat = np.abs(square[:, 1]) <= np.abs(square[:, 0])
    angle = 0.25 * np.pi * np.where(flat, safe[:, 1] / safe[:, 0], 2.0 - safe[:, 0] / safe[:, 1])
    backward = np.where(flat, safe[:, 0], safe[:, 1]) < 0.0
    round_ = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(backward, -1.0, 1.0)[:, None]
    radius, inside = RING * RADIUS / (0.5 * SIDE), ring / UNDER
    under = radius * ((1.0 - inside) * square / UNDER + inside * inside * round_)
    share = (ring - UNDER) / (1.0 - UNDER)
    beyond = (1.0 - share) * radius * round_ + share * square / np.maximum(ring, 1e-300)
    nodes = mesh.nodes.copy()
    nodes[:, :2] = 0.5 * SIDE * (1.0 + np.where(ring <= UNDER, under, beyond))
    return make_mesh(nodes, mesh.cells, mesh.element, "cube", surfaces=mesh.surfaces)


def depth_at(time: float) -> float:
    """Depth [m] of the cylinder's end below the settled top, at a time [s] since the stroke began."""
    phase = min(time, 2.0 * STROKE) / STROKE
    return 0.5 * DEPTH * (1.0 - np.cos(np.pi * phase)) if phase < 2.0 else -0.01


def _stroke(
    support: str, cells: tuple[int, int], integrator: CrankNicolson, cylinder: Cylinder, top: np.ndarray
) -> Poke:
    model, settled, start = integrator.model, integrator.pose.points, integrator.time
    surface = float(settled[top, 2].max()) + HALF_LENGTH
    records, deepest, finished = [], settled, True

    def place(time: float) -> None:
        cylinder.position = np.array([0.5 * SIDE, 0.5 * SIDE, surface - depth_at(time - start)])

    try:
        for seconds in _steps(integrator, place, round((2.0 * STROKE + REST) / integrator.dt)):
            depth = depth_at(integrator.time - start)
            records.append((integrator.time - start, depth, *_observe(integrator, cylinder), seconds))
            if depth >= max(record[1] for record in records):
                deepest = integrator.pose.points
    except ConvergenceError:
        finished = False
    times, depths, forces, nodes, between, determinants, speeds, iterations, seconds = np.array(records).T
    left = float(np.linalg.norm(integrator.pose.points - settled, axis=1).max())
    return Poke(
        support, cells, model.unknowns.size, times, depths, forces, nodes, between, determinants, speeds, seconds,
        iterations, left, deepest, finished,
    )  # fmt: skip


def _steps(integrator: CrankNicolson, place: Callable[[float], None], count: int) -> Iterator[float]:
    """Advance by `count` steps, `place` the obstacle for the time of each one's end; the seconds that each took. A step
    that fails is halved; what follows is as short until it is easy, since faces snap over the rim one after another."""
    whole = 2**HALVINGS
    unit, begun = integrator.dt / whole, integrator.time
    done, length = 0, whole
    while done < count * whole:
        place(begun + (done + length) * unit)
        started = perf_counter()
        try:
            solved = integrator.step(length * unit)
        except ConvergenceError:
            if length == 1:
                raise
            length //= 2
            continue
        done += length
        if solved.iterations <= EASY and length < whole and done % (2 * length) == 0:
            length *= 2
        yield perf_counter() - started


def _shorter(each: Poke) -> int:
    """How many steps were shorter than the longest."""
    lengths = np.diff(each.times, prepend=0.0)
    return int((lengths < 0.75 * lengths.max()).sum())


def _observe(integrator: CrankNicolson, cylinder: Cylinder) -> tuple[float, ...]:
    """Force [N], penetrations of nodes and between them [m], smallest det F, largest speed [m/s], iterations."""
    contact, solved, x = integrator.model.constraints[0], integrator.solved, integrator.pose.points
    force = -float(contact.forces(x, solved.multipliers[0])[2])
    inside = np.maximum(-cylinder.distance(_between_nodes(integrator.model.body.mesh, x))[0], 0.0).max()
    speed = float(np.linalg.norm(integrator.velocities, axis=1).max())
    return abs(force), contact.penetration(x), float(inside), solved.assembled.worst, speed, solved.iterations


def _between_nodes(mesh, x: np.ndarray) -> np.ndarray:
    """(p, 3) points all over the faces of the top."""
    u, v = np.meshgrid(*[np.linspace(0.0, 1.0, SAMPLES)] * 2)
    values = np.stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v], axis=-1).reshape(-1, 4)
    return np.einsum("qk,fki->fqi", values, x[mesh.surface("tip")]).reshape(-1, 3)


def _top_speed() -> float:
    return 0.5 * np.pi * DEPTH / STROKE


def work(each: Poke) -> float:
    """∮ F dd [J], each force during the whole of its step: what was put in and not given back."""
    return float((each.forces * np.diff(each.depths, prepend=0.0)).sum())


def draw(path: Path, pokes: list[Poke]) -> None:
    """Force curves of all, and the shape of the first."""
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    curve, course, section = figure.subplots(1, 3)
    for each, style in zip(pokes, ("-", "--", ":"), strict=False):
        chosen = each.depths >= 0.0
        curve.plot(1e3 * each.depths[chosen], each.forces[chosen], style, label=each.support)
        course.plot(each.times, each.forces, style, label=each.support)
    curve.set(xlabel="depth [mm]", ylabel="force on the cylinder [N]", title="in and out")
    course.set(xlabel="time [s]", ylabel="force on the cylinder [N]", title="over time")
    for axes in (curve, course):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    _draw_section(section, pokes[0])
    write_picture(path, figure, dpi=110)


def _draw_section(axes: Axes, each: Poke) -> None:
    """The middle of the cube at the greatest depth."""
    across, along = each.cells[0] + 1, each.cells[1] + 1
    middle = 1e3 * each.deepest.reshape(across, across, along, 3)[:, across // 2]
    axes.plot(middle[..., 0], middle[..., 2], color="#0072b2", linewidth=0.8)
    axes.plot(middle[..., 0].T, middle[..., 2].T, color="#0072b2", linewidth=0.8)
    left, end = 1e3 * (0.5 * SIDE - RADIUS), middle[:, -1, 2].min()
    axes.fill_between([left, left + 2e3 * RADIUS], end, end + 60.0, color="#d55e00", alpha=0.5)
    axes.axhline(0.0, color="black", linewidth=1.0)
    axes.set(xlabel="x [mm]", ylabel="z [mm]", aspect="equal", title=f"at {1e3 * each.depths.max():.0f} mm")
