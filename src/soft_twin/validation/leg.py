"""The jumping leg: two muscle groups whose contractions an optimiser times (SORS, section IV-D).

The leg is the paper's own, as the authors' example has it (github.com/srl-ethz/sors, python/d05_hopping_leg.py):

* voxels of 50 mm: a shank of 2 × 2 × 8 over a foot of 5 × 4 × 2, 0.5 m high, 9 kg;
* Neo-Hookean, E 500 kPa, ν 0.4, 1000 kg/m³; muscles of 500 kPa along z, 10 voxels at the back of the shank (dorsal) and
  10 at its front (ventral), that want to be 1 − a of their length;
* it starts 1 m above the ground, undeformed, with 0.5 m/s along each axis; contact without friction; 1.5 s;
* the signal of Table IV: from the start the ventral muscle contracts to a_v, which it loses around t_v; the dorsal one
  contracts to a_d around t_d; both in ramps of 15 1/s.

What counts is the height of the lowest vertex after the leg has met the ground, of which the paper reaches 0.463 m.

The authors step by backward Euler, 0.8 ms. That damps as stiffness-proportional damping of 0.8 ms does, to first order
in the step; with this damping Crank–Nicolson in steps of 2 ms gives nearly the same jumps at less cost, and what it
gives depends little on the step. The authors' example holds the signal during 20 ms, which matters for such quick
ramps; here it is continuous, as in the paper.

The optimiser is optuna's tree-structured Parzen estimator, which is given no signal: its first trials are drawn at
random. Its simulations are quick ones: one Newton step a time step (linearly implicit), ended when the leg has jumped
and sinks again. What it finds is simulated again to the end, with every step solved, and with half the step. Picture:
leg.png.
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
from soft_twin.twin.integrators import BackwardEuler, CrankNicolson, Integrator
from soft_twin.twin.mesh import Mesh, boundary_faces
from soft_twin.twin.model import Model
from soft_twin.twin.selection import centres_and_normals
from soft_twin.twin.unknowns import Pose
from soft_twin.twin.voxels import voxel_mesh

matplotlib.use("Agg")

PAPERS_HEIGHT = 0.463  # [m]
RANGES = {"a_v": (0.0, 2.0), "a_d": (0.0, 2.0), "t_v": (0.1, 0.9), "t_d": (0.1, 0.9)}
RAMP = 15.0  # of a muscle's activation [1/s]
VOXEL, GRID, FOOT, SHANK, MUSCLES = 0.05, (5, 4, 10), slice(0, 2), slice(1, 3), slice(3, 8)
YOUNG_MODULUS, POISSON_RATIO, DENSITY, MUSCLE_STIFFNESS = 0.5e6, 0.4, 1000.0, 0.5e6
START, VELOCITY, DURATION = 1.0, np.array([0.5, 0.5, 0.5]), 1.5  # [m], [m/s], [s]
STEP, STIFFNESS_DAMPING, PAPERS_STEP = 2e-3, 0.8e-3, 0.8e-3  # [s]
TRIALS, STARTUP = 160, 32  # in all, and those that are drawn at random
TOUCH, SUNK = 1e-4, 0.1  # [m]: on the ground; lower than it was: the jump is over


@dataclass(frozen=True)
class Signal:
    """Table IV: strengths of ventral and dorsal muscle, when the ventral one relaxes and the dorsal one contracts."""

    a_v: float = 0.0
    a_d: float = 0.0
    t_v: float = 0.5
    t_d: float = 0.5

    def ventral(self, time: float) -> float:
        """Activation of the ventral muscle."""
        return min(RAMP * time, _ramp(self.a_v, 0.0, time - self.t_v))

    def dorsal(self, time: float) -> float:
        """Activation of the dorsal muscle."""
        return _ramp(0.0, self.a_d, time - self.t_d)

    @property
    def end(self) -> float:
        """When nothing changes any more [s]."""
        return max(self.t_v + 0.5 * self.a_v / RAMP, self.t_d + 0.5 * self.a_d / RAMP)

    def __str__(self) -> str:
        return f"a_v {self.a_v:.2f}  a_d {self.a_d:.2f}  t_v {self.t_v:.2f} s  t_d {self.t_d:.2f} s"


PASSIVE, PAPERS = Signal(), Signal(0.69, 1.05, 0.541, 0.271)


@dataclass(frozen=True)
class Jump:
    """A simulated jump.

    Attributes:
        signal: of the muscles.
        times, lowest: [s], height of the lowest vertex [m] after each step.
        shapes: (t, n, 3).
        seconds: what the simulation took.
        finished: whether every step converged.
    """

    signal: Signal
    times: np.ndarray
    lowest: np.ndarray
    shapes: np.ndarray
    seconds: float
    finished: bool

    @property
    def height(self) -> float:
        """Of the lowest vertex after the leg has met the ground [m], 0 if it never leaves it."""
        return _highest(self.lowest)

    @property
    def penetration(self) -> float:
        """The largest [m]."""
        return max(0.0, -float(self.lowest.min(initial=0.0)))


class Leg:
    """The leg over the ground; see the module's docstring."""

    def __init__(self):
        grid = np.zeros(GRID, dtype=int)
        grid[:, :, FOOT] = 1
        grid[:2, SHANK, FOOT.stop :] = 1
        grid[0, SHANK, MUSCLES], grid[1, SHANK, MUSCLES] = 2, 3
        self.mesh = voxel_mesh(grid, VOXEL, "hex8", {2: "dorsal", 3: "ventral"})
        solid = energy_named("neo_hookean", YOUNG_MODULUS, POISSON_RATIO)
        self.dorsal, self.ventral = (Muscle(MUSCLE_STIFFNESS, np.array([0.0, 0.0, 1.0])) for _ in range(2))
        body = Body(
            self.mesh,
            [Material(solid, DENSITY), Material(self.dorsal, 0.0, "dorsal"), Material(self.ventral, 0.0, "ventral")],
        )
        self.model = Model(body, [Gravity()], [Contact(Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]))])

    def jump(
        self, signal: Signal, dt: float = STEP, duration: float = DURATION, scheme: type[Integrator] = CrankNicolson
    ) -> Jump:
        """From the start, every step solved; what does not converge ends the jump. Backward Euler damps by itself."""
        damping = STIFFNESS_DAMPING if scheme is CrankNicolson else 0.0
        return self._simulate(signal, scheme(self.model, dt, *self._start(), stiffness_damping=damping), duration)

    def quick_jump(self, signal: Signal, duration: float = DURATION) -> Jump:
        """As `jump`, with one Newton step a time step, until the leg has jumped and sinks again."""
        integrator = CrankNicolson(
            self.model, STEP, *self._start(), stiffness_damping=STIFFNESS_DAMPING, newton_steps=1
        )
        return self._simulate(signal, integrator, duration, over=_sinks)

    def _start(self) -> tuple[Pose, np.ndarray]:
        self.ventral.activation = self.dorsal.activation = 0.0
        raised = self.mesh.nodes + np.array([0.0, 0.0, START])
        return Pose(raised, np.zeros((0, 3)), np.zeros((0, 3, 3))), VELOCITY

    def _simulate(self, signal: Signal, integrator: Integrator, duration: float, over=lambda lowest: False) -> Jump:
        """`over`: whether the jump is, from the heights so far, asked once the signal has ended."""
        began, finished = perf_counter(), True
        shapes, lowest = [], []
        for _ in range(round(duration / integrator.dt)):
            after = integrator.time + integrator.dt
            self.ventral.activation, self.dorsal.activation = signal.ventral(after), signal.dorsal(after)
            try:
                integrator.step()
            except ConvergenceError:
                finished = False
                break
            shapes.append(integrator.pose.points)
            lowest.append(float(shapes[-1][:, 2].min()))
            if after > signal.end and over(np.array(lowest)):
                break
        times = integrator.dt * np.arange(1, len(shapes) + 1)
        return Jump(signal, times, np.array(lowest), np.array(shapes), perf_counter() - began, finished)


