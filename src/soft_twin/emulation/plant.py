"""The body of an emulated cable-driven robot: another mesh and other parameters than the twin's, and it moves.

Implicit Euler on M ẍ + α M ẋ + β d/dt (∂W/∂x + Σ T ∂ℓ/∂x) + ∂W/∂x + Σ T ∂ℓ/∂x = f, in the frame of the moving base: f
has gravity less the base's acceleration, and the Euler, centrifugal and Coriolis forces of its rotation. Cables are
elastic and unilateral, T = k (ℓ − ℓ₀ + d)₊ with d wound in by the winch, and rub where they turn: from base to tip the
tension falls by exp(−μ θ s), where θ is the angle turned so far and s in −1…1 says which way the cable last slid
(Dahl's friction state with a presliding length). How a step is solved: see implicit_step.

The body always takes its step. One that is not solved is taken in halves; where even the shortest is not, the body goes
as far as the search came, where its potential is lower, and stops there: that takes energy away and is counted.
"""

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.emulation.implicit_step import Matter, Reached, Step, Tangent, minimise
from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.model import Model
from soft_twin.robots.cable_tube import CableTube
from soft_twin.robots.cable_tube_models import build_cable_tube_body, build_cables
from soft_twin.twins.finite_element import FemTwin

PRESLIDING = 5e-5  # [m] of cable travel that turns the friction around
HALVINGS = 3  # of a step that is not solved


class Plant:
    """See the module's docstring.

    Attributes:
        velocities: (n, 3) of the nodes [m/s].
        tensions: (c,) cable tensions at the winches [N].
        damped_steps: how many steps ended before they were solved.
    """

    def __init__(self, robot: CableTube, mesh: str = "plant"):
        self._mismatch = robot.emulated
        body = build_cable_tube_body(
            robot, mesh, scale_e=self._mismatch.young_modulus_scale, scale_rho=self._mismatch.density_scale
        )
        cables = build_cables(robot, body.mesh)
        drive = CableActuators(cables, robot.cable_stiffness)
        self._statics = FemTwin(Model(body, [Gravity()], actuators=[drive]), robot.body.length)
        damping = robot.body.damping
        self._matter = Matter(
            body,
            cables,
            robot.cable_stiffness,
            damping.rayleigh_mass,
            damping.rayleigh_stiffness,
            body.lumped_masses()[:, None],
        )
        self._tangent = Tangent(self._matter)
        self.damped_steps = 0
        self.stations = np.linspace(0.0, robot.body.length, 11)
        self.settle(np.array([0.0, 0.0, -9.81]))

    def settle(self, gravity: np.ndarray) -> None:
        """Rest under gravity (3,) in base_link [m/s²] with all cables slack, whatever was before."""
        try:
            points = self._statics.equilibrium(gravity).points
        except ConvergenceError:  # no rest is known: it falls into it from the undeformed shape
            points = self._matter.body.mesh.nodes.copy()
        self._place = self._matter.place(points)
        self.velocities = np.zeros_like(points)
        self.tensions = np.zeros(self._matter.cables.count)
        self._slid = np.zeros(self._matter.cables.count)
        self._tangent.forget()

    @property
    def points(self) -> np.ndarray:
        """(n, 3) nodes in base_link [m]."""
        return self._place.points

    @property
    def tip(self) -> np.ndarray:
        """(3,) centre of the end section in base_link [m]."""
        return self._statics.section(self._statics.length, self.points)

    @property
    def tip_direction(self) -> np.ndarray:
        """(3,) unit normal of the end section."""
        self._statics.points = self.points
        return self._statics.section_normal(self._statics.length)

    @property
    def centre_line(self) -> np.ndarray:
        """(11, 3) centres of cross sections at equal distances from base to tip [m]."""
        return np.array([self._statics.section(z, self.points) for z in self.stations])

    @property
    def free_displacements(self) -> np.ndarray:
        """(c,) winch displacements at which each cable is just taut [m]."""
        return self._matter.cables.rest_lengths - self._place.lengths

    @property
    def give(self) -> np.ndarray:
        """(c,) by how much each cable must be let out for its tension to fall, the others' as it is [m/N]."""
        return self._tangent.give

    def energy(self) -> float:
        """Kinetic, elastic, and of the stretched cables [J]."""
        matter = self._matter
        kinetic = 0.5 * float((matter.masses * self.velocities**2).sum())
        return kinetic + self._place.energy + 0.5 / matter.stiffness * float((self.tensions**2).sum())

    def step(
        self,
        dt: float,
        winch_displacements: np.ndarray,
        specific_gravity: np.ndarray,
        angular_velocity: np.ndarray,
        angular_acceleration: np.ndarray,
    ) -> None:
        """Advance by `dt` [s].

        Args:
            dt: time step [s].
            winch_displacements: (c,) cable that each winch has wound in [m].
            specific_gravity: (3,) gravity less the base's acceleration, in base_link [m/s²].
            angular_velocity: (3,) of the base, in base_link [rad/s].
            angular_acceleration: (3,) likewise [rad/s²].

        Raises:
            InputError: not finite or of another size; the body has not moved.
        """
        wound = checked_vector(winch_displacements, self._matter.cables.count, "winch displacements")
        gravity = checked_vector(specific_gravity, 3, "specific gravity")
        rate = checked_vector(angular_velocity, 3, "angular velocity")
        acceleration = checked_vector(angular_acceleration, 3, "angular acceleration")
        self._advance(dt, self._matter.cables.rest_lengths - wound, (gravity, rate, acceleration), HALVINGS)

    def _advance(self, dt: float, taut: np.ndarray, motion: tuple, halvings: int) -> None:
        """A step, or two of half the length where it is not solved; `taut`: (c,) lengths at which cables pull."""
        loads = self._loads(*motion)
        step = Step(self._matter, self._place, self.velocities, self.tensions, dt, loads, taut, self._piece_factors())
        reached = minimise(step, self._tangent)
        if reached.solved:
            self._accept(reached, (reached.place.points - self.points) / dt)
        elif halvings > 0:
            for _ in range(2):
                self._advance(0.5 * dt, taut, motion, halvings - 1)
        else:
            self.damped_steps += 1
            self._accept(reached, np.zeros_like(self.points))

    def _loads(self, gravity: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """Nodal forces (n, 3) of gravity, and of the base's rotation: m (ω̇ × x + ω × (ω × x + 2 v)) [N]."""
        spin = _cross_matrix(rate)
        turned = self.points @ (_cross_matrix(acceleration) + spin @ spin).T + self.velocities @ (2.0 * spin.T)
        return self._matter.body.weight(gravity) - self._matter.masses * turned

    def _piece_factors(self) -> np.ndarray:
        """(s,) tension of each piece of a cable relative to the tension at the winch."""
        cables = self._matter.cables
        return np.exp(-self._mismatch.cable_friction * self._slid[cables.owners] * cables.turning(self.points))

    def _accept(self, reached: Reached, velocities: np.ndarray) -> None:
        """The end of a step becomes the state; the cables have slid by what they have become shorter."""
        slid = self._place.lengths - reached.place.lengths
        self._slid = np.clip(self._slid + slid / PRESLIDING, -1.0, 1.0)
        self._place, self.velocities, self.tensions = reached.place, velocities, reached.tensions


def _cross_matrix(vector: np.ndarray) -> np.ndarray:
    """[v]× (3, 3)."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
