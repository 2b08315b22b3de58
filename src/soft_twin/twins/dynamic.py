"""A body that moves in time with its base and its actuators: the same description as the static twin's.

Steps are backward Euler's with Rayleigh damping α M + β K (`solvers/time/driven_euler.py`), for releases, tuning and
motions. Cables are wound by their winches; a cable that would have to push is slack.
"""

from collections.abc import Mapping

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.contact import Contact
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.driven_euler import STANDING, DrivenEuler
from soft_twin.twins.frames import Frame
from soft_twin.twins.moving_mesh import MovingMesh


class DynamicTwin(MovingMesh):
    """See the module's docstring, and MovingMesh."""

    def __init__(
        self,
        model: Model,
        frames: Mapping[str, Frame],
        dt: float = 0.01,
        mass_damping: float = 0.0,
        stiffness_damping: float = 0.0,
    ):
        """At rest, upright. `dt`: step [s]; damping α [1/s], β [s].

        Raises:
            InputError: a step or damping that makes no sense.
        """
        super().__init__(model, frames, dt)
        self._dynamics = DrivenEuler(model, dt, mass_damping=mass_damping, stiffness_damping=stiffness_damping)
        self.settle(STANDING.gravity)

    def settle(self, gravity: np.ndarray) -> None:
        model = self.model
        model.efforts = np.zeros(len(model.actuators))
        self._dynamics.base = MovingBase(gravity)
        try:
            pose = equilibrium(model).pose
        except ConvergenceError:  # no rest is known: it falls into it from the undeformed shape
            pose = model.rest
        self.restart(pose)

    def straighten(self) -> None:
        self.restart(self.model.rest)

    def restart(self, pose: Pose) -> None:
        """At rest in a pose."""
        self._dynamics.restart(pose, np.zeros_like(pose.points), 0.0)

    def drive(
        self, coordinates: np.ndarray, base: MovingBase, dt: float | None = None, softness: np.ndarray | None = None
    ) -> None:
        """As MovingBody; `softness`: (a,) of the drives, where it is not the actuators' own."""
        self._dynamics.base = base
        self._dynamics.drive(coordinates, softness)
        self._dynamics.step(self.dt if dt is None else dt)

    @property
    def dynamics(self) -> DrivenEuler:
        """What steps it."""
        return self._dynamics

    @property
    def points(self) -> np.ndarray:
        """(n, 3) nodes in base_link [m]."""
        return self._dynamics.pose.points

    @property
    def velocities(self) -> np.ndarray:
        """(n, 3) of the nodes [m/s]."""
        return self._dynamics.velocities

    @property
    def efforts(self) -> np.ndarray:
        return self._dynamics.efforts

    @property
    def compliance(self) -> np.ndarray:
        """(a,) by how much each actuator's coordinate must be let out for its effort to fall, the others' as it is."""
        return self._dynamics.compliance

    @property
    def contact_force(self) -> np.ndarray:
        """(3,) what all obstacles together push the body with, friction included, in base_link [N]."""
        return sum((each.forces(self.points, known) for each, known in self._touching()), np.zeros(3))

    @property
    def contact_pushes(self) -> np.ndarray:
        """(p,) sizes of the normal forces of all obstacles [N], one for each place that touches."""
        return np.concatenate([np.zeros(0), *(each.pushes(self.points, known) for each, known in self._touching())])

    @property
    def contact_load(self) -> float:
        """What all obstacles together push the body with, the sum of the sizes of their normal forces [N]."""
        return float(self.contact_pushes.sum())

    @property
    def damped_steps(self) -> int:
        """How many steps ended before they were solved."""
        return self._dynamics.damped_steps

    @property
    def iterations(self) -> int:
        """How many the last step took; 0 before the first."""
        return 0 if self._dynamics.solved is None else self._dynamics.solved.iterations

    def energy(self) -> float:
        """Kinetic, elastic, and of the stretched cables and the gas [J]."""
        return self._dynamics.energy()

    def _touching(self) -> list[tuple[Contact, dict[int, float]]]:
        """Contacts and their multipliers in the last step."""
        solved = self._dynamics.solved
        pairs = [] if solved is None else zip(self.model.constraints, solved.multipliers, strict=True)
        return [(each, known) for each, known in pairs if isinstance(each, Contact)]
