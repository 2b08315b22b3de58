"""A rod that moves with its base and its winches, as bodies of finite elements do."""

import numpy as np

from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.twins.frames import STATIONS
from soft_twin.twins.moving import MovingBody
from soft_twin.twins.rod.dynamics import RodDynamics
from soft_twin.twins.rod.twin import RodTwin

HALVINGS = 4  # of a step that is not found


class RodDynamicTwin(MovingBody):
    """See the module's docstring, and MovingBody.

    Attributes:
        rod: the twin that moves: its points, strains and surface are those of now.
        stations: (s,) heights of the centre line in the undeformed body, base to tip [m].
        damped_steps: how many steps ended before they were found.
    """

    def __init__(self, rod: RodTwin, dt: float = 0.01, mass_damping: float = 0.0, stiffness_damping: float = 0.0):
        """At rest, upright. `dt`: step [s]; damping α [1/s], β [s].

        Raises:
            InputError: a step or damping that makes no sense.
        """
        self.rod, self.dt, self.damped_steps = rod, dt, 0
        self._dynamics = RodDynamics(rod, dt, mass_damping, stiffness_damping)
        self.stations = np.linspace(0.0, rod.length, STATIONS)
        self.settle(np.array(UPRIGHT_GRAVITY))

    @property
    def actuator_count(self) -> int:
        return self.rod.actuator_count

    def settle(self, gravity: np.ndarray) -> None:
        try:
            self.rod.equilibrium(gravity)
        except ConvergenceError:  # no rest is known: it falls into it from the undeformed shape
            self.rod.reset()
        self._dynamics.rest()

    def straighten(self) -> None:
        self.rod.reset()
        self._dynamics.rest()

    def drive(self, coordinates: np.ndarray, base: MovingBase, dt: float | None = None) -> None:
        self._advance(coordinates, base, self.dt if dt is None else dt, HALVINGS)

    @property
    def points(self) -> np.ndarray:
        """(n, 3) in base_link [m], see RodTwin."""
        return self.rod.points

    @property
    def efforts(self) -> np.ndarray:
        return self.rod.efforts

    @property
    def coordinates(self) -> np.ndarray:
        return self.rod.body_coordinates()

    @property
    def tip(self) -> np.ndarray:
        return self.rod.tip

    @property
    def tip_direction(self) -> np.ndarray:
        return self.rod.section_normal(self.rod.length)

    @property
    def centre_line(self) -> np.ndarray:
        return self.rod.sections(self.stations, self.rod.points)

    def _advance(self, coordinates: np.ndarray, base: MovingBase, dt: float, halvings: int) -> None:
        """A step, or two of half the length where it is not found; where even the shortest is not, it stops there."""
        try:
            self._dynamics.step(base.gravity, coordinates=coordinates, dt=dt, base=base)
        except ConvergenceError:
            if halvings == 0:
                self.damped_steps += 1
                self._dynamics.rest(dt)
                return
            self._advance(coordinates, base, 0.5 * dt, halvings - 1)
            self._advance(coordinates, base, 0.5 * dt, halvings - 1)
