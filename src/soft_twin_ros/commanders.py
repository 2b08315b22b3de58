"""Who commands actuators: two at once drag them to and fro, and neither knows of the other."""

from collections import deque

import numpy as np
from rclpy.node import Node

from soft_twin.steady_time import steady_now

WITHIN = 5.0  # [s]
TIMES = 3  # so often there and back within that is no handing over
BACK = 0.25  # of the way there, at most, is left after the way back
NOISE = 0.02  # of the largest value: a way that is no longer is round-off, or noise, of one alone


class Commanders:
    """The nodes whose commands a node obeys.

    A message does not tell its publisher to who takes it as an event (rclpy 9's executor of events fails on asking).
    So several that contradict each other are known by commands that lead there and back, again and again.
    """

    def __init__(self, node: Node):
        self._node = node
        self._topics: list[str] = []
        self._newest: deque[np.ndarray] = deque(maxlen=3)
        self._times: deque[float] = deque(maxlen=TIMES)

    def may_use(self, topic: str) -> None:
        """Commands may come on this topic."""
        self._topics.append(self._node.resolve_topic_name(topic))

    def heard(self, values: np.ndarray) -> None:
        """A command (n,) has come."""
        self._newest.append(values)
        if len(self._newest) == self._newest.maxlen:
            first, second, third = self._newest
            way = np.abs(second - first).max()
            if way > NOISE * np.abs(self._newest).max() and np.abs(third - first).max() < BACK * way:
                self._times.append(steady_now())

    def in_words(self) -> str:
        """Who contradict each other; empty where one node commands, or they agree."""
        if len(self._times) < TIMES or self._times[0] < steady_now() - WITHIN:
            return ""
        publishers = [each for topic in self._topics for each in self._node.get_publishers_info_by_topic(topic)]
        nodes = {f"{each.node_namespace.rstrip('/')}/{each.node_name}" for each in publishers}
        told = f"commands lead to and fro, the newest is obeyed; they may come from {' and '.join(sorted(nodes))}"
        return told if len(nodes) > 1 else ""
