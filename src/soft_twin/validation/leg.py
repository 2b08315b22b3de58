"""The jumping leg: two muscle groups whose contractions an optimiser times (SORS, section IV-D).

From the paper: hexahedra on a voxel grid, 0.5 m high, 10 voxels of muscle at the back (dorsal) and 10 at the front
(ventral) that contract along z by up to half of their length; step functions of Table IV, where the ventral muscle
starts contracted with a_v and relaxes at t_v and the dorsal one contracts with a_d at t_d; 0.5 m/s forward, 1.5 s; the
height of the lowest vertex after the leg has met the ground, of which the paper reaches 0.463 m.

What the paper does not say is assumed:

* 3 × 2 × 10 voxels of 50 mm, 7.5 kg: the fewest over which 2 × 5 voxels lie in front and behind a passive core, the
  muscles in the middle of the height;
* the range 0…2 of a_v and a_d is the range of shortening 0…½, so that a muscle wants to be 1 − a/4 of its length;
* it starts 0.25 m above the ground, which it meets after 0.23 s, shortly before the paper's dorsal muscle contracts;
  the ventral muscle has contracted already and the leg is at rest but for its 0.5 m/s;
* E 0.4 MPa, ν 0.35, 1000 kg/m³, stable Neo-Hookean, and muscles of 1.6 MPa, so stiff that what both can store suffices
  for heights like the paper's: with half of both, jumps end at 0.44 m; stiffness-proportional damping of 1 ms;
  friction μ 0.8.

So its heights can be compared with one another, and with the paper's only as far as these assumptions go. The optimiser
first tries the paper's signal, and the one that lets go of all that the ventral muscle holds when the leg has landed.
Picture: leg.png.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from soft_twin.errors import ConvergenceError, UsageError
from soft_twin.twin.body import Body, Material
from soft_twin.twin.constraints import Contact, Plane
from soft_twin.twin.energies import energy_named
from soft_twin.twin.energies.muscle import Muscle
from soft_twin.twin.forces import Gravity
from soft_twin.twin.integrators import BackwardEuler, CrankNicolson
from soft_twin.twin.mesh import Mesh, boundary_faces
from soft_twin.twin.model import Model
from soft_twin.twin.unknowns import Pose
from soft_twin.twin.voxels import voxel_mesh

matplotlib.use("Agg")

PAPERS_HEIGHT = 0.463  # [m]
RANGES = {"a_v": (0.0, 2.0), "a_d": (0.0, 2.0), "t_v": (0.1, 0.9), "t_d": (0.1, 0.9)}
VOXEL, GRID, MUSCLES = 0.05, (3, 2, 10), slice(3, 8)
YOUNG_MODULUS, POISSON_RATIO, DENSITY = 0.4e6, 0.35, 1000.0
MUSCLE_STIFFNESS, SHARE = 1.6e6, 0.25  # [Pa]; of its length that a muscle shortens by with a = 1
START, FORWARD, DURATION = 0.25, 0.5, 1.5  # [m], [m/s], [s]
FRICTION, STIFFNESS_DAMPING, STEP = 0.8, 1e-3, 5e-3
TRIALS, STARTUP = 24, 5  # in all, and those that are drawn at random or given
WEIGHT = np.array([0.0, 0.0, -9.81])


@dataclass(frozen=True)
class Signal:
    """Table IV: strengths of ventral and dorsal muscle, when the ventral one relaxes and the dorsal one contracts."""

    a_v: float = 0.0
    a_d: float = 0.0
    t_v: float = 0.5
    t_d: float = 0.5

    def __str__(self) -> str:
        return f"a_v {self.a_v:.2f}  a_d {self.a_d:.2f}  t_v {self.t_v:.2f} s  t_d {self.t_d:.2f} s"


PASSIVE, PAPERS, RELEASE = Signal(), Signal(0.69, 1.05, 0.54, 0.27), Signal(2.0, 0.0, 0.27, 0.9)


@dataclass(frozen=True)
class Jump:
    """A simulated jump.

    Attributes:
        signal: of the muscles.
        times, lowest: [s], height of the lowest vertex [m] after each step.
        shapes: (t, n, 3).
        penetration: largest [m].
        seconds: what the simulation took.
        finished: whether every step converged.
    """

    signal: Signal
    times: np.ndarray
    lowest: np.ndarray
    shapes: np.ndarray
    penetration: float
    seconds: float
    finished: bool

    @property
    def height(self) -> float:
        """Of the lowest vertex after the leg has met the ground [m], 0 if it never leaves it."""
        met = np.flatnonzero(self.lowest < 1e-6)
        return float(self.lowest[met[0] :].max()) if len(met) else 0.0


class Leg:
    """The leg over the ground; see the module's docstring."""

    def __init__(self):
        grid = np.ones(GRID, dtype=int)
        grid[0, :, MUSCLES], grid[-1, :, MUSCLES] = 2, 3
        self.mesh = voxel_mesh(grid, VOXEL, "hex8", {2: "dorsal", 3: "ventral"})
        solid = energy_named("stable_neo_hookean", YOUNG_MODULUS, POISSON_RATIO)
        self.dorsal, self.ventral = (Muscle(MUSCLE_STIFFNESS, np.array([0.0, 0.0, 1.0])) for _ in range(2))
        body = Body(
            self.mesh,
            [Material(solid, DENSITY), Material(self.dorsal, 0.0, "dorsal"), Material(self.ventral, 0.0, "ventral")],
        )
        self._gravity, ground = Gravity(WEIGHT), Contact(Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]), friction=FRICTION)
        self.model = Model(body, [self._gravity], [ground])

    def jump(self, signal: Signal, dt: float = STEP, duration: float = DURATION) -> Jump:
        """From the start; what does not converge ends the jump."""
        began = perf_counter()
        start = self.start(signal.a_v)
        integrator = CrankNicolson(
            self.model, dt, start, np.array([FORWARD, 0.0, 0.0]), stiffness_damping=STIFFNESS_DAMPING
        )
        shapes, finished = [], True
        for _ in range(round(duration / dt)):
            self._activate(signal, integrator.time + dt)
            try:
                integrator.step()
            except ConvergenceError:
                finished = False
                break
            shapes.append(integrator.pose.points)
        lowest = np.array([x[:, 2].min() for x in shapes])
        times = dt * np.arange(1, len(shapes) + 1)
        penetration = max(0.0, -float(lowest.min()))
        return Jump(signal, times, lowest, np.array(shapes), penetration, perf_counter() - began, finished)

    def start(self, a_v: float) -> Pose:
        """The leg at rest with its ventral muscle contracted, its lowest vertex at the start's height."""
        self.ventral.activation, self.dorsal.activation = SHARE * a_v, 0.0
        self._gravity.vector = np.zeros(3)
        floating = self.mesh.nodes + np.array([0.0, 0.0, START])
        settling = BackwardEuler(
            self.model, 0.05, _at(floating), mass_damping=20.0, stiffness_damping=10.0 * STIFFNESS_DAMPING
        )
        settling.advance(1.0)
        self._gravity.vector = WEIGHT
        points = settling.pose.points.copy()
        points[:, 2] += START - points[:, 2].min()
        return _at(points)

    def _activate(self, signal: Signal, time: float) -> None:
        self.ventral.activation = SHARE * signal.a_v if time < signal.t_v else 0.0
        self.dorsal.activation = SHARE * signal.a_d if time >= signal.t_d else 0.0


