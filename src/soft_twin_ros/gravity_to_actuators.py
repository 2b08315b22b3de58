"""Gravity in, what cables and chambers shall do out: the twin, solved backwards for the target, once for each newest
sample.

Publishes cables/command and chambers/command, as the robot has them, while compensating; twin/tip and solver/status
with each solve; shape, body and twin/target, the pose that is aimed at, at most at `picture_rate`, the robot's links on
/tf at most at `transform_rate`. Every message has the stamp of the gravity sample, which is that of the IMU sample
behind it. A sample that is older than the last or not usable is refused; without samples the node is silent and the
drivers' watchdogs act. A solve without an equilibrium holds the last safe command and says so. With `lead` or
`acceleration_smoothing` gravity is looked ahead by what `imu/data` says, see sensing.gravity_ahead; while that is
silent, gravity is as measured. With `tip_feedback` a sensor's tip/pose takes off the target what the twin does not
know, see inverse.tip_feedback.
"""

import sys
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState
from soft_twin_msgs.msg import Pressures, Shape, SolverStatus
from soft_twin_msgs.srv import SetTarget, SolveIk
from std_msgs.msg import Empty
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker

from soft_twin.compiling import compiled_by_one
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError, InputError, SoftTwinError, UsageError
from soft_twin.inverse.controller import Tick
from soft_twin.inverse.inverse import STAY
from soft_twin.inverse.targets import PoseTarget, Target
from soft_twin.inverse.tip_feedback import SAFE_BANDWIDTHS as TIP_BANDWIDTHS
from soft_twin.inverse.tip_feedback import TipFeedbackParameters
from soft_twin.robots.base import DrivenRobot
from soft_twin.robots.skeleton import build_skeleton
from soft_twin.sensing.gravity_ahead import LONGEST_LEAD, ahead_of
from soft_twin.twins.base import Twin
from soft_twin_ros.background import Background
from soft_twin_ros.body_marker import BodyMarker
from soft_twin_ros.calibration_actions import CalibrationActions
from soft_twin_ros.conversions import (
    is_frame,
    joint_state,
    pose_message,
    pressures_message,
    shape_message,
    status_message,
    target_message,
    target_pose,
    to_array,
    to_seconds,
)
from soft_twin_ros.gravity_samples import GravitySamples
from soft_twin_ros.inverse_service import InverseService
from soft_twin_ros.managed_node import ManagedNode, ManagedParameters
from soft_twin_ros.motion_actions import MotionActions
from soft_twin_ros.node import ERROR, OK, WARN, Health, run, waiting
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import COMMAND, NEWEST
from soft_twin_ros.robot_frames import RobotFrames
from soft_twin_ros.tip_sensor import TipSensor

UPRIGHT = np.array(UPRIGHT_GRAVITY)  # gravity [m/s^2] of a robot that stands
TWINS = ("fem", "sofa")
TIP = TipFeedbackParameters()
BEGINS_ANEW = 2.0  # [s] that gravity may be away after its filter was reset
OVERTAKEN = "another target has taken its place"  # what a motion is told that ends so


@dataclass(frozen=True)
class Parameters(ManagedParameters):
    """Of this node."""

    twin: str = parameter("fem", "whose mechanics are inverted: fem, or sofa in a process of its own")
    compensate: bool = parameter(True, "hold the target; false: only follow the body, actuators free", settable=True)
    reuse: bool = parameter(False, "keep a factorisation for several solves while the body moves slowly", settable=True)
    stay: float = parameter(
        STAY, "weight of staying near the last efforts: more is calmer and slower", "", STAY, 0.3, settable=True
    )
    lead: float = parameter(
        0.0, "gravity is looked ahead so long by the rates on imu/data", "s", 0.0, LONGEST_LEAD, settable=True
    )
    acceleration_smoothing: float = parameter(
        0.0, "of the base's acceleration, which gravity is less by; 0: it is left out", "s", 0.0, 10.0, settable=True
    )
    tip_feedback: bool = parameter(False, "follow the tip sensor of tip/pose", settable=True)
    tip_bandwidth: float = parameter(TIP.bandwidth, "of the tip sensor's loop", "rad/s", *TIP_BANDWIDTHS, settable=True)
    solve_time_limit: float = parameter(
        5.0, "longest search of a call of solve_ik for a place that is nearer", "s", 0.1, 600.0, settable=True
    )
    picture_rate: float = parameter(25.0, "greatest rate of shape, body and target", "Hz", 0.1, 100.0, settable=True)
    transform_rate: float = parameter(50.0, "greatest rate of transforms on /tf", "Hz", 0.1, 200.0, settable=True)
    stale_after: float = parameter(0.5, "a gravity sample older than this is refused", "s", 0.01, 10.0, settable=True)
    silent_after: float = parameter(
        0.3, "without a gravity sample for so long there is none", "s", 0.01, 60.0, settable=True
    )


