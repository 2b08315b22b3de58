"""Backward Euler of a model in a moving base whose actuators are driven by their coordinates: an emulated body.

The damping of the stiffness acts on the body's elastic forces and on how its actuators turn, with the nodal forces

    −β (d/dt ∂W/∂x − Ġᵀ e'),    e' + β ė' = e,

G = ∂c/∂x being the actuators' gradients: taut cables that press a body together take away as much of its stiffness as
they bring by being taut, and damping by the body's share alone drives it where it should hold it. Changes of efforts
are not damped: what a cable is stretched by, its drive's softness answers at once. The tension e' that counts is the
one that the body's elastic stress has grown by: a cable that is let go is slack at once, while the body that it pressed
together is so until its damping lets it grow. What carries the rest of e is damping, whose stress stiffens the body as
any other, so that e − e' leaves its stiffness alone: it pulls the way that G was at a step's start. Inertial forces of
the base's rotation are those at a step's start, too.

A step is always taken. One that is not solved is taken in halves, while iterations are left to it; where even the
shortest is not, the body goes as far as the search came, where its potential is lower, and stops there: that takes
energy away and is counted. Where the search would not have ended, it stays.
"""

from dataclasses import replace

import numpy as np

from soft_twin.checks import check_positive, checked_vector
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import InputError
from soft_twin.mechanics.model import Increment, Model
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.driven import (
    MAX_ITERATIONS,
    TOLERANCE,
    Drive,
    Place,
    Potential,
    Reached,
    Tangent,
    minimise_driven,
)
from soft_twin.solvers.equilibrium import Solved
from soft_twin.solvers.time.integrators import BackwardEuler

HALVINGS = 3  # of a step that is not solved
ITERATIONS, FEWEST = 150, 2  # in a step and its parts, and in each of these
STANDING = MovingBase(np.array(UPRIGHT_GRAVITY))


