"""The robot as people see it where no loop solves its twin: links and body of the twin at rest, upright, under the
pressures that are asked for."""

import numpy as np
from visualization_msgs.msg import Marker

from soft_twin.compiling import compiled_by_one
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError
from soft_twin.robots.skeleton import build_skeleton
from soft_twin_ros.background import Background
from soft_twin_ros.body_marker import BodyMarker
from soft_twin_ros.node import RobotNode
from soft_twin_ros.robot_frames import RobotFrames

UPRIGHT = np.array(UPRIGHT_GRAVITY)  # gravity [m/s²] in base_link


class RestingBody:
    """See the module's docstring. It is solved in a thread, for the newest pressures, and told `picture_rate` times a
    second: on body, on /tf and once on robot_description. Where the twin has no shape, the last one stays."""

    def __init__(self, node: RobotNode):
        """`node`: has the parameters `picture_rate` and `transform_rate`."""
        self._node = node
        with compiled_by_one("mechanics"):
            self._twin = node.robot.build_twin()
            unloaded = self._solved(np.zeros(len(node.robot.chamber_names)))
        self._points = self._twin.points.copy() if isinstance(unloaded, str) else unloaded
        self._wanted: np.ndarray | None = None
        self._solving = False
        self._background = Background(node, "body")
        self._frames = RobotFrames(node, build_skeleton(node.robot, self._twin.model))
        self._marker = BodyMarker(node.base_frame, self._twin.surface)
        self._bodies = node.offer(Marker, "body")
        self._timer = node.create_steady_timer(1.0 / node.parameters.picture_rate, self._tell)

    def set_rate(self, rate: float) -> None:
        """Tell the body so often from now on [Hz]."""
        self._timer.timer_period_ns = round(1e9 / rate)

    def show(self, pressures: np.ndarray) -> None:
        """The body under these pressures of its chambers (a,) [Pa], as soon as it is known."""
        self._wanted = pressures
        if not self._solving:
            self._begin()

    def close(self) -> None:
        """Solve no more."""
        self._background.close()

    def _begin(self) -> None:
        pressures, self._wanted, self._solving = self._wanted, None, True
        self._background.run(lambda: self._solved(pressures)).add_done_callback(self._take)

    def _solved(self, pressures: np.ndarray) -> np.ndarray | str:
        """(n, 3) nodes [m]; or why there are none."""
        efforts = np.concatenate([np.zeros(self._twin.actuator_count - len(pressures)), pressures])
        try:
            self._twin.equilibrium(UPRIGHT, efforts=efforts)
        except ConvergenceError as error:
            self._twin.reset()
            return str(error)
        return self._twin.points.copy()

    def _take(self, future) -> None:
        self._solving, found = False, future.result()
        if isinstance(found, str):
            self._node.get_logger().warning(f"the body is shown as it was: {found}")
        else:
            self._points = found
        if self._wanted is not None:
            self._begin()

    def _tell(self) -> None:
        if not self._node.active:
            return
        stamp = self._node.now()
        self._frames.send(stamp, self._points)
        self._bodies.publish(self._marker.frame(stamp, self._points))
