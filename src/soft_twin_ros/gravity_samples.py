"""Gravity that comes in on a topic: the newest usable sample, and why others are refused."""

from collections import Counter

import numpy as np
from geometry_msgs.msg import Vector3Stamped

from soft_twin.errors import InputError
from soft_twin.inverse.recent import Recent
from soft_twin_ros.conversions import gravity_vector, out_of_step, to_seconds
from soft_twin_ros.node import NO_TIME, RobotNode
from soft_twin_ros.qos import NEWEST

CLOCK_JUMP = 1.0  # [s] a stamp that lies so far back belongs to a new timeline, not to a late message


class GravitySamples:
    """Of a node with the parameter `stale_after`; a sample that is older than the last or not usable is refused.

    Attributes:
        waiting: stamp [s] and gravity (3,) [m/s²] of a sample that nobody has taken yet.
        newest: gravity of the newest usable one; None: there was none.
        recent: all that are not older than it by more than `stale_after`.
        heard: when that came, on the steady clock [s]; at first: when listening began.
        refused: how many samples, by reason.
        refusal: why the last one was refused; "" where it was not.
    """

    def __init__(self, node: RobotNode, topic: str, frame: str):
        """`frame`: that gravity must be in."""
        self._node, self._frame, self._stamp = node, frame, 0.0
        self.waiting: tuple[float, np.ndarray] | None = None
        self.newest: np.ndarray | None = None
        self.recent = Recent()
        self.heard = node.steady_now()
        self.refused: Counter[str] = Counter()
        self.refusal = ""
        node.listen(Vector3Stamped, topic, self._take, NEWEST)

    @property
    def silence(self) -> float:
        """Since the newest usable sample [s]."""
        return self._node.steady_now() - self.heard

    def measured(self, silent_after: float) -> np.ndarray | None:
        """The newest gravity (3,) [m/s²]; None: there was none for longer than that [s]."""
        return self.newest if self.silence <= silent_after else None

    def measured_at(self, stamp: float, silent_after: float) -> np.ndarray | None:
        """Gravity (3,) at `stamp` [s], as `Recent.at`; None: nothing within that [s], or no sample came for longer."""
        return self.recent.at(stamp, silent_after) if self.silence <= silent_after else None

    def take(self) -> tuple[float, np.ndarray]:
        """The sample that is waiting."""
        taken, self.waiting = self.waiting, None
        return taken

    def refuse(self, reason: str, message: str) -> None:
        """Count what is refused."""
        self.refused[reason] += 1
        self.refusal = message

    def _take(self, message: Vector3Stamped) -> None:
        if not self._node.active:
            return
        stamp, stale_after = to_seconds(message.header.stamp), self._node.parameters.stale_after
        try:
            gravity = gravity_vector(message, self._frame)
        except InputError as error:
            self.refuse("unusable", str(error))
            return
        now = self._node.now()
        if now == 0.0:
            self.refuse("stale", NO_TIME)
        elif stale := out_of_step("gravity", stamp, now, stale_after):
            self.refuse("stale", stale)
        elif self._stamp - CLOCK_JUMP < stamp <= self._stamp:
            self.refuse("reordered", "gravity older than the one before it")
        else:
            self._stamp, self.heard, self.refusal = stamp, self._node.steady_now(), ""
            self.waiting, self.newest = (stamp, gravity), gravity
            self.recent.add(stamp, gravity, stale_after)