def run(folder: Path, data: Path) -> str:
    """Passive leg, the paper's signal, and the optimiser's; `data` is not used."""
    leg = Leg()
    history: list[float] = []
    best = optimise(lambda signal: leg.jump(signal), TRIALS, history)
    jumps = {"passive": leg.jump(PASSIVE), "paper's signal": leg.jump(PAPERS), "optimised": leg.jump(best)}
    half = leg.jump(best, 0.5 * STEP)
    _draw(folder / "leg.png", leg.mesh, jumps, history)
    return table(jumps, half, history)


def optimise(jump: Callable[[Signal], Jump], trials: int, history: list[float], seed: int = 0) -> Signal:
    """The best signal of some trials of optuna's tree-structured Parzen estimator; the first are the paper's and
    RELEASE. Their heights are added to `history`; a jump that does not converge counts as none.

    Raises:
        UsageError: optuna is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise UsageError("the leg is optimised by optuna: pip install soft_twin[calibration]") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def height(trial: "optuna.Trial") -> float:
        result = jump(Signal(**{name: trial.suggest_float(name, *bounds) for name, bounds in RANGES.items()}))
        history.append(result.height if result.finished else 0.0)
        return history[-1]

    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(n_startup_trials=STARTUP, seed=seed)
    )
    for first in (PAPERS, RELEASE):
        study.enqueue_trial(vars(first))
    study.optimize(height, n_trials=trials)
    return Signal(**study.best_params)


def table(jumps: dict[str, Jump], half: Jump, history: list[float]) -> str:
    """Against the paper's height."""
    lines = [f"{'':20} {'height [m]':>10} {'penetration [mm]':>17} {'converged':>10} {'time [s]':>9}  signal"]
    for name, each in {**jumps, "optimised, half step": half}.items():
        lines.append(
            f"{name:20} {each.height:10.3f} {1e3 * each.penetration:17.1e} {'yes' if each.finished else 'no':>10} "
            f"{each.seconds:9.1f}  {each.signal}"
        )
    lines.append(f"{'reach':20} {f'> {PAPERS_HEIGHT}':>10} {'≤ 0.1':>17} {'yes':>10}")
    above = int(np.sum(np.array(history) > PAPERS_HEIGHT))
    lines.append(f"{len(history)} trials of optuna, {above} above {PAPERS_HEIGHT} m, best after {_first_best(history)}")
    return "\n".join(lines)