def run(folder: Path, data: Path) -> str:
    """Passive leg, the paper's signal, and the optimiser's; `data` is not used."""
    leg = Leg()
    history: list[float] = []
    best = optimise(leg.quick_jump, TRIALS, history)
    jumps = {"passive": leg.jump(PASSIVE), "paper's signal": leg.jump(PAPERS), "optimised": leg.jump(best)}
    checks = {
        "paper's, its own steps": leg.jump(PAPERS, PAPERS_STEP, scheme=BackwardEuler),
        "optimised, half step": leg.jump(best, 0.5 * STEP),
    }
    _draw(folder / "leg.png", leg.mesh, jumps, history)
    return table(jumps | checks, history)


def optimise(jump: Callable[[Signal], Jump], trials: int, history: list[float], seed: int = 0) -> Signal:
    """The best signal of some trials of optuna's tree-structured Parzen estimator, the first of them random. Their
    heights are added to `history`; a jump that does not converge counts as none.

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

    sampler = optuna.samplers.TPESampler(n_startup_trials=STARTUP, multivariate=True, seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(height, n_trials=trials)
    return Signal(**study.best_params)


def table(jumps: dict[str, Jump], history: list[float]) -> str:
    """Against the paper's height."""
    lines = [f"{'':23} {'height [m]':>10} {'penetration [mm]':>17} {'converged':>10} {'time [s]':>9}  signal"]
    for name, each in jumps.items():
        lines.append(
            f"{name:23} {each.height:10.3f} {1e3 * each.penetration:17.1e} {'yes' if each.finished else 'no':>10} "
            f"{each.seconds:9.1f}  {each.signal}"
        )
    lines.append(f"{'reach':23} {f'> {PAPERS_HEIGHT}':>10} {'≤ 0.1':>17} {'yes':>10}")
    return "\n".join([*lines, progress(history)])