class GravityToActuators(ManagedNode):
    """See the module's docstring. The solve runs between callbacks, one-shot solves of `solve_ik` in a thread."""

    computes = True
    NAME = "gravity_to_actuators"

    def __init__(self):
        super().__init__(self.NAME, Parameters)
        if not isinstance(self.robot, DrivenRobot):
            raise UsageError(f"robot '{self.robot.name}' has no cables and no chambers: {self.NAME} drives nothing")
        with compiled_by_one("mechanics"):
            self._controller = self.robot.build_controller(self._build_twin(), self.parameters.reuse)
            self._warm_up()
        self._controller.inverse.stay = self.parameters.stay
        self._ahead = ahead_of(self.parameters.lead, self.parameters.acceleration_smoothing)
        self._controller.enable(self.parameters.compensate)
        self._marker = BodyMarker(self.base_frame, self._controller.surface)
        self._stations = [f"{1e3 * z:g}_mm" for z in self._controller.stations]
        self._gravity = GravitySamples(self, "gravity", self.base_frame)
        self._gravity_reset = -np.inf
        self._next_picture = self.steady_now()
        self._lost = ""
        self._refused: tuple[Target | None, str] = None, ""  # what was held when a target was refused, and why it was
        self._targets_refused = 0
        self._tick: Tick | None = None
        self._sensor = TipSensor(self, self._controller, self.base_frame)
        self._sensor.tune(self.parameters.tip_bandwidth)
        self._background = Background(self, "solve_ik")
        self._ik = InverseService(self.robot, self.base_frame, self._build_twin)
        skeleton = build_skeleton(self.robot, self._controller.twin.model)
        self._frames = RobotFrames(self, skeleton)
        self._motions = MotionActions(self, self._controller, self.base_frame)
        self._calibrations = CalibrationActions(self)
        self._offer_all()
        self.listen(PoseStamped, "target", self._take_target, COMMAND)
        self.listen(Imu, "imu/data", self._take_rates, NEWEST)
        self.listen(Empty, "gravity/reset", self._expect_gravity, COMMAND)

    def _build_twin(self) -> Twin:
        if self.parameters.twin not in TWINS:
            raise UsageError(f"parameter twin: '{self.parameters.twin}' is none of {', '.join(TWINS)}")
        return self.robot.build_twin(backend=self.parameters.twin)

    def health(self) -> Health:
        tick, gravity, silence = self._tick, self._gravity, self._gravity.silence
        values = {f"refused_{reason}": count for reason, count in gravity.refused.items()}
        values |= {"refused_target": self._targets_refused} if self._targets_refused else {}
        if self._lost:
            return Health(ERROR, self._lost, values)
        if tick is None:
            return waiting(gravity.refusal or "waiting for gravity", values)
        values |= {
            "error_mm": 1e3 * tick.error,
            "tick_ms": 1e3 * tick.duration,
            "limits": ", ".join(tick.active_limits),
            "holding": tick.holding,
        }
        values |= self._sensor.values if self._sensed else {}
        if silence > self.parameters.silent_after:
            values |= {"silence_s": silence}
            told = gravity.refusal or "no gravity: nothing is commanded, and drivers that hear nothing let go"
            if not gravity.refusal and self.steady_now() - self._gravity_reset < BEGINS_ANEW:
                return waiting("gravity begins anew: nothing is commanded until it is here", values)
            return Health(ERROR, told, values)
        if tick.holding:
            return Health(WARN, f"the last safe command is held: {tick.reason}", values)
        held, why = self._refused
        if held is self._controller.aimed_at:
            return Health(WARN, f"target refused, the last one is held: {why}", values)
        if self._sensed and self._sensor.open_because:
            return Health(WARN, f"the tip's loop is open: {self._sensor.open_because}", values)
        if tick.active_limits:
            return Health(WARN, f"limits bind: {', '.join(tick.active_limits)}", values)
        return Health(OK, "compensating" if tick.compensating else "following the body, actuators free", values)

    @property
    def _sensed(self) -> bool:
        """Whether the tip's loop shall be closed now."""
        return self.parameters.tip_feedback and self.parameters.compensate

    @property
    def has_work(self) -> bool:
        return self._gravity.waiting is not None

    def work(self) -> None:
        """Solve for the newest gravity."""
        (stamp, gravity), start = self._gravity.take(), self.steady_now()
        self._motions.lead()
        try:
            self._tick, self._lost = self._controller.update(self._ahead.look(stamp, gravity)), ""
        except ConvergenceError as error:
            self._lost = f"no equilibrium and no safe command to hold: {error}"
            return
        self._gravity.heard += self.steady_now() - start  # while it computes it cannot hear, and nobody is silent
        if self._sensed:
            self._sensor.update(stamp, self._tick)
        self._publish(stamp, self._tick)
        self._motions.take(stamp, self._tick)

    def adopt(self, old: Parameters, new: Parameters) -> None:
        self._controller.reuse = new.reuse
        if new.stay != old.stay:
            self._controller.inverse.stay = new.stay
        if (old.lead, old.acceleration_smoothing) != (new.lead, new.acceleration_smoothing):
            self._ahead = ahead_of(new.lead, new.acceleration_smoothing)
        self._sensor.tune(new.tip_bandwidth)
        if not (new.tip_feedback and new.compensate):
            self._sensor.reset()
        self._controller.enable(new.compensate)

    def close(self) -> None:
        self._background.close()
        self._calibrations.stop()

    def _warm_up(self) -> None:
        """Compile and load what a tick needs before the first sample comes."""
        for compensate in (False, True, True, True, False):  # long enough to press on what is there, and to let go
            self._controller.enable(compensate)
            self._controller.update(UPRIGHT)
        self._controller.reset()

    def _offer_all(self) -> None:
        if self.robot.cable_names:
            self._cables = self.offer(JointState, "cables/command", COMMAND)
        if self.robot.chamber_names:
            self._chambers = self.offer(Pressures, "chambers/command", COMMAND)
        self._tips = self.offer(PoseStamped, "twin/tip")
        self._statuses = self.offer(SolverStatus, "solver/status")
        self._shapes = self.offer(Shape, "shape")
        self._bodies = self.offer(Marker, "body")
        self._targets = self.offer(PoseStamped, "twin/target")
        self._resets = self.offer(Empty, "twin/reset", COMMAND)
        self.create_service(SetTarget, "set_target", self._set_target)
        self.offer_waiting(SolveIk, "solve_ik", self._solve_ik)
        self.create_service(SetBool, "compensate", self._compensate)
        self.create_service(Trigger, "reset", self._reset)

    def rest(self) -> None:
        self._gravity.waiting = self._tick = None
        self._sensor.reset()

    def _take_rates(self, message: Imu) -> None:
        if self._ahead.looks and is_frame(message.header.frame_id, self.base_frame):
            rates, force = to_array(message.angular_velocity), to_array(message.linear_acceleration)
            self._ahead.note(to_seconds(message.header.stamp), rates, force)

    def _expect_gravity(self, message: Empty) -> None:
        self._gravity_reset = self.steady_now()

    def _take_target(self, message: PoseStamped) -> None:
        """A target of the tip's position; more can be asked for by the service."""
        try:
            self._controller.set_target(target_pose(message, self.base_frame, False)[0])
            self._motions.end(False, OVERTAKEN)
        except InputError as error:
            self._targets_refused += 1
            self._refused = self._controller.aimed_at, str(error)
            self.get_logger().error(f"target refused: {error}")

    def _publish(self, stamp: float, tick: Tick) -> None:
        if tick.compensating:
            self._command(stamp, tick)
        self._tips.publish(pose_message(stamp, self.base_frame, tick.tip, tick.tip_rotation, tick.tip_direction))
        self._statuses.publish(
            status_message(stamp, self.base_frame, tick, self._controller.aimed_at, self.robot.actuator_names)
        )
        self._frames.send(stamp, tick.points, tick.coordinates)
        if self.steady_now() >= self._next_picture:
            self._next_picture = self.steady_now() + 1.0 / self.parameters.picture_rate
            self._shapes.publish(
                shape_message(stamp, self.base_frame, self._stations, tick.centre_line, tick.energy, tick.residual)
            )
            self._bodies.publish(self._marker.frame(stamp, tick.points))
            if isinstance(aimed_at := self._controller.aimed_at, PoseTarget):
                self._targets.publish(target_message(stamp, self.base_frame, aimed_at, tick))

    def _command(self, stamp: float, tick: Tick) -> None:
        """What the drivers shall do: cables first among the actuators, chambers behind them."""
        cables, chambers = self.robot.cable_names, self.robot.chamber_names
        count = len(cables)
        if cables:
            self._cables.publish(joint_state(stamp, cables, tick.coordinates[:count], tick.efforts[:count]))
        if chambers:
            self._chambers.publish(pressures_message(stamp, chambers, tick.efforts[count:]))

    def _set_target(self, request: SetTarget.Request, response: SetTarget.Response) -> SetTarget.Response:
        try:
            target = self._ik.target(self._controller.inverse, request)
            self._controller.aim(target)
        except InputError as error:
            response.success, response.message = False, str(error)
            return response
        self._motions.end(False, OVERTAKEN)
        place = ", ".join(f"{1e3 * x:.1f}" for x in target.position)
        turned = "" if target.rotation is None else ", turned as asked"
        response.success = True
        response.message = f"holding the frame '{target.frame}' at ({place}) mm{turned} {self.when}"
        return response

    def _compensate(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.set_parameters([Parameter("compensate", value=request.data)])
        response.success = True
        doing = "compensating" if request.data else "following the body, actuators free"
        response.message = doing if self.active else f"{doing} {self.when}"
        return response

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._controller.reset()
        self._resets.publish(Empty())
        response.success, response.message = True, "the twin starts again from its undeformed shape"
        return response

    async def _solve_ik(self, request: SolveIk.Request, response: SolveIk.Response) -> SolveIk.Response:
        measured, limit = self._gravity.measured(self.parameters.silent_after), self.parameters.solve_time_limit
        try:
            return await self._background.run(lambda: self._ik.answer(request, response, measured, limit))
        except SoftTwinError as error:
            response.success, response.message = False, str(error)
            return response


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(GravityToActuators)


if __name__ == "__main__":
    sys.exit(main())
