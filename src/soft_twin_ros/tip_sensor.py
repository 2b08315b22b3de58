"""A tip sensor that the solver follows: measured poses in, where to lead the target out."""

from collections import Counter
from dataclasses import replace

import numpy as np
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from sensor_msgs.msg import JointState
from soft_twin_msgs.msg import Pressures

from soft_twin.errors import InputError
from soft_twin.inverse.controller import Controller, Tick
from soft_twin.inverse.following import Following
from soft_twin.inverse.tip_feedback import TipFeedback
from soft_twin_ros.conversions import (
    is_frame,
    out_of_step,
    positions_in_order,
    pressures_in_order,
    to_array,
    to_seconds,
)
from soft_twin_ros.node import RobotNode
from soft_twin_ros.qos import NEWEST

UNCERTAIN = 0.05  # of the body's length: a standard deviation from which on a measurement does not count
UNKNOWN = 0.5  # [s] without a word from the drivers after which nobody knows where the actuators are


class TipSensor:
    """Listens to tip/pose (PoseStamped) and tip/pose_with_covariance (PoseWithCovarianceStamped), a tip's pose in the
    robot's base_link, and to what the drivers say of the actuators: the loop is closed only while these follow.

    Attributes:
        refused: how many measurements, by reason.
        open_because: why the loop is open; "" where it is closed.
    """

    def __init__(self, node: RobotNode, controller: Controller, frame: str):
        """`node`: has the parameter `stale_after`. `frame`: that the tip must be in."""
        self._node, self._controller, self._frame = node, controller, frame
        self._feedback = TipFeedback(controller.twin.length)
        self._following = Following(controller.inverse)
        self._cables, self._chambers = len(node.robot.cable_names), len(node.robot.chamber_names)
        self._actuators = np.full(self._cables + self._chambers, np.nan)
        self._heard = {"cables/state": -np.inf, "chambers/state": -np.inf}
        self._ticked: float | None = None
        self._newest: tuple | None = None  # stamp [s], tip (3,) [m], its covariance [m²] that no tick has taken yet
        self._refusal, self.open_because = "", "no tip/pose"  # why the newest measurement does not count
        self._tip_heard = -np.inf  # [s]
        self.refused: Counter[str] = Counter()
        node.listen(PoseStamped, "tip/pose", lambda message: self._take(message.header, message.pose), NEWEST)
        node.listen(PoseWithCovarianceStamped, "tip/pose_with_covariance", self._take_with_covariance, NEWEST)
        if self._cables:
            node.listen(JointState, "cables/state", self._take_cables, NEWEST)
        if self._chambers:
            node.listen(Pressures, "chambers/state", self._take_chambers, NEWEST)

    @property
    def values(self) -> dict[str, object]:
        """For diagnostics."""
        apart = 1e3 * float(np.linalg.norm(self._feedback.error))
        return {"robot_from_twin_mm": apart} | {f"refused_tip_{why}": count for why, count in self.refused.items()}

    def tune(self, bandwidth: float) -> None:
        """Go on with this bandwidth [rad/s]."""
        self._feedback.parameters = replace(self._feedback.parameters, bandwidth=bandwidth)

    def update(self, stamp: float, tick: Tick) -> None:
        """After a tick of gravity that was measured at `stamp` [s]: lead the controller's next one."""
        dt = 0.0 if self._ticked is None else max(stamp - self._ticked, 0.0)
        self._ticked = stamp
        if tick.holding:
            self._open()
            return
        taken = self._newest is not None and self._believe(*self._newest)
        self._newest = None
        self._following.tell(stamp, self._controller.told)
        laggards = self._laggards()
        self._controller.lead_by(self._feedback.update(tick.tip, dt, not laggards))
        if taken:
            self._refusal = self._feedback.refusal
        if laggards:
            self.open_because = f"{', '.join(laggards)}: not where told to be"
        elif not self._feedback.closed:
            silent = self._node.steady_now() - self._tip_heard > self._feedback.parameters.patience
            self.open_because = "no tip/pose" if silent else self._refusal or "no tip/pose"
        else:
            self.open_because = ""

    def reset(self) -> None:
        """Begin anew, with an open loop, whatever the tracker did before."""
        self._feedback.reset()
        self._open()

    def _open(self) -> None:
        self._feedback.open()
        self._controller.lead_by(np.zeros(3))
        self._ticked, self.open_because = None, "no tip/pose"

    def _laggards(self) -> list[str]:
        """Actuators that are not where they were told to be, or of which nobody says where they are."""
        now, silent = self._node.steady_now(), []
        for count, topic in ((self._cables, "cables/state"), (self._chambers, "chambers/state")):
            if count and now - self._heard[topic] > UNKNOWN:
                silent.append(f"without {topic} the actuators")
        return silent or self._following.laggards(self._actuators)

    def _take_with_covariance(self, message: PoseWithCovarianceStamped) -> None:
        self._tip_heard = self._node.steady_now()
        covariance = np.array(message.pose.covariance).reshape(6, 6)[:3, :3]
        deviation = np.inf
        if np.isfinite(covariance).all():
            deviation = float(np.sqrt(max(np.linalg.eigvalsh(0.5 * (covariance + covariance.T))[-1], 0.0)))
        if deviation > UNCERTAIN * self._controller.twin.length:
            self._refuse("uncertain", f"tip/pose_with_covariance is uncertain by {1e3 * deviation:.0f} mm")
            return
        self._take(message.header, message.pose.pose, covariance)

    def _take(self, header, pose, covariance: np.ndarray | None = None) -> None:
        """Keep the newest measurement until there is a tick."""
        self._tip_heard = self._node.steady_now()
        if not is_frame(header.frame_id, self._frame):
            self._refuse("frame", f"tip/pose in frame '{header.frame_id}': expected '{self._frame}'")
        else:
            self._newest = to_seconds(header.stamp), to_array(pose.position), covariance

    def _believe(self, stamp: float, tip: np.ndarray, covariance: np.ndarray | None) -> bool:
        """Whether a measurement goes to the feedback, which may have reasons of its own not to count it."""
        if stale := out_of_step("tip/pose", stamp, self._node.now(), self._node.parameters.stale_after):
            self._refuse("stale", stale)
            return False
        try:
            self._feedback.measure(tip, covariance)
        except InputError as error:
            self._refuse("unusable", str(error))
            return False
        return True

    def _refuse(self, reason: str, message: str) -> None:
        self.refused[reason] += 1
        self._refusal = message

    def _take_cables(self, message: JointState) -> None:
        self._note("cables/state", slice(0, self._cables), positions_in_order, message, self._node.robot.cable_names)

    def _take_chambers(self, message: Pressures) -> None:
        own = slice(self._cables, None)
        self._note("chambers/state", own, pressures_in_order, message, self._node.robot.chamber_names)

    def _note(self, topic: str, own: slice, read, message, names) -> None:
        """What drivers say of actuators; those who are not known are NaN."""
        try:
            self._actuators[own], self._heard[topic] = read(message, names), self._node.steady_now()
        except InputError:
            self._actuators[own] = np.nan
