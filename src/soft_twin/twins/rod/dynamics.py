"""A rod that moves: backward Euler in the strains.

Each element's mass is at its middle. With damping C = α M + β K, K the stiffness of the strains, a step of h from
middles x₀ with velocities v₀ to strains q is the minimum of the incremental potential

    Φ(q) = V(q) + (1 + α h)/(2 h²) Σ m |x(q) − x₀ − h v₀/(1 + α h)|² + β/(2 h) (q − q₀)ᵀ K (q − q₀),

V the potential of body, weight and cables (twin.py), and then v = (x − x₀)/h. That is
M (v − v₀)/h = −∂V/∂x − α M v − β K q̇ in the directions that the strains move the masses in. The inertia of a section's
turning is left out: it is of the order of (radius/length)² of what is kept.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.twins.rod import kernels
from soft_twin.twins.rod.twin import SMALLEST_STRETCH, RodTwin

TOLERANCE = 1e-8  # of the forces at work, for the unbalanced ones
MAX_ITERATIONS = 60
MOST_HALVINGS = 30


class RodDynamics:
    """A rod in motion, from its current state, at rest.

    Attributes:
        rod: the twin that moves: its points, tip, coordinates and surface are those of now.
        dt: step [s].
        velocities: (e, 3) of the elements' middles [m/s].
        time: [s].
    """

    def __init__(self, rod: RodTwin, dt: float = 0.01, mass_damping: float = 0.0, stiffness_damping: float = 0.0):
        """`dt` [s]; damping α [1/s], β [s].

        Raises:
            InputError: a step that is not positive, negative damping, or not finite.
        """
        if not 0.0 < dt < np.inf:
            raise InputError(f"dt: {dt!r} is no time step, expected seconds above 0")
        for value, name in ((mass_damping, "mass_damping"), (stiffness_damping, "stiffness_damping")):
            if not 0.0 <= value < np.inf:
                raise InputError(f"{name}: {value!r}, expected 0 or more")
        self.rod, self.dt, self.time = rod, dt, 0.0
        self.mass_damping, self.stiffness_damping = mass_damping, stiffness_damping
        self.velocities = np.zeros((len(rod.element_lengths), 3))
        self._strain_rates = np.zeros_like(rod.strains)

    def step(
        self,
        gravity: Sequence[float],
        *,
        efforts: Sequence[float] | None = None,
        coordinates: Sequence[float] | None = None,
    ) -> None:
        """Advance by `dt` under gravity (3,) in base_link [m/s²]; less the base's acceleration where that moves.

        Args:
            efforts: (c,) tensions [N] at the end of the step.
            coordinates: (c,) cables pulled in [m]; a cable that would have to push is slack. Neither: no cable pulls.

        Raises:
            InputError: wrong sizes, not finite, a negative tension, or both given.
            ConvergenceError: the step was not found; the rod is as before.
        """
        task = _Step(self, checked_vector(gravity, 3, "gravity"), *self._actuation(efforts, coordinates))
        before = self.rod.state()
        try:
            strains, tensions, middles = task.solve(self._strain_rates)
        except ConvergenceError:
            self.rod.restore(before)
            raise
        self._strain_rates = (strains - before[0]) / self.dt
        self.velocities = (middles - task.middles) / self.dt
        self.time += self.dt
        self.rod.restore((strains, tensions))

    def _actuation(self, efforts, coordinates) -> tuple[np.ndarray, np.ndarray | None]:
        """Given tensions (c,), and displacements (c,) or None."""
        count = self.rod.actuator_count
        if efforts is not None and coordinates is not None:
            raise InputError("step: give efforts or coordinates, not both")
        if coordinates is not None:
            return np.zeros(count), checked_vector(coordinates, count, "coordinates")
        tensions = np.zeros(count) if efforts is None else checked_vector(efforts, count, "efforts")
        if (tensions < 0.0).any():
            raise InputError(f"efforts: {tensions.tolist()} has a negative one, a cable never pushes")
        return tensions, None


class _Step:
    """One step's incremental potential, and its minimum."""

    def __init__(
        self, dynamics: RodDynamics, gravity: np.ndarray, tensions: np.ndarray, displacements: np.ndarray | None
    ):
        self.rod, self.gravity = dynamics.rod, gravity
        self.tensions, self.displacements = tensions, displacements
        h, alpha = dynamics.dt, dynamics.mass_damping
        self.dt, self.start = h, self.rod.strains
        self.inertia = (1.0 + alpha * h) / h**2 * self.rod.masses
        self.viscosity = dynamics.stiffness_damping / h * self.rod.stiffness
        self.middles = _middles(self.start, self.rod.element_lengths)
        self.coasted = self.middles + h / (1.0 + alpha * h) * dynamics.velocities

    def solve(self, strain_rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Strains (e, 4), tensions (c,) and middles (e, 3) at the end, by Newton's method."""
        strains = min((self.start + self.dt * strain_rates, self.start), key=self.potential)
        history = []
        for _ in range(MAX_ITERATIONS):
            gradient, hessian, unbalanced = self.derivatives(strains)
            history.append(unbalanced)
            if unbalanced <= 1.0:
                return strains, self.tensions_at(strains), _middles(strains, self.rod.element_lengths)
            strains = self._search(strains, gradient, kernels.solve_stiffness(hessian, -gradient[:, None])[:, 0])
        raise ConvergenceError(
            f"the rod's step of {self.dt:g} s was not found in {MAX_ITERATIONS} iterations: its forces are "
            f"{history[-1]:.2g} times as far from balance as they should be; take shorter steps",
            tuple(history),
        )

    def potential(self, strains: np.ndarray) -> float:
        """Φ [J]; infinite where an element is pressed together."""
        if strains[:, 3].min() < SMALLEST_STRETCH - 1.0:
            return np.inf
        rod = self.rod
        energy, lengths = _incremental(
            strains, rod.stiffness, rod.masses, self.gravity, rod.tip_force, self.coasted, self.inertia, *rod.geometry
        )
        energy += 0.5 * float((self.viscosity * (strains - self.start) ** 2).sum())
        if self.displacements is None:
            return energy + float(self.tensions @ lengths)
        return energy + 0.5 * float((rod.softness * self._tensions_of(lengths) ** 2).sum())

    def tensions_at(self, strains: np.ndarray) -> np.ndarray:
        """(c,) [N]."""
        if self.displacements is None:
            return self.tensions
        return self._tensions_of(kernels.cable_lengths(strains, *self.rod.geometry)[0])

    def _tensions_of(self, lengths: np.ndarray) -> np.ndarray:
        """(c,) of cables of these lengths (c,) along the body, that are wound in so far [N]."""
        stretch = self.displacements - (self.rod.rest_lengths - lengths)
        return np.maximum(stretch / self.rod.softness, 0.0)

    def derivatives(self, strains: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Gradient (4 e,); Hessian (4 e, 4 e), without what an element's own strains curve its middle's way by; and
        the unbalanced forces over what may be left of them."""
        rod, tensions = self.rod, self.tensions_at(strains)
        rod.strains = strains
        _, pull, hessian, turns, moves = rod.assemble(self.gravity)
        elastic, viscous = (rod.stiffness * strains).ravel(), (self.viscosity * (strains - self.start)).ravel()
        middles, jacobian = _middle_jacobian(strains, rod.element_lengths, turns, moves)
        push = self.inertia[:, None] * (middles - self.coasted)
        inertial = jacobian.T @ push.ravel()
        hessian += np.diag(self.viscosity.ravel()) + (jacobian.T * np.repeat(self.inertia, 3)) @ jacobian
        _add_turning(jacobian, turns, push, hessian)
        cables = rod.add_cables(tensions, hessian, stretching=self.displacements is not None)
        gradient = pull + inertial + viscous + cables
        parts = rod.force_scale * np.array([elastic, pull - elastic, inertial, viscous, cables, gradient])
        *forces, unbalanced = np.sqrt((parts**2).sum(axis=1)).tolist()
        return gradient, hessian, unbalanced / (TOLERANCE * max(forces) + rod.round_off)

    def _search(self, strains: np.ndarray, gradient: np.ndarray, move: np.ndarray) -> np.ndarray:
        """As much of a step as lowers the potential."""
        reference, slope = self.potential(strains), gradient @ move
        fraction = 1.0
        for _ in range(MOST_HALVINGS):
            trial = strains + fraction * move.reshape(-1, 4)
            if self.potential(trial) <= reference + 1e-4 * fraction * slope + 1e-12 * abs(reference):
                break
            fraction *= 0.5
        return trial


@njit(cache=True, nogil=True)
def _middles(strains, lengths):
    """(e, 3) of the elements [m]."""
    frames, points = kernels.nodes(strains, lengths)
    return kernels.middle_points(strains, lengths, frames, points)


@njit(cache=True, nogil=True)
def _incremental(strains, stiffness, masses, gravity, tip_force, coasted, inertia, lengths, cables, passes):
    """Energy of body, weight, tip's force and inertia [J]; lengths (c,) of the cables."""
    frames, points = kernels.nodes(strains, lengths)
    middles = kernels.middle_points(strains, lengths, frames, points)
    energy = 0.5 * (stiffness * strains * strains).sum()
    for k in range(len(masses)):
        for i in range(3):
            away = middles[k, i] - coasted[k, i]
            energy += 0.5 * inertia[k] * away * away - masses[k] * gravity[i] * middles[k, i]
    for i in range(3):
        energy -= tip_force[i] * points[-1, i]
    return energy, kernels.cable_lengths(strains, lengths, cables, passes)[0]


@njit(cache=True, nogil=True)
def _middle_jacobian(strains, lengths, turns, moves):
    """Middles (e, 3), and their derivatives by the strains (3 e, 4 e)."""
    e = len(lengths)
    frames, points = kernels.nodes(strains, lengths)
    middles, jacobian = kernels.middle_points(strains, lengths, frames, points), np.zeros((3 * e, 4 * e))
    for k in range(e):
        jacobian[3 * k : 3 * k + 3, 4 * k : 4 * k + 4] = frames[k] @ kernels.element_moves(strains[k], lengths[k])[1]
        for i in range(k):
            arm = middles[k] - points[i + 1]
            for a in range(4):
                moved = moves[i, a] + kernels.cross(turns[i, a], arm)
                for c in range(3):
                    jacobian[3 * k + c, 4 * i + a] = moved[c]
    return middles, jacobian


@njit(cache=True, nogil=True)
def _add_turning(jacobian, turns, push, hessian):
    """Add what forces `push` (e, 3) on the middles do while earlier elements turn them: push · (turn × ∂middle)."""
    e = len(turns)
    for j in range(e):
        for b in range(4):
            column = 4 * j + b
            across = np.zeros(3)
            for k in range(j, e):
                across += kernels.cross(jacobian[3 * k : 3 * k + 3, column].copy(), push[k])
            for i in range(j):
                for a in range(4):
                    turn = turns[i, a]
                    value = turn[0] * across[0] + turn[1] * across[1] + turn[2] * across[2]
                    hessian[4 * i + a, column] += value
                    hessian[column, 4 * i + a] += value
