"""Inclinations of a tensegrity's struts and pressures of its cylinders in, the arm's shape out.

Publishes shape (all nodes), twin/tip and solver/status with each update, markers at most at `picture_rate`, and the
struts on /tf at most at `transform_rate`, each with the stamp of the inclinations. Struts without a usable inclination
are freed; struts that seem to be swapped are named in the diagnostics. When pressures stop coming, the last ones are
used, the diagnostics say so, and nothing is calibrated. When readings cannot be used or inclinations stop coming, the
last good shape goes on with confidence 0, and the diagnostics say that it is stale.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from geometry_msgs.msg import PoseStamped
from soft_twin_msgs.msg import Inclinations, Pressures, SolverStatus
from soft_twin_msgs.msg import Shape as ShapeMessage
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError, InputError, UsageError
from soft_twin.robots.links import BASE, Link
from soft_twin.robots.skeleton import build_skeleton
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.twins.tensegrity.calibration import Calibration
from soft_twin.twins.tensegrity.shape import Shape, tip_direction
from soft_twin_ros.conversions import header, pose_message, shape_message, to_pose, to_seconds
from soft_twin_ros.managed_node import ManagedNode, ManagedParameters
from soft_twin_ros.node import ERROR, OK, WARN, Health, run, waiting
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import NEWEST
from soft_twin_ros.robot_frames import RobotFrames
from soft_twin_ros.straight_calibration import StraightCalibration
from soft_twin_ros.tensegrity_markers import tensegrity_markers
from soft_twin_ros.transforms import WORLD

DIAGNOSIS_PERIOD = 1.0  # [s] between two searches for swapped struts


@dataclass(frozen=True)
class Parameters(ManagedParameters):
    """Of this node."""

    estimator: str = parameter("energy", "energy, energy_tip_force or zero_length")
    picture_rate: float = parameter(25.0, "greatest rate of the markers", "Hz", 0.1, 100.0, settable=True)
    transform_rate: float = parameter(50.0, "greatest rate of transforms on /tf", "Hz", 0.1, 200.0, settable=True)
    silent_after: float = parameter(
        0.3, "without inclinations, or pressures, for so long there are none", "s", 0.01, 60.0, settable=True
    )
    highest_tension: float = parameter(100.0, "tension that is drawn red", "N", 1.0, 1e5, settable=True)
    place_in_world: tuple = parameter((0.0, 0.0, 0.0), "where base_link is in the frame world, x, y, z", "m")


class StrutsToShape(ManagedNode):
    """See the module's docstring. Updates run between callbacks, calibrations in a thread."""

    computes = True

    def __init__(self):
        super().__init__("struts_to_shape", Parameters)
        if not isinstance(self.robot, TensegrityArm):
            raise UsageError(f"robot '{self.robot.name}' is no tensegrity: struts_to_shape has nothing to estimate")
        self._arm = self.robot
        self._strut_names = [f"strut_{i}" for i in range(self._arm.structure.strut_count)]
        self._cylinder_names = [f"cylinder_{k}" for k in range(self._arm.model.cylinder_count)]
        self._estimator = self._warmed_up()
        self._pressures = np.full(self._arm.model.cylinder_count, np.nan)
        self._waiting: tuple[float, np.ndarray] | None = None
        self._shape: Shape | None = None
        self._refusal = ""
        self._suspicions: tuple[str, ...] = ()
        self._heard = self._pressures_heard = self._next_picture = self._next_diagnosis = self.steady_now()
        self._shapes = self.offer(ShapeMessage, "shape")
        self._tips = self.offer(PoseStamped, "twin/tip")
        self._statuses = self.offer(SolverStatus, "solver/status")
        self._markers = self.offer(MarkerArray, "markers")
        mount = mounted(self._arm, self.parameters.place_in_world)
        self._frames = RobotFrames(self, build_skeleton(self.robot), [mount])
        self.listen(Inclinations, "struts/inclination", self._take_inclinations, NEWEST)
        self.listen(Pressures, "chambers/state", self._take_pressures, NEWEST)
        self.create_service(Trigger, "reset", self._reset)
        self._calibration = StraightCalibration(self, lambda: self._arm.model, self._adopt_model)

    def health(self) -> Health:
        shape, silence = self._shape, self.steady_now() - self._heard
        if shape is None:
            return waiting(self._refusal or "waiting for inclinations and pressures")
        values = {
            "confidence": float(shape.confidence),
            "residual_N": float(shape.residual),
            "iterations": shape.iterations,
            "freed": ", ".join(map(str, shape.freed)),
        }
        if silence > self.parameters.silent_after:
            return Health(ERROR, "no inclinations: the last shape is stale", values | {"silence_s": silence})
        if shape.stale or self._refusal:
            return Health(ERROR, f"the last good shape is stale: {self._refusal or '; '.join(shape.faults)}", values)
        if not shape.converged:
            return Health(ERROR, f"not converged: {shape.residual:.3g} N left", values)
        faults = (*shape.faults, *self._suspicions)
        return Health(WARN, "; ".join(faults), values) if faults else Health(OK, "estimating", values)

    @property
    def has_work(self) -> bool:
        return self._waiting is not None

    def work(self) -> None:
        """Estimate the shape for the newest inclinations."""
        (stamp, inclinations), self._waiting = self._waiting, None
        start = self.steady_now()
        pressures, told = self._pressures, start - self._pressures_heard <= self.parameters.silent_after
        try:
            shape = self._estimator.update(inclinations, pressures if told else np.full(len(pressures), np.nan))
        except (ConvergenceError, InputError) as error:
            self._refuse(str(error))
            if self._shape is not None:
                self._publish(stamp, replace(self._shape, stale=True, confidence=0.0))
            return
        self._shape, self._refusal = shape, ""
        if told:
            self._calibration.take(inclinations, pressures)
        self._statuses.publish(estimate_message(stamp, self.base_frame, shape, self.steady_now() - start))
        self._publish(stamp, shape)
        if self.steady_now() >= self._next_diagnosis:
            self._next_diagnosis = self.steady_now() + DIAGNOSIS_PERIOD
            self._suspicions = self._diagnosis()
        self._pressures_heard += self.steady_now() - start  # while it computes it cannot hear, and nobody is silent

    def _diagnosis(self) -> tuple[str, ...]:
        try:
            return self._estimator.diagnose()
        except ConvergenceError as error:
            return (str(error),)

    def close(self) -> None:
        self._calibration.close()

    def _warmed_up(self):
        """An estimator whose kernels are compiled before the first reading comes."""
        highest = np.full(self._arm.model.cylinder_count, self._arm.model.laws.pressure_range[1])
        estimator = self._arm.build_estimator(self.parameters.estimator)
        for _ in range(2):
            estimator.update(self._arm.forward(highest).inclinations, highest)
        estimator.reset()
        return estimator

    def rest(self) -> None:
        self._waiting = None

    def _take_inclinations(self, message: Inclinations) -> None:
        if not self.active:
            return
        self._heard = self.steady_now()
        try:
            self._waiting = to_seconds(message.header.stamp), in_order(message.names, message.angles, self._strut_names)
        except InputError as error:
            self._refuse(str(error))

    def _take_pressures(self, message: Pressures) -> None:
        try:
            self._pressures = in_order(message.names, message.pressures, self._cylinder_names)
            self._pressures_heard = self.steady_now()
        except InputError as error:
            self._refuse(str(error))

    def _refuse(self, message: str) -> None:
        self._refusal = message

    def _publish(self, stamp: float, shape: Shape) -> None:
        names = self._arm.structure.node_names
        message = shape_message(stamp, self.base_frame, names, shape.nodes, shape.energy, shape.residual)
        message.confidence = float(shape.confidence)
        self._shapes.publish(message)
        self._tips.publish(pose_message(stamp, self.base_frame, shape.tip(), None, tip_direction(shape)))
        if not shape.stale:
            self._frames.send(stamp, shape.nodes)
        if self.steady_now() >= self._next_picture:
            self._next_picture = self.steady_now() + 1.0 / self.parameters.picture_rate
            members, highest = self._arm.structure.members, self.parameters.highest_tension
            self._markers.publish(
                tensegrity_markers(stamp, self.base_frame, shape.nodes, members, shape.tensions, highest, shape.stale)
            )

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._estimator.reset()
        response.success, response.message = True, "the next update is a cold start"
        return response

    def _adopt_model(self, calibration: Calibration) -> None:
        """Go on by what was calibrated."""
        self._arm = replace(self._arm, model=calibration.model)
        self._estimator = self._arm.build_estimator(self.parameters.estimator)


