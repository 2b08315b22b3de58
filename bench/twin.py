"""The finite element twin: time of a Newton step over the size of the body, of a control tick, of a time step, of the
first tick after the start; memory.

A Newton step is assembly of forces and stiffness, one factorisation, and seven right-hand sides. Large compact bodies
are factorised by as many threads as there are processors, slender ones by one.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import resource  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from dataclasses import dataclass  # noqa: E402

import numpy as np  # noqa: E402

from soft_twin import load_robot  # noqa: E402
from soft_twin.app.measuring import Figure, time_calls  # noqa: E402
from soft_twin.inverse.controller import Controller  # noqa: E402
from soft_twin.linear_algebra.sparse_cholesky import SparseCholesky  # noqa: E402
from soft_twin.mechanics.body import Body, Material  # noqa: E402
from soft_twin.mechanics.loads.loads import Gravity  # noqa: E402
from soft_twin.mechanics.materials import energy_named  # noqa: E402
from soft_twin.mechanics.model import Model  # noqa: E402
from soft_twin.mesh.elements import ELEMENTS  # noqa: E402
from soft_twin.mesh.generate.sweep import sweep_tube  # noqa: E402
from soft_twin.mesh.generate.voxels import voxel_mesh  # noqa: E402
from soft_twin.mesh.mesh import Mesh, make_mesh  # noqa: E402
from soft_twin.solvers.time.integrators import BackwardEuler  # noqa: E402
from soft_twin.twins.base import Twin  # noqa: E402

YOUNG_MODULUS, POISSON_RATIO, DENSITY = 0.8e6, 0.45, 1150.0
INNER, OUTER, LENGTH = 0.0018, 0.0045, 0.1  # of a tube [m]
TUBES = ((2, 12, 17), (2, 16, 26), (3, 19, 29), (4, 24, 35), (5, 32, 52))  # 2.4 k to 50 k tetrahedra
TUBE_REACHES = {3: "<= 70", 4: "<= 300"}
CUBES = ((15, 15, 15), (20, 20, 21))
HEXAHEDRON_PATHS = ((1, 2), (2, 3), (3, 7), (7, 4), (4, 5), (5, 1))  # from corner 0 to corner 6
FIRST_TICK = """
from soft_twin import load_robot
from soft_twin.inverse.controller import Controller
controller = load_robot("slender").build_controller()
controller.enable(True)
controller.update([0.0, 0.0, -9.81])
"""


def measure() -> list[Figure]:
    """Every row of the table; read it with the load in mind that others put on the machine."""
    before = os.getloadavg()[0]
    rows = [*_control(), *_time_step(), *_start_up(), *_growth(), *_compact(), *_large()]
    return [Figure("load", f"load of {os.cpu_count()} processors before the first row", before), *rows]


@dataclass(frozen=True)
class NewtonStep:
    """Least times [s] of the parts of a Newton step, once what is kept for all steps has been made in `prepare`."""

    cells: int
    unknowns: int
    sparse: bool
    prepare: float
    assemble: float
    factorise: float
    solve: float
    megabytes: float

    @property
    def total(self) -> float:
        return self.assemble + self.factorise + self.solve


def newton_step(mesh: Mesh, repeats: int) -> NewtonStep:
    """Times of a Newton step of a body that is held at its lowest z and bent a little."""
    lowest = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 1e-9
    start = time.perf_counter()
    energy = energy_named("corotational", YOUNG_MODULUS, POISSON_RATIO)
    body = Body(mesh, Material(energy, DENSITY), lowest)
    matrix = body.new_factorisation()
    prepare = time.perf_counter() - start
    x = mesh.nodes.copy()
    x[:, 0] += 0.5 * mesh.nodes[:, 2] ** 2 / np.ptp(mesh.nodes[:, 2])
    right = np.random.default_rng(0).normal(size=(body.degrees_of_freedom, 7))
    parts = []
    for _ in range(repeats + 1):
        marks = [time.perf_counter()]
        for part in (
            lambda: body.assemble(x, matrix),
            lambda: matrix.factorise(lambda: body.assemble(x, matrix)),
            lambda: matrix.solve(right),
        ):
            part()
            marks.append(time.perf_counter())
        parts.append(np.diff(marks))
    least = np.min(parts[1:], axis=0)
    size = matrix.nbytes / 1e6
    return NewtonStep(len(mesh.cells), matrix.size, isinstance(matrix, SparseCholesky), prepare, *least, size)


def _figures(key: str, what: str, step: NewtonStep, reach: str = "") -> list[Figure]:
    title = f"{what}, {step.cells} tets, {step.unknowns} dof, {'fronts' if step.sparse else 'envelope'}"
    shares = (("assemble", step.assemble), ("factorise", step.factorise), ("solve", step.solve))
    return [
        Figure(f"{key}.newton_ms", f"Newton step, {title}", 1e3 * step.total, "ms", reach),
        *(Figure(f"{key}.{name}_percent", f"  {name}", 100.0 * part / step.total, "%") for name, part in shares),
        Figure(f"{key}.prepare_ms", "  once for a mesh", 1e3 * step.prepare, "ms"),
        Figure(f"{key}.matrix_mb", "  matrix", step.megabytes, "MB"),
    ]


def _growth() -> list[Figure]:
    """Tubes of the slender robot's size, refined in all directions alike."""
    steps = [newton_step(tube_of_tetrahedra(divisions), 10) for divisions in TUBES]
    figures = []
    for i, step in enumerate(steps):
        figures += _figures(f"tube_{step.cells}", "tube", step, TUBE_REACHES.get(i, ""))
    cells, times = np.log([step.cells for step in steps]), np.log([step.total for step in steps])
    exponent = float(np.polyfit(cells, times, 1)[0])
    return [*figures, Figure("tube.exponent", "time of a Newton step grows with tets to the", exponent, "", "<= 1.6")]