def progress(history: list[float]) -> str:
    """How soon trials were above the paper's height, and the best of them."""
    above = np.flatnonzero(np.array(history) > PAPERS_HEIGHT)
    first = f", the first is number {above[0] + 1}" if len(above) else ""
    return (
        f"{len(history)} trials of optuna, {STARTUP} of them random: {len(above)} above {PAPERS_HEIGHT} m{first}; "
        f"the best, {max(history):.3f} m, is number {int(np.argmax(history)) + 1}"
    )


def _ramp(before: float, after: float, time: float) -> float:
    """From one activation to another, half-way at time 0."""
    way = after - before
    return before + float(np.clip(0.5 * way + np.sign(way) * RAMP * time, min(way, 0.0), max(way, 0.0)))


def _highest(lowest: np.ndarray) -> float:
    met = np.flatnonzero(lowest < TOUCH)
    return float(lowest[met[0] :].max()) if len(met) else 0.0


def _sinks(lowest: np.ndarray) -> bool:
    return lowest[-1] < _highest(lowest) - SUNK


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
    """Side views every 0.1 s, each shifted by 0.5 m: passive parts grey, ventral muscle red, dorsal one blue."""
    muscles = {"ventral": "#d55e00", "dorsal": "#0072b2"}
    every = max(1, round(0.1 / jump.times[0]))
    colours = {None: "#bbbbbb", **muscles}
    for place, x in enumerate(jump.shapes[::every]):
        for name, colour in colours.items():
            cells = mesh.cells if name is None else mesh.cells[mesh.volume(name)]
            for face in _near_faces(mesh, cells):
                along = x[face, 0] - x[:, 0].mean() + 0.5 * place
                axes.fill(along, x[face, 2], colour, edgecolor="white", linewidth=0.3)
        axes.text(0.5 * place, -0.08, f"{jump.times[place * every]:.2f} s", ha="center", fontsize=7)
    axes.axhline(0.0, color="black", linewidth=1.0)
    axes.axhline(PAPERS_HEIGHT, color="black", linestyle="--", linewidth=0.8)
    axes.set(xticks=[], ylabel="z [m]", aspect="equal", title="optimised; ventral muscle red, dorsal blue")


def _near_faces(mesh: Mesh, cells: np.ndarray) -> np.ndarray:
    """Outer faces of cells towards −y."""
    faces = boundary_faces(Mesh(mesh.nodes, cells, mesh.element))
    return faces[centres_and_normals(mesh, faces)[1][:, 1] < -0.5]
