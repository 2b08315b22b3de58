"""A target surface in, pressures of chambers out, by the networks that `soft-twin train` wrote.

Each cloud on `target_shape` is searched for once, beginning with the pressures of the last; the pressures are published
on chambers/command `command_rate` times a second from then on, so that the driver hears somebody. The surface that is
predicted there goes to `shape/points`, in base_link. While it searches, and where a target is refused, the last command
goes on and the diagnostics say so. With a free pose a cloud may be in any frame and moved; with a fixed one it is in
base_link. The service `solve_shape` only answers; one search runs at a time. The twin's body and links under these
pressures are told for RViz, see resting_body.
"""

import sys
from dataclasses import dataclass
from functools import partial

from rclpy.task import Future
from sensor_msgs.msg import PointCloud2
from soft_twin_msgs.msg import Pressures
from soft_twin_msgs.srv import SolveShape

import soft_twin.learning
from soft_twin.errors import SoftTwinError, UsageError
from soft_twin_ros.background import Background
from soft_twin_ros.clouds import cloud_message
from soft_twin_ros.conversions import pressures_message
from soft_twin_ros.managed_node import ManagedNode, ManagedParameters
from soft_twin_ros.node import ERROR, OK, WARN, Health, run, waiting
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import COMMAND, LATCHED
from soft_twin_ros.resting_body import RestingBody
from soft_twin_ros.shape_service import BUSY, ShapeService, in_words, refused

WAITING = "waiting for a target shape: enable the valves when it is here"


@dataclass(frozen=True)
class Parameters(ManagedParameters):
    """Of this node."""

    robot: str = parameter("membrane", "name of a robot in config/, or path of its description")
    weights: str = parameter("", "file that `soft-twin train` wrote for the robot")
    corrected: bool = parameter(True, "by the corrected surface; false: by the simulated one")
    pose: str = parameter("free", "of targets: free, or fixed in base_link")
    whole: bool = parameter(False, "targets have no holes", settable=True)
    command_rate: float = parameter(20.0, "of commands", "Hz", 1.0, 100.0, settable=True)
    picture_rate: float = parameter(5.0, "rate of body and of the links", "Hz", 0.1, 100.0, settable=True)
    transform_rate: float = parameter(50.0, "greatest rate of transforms on /tf", "Hz", 0.1, 200.0, settable=True)


class ShapeToPressures(ManagedNode):
    """See the module's docstring. Searches run in a thread, the body's shape is found in another."""

    computes = True

    def __init__(self):
        super().__init__("shape_to_pressures", Parameters)
        if not self.parameters.weights:
            raise UsageError("shape_to_pressures: say which weights, -p weights:=FILE; `soft-twin train` writes them")
        correction = soft_twin.learning.load(self.parameters.weights)
        correction.check(self.robot)
        from soft_twin.learning.shape_control import FIXED, FREE, ShapeControl

        if self.parameters.pose not in (FREE, FIXED):
            raise UsageError(f"shape_to_pressures: pose '{self.parameters.pose}', expected '{FREE}' or '{FIXED}'")
        self._free = self.parameters.pose == FREE
        model = correction if self.parameters.corrected else correction.shapes
        self._shapes = ShapeService(ShapeControl(model, names=self.robot.chamber_names), self.base_frame)
        self._waiting: PointCloud2 | None = None
        self._found, self._refusal = None, ""
        self._searching = self._answering = False
        self._rests = 0  # so far: what was searched for before the last one is not wanted any more
        self._background = Background(self, "shapes")
        self._body = RestingBody(self)
        self._commands = self.offer(Pressures, "chambers/command", COMMAND)
        self._points = self.offer(PointCloud2, "shape/points", LATCHED)
        self.listen(PointCloud2, "target_shape", self._take_target, COMMAND)
        self.offer_waiting(SolveShape, "solve_shape", self._solve_shape)
        self._timer = self.create_steady_timer(1.0 / self.parameters.command_rate, self._command)

    def adopt(self, old: Parameters, new: Parameters) -> None:
        self._timer.timer_period_ns = round(1e9 / new.command_rate)
        self._body.set_rate(new.picture_rate)

    def health(self) -> Health:
        found = self._found
        if found is None:
            return Health(ERROR, self._refusal) if self._refusal else waiting(WAITING)
        values = {
            "mean_mm": 1e3 * found.mean,
            "largest_mm": 1e3 * found.largest,
            "iterations": found.iterations,
            "limits": ", ".join(found.active_limits),
        }
        if self._refusal:
            return Health(ERROR, f"the last command stands: {self._refusal}", values)
        if found.far:
            return Health(WARN, in_words(found), values)
        if not found.converged:
            return Health(WARN, "the search was ended before it converged", values)
        if found.active_limits:
            return Health(WARN, f"limits bind: {', '.join(found.active_limits)}", values)
        return Health(OK, "commanding the pressures of the target shape", values)

    @property
    def has_work(self) -> bool:
        return self._waiting is not None and not (self._searching or self._answering)

    def work(self) -> None:
        """Begin to search for the newest target."""
        message, self._waiting, self._searching = self._waiting, None, True
        begin = None if self._found is None else self._found.pressures
        found = self._background.run(lambda: self._search(message, begin))
        found.add_done_callback(partial(self._take_found, self._rests))

    def rest(self) -> None:
        self._waiting = self._found = None
        self._refusal = ""
        self._rests += 1

    def close(self) -> None:
        self._background.close()
        self._body.close()

    def _take_target(self, message: PointCloud2) -> None:
        if self.active:
            self._waiting = message

    def _search(self, message: PointCloud2, begin):
        """The solution, or, as a word, why there is none."""
        try:
            return self._shapes.solve(message, self._free, self.parameters.whole, begin)
        except SoftTwinError as error:
            return str(error)

    async def _solve_shape(self, request: SolveShape.Request, response: SolveShape.Response) -> SolveShape.Response:
        """Search beside the target that is held: behind the search that runs, before the next target."""
        if self._answering:
            return refused(response, BUSY)
        self._answering = True
        try:
            return await self._background.run(lambda: self._shapes.answer(request, response, self.now()))
        finally:
            self._answering = False
            self.look_for_work()

    def _take_found(self, rests: int, future: Future) -> None:
        """`rests`: when the search began."""
        self._searching, found = False, future.result()
        self.look_for_work()
        if rests != self._rests:
            return
        if isinstance(found, str):
            self._refusal = found
            return
        self._found, self._refusal = found, ""
        self._points.publish(cloud_message(self.now(), self.base_frame, found.points))
        self._command()
        self._body.show(found.pressures)

    def _command(self) -> None:
        if self.active and self._found is not None:
            self._commands.publish(pressures_message(self.now(), self.robot.chamber_names, self._found.pressures))


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(ShapeToPressures)


if __name__ == "__main__":
    sys.exit(main())
