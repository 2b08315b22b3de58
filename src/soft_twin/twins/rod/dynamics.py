"""A rod that moves: backward Euler in the strains.

Each element's mass is at its middle. With damping C = α M + β K, K the stiffness of the strains, a step of h from
middles x₀ with velocities v₀ to strains q is the minimum of the incremental potential

    Φ(q) = V(q) + (1 + α h)/(2 h²) Σ m |x(q) − x₀ − h v₀/(1 + α h)|² + β/(2 h) (q − q₀)ᵀ K (q − q₀),

V the potential of body, weight and cables (twin.py), and then v = (x − x₀)/h. That is
M (v − v₀)/h = −∂V/∂x − α M v − β K q̇ in the directions that the strains move the masses in. The inertia of a section's
turning is left out: it is of the order of (radius/length)² of what is kept. Inertial forces of a base that turns, F on
the middles, are those at a step's start: they shift x₀ + h v₀/(1 + α h) by h² F/((1 + α h) m).
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import diags

from soft_twin.checks import check_positive, checked_vector
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.twins.rod.minimum import Motion, Potential, minimise
from soft_twin.twins.rod.twin import RodTwin

STEP_TOLERANCE = 1e-8  # of the forces at work, for the unbalanced ones


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
        check_positive(dt, "time step", "s")
        for value, name in ((mass_damping, "mass_damping"), (stiffness_damping, "stiffness_damping")):
            if not 0.0 <= value < np.inf:
                raise InputError(f"{name}: {value!r}, expected 0 or more")
        self.rod, self.dt, self.time = rod, dt, 0.0
        self.mass_damping, self.stiffness_damping = mass_damping, stiffness_damping
        self._diagonal = diags(rod.masses).tocsr()
        self.rest()

    def rest(self, later: float = 0.0) -> None:
        """Stand still where it is, `later` [s] than now."""
        self.velocities = np.zeros((len(self.rod.element_lengths), 3))
        self._strain_rates = np.zeros_like(self.rod.strains)
        self.time += later

    def step(
        self,
        gravity: Sequence[float],
        *,
        efforts: Sequence[float] | None = None,
        coordinates: Sequence[float] | None = None,
        dt: float | None = None,
        base: MovingBase | None = None,
    ) -> None:
        """Advance by a step under gravity (3,) in base_link [m/s²]; less the base's acceleration where that moves.

        Args:
            efforts: (c,) tensions [N] at the end of the step.
            coordinates: (c,) cables pulled in [m]; a cable that would have to push is slack. Neither: no cable pulls.
            dt: of the step [s], where it is not its own.
            base: how it turns, where it does.

        Raises:
            InputError: wrong sizes, not finite, a negative tension, both given, or a step that is not positive.
            ConvergenceError: the step was not found; the rod is as before.
        """
        gravity = checked_vector(gravity, 3, "gravity")
        dt = self.dt if dt is None else dt
        check_positive(dt, "time step", "s")
        motion = self._motion(dt, base)
        potential = Potential(self.rod, gravity, *self._actuation(efforts, coordinates), motion)
        start = self.rod.strains
        guess = min(
            (potential.at(strains) for strains in (start + dt * self._strain_rates, start)), key=lambda at: at.value
        )
        try:
            place = minimise(guess, STEP_TOLERANCE, self.rod.round_off)[0]
        except ConvergenceError as error:
            raise ConvergenceError(f"a step of {dt:g} s: {error}; take shorter steps", error.history) from error
        self._strain_rates = (place.strains - start) / dt
        self.velocities = (place.middles - self.rod.middles) / dt
        self.time += dt
        self.rod.restore((place.strains, place.tensions))

    def _motion(self, h: float, base: MovingBase | None = None) -> Motion:
        """What inertia and damping add to the potential of the next step, of h [s]."""
        alpha, rod = self.mass_damping, self.rod
        middles = rod.middles
        coasted = middles + h / (1.0 + alpha * h) * self.velocities
        if base is not None:
            forces = base.inertial_forces(self._diagonal, middles, self.velocities)
            coasted += h**2 / (1.0 + alpha * h) * forces / rod.masses[:, None]
        inertia = (1.0 + alpha * h) / h**2 * rod.masses
        return Motion(inertia, coasted, self.stiffness_damping / h * rod.stiffness, rod.strains)

    def _actuation(self, efforts, coordinates) -> tuple[np.ndarray, np.ndarray]:
        """Given tensions (c,), and displacements (c,), NaN for none."""
        count = self.rod.actuator_count
        if efforts is not None and coordinates is not None:
            raise InputError("step: give efforts or coordinates, not both")
        if coordinates is not None:
            return np.zeros(count), checked_vector(coordinates, count, "coordinates")
        tensions = np.zeros(count) if efforts is None else checked_vector(efforts, count, "efforts")
        if (tensions < 0.0).any():
            raise InputError(f"efforts: {tensions.tolist()} has a negative one, a cable never pushes")
        return tensions, np.full(count, np.nan)
