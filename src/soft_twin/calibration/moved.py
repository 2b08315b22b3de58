"""A robot whose winches hold or move while its tip is tracked, and the twin that does the same: the friction of its
cables is seen here, and only here.

Cables rub where they are taut and slide around bends: their tension falls by exp(−μ θ) there (`CableActuators`).
Winches that hold say next to nothing of μ: they say how long cables are, and the body follows that.
"""

from pathlib import Path

import numpy as np

from soft_twin.calibration.experiments import Experiment
from soft_twin.calibration.release import Release
from soft_twin.calibration.released import tip_of
from soft_twin.errors import ConvergenceError, UsageError
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.robots import load_robot
from soft_twin.robots.base import DrivenRobot, Robot
from soft_twin.solvers.derivatives.parameters import Attribute, Density, Elastic, Parameter
from soft_twin.solvers.time.driven_euler import HALVINGS, DrivenEuler

FRICTION = "cable_friction"  # μ among the parameters
STEP = 1e-2  # of a parameter's logarithm, for differences; their error is of second order in it
MOST_ENDED = 0.01  # of the parts that steps may be taken in: of those that stopped the body before they were solved
TOLERANCE = 1e-6  # of the weight: what steps may leave else, 40 nm of the tip, is 0.3 % of differences by STEP


class Moved(Experiment):
    """A body that begins undeformed, at rest, and is driven by its winches. Its derivatives are differences, two
    simulations a parameter: what has slid in one step rubs in the next ones.

    Args:
        integrator: what moves.
        wound: (t, c) displacements of the winches at the ends of its steps [m].
        gravity: (3,) in base_link [m/s²].
    """

    def __init__(self, integrator: DrivenEuler, wound: np.ndarray, gravity: np.ndarray, markers, measured, parameters):
        super().__init__(integrator.model, markers, measured, parameters)
        integrator.tolerance = TOLERANCE
        self._integrator, self._wound, self._base = integrator, wound, MovingBase(gravity)

    def positions(self) -> np.ndarray:
        self.simulations += 1
        integrator, rest, result = self._integrator, self.model.rest, []
        before = integrator.damped_steps
        integrator.restart(rest, np.zeros_like(rest.points), 0.0)
        integrator.base = self._base
        for wound in self._wound:
            integrator.drive(wound)
            integrator.step()
            result.append(self.markers.at(integrator.pose.points))
        ended = integrator.damped_steps - before
        if ended > MOST_ENDED * len(result) * 2**HALVINGS:
            raise ConvergenceError(
                f"{ended} parts of {len(result)} steps of {integrator.dt:g} s ended before they were solved: winches "
                "move too far in a step, take shorter ones"
            )
        return np.array(result)

    def loss_and_gradient(self, names):
        positions, slopes = self.positions_and_slopes(names)
        loss, by_markers = self._loss(positions)
        return loss, np.einsum("tmi,tmip->p", by_markers, slopes)

    def positions_and_slopes(self, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Markers (t, m, 3) [m] and their derivatives (t, m, 3, p) by the named parameters."""
        slopes = np.zeros((*self.measured.shape, len(names)))
        for place, parameter in zip(*self._named(names), strict=True):
            slopes[..., place] = self._slope(parameter)
        return self.positions(), slopes

    def _slope(self, parameter: Parameter) -> np.ndarray:
        """(t, m, 3)"""
        value, found = parameter.value, []
        try:
            for way in (1.0, -1.0):
                parameter.set(value * (1.0 + way * STEP))
                found.append(self.positions())
        finally:
            parameter.set(value)
        return (found[0] - found[1]) / (2.0 * STEP * value)


def check_cables_alone(robot: Robot) -> DrivenRobot:
    """The robot, if a motion can tell how its cables rub.

    Raises:
        UsageError: something else than cables moves it.
    """
    if not isinstance(robot, DrivenRobot) or not robot.cable_names or robot.actuator_names != robot.cable_names:
        raise UsageError(f"'{robot.name}' is not moved by cables alone: nothing is known of their friction by a motion")
    return robot


def moved_twin(path: Path, release: Release, dt: float) -> Moved:
    """The twin of a description whose winches do as was recorded; parameters as of `released_twin`, and FRICTION.

    Raises:
        RecordingError: its winches were not recorded, or not all the while, or the recorded tip does not begin where
            the twin's does.
        UsageError: the robot is not a body of one material with cables alone.
    """
    robot = check_cables_alone(load_robot(str(path)))
    wound = release.wound_at_steps(dt, robot.cable_names)
    release.check_seen()
    integrator = robot.build_dynamic_twin(dt).dynamics
    materials = {id(part.material): part.material for part in integrator.model.body.parts}
    cables = [part for part in integrator.model.actuators.parts if isinstance(part, CableActuators)]
    if len(materials) != 1 or len(cables) != 1:
        raise UsageError(f"'{robot.name}' is of {len(materials)} materials: a motion does not tell them apart")
    (material,) = materials.values()
    parameters: dict[str, Parameter] = {
        "young_modulus": Elastic(material, "young_modulus"),
        "density": Density(integrator.model, material),
        "mass_damping": Attribute(integrator, "mass_damping"),
        "stiffness_damping": Attribute(integrator, "stiffness_damping"),
        FRICTION: Attribute(cables[0], "friction"),
    }
    tip = tip_of(robot, integrator.model.body, release)
    return Moved(integrator, wound, release.gravity, tip, release.at_steps(dt), parameters)
