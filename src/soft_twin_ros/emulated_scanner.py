"""A 3-D scanner and motion capture that are not there: what they would see of an emulated surface.

Hears chambers/state; publishes `scan`, points with normals of the surface where the scanner of the description sees it,
and, where the description has markers, `markers`, poses of which the positions are NaN where too few cameras see one
and the attitudes are not known (1), both in base_link, with the stamp of the pressures. The surface is at rest under
these pressures, means over the last second since sensors are noisy, as the reality of the part `learning` has it, after
as long as they have stood. A recording of chambers/state and `scan` is what `soft-twin train ROBOT --data run.mcap`
reads.
"""

import sys
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import Point, Pose, PoseArray
from sensor_msgs.msg import PointCloud2
from soft_twin_msgs.msg import Pressures

from soft_twin.emulation.surface_looks import SurfaceLooks
from soft_twin.errors import SoftTwinError
from soft_twin.learning.recorded_frames import SETTLED, SLACK
from soft_twin.learning.simulations import learnable, pressure_limits
from soft_twin_ros.clouds import cloud_message
from soft_twin_ros.conversions import header, pressures_in_order, to_seconds
from soft_twin_ros.node import OK, WARN, Health, RobotNode, RobotParameters, run, waiting
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import NEWEST


@dataclass(frozen=True)
class Parameters(RobotParameters):
    """Of this node."""

    robot: str = parameter("membrane", "name of a robot in config/, or path of its description")
    period: float = parameter(2.0, "between looks at least; a shape takes a second or more", "s", 0.01, 3600.0)
    seed: int = parameter(0, "of noise, and of where markers sit", "", 0, 2**31 - 1)


class EmulatedScanner(RobotNode):
    """See the module's docstring."""

    computes = True

    def __init__(self):
        super().__init__("emulated_scanner", Parameters)
        _, learning = learnable(self.robot.path)
        self._looks = SurfaceLooks(self.robot, learning, self.parameters.seed)
        self._slack = SLACK * np.ptp(pressure_limits(self.robot), axis=1)
        self._recent: list[tuple[float, np.ndarray]] = []  # stamps [s] and pressures [Pa] of the last second
        self._newest: tuple[float, np.ndarray] | None = None  # stamp [s] and mean pressures [Pa]
        self._stood: tuple[float, np.ndarray] | None = None  # since when, and at which
        self._next, self._count, self._refusal = 0.0, 0, ""
        self._scans = self.offer(PointCloud2, "scan")
        self._markers = self.offer(PoseArray, "markers")
        self.listen(Pressures, "chambers/state", self._take, NEWEST)

    def health(self) -> Health:
        if self._refusal:
            return Health(WARN, self._refusal, {"looks": self._count})
        if self._count == 0:
            return waiting("waiting for chambers/state")
        return Health(OK, "looking at the surface", {"looks": self._count})

    @property
    def has_work(self) -> bool:
        """Whether pressures are there, and it is time to look."""
        return self._newest is not None and self.steady_now() >= self._next

    def work(self) -> None:
        """Look at the surface under the newest pressures."""
        (stamp, pressures), self._newest = self._newest, None
        self._next = self.steady_now() + self.parameters.period
        try:
            look = self._looks.at(pressures, max(stamp - self._stood[0], 0.0))
        except SoftTwinError as error:
            self._refusal = f"no shape of the surface: {error}"
            return
        self._refusal, self._count = "", self._count + 1
        self._scans.publish(cloud_message(stamp, self.base_frame, look.points, look.normals))
        if look.markers is not None:
            poses = [Pose(position=Point(x=x, y=y, z=z)) for x, y, z in look.markers.tolist()]
            self._markers.publish(PoseArray(header=header(stamp, self.base_frame), poses=poses))

    def _take(self, message: Pressures) -> None:
        try:
            pressures = pressures_in_order(message, self.robot.chamber_names)
        except SoftTwinError as error:
            self._refusal = f"chambers/state: {error}"
            return
        if not np.isfinite(pressures).all():
            return
        stamp = to_seconds(message.header.stamp)
        self._recent = [(at, own) for at, own in self._recent if stamp - SETTLED < at < stamp] + [(stamp, pressures)]
        mean = np.mean([own for _, own in self._recent], axis=0)
        self._newest = stamp, mean
        if self._stood is None or (np.abs(mean - self._stood[1]) > self._slack).any():
            self._stood = self._recent[0][0], mean


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(EmulatedScanner)


if __name__ == "__main__":
    sys.exit(main())