def _first_best(history: list[float]) -> int:
    return int(np.argmax(history)) + 1 if history else 0


def _at(points: np.ndarray) -> Pose:
    return Pose(points, np.zeros((0, 3)), np.zeros((0, 3, 3)))


def _draw(path: Path, mesh: Mesh, jumps: dict[str, Jump], history: list[float]) -> None:
    figure = Figure(figsize=(13.0, 7.0), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[1.0, 1.1])
    course, progress = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    for name, each in jumps.items():
        course.plot(each.times, each.lowest, label=f"{name}: {each.height:.3f} m")
    course.axhline(PAPERS_HEIGHT, color="black", linestyle="--", linewidth=0.8, label="paper's height")
    course.set(xlabel="time [s]", ylabel="lowest vertex [m]")
    course.legend(fontsize=8)
    progress.plot(np.arange(1, len(history) + 1), history, "o", markersize=3, label="trial")
    progress.plot(np.arange(1, len(history) + 1), np.maximum.accumulate(history), label="best so far")
    progress.axhline(PAPERS_HEIGHT, color="black", linestyle="--", linewidth=0.8)
    progress.set(xlabel="trial", ylabel="height [m]")
    progress.legend(fontsize=8)
    _draw_shapes(figure.add_subplot(grid[1, :]), mesh, jumps["optimised"])
    for axes in (course, progress):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def _draw_shapes(axes: Axes, mesh: Mesh, jump: Jump) -> None:
    """Side views every 0.1 s, each shifted by 0.4 m: passive parts grey, ventral muscle red, dorsal one blue."""
    muscles = {"ventral": "#d55e00", "dorsal": "#0072b2"}
    every = max(1, round(0.1 / jump.times[0]))
    colours = {None: "#bbbbbb", **muscles}
    for place, x in enumerate(jump.shapes[::every]):
        for name, colour in colours.items():
            cells = mesh.cells if name is None else mesh.cells[mesh.volume(name)]
            for face in _near_faces(mesh, cells):
                along = x[face, 0] - x[:, 0].mean() + 0.4 * place
                axes.fill(along, x[face, 2], colour, edgecolor="white", linewidth=0.3)
        axes.text(0.4 * place, -0.08, f"{jump.times[place * every]:.2f} s", ha="center", fontsize=7)
    axes.axhline(0.0, color="black", linewidth=1.0)
    axes.axhline(PAPERS_HEIGHT, color="black", linestyle="--", linewidth=0.8)
    axes.set(xticks=[], ylabel="z [m]", aspect="equal", title="optimised; ventral muscle red, dorsal blue")


def _near_faces(mesh: Mesh, cells: np.ndarray) -> np.ndarray:
    """Outer faces of cells at y = 0."""
    faces = boundary_faces(Mesh(mesh.nodes, cells, mesh.element))
    return faces[(mesh.nodes[faces][..., 1] < 1e-9).all(axis=1)]