class DrivenEuler(BackwardEuler):
    """See the module's docstring.

    Attributes:
        efforts: (a,) of the actuators.
        damped_steps: how many steps ended before they were solved.
        tolerance: of the body's weight on earth, of the forces that a solved step leaves; may be set between steps.
    """

    differentiable = False  # its drives and its base are not in what derivatives know

    def __init__(self, model: Model, dt: float, **options):
        """`options`: those of the other integrators.

        Raises:
            InputError: the model has not one Gravity among its forces, or actuators that nothing can drive.
        """
        self._gravity = model.gravity
        self.damped_steps, self._tangent, self.tolerance = 0, Tangent(model), TOLERANCE
        self._softness = model.actuators.softness
        self._wound, self._iterations_left = np.zeros(len(model.actuators)), ITERATIONS
        super().__init__(model, dt, **options)
        self.base, self.efforts = STANDING, np.zeros(len(model.actuators))
        self._elastic_efforts = np.zeros(len(model.actuators))  # those that elastic stress balances
        self._change = np.zeros_like(self.velocities)  # of them, in the last step [m/s²]

    @property
    def base(self) -> MovingBase:
        """How the base moves; may be set between steps."""
        return self._base

    @base.setter
    def base(self, base: MovingBase) -> None:
        self._base, self._gravity.vector = base, base.gravity

    def restart(self, pose: Pose, velocities: np.ndarray, time: float) -> None:
        self._change = np.zeros_like(velocities)
        self.model.actuators.forget()
        self.efforts, self._elastic_efforts = np.zeros_like(self.efforts), np.zeros_like(self.efforts)
        self._tangent.forget()
        super().restart(pose, velocities, time)

    @property
    def compliance(self) -> np.ndarray:
        """(a,) by how much each actuator's coordinate must be let out for its effort to fall, the others' as it is."""
        return self._tangent.compliance

    def drive(self, coordinates: np.ndarray, softness: np.ndarray | None = None) -> None:
        """Drive the actuators to coordinates (a,), with a `softness` (a,) or their own, from now on.

        Raises:
            InputError: not finite, of another size, or a softness that is not positive.
        """
        count = len(self.model.actuators)
        wound = checked_vector(coordinates, count, "coordinates")
        softness = self.model.actuators.softness if softness is None else checked_vector(softness, count, "softness")
        if not (softness > 0.0).all():
            raise InputError(f"softness of the drives: {softness.tolist()} is not positive")
        self._wound, self._softness = wound, softness

    def step(self, dt: float | None = None) -> Solved:
        """Advance by one step, of `dt` or the integrator's own, whatever happens; see the module's docstring.

        Raises:
            InputError: a step that is not positive.
        """
        dt = self.dt if dt is None else dt
        check_positive(dt, "time step", "s")
        self._iterations_left = ITERATIONS
        return self._advance(dt, HALVINGS)

    def energy(self) -> float:
        """Kinetic, elastic, and of the stretched actuators [J]."""
        driven = 0.5 * float((self._softness * self.efforts**2).sum())
        return self.kinetic_energy() + self._place.assembled.energy + driven

    def increment(self, dt: float) -> Increment:
        return self._increment(dt, self.model.actuators.gradients(self.pose.points))

    def _increment(self, dt: float, gradients: np.ndarray) -> Increment:
        """Of a step from now with the actuators' gradients (n, 3, a)."""
        plain = super().increment(dt)
        linear = plain.linear - gradients @ self._stiffening(dt)
        return replace(
            plain, linear=linear + self.base.inertial_forces(self.model.mass, self.pose.points, self.velocities)
        )

    def _stiffening(self, dt: float) -> np.ndarray:
        """(a,) efforts whose loads stiffen a step beside those of the drives, and do nothing where it starts."""
        return self.stiffness_damping / dt * self._elastic_efforts + self._elastic_efforts - self.efforts

    def _coasted(self, dt: float) -> Pose:
        """Where the nodes would be if their velocities went on to change as in the last step, as what turns does."""
        coasted = super()._coasted(dt)
        return coasted if coasted is self.pose else replace(coasted, points=coasted.points + dt**2 * self._change)

    def _advance(self, dt: float, halvings: int) -> Solved:
        """A step, or two of half the length where it is not solved."""
        self.model.begin(self.pose.points)
        start = replace(self._place, actuators=self.model.actuators.at(self.pose.points))
        drive = Drive(self._wound, self._softness, self.efforts)
        increment = self._increment(dt, start.actuators.gradients)
        potential = Potential(self.model, increment, drive, self._stiffening(dt), self.tolerance)
        pushing = self.model.idle if self._multipliers is None else self._multipliers
        iterations = max(FEWEST, min(MAX_ITERATIONS, self._iterations_left))
        reached = minimise_driven(potential, self._tangent, start, self._coasted(dt), pushing, iterations)
        self._iterations_left -= len(reached.history)
        if reached.solved or halvings == 0 or self._iterations_left <= 0:
            return self._accept(reached, dt)
        self._advance(0.5 * dt, halvings - 1)
        return self._advance(0.5 * dt, halvings - 1)

    def _accept(self, reached: Reached, dt: float) -> Solved:
        place = reached.place
        self.damped_steps += not reached.solved
        before, velocities = self.velocities, self.velocities_after(place.pose.points, dt)
        self.velocities = velocities if reached.solved else np.zeros_like(velocities)
        self._change = (self.velocities - before) / dt
        self.pose, self.efforts, self._place, self.time = place.pose, reached.pushes.efforts, place, self.time + dt
        self._elastic, self._loads = place.assembled.elastic, place.assembled.loads
        self._elastic_efforts += (self.efforts - self._elastic_efforts) * dt / (dt + self.stiffness_damping)
        self._multipliers = reached.pushes.multipliers
        self.model.accept()
        count, shift = len(reached.history) - 1, self.model.unknowns.matrix.shift
        self.solved = Solved(
            place.pose, self._multipliers, reached.history[-1], reached.history, count, place.assembled, shift
        )
        return self.solved

    def _note_forces(self) -> None:
        assembled = self._at(self.pose)
        self._elastic, self._loads = assembled.elastic, assembled.loads
        self._place = Place(self.pose, assembled, self.model.actuators.at(self.pose.points))
