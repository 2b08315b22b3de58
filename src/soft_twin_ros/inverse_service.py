"""One-shot inverse solves, on a twin of their own, and the targets that services ask for."""

import math
from collections.abc import Callable

import numpy as np
from soft_twin_msgs.srv import SetTarget, SolveIk

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.inverse.inverse import Inverse, Solution
from soft_twin.inverse.targets import TIP, PoseTarget, pose_target, rotation_of
from soft_twin.robots.base import DrivenRobot
from soft_twin.twins.base import Twin
from soft_twin_ros.conversions import target_pose, to_array, to_pose

ELSEWHERE = 0.5  # [m/s²] by which gravity may differ from the standard one, and round-off of who asks


class InverseService:
    """What is behind `solve_ik` and `set_target`.

    Args:
        robot: whose twin it is.
        frame: that targets are in.
        build_twin: makes its own twin, when it is first asked; without: the robot's.
    """

    def __init__(self, robot: DrivenRobot, frame: str, build_twin: Callable[[], Twin] | None = None):
        self._robot, self._frame, self._build_twin = robot, frame, build_twin or robot.build_twin
        self._inverse: Inverse | None = None

    def target(self, inverse: Inverse, request: SetTarget.Request | SolveIk.Request) -> PoseTarget:
        """What a request asks for.

        Raises:
            InputError: in another frame than the base's, of a frame that the body has not, or out of all reach.
        """
        position, rotation = target_pose(request.target, self._frame, request.use_orientation)
        return pose_target(inverse, position, request.frame or TIP, rotation)

    def answer(
        self,
        request: SolveIk.Request,
        response: SolveIk.Response,
        measured: np.ndarray | None,
        time_limit: float = math.inf,
    ) -> SolveIk.Response:
        """Solve from rest, for the gravity of the request or the one that is `measured` (3,) [m/s²], in so long [s].

        Raises:
            InputError: see `target` and `gravity_of`.
            ConvergenceError: the twin's stiffness broke down.
        """
        gravity = gravity_of(request, measured)
        if self._inverse is None:
            self._inverse = self._robot.build_inverse(self._build_twin())
        target = self.target(self._inverse, request)
        self._inverse.twin.reset()
        solution = self._inverse.solve(gravity, goals=target.goals(self._inverse), time_limit=time_limit)
        return self._filled(response, target, solution)

    def _filled(self, response: SolveIk.Response, target: PoseTarget, solution: Solution) -> SolveIk.Response:
        twin = self._inverse.twin
        frame = twin.frames[target.frame]
        response.error, response.orientation_error = target.error(twin), target.orientation_error(twin)
        response.success = bool(solution.converged)
        response.message = in_words(target.frame, response.error, solution)
        response.actuators = list(self._robot.actuator_names)
        response.efforts = [float(value) for value in solution.efforts]
        response.coordinates = [float(value) for value in solution.coordinates]
        response.reached = to_pose(frame.position(twin), rotation_of(frame, twin))
        response.reachable = bool(solution.reachable)
        response.active_limits = list(solution.active_limits)
        return response


def gravity_of(request: SolveIk.Request, measured: np.ndarray | None) -> np.ndarray:
    """The gravity (3,) in base_link [m/s²] of a request, or where it has none the one that is `measured`.

    Raises:
        InputError: none is given or measured, or one of another length than the earth's.
    """
    given = to_array(request.gravity)
    gravity = given if np.any(given) else measured
    if gravity is None:
        raise InputError("no gravity is measured: give one in the request")
    strength = math.hypot(*gravity)
    if not abs(strength - STANDARD_GRAVITY) <= ELSEWHERE:
        words = f"has the length {strength:.4g}: expected {STANDARD_GRAVITY} m/s², in base_link"
        raise InputError(f"gravity: {gravity.tolist()} {words}")
    return gravity


def in_words(frame: str, error: float, solution: Solution) -> str:
    """What a solve came to, for people."""
    return (
        f"{frame} {1e3 * error:.2f} mm from the target after {solution.iterations} steps"
        + ("" if solution.converged else ", not converged")
        + ("" if solution.complete else _incomplete(solution))
        + (f"; limits bind: {', '.join(solution.active_limits)}" if solution.active_limits else "")
    )


def _incomplete(solution: Solution) -> str:
    if solution.reachable:
        return ", held with more effort than the least"
    return ", ended by solve_time_limit or its steps: another place may be nearer"
