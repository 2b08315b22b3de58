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

The optimiser is optuna's tree-structured Parzen estimator, which is given no signal. Good signals are rare, less than
one in a thousand of Table IV's ranges, so several studies start anew, each at random, on as many processors as there
are. They look for the highest flight of the centre of mass, which has no plateaus and is known when the leg takes off:
their simulations end there, and have one Newton step a time step (linearly implicit). The best dozen of all trials then
jump until they sink again, for the height of the lowest vertex, and around the two highest of them a last study each
looks for more of it. The best of all is simulated to the end, with every step solved, and with half the step. Picture:
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

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import ConvergenceError, UsageError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.contact import Contact, Plane
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.materials.muscle import Muscle
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh, boundary_faces
from soft_twin.mesh.selection import centres_and_normals
from soft_twin.parallel import compute_here
from soft_twin.solvers.time.integrators import BackwardEuler, CrankNicolson, Integrator
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

PAPERS_HEIGHT = 0.463  # [m]
RANGES = {"a_v": (0.0, 2.0), "a_d": (0.0, 2.0), "t_v": (0.1, 0.9), "t_d": (0.1, 0.9)}
RAMP = 15.0  # of a muscle's activation [1/s]
VOXEL, GRID, FOOT, SHANK, MUSCLES = 0.05, (5, 4, 10), slice(0, 2), slice(1, 3), slice(3, 8)
YOUNG_MODULUS, POISSON_RATIO, DENSITY, MUSCLE_STIFFNESS = 0.5e6, 0.4, 1000.0, 0.5e6
START, VELOCITY, DURATION = 1.0, np.array([0.5, 0.5, 0.5]), 1.5  # [m], [m/s], [s]
STEP, STIFFNESS_DAMPING, PAPERS_STEP = 2e-3, 0.8e-3, 0.8e-3  # [s]
STUDIES, TRIALS, STARTUP, CANDIDATES, FINALISTS = 4, 75, 16, 200, 12  # the first STARTUP of TRIALS are random
LAST_STUDIES, LAST_TRIALS, AROUND = 2, 40, 0.08  # of Table IV's ranges, to each side
TOUCH, AIRBORNE, SUNK = 1e-4, 0.05, 0.1  # [m]: on the ground, above it, and below the highest: the jump is over


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
class Trajectory:
    """Where a jumping leg has been so far.

    Attributes:
        times, lowest, centre: (t,) [s], heights of the lowest vertex and of the centre of mass [m] after each step.
    """

    times: np.ndarray
    lowest: np.ndarray
    centre: np.ndarray

    @property
    def height(self) -> float:
        """Of the lowest vertex after the leg has met the ground [m], 0 if it never leaves it."""
        return float(self._since_met(self.lowest).max(initial=0.0))

    @property
    def rise(self) -> float:
        """Of the centre of mass after the leg has met the ground [m], with the rest of the last flight; 0 if none."""
        since = self._since_met(self.centre)
        if len(since) < 2:
            return 0.0
        dt = self.times[1] - self.times[0]
        speed = max(0.0, (since[-1] - since[-2]) / dt - 0.5 * STANDARD_GRAVITY * dt)
        return float(max(since.max(), since[-1] + 0.5 * speed**2 / STANDARD_GRAVITY))

    @property
    def takes_off(self) -> bool:
        """Whether the leg has met the ground and now flies upward."""
        since = self._since_met(self.centre)
        return len(since) > 1 and self.lowest[-1] > AIRBORNE and since[-1] > since[-2]

    @property
    def sinks(self) -> bool:
        """Whether the leg has jumped and is lower again."""
        return self.lowest[-1] < self.height - SUNK

    @property
    def penetration(self) -> float:
        """The largest [m]."""
        return max(0.0, -float(self.lowest.min(initial=0.0)))

    def _since_met(self, heights: np.ndarray) -> np.ndarray:
        met = np.flatnonzero(self.lowest < TOUCH)
        return heights[met[0] :] if len(met) else heights[:0]


