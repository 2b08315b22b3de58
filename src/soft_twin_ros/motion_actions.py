"""The actions `move_to` and `follow` of the node that compensates for gravity: its target is led along a path."""

from typing import Any

from soft_twin_msgs.action import Follow, MoveTo

from soft_twin.errors import InputError
from soft_twin.inverse.controller import Controller, Tick
from soft_twin.inverse.errand import Errand
from soft_twin.inverse.paths import Path, path_of_actuation, path_through, path_to
from soft_twin.inverse.targets import TIP, pose_target
from soft_twin_ros.conversions import target_pose, to_pose
from soft_twin_ros.driver_stops import DriverStops
from soft_twin_ros.errands import LOST, OVERTAKEN, Errands
from soft_twin_ros.node import RobotNode
from soft_twin_ros.trajectories import actuation_points, check_start, pose_points

SILENCE = f"nothing was solved for {LOST:g} s: see the diagnostics for why"


class MotionActions(Errands):
    """See the module's docstring. A stop of the robot's drivers ends what runs; nothing begins until it is cleared."""

    def __init__(self, node: RobotNode, controller: Controller, frame: str):
        """`frame`: of targets."""
        super().__init__(node, {"move_to": MoveTo, "follow": Follow})
        self._controller, self._frame = controller, frame
        self._errand: Errand | None = None
        self._tick: Tick | None = None
        self._stamp = 0.0
        self._stops = DriverStops(node, lambda: self.end(False, "the robot was stopped"))

    def lead(self) -> None:
        """Before a tick: aim at what is due."""
        if self.busy:
            self._errand.lead()

    def take(self, stamp: float, tick: Tick) -> None:
        """After a tick of the sample with that stamp [s]."""
        since, self._stamp, self._tick = stamp - self._stamp, stamp, tick
        self.hear()
        if self.busy and (ending := self._errand.take(tick, since)) is not None:
            self.end(ending.success, ending.message)

    def begin(self, name: str, request: Any) -> None:
        self._stops.refuse_if_stopped()
        if not self._controller.compensating:
            raise InputError("the actuators are free: call the service `compensate` with true first")
        if self.silent:
            raise InputError(self.silence(SILENCE))
        path = self._path_to(request) if name == "move_to" else self._path_along(request)
        errand = Errand(self._controller, path, request.tolerance)
        self.end(False, OVERTAKEN)  # while what is known is of its own path
        self._errand = errand

    def ending(self) -> tuple[bool, str] | None:
        if not self._controller.compensating:
            return False, "the actuators have been set free"
        return (False, self.silence(SILENCE)) if self.silent else None

    def cancel(self) -> str:
        return "cancelled: what was aimed at last is held"

    def filled(self, message: Any) -> Any:
        if isinstance(message, (MoveTo.Feedback, Follow.Feedback)):
            message.progress, message.time_left = self._errand.progress, self._errand.time_left
        if (tick := self._tick) is None:
            return message
        message.reached = to_pose(tick.reached, tick.reached_rotation)
        message.error = float(tick.error)
        if isinstance(message, (MoveTo.Result, Follow.Result)):
            message.error, message.orientation_error = self._errand.miss
            message.active_limits = list(tick.active_limits)
        return message

    def _path_to(self, request: MoveTo.Goal) -> Path:
        place, turn = target_pose(request.target, self._frame, request.use_orientation)
        target = pose_target(self._controller.inverse, place, request.frame or TIP, turn)
        return path_to(self._controller, target, request.duration, request.speed)

    def _path_along(self, request: Follow.Goal) -> Path:
        poses, actuation = request.poses, request.actuation
        if bool(poses.points) == bool(actuation.points):
            raise InputError("follow: expected points of `poses` or of `actuation`, one of the two")
        check_start(poses if poses.points else actuation, self.node.now())
        if poses.points:
            return path_through(self._controller, *pose_points(poses, self._frame, request.use_orientation))
        return path_of_actuation(self._controller, *actuation_points(actuation, self._controller.inverse.names))
