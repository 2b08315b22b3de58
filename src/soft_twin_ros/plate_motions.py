"""The action `move_to` of the node that holds a plate: its orientation is led along a ramp."""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from soft_twin_msgs.action import MoveTo

from soft_twin.errors import InputError
from soft_twin.inverse.plate_holder import Held, PlateHolder
from soft_twin.inverse.targets import TIP
from soft_twin.twins.plate_orientation import axis_at, axis_of, pitch_roll_of
from soft_twin_ros.conversions import target_pose, to_pose
from soft_twin_ros.driver_stops import DriverStops
from soft_twin_ros.errands import LOST, OVERTAKEN, Errands
from soft_twin_ros.node import RobotNode
from soft_twin_ros.plate_targets import PlateTargets

SETTLING = 2.0  # [s] after the ramp's end in which the target must be reached
ALIGNED = np.radians(0.5)


def target_tilt(message: Any, frame: str) -> tuple[float, float]:
    """Pitch and roll [rad] of the plate that a PoseStamped asks for; where it is and how it is turned about its own
    axis do not count.

    Raises:
        InputError: in another frame than `frame`, or its orientation is no unit quaternion.
    """
    return pitch_roll_of(target_pose(message, frame, True)[1][:, 2])


def refuse_what_is_not_held(use_orientation: bool, frame: str) -> None:
    """See that a request is for the orientation of a plate.

    Raises:
        InputError: it is for another frame, or for a place.
    """
    if frame not in ("", TIP):
        raise InputError(f"target of the frame '{frame}': of a plate it is the orientation of '{TIP}' that is held")
    if not use_orientation:
        raise InputError(f"of a plate the orientation of its frame '{TIP}' counts: set use_orientation")


def tilted(bend: np.ndarray) -> np.ndarray:
    """(3, 3) how a plate at a bend (2,) [rad] is turned."""
    return Rotation.from_rotvec([-bend[1], bend[0], 0.0]).as_matrix()


def miss(held: Held, target: tuple[float, float]) -> float:
    """Angle [rad] of the plate's axis to that of the target; NaN where it is not seen."""
    if held.sight is None:
        return float("nan")
    return float(np.arccos(min(1.0, axis_at(held.sight.bend) @ axis_of(*target))))


class PlateMotions(Errands):
    """See the module's docstring. A stop of the drivers ends what runs; nothing begins until it is cleared."""

    def __init__(self, node: RobotNode, holder: PlateHolder, targets: PlateTargets, frame: str):
        """`frame`: of targets."""
        super().__init__(node, {"move_to": MoveTo})
        self._holder, self._targets, self._frame = holder, targets, frame
        self._held: Held | None = None
        self._asked = (0.0, 0.0)  # pitch and roll of the goal that runs [rad]
        self._arrived = self._progress = 0.0
        self._stops = DriverStops(node, lambda: self.end(False, "the robot was stopped"))

    def take(self, held: Held | None, dt: float) -> None:
        """After a tick of `dt` [s]; None: the cables are free."""
        self._held = held
        self.hear()
        self._progress = 0.0 if held is None else held.tick.progress
        if self._progress >= 1.0:
            self._arrived += dt

    async def begin(self, name: str, request: MoveTo.Goal) -> None:
        self._stops.refuse_if_stopped()
        if self.silent:
            raise InputError(self.silence("nothing is measured: see the diagnostics for why"))
        if self._held is None:
            raise InputError("the cables are free: call the service `compensate` with true first")
        if request.tolerance:
            raise InputError("move_to: tolerance [m] is of positions: leave it out, a plate comes within 0.5 deg")
        refuse_what_is_not_held(request.use_orientation, request.frame)
        asked, refuse = target_tilt(request.target, self._frame), self._stops.refuse_if_stopped
        await self._targets.aim(asked, request.duration, request.speed, refuse)
        self.end(False, OVERTAKEN)
        self._asked = asked
        self._arrived, self._progress = 0.0, 0.0

    def ending(self) -> tuple[bool, str] | None:
        if self.silent:
            return False, self.silence(f"nothing was measured for {LOST:g} s: see the diagnostics for why")
        if self._held is None:
            return False, "the cables have been set free"
        if not self._arrived:
            return None
        if self._held.open_because:
            told = f"steered, and not held by what is seen: {self._held.open_because}"
            if self._held.follows:
                return True, told
            return (False, told) if self._arrived > SETTLING else None
        away, beyond = self._miss(), self._targets.now.beyond
        told = f"{np.degrees(away):.2f} deg from " + (f"the nearest: {beyond}" if beyond else "the target")
        if away <= ALIGNED:
            return True, told
        return (False, told) if self._arrived > SETTLING else None

    def cancel(self) -> str:
        pitch, roll = pitch_roll_of(axis_at(self._holder.controller.expected))
        self._holder.controller.aim(pitch, roll)
        return "cancelled: the orientation that it had come to is held"

    def filled(self, message: Any) -> Any:
        held = self._held
        if isinstance(message, MoveTo.Feedback):
            message.progress = self._progress
            message.time_left = self._holder.controller.time_left
        message.error = float("nan")
        if held is not None and held.sight is not None:
            message.reached = to_pose(np.full(3, np.nan), tilted(held.sight.bend))
        if isinstance(message, MoveTo.Result):
            message.orientation_error = float("nan") if held is None else miss(held, self._asked)
            message.active_limits = [] if held is None else list(held.tick.active_limits)
        return message

    def _miss(self) -> float:
        return miss(self._held, self._holder.controller.target)