@dataclass(frozen=True)
class Jump:
    """A simulated jump.

    Attributes:
        signal: of the muscles.
        trajectory: of the leg.
        shapes: (t, n, 3).
        seconds: what the simulation took.
        finished: whether every step converged.
    """

    signal: Signal
    trajectory: Trajectory
    shapes: np.ndarray
    seconds: float
    finished: bool


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
        integrator = scheme(self.model, dt, *self._start(), stiffness_damping=damping)
        return self._simulate(signal, integrator, duration, lambda trajectory: False)

    def quick_jump(self, signal: Signal, over: Callable[[Trajectory], bool], duration: float = DURATION) -> Jump:
        """As `jump`, with one Newton step a time step, until it is `over`."""
        integrator = CrankNicolson(
            self.model, STEP, *self._start(), stiffness_damping=STIFFNESS_DAMPING, newton_steps=1
        )
        return self._simulate(signal, integrator, duration, over)

    def take_off(self, signal: Signal) -> float:
        """How high the centre of mass flies [m], from a quick jump; see `trusted`."""
        jump = self.quick_jump(signal, lambda trajectory: trajectory.takes_off)
        return trusted(jump, jump.trajectory.rise)

    def height(self, signal: Signal) -> float:
        """How high the lowest vertex gets [m], from a quick jump until the leg sinks; see `trusted`."""
        jump = self.quick_jump(signal, lambda trajectory: trajectory.times[-1] > signal.end and trajectory.sinks)
        return trusted(jump, jump.trajectory.height)

    def _start(self) -> tuple[Pose, np.ndarray]:
        self.ventral.activation = self.dorsal.activation = 0.0
        raised = self.mesh.nodes + np.array([0.0, 0.0, START])
        return Pose(raised, np.zeros((0, 3)), np.zeros((0, 3, 3))), VELOCITY

    def _simulate(
        self, signal: Signal, integrator: Integrator, duration: float, over: Callable[[Trajectory], bool]
    ) -> Jump:
        began, finished, dt = perf_counter(), True, integrator.dt
        shares = self.model.mass.diagonal() / self.model.body.mass
        times = dt * np.arange(1, round(duration / dt) + 1)
        heights, shapes = np.zeros((2, len(times))), []
        trajectory = Trajectory(times[:0], *heights[:, :0])
        for count, after in enumerate(times, 1):
            self.ventral.activation, self.dorsal.activation = signal.ventral(after), signal.dorsal(after)
            try:
                integrator.step()
            except ConvergenceError:
                finished = False
                break
            x = integrator.pose.points
            shapes.append(x)
            heights[:, count - 1] = x[:, 2].min(), shares @ x[:, 2]
            trajectory = Trajectory(times[:count], *heights[:, :count])
            if over(trajectory):
                break
        return Jump(signal, trajectory, np.array(shapes), perf_counter() - began, finished)


def trusted(jump: Jump, height: float) -> float:
    """A height of a quick jump [m]; 0 where a step did not converge, or where the leg would get higher than it fell:
    then single Newton steps have gone astray."""
    return height if jump.finished and height < START else 0.0


@dataclass(frozen=True)
class Search:
    """What the optimiser has tried.

    Attributes:
        signals, rises: of all trials, one study after the other; how high the centre of mass flies [m].
        finalists: indices of those that jumped on.
        tried, heights: the finalists' signals and those of the last studies; how high the lowest vertex gets [m].
    """

    signals: list[Signal]
    rises: np.ndarray
    finalists: np.ndarray
    tried: list[Signal]
    heights: np.ndarray

    @property
    def best(self) -> Signal:
        return self.tried[int(np.argmax(self.heights))]

    def __str__(self) -> str:
        finals, more = np.array_split(self.heights, [len(self.finalists)])
        above = [int((heights > PAPERS_HEIGHT).sum()) for heights in (finals, more)]
        return (
            f"{len(self.signals)} trials; {above[0]} of {len(finals)} finalists jump above {PAPERS_HEIGHT} m, "
            f"the highest {finals.max():.3f} m; of {len(more)} more trials around the highest {above[1]}, "
            f"the best {self.heights.max():.3f} m"
        )