def mounted(arm: TensegrityArm, place: Sequence[float]) -> Link:
    """Its base in the world at a place (3,) [m], as level as the arm's model has it.

    Raises:
        InputError: no three finite numbers.
    """
    return Link(BASE, WORLD, checked_vector(place, 3, "place_in_world"), arm.model.level)


def in_order(found: Sequence[str], values: Sequence[float], names: list[str]) -> np.ndarray:
    """The values by name in the order of `names`; NaN where a name is missing.

    Raises:
        InputError: another number of values than of names, or an unknown name.
    """
    if len(found) != len(values):
        raise InputError(f"{len(values)} values for {len(found)} names: expected one each")
    unknown = sorted(set(found) - set(names))
    if unknown:
        raise InputError(f"unknown names {', '.join(unknown)}: expected some of {names[0]} … {names[-1]}")
    by_name = dict(zip(found, values, strict=True))
    return np.array([by_name.get(name, np.nan) for name in names])


def estimate_message(stamp: float, frame: str, shape: Shape, duration: float) -> SolverStatus:
    """What an update came to, which has nothing to aim at."""
    return SolverStatus(
        header=header(stamp, frame),
        frame="tip",
        target=to_pose(np.full(3, np.nan), None),
        reached=to_pose(shape.tip(), None, tip_direction(shape)),
        error=math.nan,
        orientation_error=math.nan,
        converged=bool(shape.converged),
        residual=float(shape.residual),
        iterations=int(shape.iterations),
        duration=duration,
    )


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(StrutsToShape)


if __name__ == "__main__":
    sys.exit(main())
