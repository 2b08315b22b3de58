"""Robots whose graphs run now, in a browser: `soft-twin view`."""

import math
import os
import time
from functools import partial
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription

from soft_twin.errors import InputError, RecordingError
from soft_twin.files import one_line
from soft_twin.viewing.look import Look, Topic, shown_topics
from soft_twin.viewing.over_time import LastMinute
from soft_twin.viewing.window import Window
from soft_twin_ros.any_topic import matching, message_class
from soft_twin_ros.domain import ros_domain
from soft_twin_ros.executor import executor_of
from soft_twin_ros.parent import end_with_parent

PICTURE = 0.04  # [s] between two pictures
LOOK_FOR_TOPICS = 0.5  # [s]
PATIENCE = 10.0  # [s] after which it is told that there is nobody to show: nodes take seconds to start
NICE = 10  # robots' own nodes come first


class Viewer(Node):
    """Listens to what robots say of how they look.

    Attributes:
        looks: of each robot, by its namespace.
        there: namespaces of all robots of this domain, wanted or not.
    """

    def __init__(self, namespace: str | None = None):
        """`namespace`: of the only robot that is wanted."""
        super().__init__(f"viewer_{os.getpid()}", enable_rosout=False, start_parameter_services=False)
        self.looks: dict[str, Look] = {}
        self.there: set[str] = set()
        self._wanted = None if namespace is None else namespace.strip("/")
        self._here: set[str] = set()  # robots of which somebody speaks
        self._subscribed: dict[str, tuple[QoSProfile, Subscription]] = {}  # by full names of topics
        self._drawn: dict[str, float] = {}  # when what is drawn of each robot was last said [s]

    def look_for_topics(self) -> None:
        """Subscribe to what has appeared since the last time; who comes back after all of it had gone looks anew."""
        there = {name: types[0] for name, types in self.get_topic_names_and_types() if len(types) == 1}
        found: dict[str, tuple[str, Topic, QoSProfile]] = {}
        for name, (robot, topic) in shown_topics(there).items():
            publishers = self.get_publishers_info_by_topic(name)
            if publishers:
                found[name] = robot, topic, matching([publisher.qos_profile for publisher in publishers], depth=1)
        self.there = {robot for robot, _, _ in found.values()}
        found = {name: of for name, of in found.items() if self._wanted in (None, of[0])}
        for name, (profile, subscription) in list(self._subscribed.items()):
            if name not in found or found[name][2] != profile:
                self.destroy_subscription(subscription)
                del self._subscribed[name]
        before, self._here = self._here, {robot for robot, _, _ in found.values()}
        self.looks |= {robot: Look(silent=math.inf) for robot in self._here - before}
        for name, (robot, topic, profile) in found.items():
            if name not in self._subscribed:
                take = partial(self._take, robot, topic, name)
                kind = message_class(there[name])
                self._subscribed[name] = profile, self.create_subscription(kind, name, take, profile, raw=topic.whole)

    def look_at_clock(self) -> None:
        """Tell of each robot for how long it has been silent."""
        for robot, look in self.looks.items():
            look.silent = time.monotonic() - self._drawn.get(robot, -math.inf)

    def missing(self) -> str:
        """That nobody is shown, and who else is there; empty where somebody is shown."""
        if self.looks:
            return ""
        if not self.there:
            return "no robot yet: nobody publishes body, markers or twin/tip in its namespace"
        return f"nothing of '{one_line(self._wanted)}' yet; there are {', '.join(sorted(map(one_line, self.there)))}"

    def _take(self, robot: str, topic: Topic, name: str, message: Any) -> None:
        try:
            topic.show(self.looks[robot], topic.read(message))
            if topic.draws:
                self._drawn[robot] = time.monotonic()
        except (RecordingError, InputError) as error:
            self.get_logger().warning(f"a message of '{one_line(name)}' cannot be shown: {error}", once=True)


def view_graphs(port: int, namespace: str | None = None) -> int:
    """Show the robots of this ROS domain until it is interrupted.

    Raises:
        UsageError: viser is missing, or the port is taken.
    """
    end_with_parent()
    os.nice(NICE)
    domain, window = ros_domain(), Window(port)
    last_minute = LastMinute(window.gui)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    viewer = Viewer(namespace)
    executor, next_picture, next_search, next_word = executor_of(viewer), 0.0, 0.0, time.monotonic() + PATIENCE
    print(f"robots of ROS domain {domain}: {window.address} (Ctrl-C ends)", flush=True)
    try:
        while True:
            now = time.monotonic()
            if now >= next_search:
                next_search = now + LOOK_FOR_TOPICS
                viewer.look_for_topics()
            if now >= next_word:
                next_word = math.inf
                if missing := viewer.missing():
                    print(f"ROS domain {domain}: {missing}", flush=True)
            if now >= next_picture:
                next_picture = now + PICTURE
                viewer.look_at_clock()
                window.show(viewer.looks)
                last_minute.take(now, viewer.looks)
            executor.spin_once(timeout_sec=max(next_picture - time.monotonic(), 0.0))
    finally:
        window.close()
        viewer.destroy_node()
        rclpy.try_shutdown()
