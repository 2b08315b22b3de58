"""The body of an emulated robot: another mesh and other parameters than the twin's, and it moves.

Its dynamics are those of `DynamicTwin`, in the frame of the moving base: winches wind in cable, valves let in air. The
gas in a chamber is a spring: a step of h in which the chamber grows by ΔV ends with less pressure than the valve alone
would have brought it to, by

    Δp = (p + p₀)/V · ΔV · (1 − e^{−r h})/(r h),

p₀ being the air's pressure and r the rate [1/s] at which the valve fills: so much of what the volume takes away the
valve has not brought back by then.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.checks import checked_vector
from soft_twin.emulation.hung_mass import HungMass
from soft_twin.errors import InputError
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import nodes_of
from soft_twin.mechanics.loads.loads import NodalLoad
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mechanics.unknowns import Pose
from soft_twin.robots.base import DrivenRobot
from soft_twin.twins.dynamic import DynamicTwin

AIR = 101325.0  # [Pa]
LEAST_GAS = 0.01 * AIR  # [Pa] that no pump empties a chamber below


@dataclass(frozen=True)
class Plates:
    """How the body's rigid plates lie and move, in base_link.

    Attributes:
        centres: (p, 3) [m].
        rotations: (p, 3, 3) since rest.
        velocities, accelerations: (p, 3) of the centres, relative to the base [m/s], [m/s²].
        rates: (p, 3) of their turning relative to the base [rad/s].
        span: time of the step that brought them there [s].
    """

    centres: np.ndarray
    rotations: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    rates: np.ndarray
    span: float = 0.0

    @classmethod
    def at_rest(cls, pose: Pose) -> "Plates":
        """Those of a pose, at rest."""
        still = np.zeros_like(pose.centres)
        return cls(pose.centres, pose.rotations, still, still, still)

    def moved(self, pose: Pose, dt: float) -> "Plates":
        """After a step of `dt` to a pose."""
        velocities = (pose.centres - self.centres) / dt
        turned = Rotation.from_matrix(pose.rotations @ self.rotations.swapaxes(1, 2)) if len(pose.centres) else None
        rates = np.zeros_like(velocities) if turned is None else turned.as_rotvec() / dt
        return Plates(pose.centres, pose.rotations, velocities, (velocities - self.velocities) / dt, rates, dt)


class Plant(DynamicTwin):
    """See the module's docstring.

    Attributes:
        plates: how its rigid plates lie and move.
        payload: what hangs on the plate at its tip [kg], see `hang`.
    """

    def __init__(self, robot: DrivenRobot, **choices: Any):
        """`choices`: those of the robot's `build_emulated_model`, if there are any."""
        model = robot.build_emulated_model(**choices)
        self.payload, self._hung, self._pulled = 0.0, None, None
        self._carrier = robot.payload_carrier
        self._fill_rate = robot.emulated.fill_rate
        damping = robot.damping.rayleigh_mass, robot.damping.rayleigh_stiffness
        super().__init__(model, robot.build_frames(model.body), robot.emulated.step, *damping)

    def restart(self, pose: Pose) -> None:
        super().restart(pose)
        self.plates = Plates.at_rest(pose)
        if self._hung is not None:
            self._hung = HungMass(self.payload, self._hung.thread, self._middle, self._dynamics.base.gravity)

    def step(self, dt: float, drives: np.ndarray, base: MovingBase) -> None:
        """Advance by `dt` [s]; it is always taken.

        Args:
            dt: time step [s].
            drives: (a,) cable that each winch has wound in [m]; gauge pressure [Pa] that each valve would have brought
                its chamber to, had no volume changed during the step.
            base: how the base moves.

        Raises:
            InputError: not finite or of another size; the body has not moved.
        """
        drives = checked_vector(drives, len(self.model.actuators), "drives")
        coordinates, softness = drives.copy(), self.model.actuators.softness
        if self._are_chambers.any():
            softness = np.where(self._are_chambers, self._gas(drives, dt), softness)
            let_in = softness * drives + self.coordinates
            coordinates = np.where(self._are_chambers, let_in, drives)
        before = None if self._hung is None else self._middle
        self.drive(coordinates, base, dt, softness)
        self.plates = self.plates.moved(self._dynamics.pose, dt)
        if self._hung is not None:
            self._pulled.value = self._shared(self._hung.step(dt, before, self._middle, base))

    def hang(self, payload: float, thread: float = 0.0, swing: float = 0.0) -> None:
        """Put a payload on the plate at the body's tip, in place of the one that is there.

        Args:
            payload: [kg]; 0: it is taken off.
            thread: that it hangs on, at the plate's middle [m]; 0: it is fixed to the plate.
            swing: of one on a thread, how far beside its rest it is let go [rad].

        Raises:
            InputError: the tip is no plate, or values that are negative or not finite.
        """
        if self._carrier is None:
            raise InputError("payload: the frame 'tip' of this robot is no plate: nothing carries it")
        if not (0.0 <= payload < np.inf and 0.0 <= thread < np.inf and np.isfinite(swing)):
            raise InputError(f"payload {payload:g} kg, thread {thread:g} m, swing {swing:g} rad: expected 0 or more")
        fixed = 0.0 if self._hung is not None else self.payload
        self.model.body.attach_mass(self._carrier, (0.0 if thread else payload) - fixed)
        self.model.update_mass()
        self.payload, self._hung = payload, None
        if self._pulled is not None:
            self._pulled.value = np.zeros(3)
        if thread and payload:
            self._hung = HungMass(payload, thread, self._middle, self._dynamics.base.gravity, swing)
            self._pulled = self._pulled or self._load()

    @property
    def _middle(self) -> np.ndarray:
        """(3,) of the plate that carries payloads: where the weight of one that is fixed to it acts."""
        body = self.model.body
        return body.shares(self._carrier) @ self.points[nodes_of(body, self._carrier, "payload")]

    def _shared(self, pull: np.ndarray) -> np.ndarray:
        """(k, 3) of the plate's nodes [N], of a pull (3,) [N] at its middle."""
        return np.multiply.outer(self.model.body.shares(self._carrier), pull)

    def _load(self) -> NodalLoad:
        """A force on the plate, which the model has from now on."""
        load = NodalLoad(self._carrier, np.zeros(3))
        load.attach(self.model.body)
        self.model.forces.append(load)
        return load

    @cached_property
    def _are_chambers(self) -> np.ndarray:
        """(a,) bool."""
        return np.array([unit == "Pa" for unit in self.model.actuators.units])

    @cached_property
    def _rest_volumes(self) -> np.ndarray:
        """(a,) of the chambers in the undeformed body [m³], 1 for cables."""
        volumes = [
            part.rest_volumes if isinstance(part, Chambers) else np.ones(part.count)
            for part in self.model.actuators.parts
        ]
        return np.concatenate(volumes)

    def _gas(self, pressures: np.ndarray, dt: float) -> np.ndarray:
        """(a,) softness of the gas in the chambers over a step of `dt`: −ΔV/Δp of the module's docstring [m³/Pa]."""
        passed = self._fill_rate * dt
        volumes = self._rest_volumes + self.coordinates
        return volumes / np.maximum(pressures + AIR, LEAST_GAS) * passed / -np.expm1(-passed)