def run(folder: Path, data: Path) -> str:
    """Passive leg, the paper's signal, and the optimiser's; `data` is not used."""
    found, leg = search(), Leg()
    jumps = {"passive": leg.jump(PASSIVE), "paper's signal": leg.jump(PAPERS), "optimised": leg.jump(found.best)}
    checks = {
        "paper's, its own steps": leg.jump(PAPERS, PAPERS_STEP, scheme=BackwardEuler),
        "optimised, half step": leg.jump(found.best, 0.5 * STEP),
    }
    _draw(folder / "leg.png", leg.mesh, jumps, found)
    return f"{table(jumps | checks)}\n{found}"


def search(seed: int = 0) -> Search:
    """Studies of their own seeds, each in a process, then the finalists, then the studies around the highest of them.

    Raises:
        UsageError: optuna is not installed.
    """
    studies = compute_here(_wide_study, range(STUDIES * seed, STUDIES * (seed + 1)), "studies")
    signals, rises = [each for study in studies for each in study[0]], np.concatenate([each[1] for each in studies])
    finalists = np.argsort(-rises, kind="stable")[:FINALISTS]
    tried = [signals[place] for place in finalists]
    heights = np.array(compute_here(_height, tried, "finalists"))
    highest = [tried[place] for place in np.argsort(-heights, kind="stable")[:LAST_STUDIES]]
    last = compute_here(_last_study, list(enumerate(highest)), "last studies")
    tried += [each for study in last for each in study[0]]
    return Search(signals, rises, finalists, tried, np.concatenate([heights, *(each[1] for each in last)]))


def study(
    value: Callable[[Signal], float], trials: int, seed: int, ranges: dict[str, tuple[float, float]] = RANGES
) -> tuple[list[Signal], np.ndarray]:
    """Signals that optuna's tree-structured Parzen estimator tries, the first of them at random, and their values, of
    which it looks for high ones.

    Raises:
        UsageError: optuna is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise UsageError("the leg is optimised by optuna: pip install soft_twin[calibration]") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # what ends a trial is raised: it is no warning
    signals: list[Signal] = []

    def objective(trial: "optuna.Trial") -> float:
        signals.append(Signal(**{name: trial.suggest_float(name, *bounds) for name, bounds in ranges.items()}))
        return value(signals[-1])

    sampler = optuna.samplers.TPESampler(n_startup_trials=STARTUP, n_ei_candidates=CANDIDATES, seed=seed)
    tried = optuna.create_study(direction="maximize", sampler=sampler)
    tried.optimize(objective, n_trials=trials)
    return signals, np.array([trial.value for trial in tried.trials])


def around(signal: Signal) -> dict[str, tuple[float, float]]:
    """The part of Table IV's ranges that is near a signal."""
    near = {}
    for name, (low, high) in RANGES.items():
        value, reach = getattr(signal, name), AROUND * (high - low)
        near[name] = max(low, value - reach), min(high, value + reach)
    return near


def _wide_study(seed: int) -> tuple[list[Signal], np.ndarray]:
    return study(Leg().take_off, TRIALS, seed)


def _last_study(case: tuple[int, Signal]) -> tuple[list[Signal], np.ndarray]:
    seed, signal = case
    return study(Leg().height, LAST_TRIALS, seed, around(signal))


def _height(signal: Signal) -> float:
    return Leg().height(signal)


