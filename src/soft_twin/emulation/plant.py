"""The body of an emulated robot: another mesh and other parameters than the twin's, and it moves.

Its dynamics are those of `DrivenEuler`, in the frame of the moving base: winches wind in cable, valves let in air. The
gas in a chamber is a spring: a step of h in which the chamber grows by ΔV ends with less pressure than the valve alone
would have brought it to, by

    Δp = (p + p₀)/V · ΔV · (1 − e^{−r h})/(r h),

p₀ being the air's pressure and r the rate [1/s] at which the valve fills: so much of what the volume takes away the
valve has not brought back by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mechanics.sections import section_normal, section_weights
from soft_twin.mechanics.unknowns import Pose
from soft_twin.robots.base import DrivenRobot
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.driven_euler import DrivenEuler
from soft_twin.twins.frames import Frame, NodesFrame

AIR = 101325.0  # [Pa]
PERIOD = 0.02  # [s]
STATIONS = 11
UPRIGHT = MovingBase(np.array([0.0, 0.0, -9.81]))


@dataclass(frozen=True)
class Plates:
    """How the body's rigid plates lie and move, in base_link.

    Attributes:
        centres: (p, 3) [m].
        rotations: (p, 3, 3) since rest.
        velocities, accelerations: (p, 3) of the centres, relative to the base [m/s], [m/s²].
        rates: (p, 3) of their turning relative to the base [rad/s].
    """

    centres: np.ndarray
    rotations: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    rates: np.ndarray

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
        return Plates(pose.centres, pose.rotations, velocities, (velocities - self.velocities) / dt, rates)


class Plant:
    """See the module's docstring. Arrays of actuators are in the robot's order: cables first, chambers behind them.

    Attributes:
        model: its mechanics.
        frames: named places of the body; one is "tip".
        plates: how its rigid plates lie and move.
        stations: (s,) heights of the cross sections of the centre line in the undeformed body, base to tip [m].
    """

    frames: Mapping[str, Frame]

    def __init__(self, robot: DrivenRobot, **choices: Any):
        """`choices`: those of the robot's `build_emulated_model`, if there are any."""
        self.model = robot.build_emulated_model(**choices)
        self.frames, self._fill_rate = robot.build_frames(self.model.body), robot.emulated.fill_rate
        alpha, beta = robot.damping.rayleigh_mass, robot.damping.rayleigh_stiffness
        self._dynamics = DrivenEuler(self.model, PERIOD, mass_damping=alpha, stiffness_damping=beta)
        heights = self.model.body.mesh.nodes[:, 2]
        self.stations = np.linspace(heights.min(), heights.max(), STATIONS)
        self._sections: dict[float, np.ndarray] = {}
        self.settle(UPRIGHT.gravity)

    def settle(self, gravity: np.ndarray) -> None:
        """Rest under gravity (3,) in base_link [m/s²] with no actuator doing anything, whatever was before."""
        dynamics, model = self._dynamics, self.model
        model.efforts = np.zeros(len(model.actuators))
        dynamics.base = MovingBase(gravity)
        try:
            pose = equilibrium(model).pose
        except ConvergenceError:  # no rest is known: it falls into it from the undeformed shape
            pose = model.rest
        dynamics.restart(pose, np.zeros_like(pose.points), 0.0)
        self.plates = Plates.at_rest(pose)

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
        """(3,) axis of the frame "tip": the normal of the end section, +z undeformed."""
        frame = self.frames["tip"]
        if isinstance(frame, NodesFrame):
            return frame.rotation(self)[:, 2].copy()
        return section_normal(self.model.body.mesh, self.points, np.flatnonzero(self._weights(frame.z)))

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
        self._dynamics.base = base
        self._dynamics.drive(coordinates, softness)
        self._dynamics.step(dt)
        self.plates = self.plates.moved(self._dynamics.pose, dt)

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
        return volumes / (np.maximum(pressures, 0.0) + AIR) * passed / -np.expm1(-passed)

    def _weights(self, z: float) -> np.ndarray:
        """(n,) of the section at z [m]."""
        if z not in self._sections:
            self._sections[z] = section_weights(self.model.body.mesh, z)
        return self._sections[z]