def _compact() -> list[Figure]:
    figures = []
    for counts in CUBES:
        step = newton_step(block(counts), 5)
        figures += _figures(f"cube_{step.cells}", "cube", step)
    return figures


def _large() -> list[Figure]:
    """150 k unknowns: a helicoid (two turns of a ribbon), and a cube, the worst there is."""
    figures = _figures("helicoid", "helicoid", newton_step(helicoid(), 3), "<= 3000")
    figures.append(Figure("helicoid.memory_gb", "  peak memory of the process", peak_memory(), "GB", "<= 6"))
    figures += _figures("cube_150k", "cube", newton_step(block((36, 36, 36)), 2))
    return [*figures, Figure("cube_150k.memory_gb", "  peak memory of the process", peak_memory(), "GB", "<= 6")]


def peak_memory() -> float:
    """Of this process so far [GB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def tube_of_tetrahedra(divisions: tuple[int, int, int]) -> Mesh:
    """A tube in cells radial, around, along, each hexahedron cut into six tetrahedra."""
    hexes = sweep_tube(INNER, OUTER, LENGTH, divisions, "hex8")
    cells = np.vstack([hexes.cells[:, [0, a, b, 6]] for a, b in HEXAHEDRON_PATHS])
    return make_mesh(hexes.nodes, cells, ELEMENTS["tet4"])


def block(counts: tuple[int, int, int]) -> Mesh:
    """A block of linear tetrahedra, six in each of `counts` cubes of 5 mm."""
    return voxel_mesh(np.ones(counts, dtype=bool), 0.005, "tet4")


def helicoid(counts: tuple[int, int, int] = (26, 6, 266), turns: float = 2.0) -> Mesh:
    """A ribbon 17 mm wide and 4 mm thick that turns around z over 120 mm."""
    flat = voxel_mesh(np.ones(counts, dtype=bool), 1.0, "tet4")
    across, through, along = (flat.nodes / counts).T
    radius, offset, angle = 0.003 + 0.017 * across, 0.004 * (through - 0.5), 2.0 * np.pi * turns * along
    x, y = radius * np.cos(angle) - offset * np.sin(angle), radius * np.sin(angle) + offset * np.cos(angle)
    return make_mesh(np.column_stack([x, y, 0.12 * along]), flat.cells, flat.element)


def _control() -> list[Figure]:
    robot = load_robot("slender")
    figures = []
    for element, reach in (("tet4", "<= 8 (stretch 5)"), ("hex20r", "<= 4")):
        fresh = robot.build_controller(robot.build_twin(element=element))
        reusing = robot.build_controller(robot.build_twin(element=element), reuse=True)
        times, tips = _followed(fresh)
        quick, near = _followed(reusing)
        apart = 1e3 * np.linalg.norm(tips - near, axis=1)
        what = f"{len(fresh.twin.body.mesh.cells)} {element}"
        figures += [
            Figure(f"{element}.tick_ms", f"control tick, {what}: median", float(np.median(times)), "ms", reach),
            Figure(f"{element}.tick_p99_ms", "  99th percentile", float(np.percentile(times, 99)), "ms"),
            Figure(f"{element}.reuse_ms", "  factorisation reused adaptively: mean", float(quick.mean()), "ms", "<= 2"),
            Figure(f"{element}.reuse_median_ms", "    median", float(np.median(quick)), "ms"),
            Figure(f"{element}.reuse_apart_mm", "    tip from that of fresh ones: largest", float(apart.max()), "mm"),
        ]
    controller = robot.build_controller(robot.build_twin(backend="rod"))
    times, _ = _followed(controller)
    return [
        *figures,
        Figure("rod.tick_ms", "control tick, rod: median", float(np.median(times)), "ms"),
        Figure("rod.newton_ms", "  its Newton step", _rod_step(controller.twin), "ms", "<= 0.3"),
        Figure("rod.second_s", "  a second of it in steps of 10 ms, processor time", _rod_second(), "s", "< 0.09"),
    ]


def _rod_step(rod: Twin) -> float:
    """Median [ms] of a linearisation and the step."""
    gravity = np.array([0.0, -6.0, -8.0])
    return float(np.median(time_calls(lambda i: rod.advance(rod.linearise(gravity), rod.tensions, 0.005), 500)))


def _rod_second() -> float:
    """Processor time [s] of a second after the slender robot, held horizontally, is let go: the least of five."""
    gravity, times = np.array([0.0, -9.81, 0.0]), []
    for _ in range(5):
        rod = load_robot("slender").build_dynamics(0.01, backend="rod")
        rod.step(gravity)
        start = time.process_time()
        for _ in range(100):
            rod.step(gravity)
        times.append(time.process_time() - start)
    return min(times)


def _followed(controller: Controller) -> tuple[np.ndarray, np.ndarray]:
    """Times (t,) [ms] and tips (t, 3) while the base turns from pointing up to pointing down and back, 18° a second,
    the tip held."""
    controller.enable(True)
    controller.set_target([0.0, 0.0, 0.097])
    tips = []

    def tick(i: int) -> None:
        angle = 0.5 * np.pi * np.cos(2.0 * np.pi * i / 2000)
        tips.append(controller.update(-9.81 * np.array([0.0, np.cos(angle), np.sin(angle)])).tip)

    return time_calls(tick, 1000, warm_up=50), np.array(tips[50:])


def _time_step() -> list[Figure]:
    """Backward Euler under gravity, sideways, in steps of 10 ms, released from the undeformed body."""
    twin = load_robot("slender").build_twin(element="tet4")
    mesh = twin.body.mesh
    energy = energy_named("corotational", YOUNG_MODULUS, POISSON_RATIO)
    body = Body(mesh, Material(energy, DENSITY), twin.body.place < 0)
    what = f"implicit Euler step, {len(mesh.cells)} tet4, 10 ms"
    single, single_x, _ = _released(body, 1)
    solved, solved_x, factorisations = _released(body, None)
    apart = 1e3 * float(np.linalg.norm(single_x - solved_x, axis=2).max())
    return [
        Figure("euler.step_ms", f"{what}, linearly implicit: median", single, "ms", "<= 6"),
        Figure("euler.apart_mm", "  from the one below: largest over 0.5 s", apart, "mm"),
        Figure("euler.solved_ms", f"{what}, solved to a residual of 1e-9: median", solved, "ms"),
        Figure("euler.factorisations", "  factorisations in it: mean", factorisations),
    ]


def _released(body: Body, newton_steps: int | None) -> tuple[float, np.ndarray, float]:
    """Median time of a step [ms], positions (t, n, 3) after each, and the mean number of factorisations."""
    moving = BackwardEuler(Model(body, [Gravity((0.0, -9.81, 0.0))]), 0.01, newton_steps=newton_steps)
    iterations, points = [], []

    def step(_: int) -> None:
        iterations.append(moving.step().iterations)
        points.append(moving.pose.points)

    times = time_calls(step, 50, warm_up=0)
    return float(np.median(times[1:])), np.array(points), float(np.mean(iterations))


def _start_up() -> list[Figure]:
    """Of a process of its own until the first control tick is done, with and without compiled kernels."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = _first_tick(folder), min(_first_tick(folder) for _ in range(3))
    return [
        Figure("start.warm_s", "start of Python to first tick, kernels compiled before", warm, "s", "<= 1.5"),
        Figure("start.cold_s", "  nothing compiled", cold, "s", "<= 10"),
    ]


def _first_tick(cache: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", FIRST_TICK], env=os.environ | {"NUMBA_CACHE_DIR": cache}, check=True)
    return time.perf_counter() - start
