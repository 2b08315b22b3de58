"""The potential of a rod, at rest or in a step of its motion, and its minimum: one Newton's method for both."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.compiled import kernel
from soft_twin.twins.rod import kernels

if TYPE_CHECKING:
    from soft_twin.twins.rod.twin import RodTwin

MAX_ITERATIONS = 100
MOST_HALVINGS = 30
SMALLEST_STRETCH = 0.05  # 1 + ε below which a step is refused
FIRM = 1e-9  # of the stiffness: a curvature less negative than this is round-off
ESCAPE = 0.02  # [rad] that the element which turns most does so when a saddle is left


@dataclass(frozen=True)
class Motion:
    """What a step adds to the potential: Σ `inertia` (e,) |x − `coasted` (e, 3)|²/2 of the elements' middles [kg/s²],
    and the damping `viscosity` (e, 4) of strains that are not those at the `start` (e, 4)."""

    inertia: np.ndarray
    coasted: np.ndarray
    viscosity: np.ndarray
    start: np.ndarray


class Potential:
    """Of a rod under gravity (3,), with cables of given tensions (c,), or wound in so far (c,), NaN for those that are
    not; in motion, or at rest."""

    def __init__(
        self,
        rod: "RodTwin",
        gravity: np.ndarray,
        tensions: np.ndarray,
        wound: np.ndarray,
        motion: Motion | None = None,
    ):
        none = np.zeros_like(rod.strains)
        motion = Motion(none[:, 0], none[:, :3], none, none) if motion is None else motion
        self._rod, self._inertia = rod, motion.inertia
        self._body = (
            rod.element_lengths,
            rod.stiffness,
            np.multiply.outer(rod.masses, gravity),
            rod.tip_force,
            rod.force_scale,
        )
        self._motion = motion.inertia, motion.coasted, motion.viscosity, motion.start
        self._stiffness = rod.stiffness + motion.viscosity
        self._cables = *rod.geometry[1:], rod.rest_lengths, rod.softness, tensions, wound
        self._firmness = np.isfinite(wound) / rod.softness

    def at(self, strains: np.ndarray) -> "Place":
        """What it is at strains (e, 4)."""
        return Place(self, strains, *_evaluate(strains, *self._body, *self._motion, *self._cables))

    def hessian(self, place: "Place") -> np.ndarray:
        """(4 e, 4 e)."""
        rod = self._rod
        hessian = kernels.stiffness_matrix(
            place.strains,
            rod.element_lengths,
            place.motion,
            self._stiffness,
            place.forces,
            rod.tip_force,
            self._inertia,
        )
        kernels.add_cable_stiffness(place.strains, *rod.geometry, place.tensions, self._firmness, hessian)
        return hessian


@dataclass(frozen=True)
class Place:
    """A potential at one place.

    Attributes:
        strains: (e, 4).
        value: [J]; infinite where an element is pressed together.
        gradient: (4 e,) of it by the strains.
        norms: of the forces at work, the unbalanced ones last [N].
        tensions: (c,) of the cables [N].
        forces: (e, 3) of weight and inertia on the elements' middles [N].
        motion: how the rod stands and moves there, see `kernels.motions`.
    """

    potential: Potential
    strains: np.ndarray
    value: float
    gradient: np.ndarray
    norms: np.ndarray
    tensions: np.ndarray
    forces: np.ndarray
    motion: tuple

    @property
    def middles(self) -> np.ndarray:
        """(e, 3) of the elements [m]."""
        return self.motion[2]

    def hessian(self) -> np.ndarray:
        """(4 e, 4 e) of the potential by the strains."""
        return self.potential.hessian(self)


def minimise(start: Place, tolerance: float, round_off: float) -> tuple[Place, int]:
    """The minimum near a place, and the number of iterations.

    `tolerance`: of the forces at work, for the unbalanced ones, besides a `round_off` [N].

    Raises:
        ConvergenceError: none was found.
    """
    place, history = start, []
    while len(history) < MAX_ITERATIONS:
        history.append(float(place.norms[-1]))
        if history[-1] <= tolerance * place.norms[:-1].max() + round_off:
            return place, len(history) - 1
        place = _search(place, kernels.solve_stiffness(place.hessian(), -place.gradient[:, None])[0][:, 0])
    raise ConvergenceError(
        f"the rod's forces do not balance after {MAX_ITERATIONS} iterations: {history[-1]:.2g} N are left",
        tuple(history),
    )


def below_saddle(place: Place, lengths: np.ndarray) -> Place | None:
    """A place beside a saddle, where the potential is lower; None where it is a minimum. `lengths` (e,)."""
    hessian = place.hessian()
    unit = 1.0 / np.sqrt(np.abs(np.diag(hessian)))
    values, vectors = np.linalg.eigh(unit[:, None] * hessian * unit)
    if values[0] >= -FIRM:
        return None
    direction = (unit * vectors[:, 0]).reshape(-1, 4)
    turn = float(np.linalg.norm(lengths[:, None] * direction[:, :3], axis=1).max())
    step = ESCAPE / max(turn, 1e-300) * direction
    return min((place.potential.at(place.strains + way * step) for way in (1.0, -1.0)), key=lambda beside: beside.value)


def _search(place: Place, move: np.ndarray) -> Place:
    """Where as much of a step as lowers the potential leads."""
    slope, fraction = place.gradient @ move, 1.0
    for _ in range(MOST_HALVINGS):
        trial = place.potential.at(place.strains + fraction * move.reshape(-1, 4))
        if trial.value <= place.value + 1e-4 * fraction * slope + 1e-12 * abs(place.value):
            break
        fraction *= 0.5
    return trial


@kernel()
def _evaluate(
    strains,
    lengths,
    stiffness,
    weights,
    tip_force,
    force_scale,
    inertia,
    coasted,
    viscosity,
    start,
    positions,
    passes,
    rest_lengths,
    softness,
    loads,
    wound,
):
    """A Place's value, gradient, norms, tensions, forces and motion at `strains`; the others are a RodTwin's, weights
    (e, 3) [N], a Motion's, and what cables are given: `loads` (c,) [N] or, where it is finite, `wound` (c,) [m]."""
    motion = kernels.motions(strains, lengths)
    _, points, middles, _, _, _ = motion
    parts, push, forces = np.zeros((6, strains.size)), np.empty_like(weights), np.empty_like(weights)
    value = -kernels.dot(tip_force, points[-1])
    for k in range(len(lengths)):
        for a in range(4):
            i, rate = 4 * k + a, strains[k, a] - start[k, a]
            parts[0, i], parts[3, i] = stiffness[k, a] * strains[k, a], viscosity[k, a] * rate
            value += 0.5 * (parts[0, i] * strains[k, a] + parts[3, i] * rate)
        for d in range(3):
            push[k, d] = inertia[k] * (coasted[k, d] - middles[k, d])
            forces[k, d] = weights[k, d] + push[k, d]
            value += 0.5 * push[k, d] * (coasted[k, d] - middles[k, d]) - weights[k, d] * middles[k, d]
    by_weights = kernels.work_gradient(motion, weights, tip_force)
    by_push = kernels.work_gradient(motion, push, np.zeros(3))
    along, pulls = kernels.cable_lengths(strains, lengths, positions, passes)
    tensions = loads.copy()
    for c in range(len(along)):
        if np.isfinite(wound[c]):
            tensions[c] = max((wound[c] - rest_lengths[c] + along[c]) / softness[c], 0.0)
            value += 0.5 * softness[c] * tensions[c] ** 2
        else:
            value += tensions[c] * along[c]
        for i in range(strains.size):
            parts[4, i] += tensions[c] * pulls[c, i]
    for i in range(strains.size):
        parts[1, i], parts[2, i] = -by_weights[i], -by_push[i]
        for p in range(5):
            parts[5, i] += parts[p, i]
    norms = np.zeros(6)
    for p in range(6):
        for a in range(strains.size):
            norms[p] += (force_scale[a] * parts[p, a]) ** 2
    if not strains[:, 3].min() >= SMALLEST_STRETCH - 1.0:
        value = np.inf
    return value, parts[5], np.sqrt(norms), tensions, forces, motion
