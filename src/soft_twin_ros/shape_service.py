"""Searches for the pressures of clouds' shapes, and their answers: what is behind `target_shape` and `solve_shape`."""

from typing import TYPE_CHECKING

import numpy as np
from sensor_msgs.msg import PointCloud2
from soft_twin_msgs.srv import SolveShape

from soft_twin.errors import InputError, SoftTwinError
from soft_twin.recording.clouds import cloud_arrays
from soft_twin_ros.clouds import cloud_message
from soft_twin_ros.conversions import is_frame, pressures_message, to_pose

if TYPE_CHECKING:
    from soft_twin.learning.shape_control import ShapeControl, ShapeSolution

ENOUGH = 20_000  # points of a target: of more, so many are drawn, since each costs time
OTHER = "is it another surface, or out of reach?"
BUSY = "a search for another call runs: ask again when that is answered"


class ShapeService:
    """One search after the other; see ShapeControl.

    Args:
        control: what searches.
        frame: that targets of a fixed pose are in.
    """

    def __init__(self, control: "ShapeControl", frame: str):
        self._control, self._frame = control, frame

    def solve(self, cloud: PointCloud2, free: bool, whole: bool, begin: np.ndarray | None = None) -> "ShapeSolution":
        """The pressures for a cloud [m].

        Args:
            free: it may be in any frame, and be moved.
            whole: it has no holes.
            begin: pressures (a,) where the search begins [Pa]; None: chambers half inflated.

        Raises:
            InputError: a fixed target in another frame; a cloud that cannot be read; see ShapeTarget and ShapeControl.
        """
        from soft_twin.learning.shape_control import FIXED, FREE
        from soft_twin.learning.shape_target import ShapeTarget

        if not free and not is_frame(cloud.header.frame_id, self._frame):
            raise InputError(f"target in frame '{cloud.header.frame_id}': expected '{self._frame}'")
        points, normals = cloud_arrays(cloud)
        if cloud.data and not len(points):
            raise InputError(f"cloud: none of its {cloud.width * cloud.height} points is finite")
        if len(points) > ENOUGH:
            drawn = np.random.default_rng(0).choice(len(points), ENOUGH, replace=False)
            points, normals = points[drawn], None if normals is None else normals[drawn]
        target = ShapeTarget.of(points, normals, whole)
        return self._control.solve(target, FREE if free else FIXED, begin)

    def answer(self, request: SolveShape.Request, response: SolveShape.Response, stamp: float) -> SolveShape.Response:
        """Search from half inflated chambers; what is refused says why. `stamp`: of the answer [s]."""
        try:
            found = self.solve(request.target, request.free_pose, request.whole)
        except SoftTwinError as error:
            return refused(response, str(error))
        response.success, response.message = True, in_words(found)
        response.pressures = pressures_message(stamp, self._control.names, found.pressures)
        response.points = cloud_message(stamp, self._frame, found.points)
        response.pose = to_pose(found.pose.translation, found.pose.rotation)
        response.mean, response.largest = found.mean, found.largest
        response.iterations, response.converged = found.iterations, bool(found.converged)
        response.active_limits = list(found.active_limits)
        return response


def refused(response: SolveShape.Response, why: str) -> SolveShape.Response:
    """An answer without pressures."""
    response.success, response.message = False, why
    return response


def in_words(found: "ShapeSolution") -> str:
    """What a search came to, for people."""
    return (
        f"the surface is {1e3 * found.mean:.2f} mm from the target, {1e3 * found.largest:.2f} mm at the most, after "
        f"{found.iterations} steps"
        + ("" if found.converged else ", not converged")
        + (f"; limits bind: {', '.join(found.active_limits)}" if found.active_limits else "")
        + (f"; {OTHER}" if found.far else "")
    )
