"""Dynamics: what the integrators keep, and how fast they converge.

A beam of 20 × 20 × 100 mm (E 0.2 MPa, ν 0.3, 1000 kg/m³, corotational, 4 cells of hex8, undamped, no gravity) is
clamped at its lower end and struck in its first mode, so that its tip swings at 5.7 Hz by 11 mm:

* energy: Crank–Nicolson over 10 s in steps of 1 ms, largest deviation from the energy at the start, which is the peak;
* order: positions after 0.1 s against steps a 16th as long, for both schemes; energy errors over 1 s likewise.

The same beam, free, is thrown with a spin and a strike: momentum and angular momentum. With all its nodes in one rigid
plate it tumbles as Euler's equations say; with its upper end in a plate that swings on the rest, energy over 0.1 s.
Picture: dynamics.png.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import RigidPlate
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Increment, Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.time.integrators import BackwardEuler, CrankNicolson, Integrator
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

SIDE, CELLS = 0.02, 4
YOUNG_MODULUS, POISSON_RATIO, DENSITY = 0.2e6, 0.3, 1000.0
STRIKE = 0.4  # [m/s] of the tip
DURATION, STEP = 10.0, 1e-3
HALVINGS = (4e-3, 2e-3, 1e-3)
SPAN, LATE = 1.0, 0.1  # [s] over which energy errors, after which positions are compared
SPIN, TUMBLE = np.array([1.0, 6.0, 3.0]), np.array([2.0, 1.0, 6.0])  # [rad/s]


@dataclass(frozen=True)
class Energies:
    """Of a swinging beam: times (t,) [s], energy (t,) and its kinetic part (t,) [J]."""

    times: np.ndarray
    total: np.ndarray
    kinetic: np.ndarray

    @property
    def drift(self) -> float:
        """Largest deviation from the start, through the peak, which is at the start."""
        return float(np.abs(self.total / self.total[0] - 1.0).max())


@dataclass(frozen=True)
class Convergence:
    """Errors at steps (k,) [s] and the orders between them (k − 1,)."""

    steps: np.ndarray
    errors: np.ndarray

    @property
    def orders(self) -> np.ndarray:
        return np.diff(np.log(self.errors)) / np.diff(np.log(self.steps))


def run(folder: Path, data: Path) -> str:
    """All of it; `data` is not used."""
    swing = energies(CrankNicolson, STEP, DURATION)
    studies = {
        "energy error, Crank–Nicolson": study(lambda dt: energies(CrankNicolson, dt, SPAN).drift),
        "position error, Crank–Nicolson [mm]": study(lambda dt: position_error(CrankNicolson, dt)),
        "position error, backward Euler [mm]": study(lambda dt: position_error(BackwardEuler, dt)),
        "angular momentum error, Crank–Nicolson": study(lambda dt: momentum_errors(CrankNicolson, dt)[1]),
        "tumbling plate against Euler [°]": study(tumbling_error),
        "energy error, plate on a beam": study(plate_energy_error),
    }
    _draw(folder / "dynamics.png", swing, studies)
    return table(swing, momentum_errors(CrankNicolson, STEP)[0], studies)


def study(error: Callable[[float], float], steps: tuple[float, ...] = HALVINGS) -> Convergence:
    """`error` of each step."""
    return Convergence(np.array(steps), np.array([error(dt) for dt in steps]))


def table(swing: Energies, momentum: float, studies: dict[str, Convergence]) -> str:
    """Against the reach."""
    lines = [
        f"energy drift over {swing.times[-1]:.0f} s at 1 ms: {100.0 * swing.drift:.4f} % of the peak (reach ≤ 1 %)",
        f"momentum of a free body, change over {SPAN:g} s: {momentum:.1e} of it (reach: round-off)",
        "",
        f"{'steps [ms]':40}" + "".join(f"{1e3 * dt:12g}" for dt in HALVINGS) + f"{'orders':>16}",
    ]
    for name, each in studies.items():
        orders = ", ".join(f"{order:.2f}" for order in each.orders)
        lines.append(f"{name:40}" + "".join(f"{error:12.3e}" for error in each.errors) + f"{orders:>16}")
    lines.append("reach: orders 2 of Crank–Nicolson, with plates too, 1 of backward Euler")
    return "\n".join(lines)


def beam(clamped: bool = True, rigid_above: float = np.inf) -> Model:
    """The beam, clamped at z = 0 or free, its nodes above some height [m] in a rigid plate."""
    mesh = voxel_mesh(np.ones((1, 1, CELLS), bool), np.array([SIDE, SIDE, 5.0 * SIDE / CELLS]), "hex8")
    base = mesh.nodes[:, 2] < 1e-9
    material = Material(energy_named("corotational", YOUNG_MODULUS, POISSON_RATIO), DENSITY)
    upper = np.flatnonzero(mesh.nodes[:, 2] > rigid_above)
    plates = [RigidPlate(upper)] if len(upper) else []
    return Model(Body(mesh, material, base if clamped else None), [], plates)


def struck(model: Model) -> np.ndarray:
    """(n, 3) velocities [m/s] in the shape of the first mode, so that steps need not follow faster ones."""
    shape = first_mode(model)[1]
    return STRIKE * shape / np.abs(shape).max()


def first_mode(model: Model) -> tuple[float, np.ndarray]:
    """Angular frequency [rad/s] and shape (n, 3) of the slowest mode of a clamped body."""
    rest = model.rest.points
    free = np.flatnonzero(np.repeat(model.body.place >= 0, 3))
    stiffness = np.array([_forces(model, rest, column)[free] for column in free])
    masses = np.repeat(model.mass.diagonal(), 3)[free]
    squares, shapes = eigh(0.5 * (stiffness + stiffness.T), np.diag(masses))
    shape = np.zeros(rest.size)
    shape[free] = shapes[:, 0]
    return float(np.sqrt(squares[0])), shape.reshape(rest.shape)


def energies(scheme: type[Integrator], dt: float, duration: float) -> Energies:
    """Of the struck beam."""
    model = beam()
    integrator = scheme(model, dt, velocities=struck(model))
    rows = [(0.0, integrator.energy(), integrator.kinetic_energy())]
    for _ in range(round(duration / dt)):
        integrator.step()
        rows.append((integrator.time, integrator.energy(), integrator.kinetic_energy()))
    return Energies(*np.array(rows).T)


def position_error(scheme: type[Integrator], dt: float) -> float:
    """Largest distance [mm] of a node of the struck beam from where it is with a 16th of the smallest step."""
    return 1e3 * float(np.linalg.norm(_late(scheme, dt) - _late(CrankNicolson, HALVINGS[-1] / 16.0), axis=1).max())


def momentum_errors(scheme: type[Integrator], dt: float) -> tuple[float, float]:
    """Largest relative changes of momentum and of angular momentum of the thrown beam, over SPAN."""
    model = beam(clamped=False)
    x, strike = model.body.mesh.nodes, struck(beam())
    velocities = np.array([0.3, 0.2, 0.5]) + np.cross(SPIN, x - x.mean(axis=0)) + strike
    integrator = scheme(model, dt, velocities=velocities)
    before, worst = _momenta(integrator), np.zeros(2)
    for _ in range(round(SPAN / dt)):
        integrator.step()
        pairs = zip(_momenta(integrator), before, strict=True)
        worst = np.maximum(worst, [np.linalg.norm(now - old) / np.linalg.norm(old) for now, old in pairs])
    return float(worst[0]), float(worst[1])


def tumbling_error(dt: float) -> float:
    """Angle [°] between the rigid beam's rotation after SPAN and the one of Euler's equations."""
    model = beam(clamped=False, rigid_above=-1.0)
    x, masses = model.rest.points, model.mass.diagonal()
    arms = x - masses @ x / masses.sum()
    integrator = CrankNicolson(model, dt, velocities=np.cross(TUMBLE, arms))
    integrator.advance(SPAN)
    moments = np.einsum("n,nij->ij", masses, _inertias(arms))
    difference = integrator.pose.rotations[0].T @ euler_rotation(np.diag(moments), TUMBLE, SPAN)
    return float(np.degrees(np.arccos(np.clip(0.5 * (np.trace(difference) - 1.0), -1.0, 1.0))))


def plate_energy_error(dt: float) -> float:
    """Change of energy over LATE, relative, of the struck beam with its upper third in a rigid plate."""
    model = beam(rigid_above=0.7 * 5.0 * SIDE)
    integrator = CrankNicolson(model, dt, velocities=rigid_part(model, struck(beam())))
    before = integrator.energy()
    integrator.advance(LATE)
    return abs(integrator.energy() / before - 1.0)


def rigid_part(model: Model, velocities: np.ndarray) -> np.ndarray:
    """(n, 3) the velocities that a model with plates can have, of the same momentum in all its unknowns."""
    transform = model.unknowns.transform(model.rest)
    masses = np.repeat(model.mass.diagonal(), 3)
    weighed = transform.T.multiply(masses).tocsr()
    unknowns = np.linalg.solve((weighed @ transform).toarray(), weighed @ velocities.ravel())
    return (transform @ unknowns).reshape(velocities.shape)


def euler_rotation(moments: np.ndarray, spin: np.ndarray, duration: float) -> np.ndarray:
    """Rotation (3, 3) of a free rigid body with principal moments (3,) [kg m²] from a spin (3,) [rad/s]."""

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        own, rotation = state[:3], state[3:].reshape(3, 3)
        turning = np.cross(own, np.eye(3)).T
        return np.concatenate([np.cross(moments * own, own) / moments, (rotation @ turning).ravel()])

    start = np.concatenate([spin, np.eye(3).ravel()])
    return solve_ivp(rates, (0.0, duration), start, rtol=1e-11, atol=1e-12).y[3:, -1].reshape(3, 3)


def _forces(model: Model, rest: np.ndarray, coordinate: int) -> np.ndarray:
    """∂(elastic forces)/∂(a coordinate) (3 n,) by central differences."""
    shift = np.zeros(rest.size)
    shift[coordinate] = 1e-7
    forces = [
        model.assemble(_at(rest + sign * shift.reshape(rest.shape)), Increment(), []).elastic for sign in (1.0, -1.0)
    ]
    return ((forces[0] - forces[1]) / 2e-7).ravel()


def _at(points: np.ndarray) -> Pose:
    return Pose(points, np.zeros((0, 3)), np.zeros((0, 3, 3)))


def _inertias(arms: np.ndarray) -> np.ndarray:
    """|r|² I − r rᵀ (n, 3, 3) of arms (n, 3)."""
    return (arms**2).sum(axis=1)[:, None, None] * np.eye(3) - arms[:, :, None] * arms[:, None, :]


@cache
def _late(scheme: type[Integrator], dt: float) -> np.ndarray:
    """(n, 3) of the struck beam after LATE."""
    model = beam()
    integrator = scheme(model, dt, velocities=struck(model))
    integrator.advance(LATE)
    return integrator.pose.points


def _momenta(integrator: Integrator) -> tuple[np.ndarray, np.ndarray]:
    """Momentum [N s] and angular momentum about the origin [N m s], (3,) each."""
    shares = integrator.model.mass @ integrator.velocities
    return shares.sum(axis=0), np.cross(integrator.pose.points, shares).sum(axis=0)


def _draw(path: Path, swing: Energies, studies: dict[str, Convergence]) -> None:
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    course, drift, orders = figure.subplots(1, 3)
    early = swing.times <= 0.5
    course.plot(swing.times[early], 1e3 * swing.kinetic[early], label="kinetic")
    course.plot(swing.times[early], 1e3 * (swing.total - swing.kinetic)[early], label="elastic")
    course.plot(swing.times[early], 1e3 * swing.total[early], color="black", label="sum")
    course.set(xlabel="time [s]", ylabel="energy [mJ]", title="struck beam, first half second")
    course.legend(fontsize=7, loc="center right")
    drift.plot(swing.times, 100.0 * (swing.total / swing.total[0] - 1.0), linewidth=0.6)
    drift.set(xlabel="time [s]", ylabel="deviation of the energy [%]", title="Crank–Nicolson at 1 ms")
    for name, each in studies.items():
        orders.loglog(1e3 * each.steps, each.errors / each.errors[0], "o-", label=f"{name}: {each.orders[-1]:.2f}")
    orders.set(xlabel="step [ms]", ylabel="error / that of the largest step", title="orders")
    steps = next(iter(studies.values())).steps
    orders.set_xticks(1e3 * steps, [f"{1e3 * step:g}" for step in steps])
    orders.set_xticks([], minor=True)
    orders.set_ylim(top=20.0)  # room for the legend above the lines
    orders.legend(fontsize=7, loc="upper left")
    for axes in (course, drift, orders):
        axes.grid(alpha=0.3)
    write_picture(path, figure, dpi=110)