def table(jumps: dict[str, Jump]) -> str:
    """Against the paper's height."""
    lines = [f"{'':23} {'height [m]':>10} {'penetration [mm]':>17} {'converged':>10} {'time [s]':>9}  signal"]
    for name, each in jumps.items():
        lines.append(
            f"{name:23} {each.trajectory.height:10.3f} {1e3 * each.trajectory.penetration:17.1e} "
            f"{'yes' if each.finished else 'no':>10} {each.seconds:9.1f}  {each.signal}"
        )
    lines.append(f"{'reach':23} {f'> {PAPERS_HEIGHT}':>10} {'≤ 0.1':>17} {'yes':>10}")
    return "\n".join(lines)


def _ramp(before: float, after: float, time: float) -> float:
    """From one activation to another, half-way at time 0."""
    way = after - before
    return before + float(np.clip(0.5 * way + np.sign(way) * RAMP * time, min(way, 0.0), max(way, 0.0)))


def _draw(path: Path, mesh: Mesh, jumps: dict[str, Jump], found: Search) -> None:
    figure = Figure(figsize=(13.0, 7.0), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[1.0, 1.1])
    heights, progress = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    for name, each in jumps.items():
        heights.plot(each.trajectory.times, each.trajectory.lowest, label=f"{name}: {each.trajectory.height:.3f} m")
    heights.axhline(PAPERS_HEIGHT, color="black", linestyle="--", linewidth=0.8, label="paper's height")
    heights.set(xlabel="time [s]", ylabel="lowest vertex [m]")
    heights.legend(fontsize=8)
    progress.plot(np.arange(1, len(found.rises) + 1), found.rises, ".", markersize=4, label="centre of mass, trial")
    finals, more = np.array_split(found.heights, [len(found.finalists)])
    progress.plot(found.finalists + 1, finals, "o", markersize=4, label="lowest vertex, finalist")
    progress.plot(len(found.rises) + np.arange(1, len(more) + 1), more, "o", markersize=4, label="last studies")
    progress.axhline(PAPERS_HEIGHT, color="black", linestyle="--", linewidth=0.8)
    for begin in TRIALS * np.arange(1, STUDIES + 1) + 0.5:
        progress.axvline(begin, color="0.6", linewidth=0.8)
    progress.set(xlabel="trial, one study after the other", ylabel="height [m]")
    progress.legend(fontsize=8)
    _draw_shapes(figure.add_subplot(grid[1, :]), mesh, jumps["optimised"])
    for axes in (heights, progress):
        axes.grid(alpha=0.3)
    write_picture(path, figure, dpi=110)


def _draw_shapes(axes: Axes, mesh: Mesh, jump: Jump) -> None:
    """Side views every 0.1 s, each shifted by 0.5 m: passive parts grey, ventral muscle red, dorsal one blue."""
    muscles = {"ventral": "#d55e00", "dorsal": "#0072b2"}
    every = max(1, round(0.1 / jump.trajectory.times[0]))
    colours = {None: "#bbbbbb", **muscles}
    for place, x in enumerate(jump.shapes[::every]):
        for name, colour in colours.items():
            cells = mesh.cells if name is None else mesh.cells[mesh.volume(name)]
            for face in _near_faces(mesh, cells):
                along = x[face, 0] - x[:, 0].mean() + 0.5 * place
                axes.fill(along, x[face, 2], colour, edgecolor="white", linewidth=0.3)
        axes.text(0.5 * place, -0.08, f"{jump.trajectory.times[place * every]:.2f} s", ha="center", fontsize=7)
    axes.axhline(0.0, color="black", linewidth=1.0)
    axes.axhline(PAPERS_HEIGHT, color="black", linestyle="--", linewidth=0.8)
    axes.set(xticks=[], ylabel="z [m]", aspect="equal", title="optimised; ventral muscle red, dorsal blue")


def _near_faces(mesh: Mesh, cells: np.ndarray) -> np.ndarray:
    """Outer faces of cells towards −y."""
    faces = boundary_faces(Mesh(mesh.nodes, cells, mesh.element))
    return faces[centres_and_normals(mesh, faces)[1][:, 1] < -0.5]
