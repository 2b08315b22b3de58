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
from soft_twin.mechanics.sections import section_normal, section_weights
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.driven_euler import STANDING, DrivenEuler
from soft_twin.twins.frames import Frame, NodesFrame

STATIONS = 11


class DynamicTwin:
    """See the module's docstring. Arrays of actuators are in the robot's order: cables first, chambers behind them.

    Attributes:
        model: its mechanics.
        frames: named places of the body; one is "tip".
        stations: (s,) heights of the cross sections of the centre line in the undeformed body, base to tip [m].
    """

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
        self.model, self.frames, self.dt = model, frames, dt
        self._dynamics = DrivenEuler(model, dt, mass_damping=mass_damping, stiffness_damping=stiffness_damping)
        (*_, low), (*_, high) = model.body.mesh.bounds
        self.stations = np.linspace(low, high, STATIONS)
        self._sections: dict[float, np.ndarray] = {}
        self._around_tip: np.ndarray | None = None
        self.settle(STANDING.gravity)

    def settle(self, gravity: np.ndarray) -> None:
        """Rest under gravity (3,) in base_link [m/s²] with no actuator doing anything, whatever was before."""
        model = self.model
        model.efforts = np.zeros(len(model.actuators))
        self._dynamics.base = MovingBase(gravity)
        try:
            pose = equilibrium(model).pose
        except ConvergenceError:  # no rest is known: it falls into it from the undeformed shape
            pose = model.rest
        self.restart(pose)

    def straighten(self) -> None:
        """As a hand that holds it: undeformed, at rest."""
        self.restart(self.model.rest)

    def restart(self, pose: Pose) -> None:
        """At rest in a pose."""
        self._dynamics.restart(pose, np.zeros_like(pose.points), 0.0)

    def drive(
        self, coordinates: np.ndarray, base: MovingBase, dt: float | None = None, softness: np.ndarray | None = None
    ) -> None:
        """Advance by `dt` [s], or its own step; it is always taken.

        Args:
            coordinates: (a,) of the actuators at the end of the step: cable that each winch has wound in [m].
            base: how the base moves.
            dt: step [s].
            softness: (a,) of the drives, where it is not the actuators' own.

        Raises:
            InputError: not finite or of another size.
        """
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
        """(a,) cable tensions at the winches [N], gauge pressures of the chambers [Pa]."""
        return self._dynamics.efforts

    @property
    def coordinates(self) -> np.ndarray:
        """(a,) at which each actuator is without effort: winch displacements [m]; what the volumes have grown [m³]."""
        return self.model.actuators.coordinates(self.points)

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
    def damped_steps(self) -> int:
        """How many steps ended before they were solved."""
        return self._dynamics.damped_steps

    @property
    def iterations(self) -> int:
        """How many the last step took; 0 before the first."""
        return 0 if self._dynamics.solved is None else self._dynamics.solved.iterations

    @property
    def tip(self) -> np.ndarray:
        """(3,) where the frame "tip" is in base_link [m]."""
        return self.frames["tip"].position(self)

    @property
    def tip_direction(self) -> np.ndarray:
        """(3,) axis of the frame "tip": the normal of the end section, or of what is around a point; +z undeformed."""
        frame, mesh = self.frames["tip"], self.model.body.mesh
        if isinstance(frame, NodesFrame):
            return frame.rotation(self)[:, 2].copy()
        if self._around_tip is None:
            self._around_tip = frame.around(mesh)
        return section_normal(mesh, self.points, self._around_tip)

    @property
    def centre_line(self) -> np.ndarray:
        """(s, 3) centres of cross sections at equal distances from base to tip [m]."""
        return np.array([self.section(z, self.points) for z in self.stations])

    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        """The value of a nodal field (n, 3) at the centre of the cross section at z [m]: (3,)."""
        return self._weights(z) @ field

    def energy(self) -> float:
        """Kinetic, elastic, and of the stretched cables and the gas [J]."""
        return self._dynamics.energy()

    def _touching(self) -> list[tuple[Contact, dict[int, float]]]:
        """Contacts and their multipliers in the last step."""
        solved = self._dynamics.solved
        pairs = [] if solved is None else zip(self.model.constraints, solved.multipliers, strict=True)
        return [(each, known) for each, known in pairs if isinstance(each, Contact)]

    def _weights(self, z: float) -> np.ndarray:
        """(n,) of the section at z [m]."""
        if z not in self._sections:
            self._sections[z] = section_weights(self.model.body.mesh, z)
        return self._sections[z]
