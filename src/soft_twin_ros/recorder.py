"""Everything that the robot's nodes publish into one MCAP file, as it was on the wire.

Topics in the node's namespace and /diagnostics are recorded as they appear, undecoded. The file is readable at any
moment, also after the process was killed.
"""

import importlib
import sys
import time
from dataclasses import dataclass

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from soft_twin.errors import RecordingError
from soft_twin.recording.definitions import definition, installed_share_folders
from soft_twin.recording.writer import McapWriter, Qos
from soft_twin_ros.node import OK, Health, RobotNode, RobotParameters, run
from soft_twin_ros.parameters import parameter

LOOK_FOR_TOPICS = 0.1  # [s]
QUEUE = 200  # messages of a topic that wait while the disk is busy
GLOBAL_TOPICS = ("/diagnostics", "/tf", "/tf_static")


@dataclass(frozen=True)
class Parameters(RobotParameters):
    """Of this node."""

    path: str = parameter("out/run.mcap", "the recording; an old one is replaced")


class Recorder(RobotNode):
    """See the module's docstring."""

    def __init__(self):
        super().__init__("recorder", Parameters)
        self._writer = McapWriter(self.parameters.path)
        self._prefix = self.get_namespace().rstrip("/") + "/"
        self._recorded: dict[str, object] = {}
        self._count = 0
        self.create_steady_timer(LOOK_FOR_TOPICS, self._look_for_topics)

    def health(self) -> Health:
        return Health(OK, "recording", {"topics": len(self._recorded), "messages": self._count})

    def close(self) -> None:
        self._writer.close()

    def _look_for_topics(self) -> None:
        for topic, types in self.get_topic_names_and_types():
            if topic not in self._recorded and (topic.startswith(self._prefix) or topic in GLOBAL_TOPICS):
                publishers = self.get_publishers_info_by_topic(topic)
                if publishers:
                    self._record(topic, types[0], publishers)

    def _record(self, topic: str, type_name: str, publishers: list[TopicEndpointInfo]) -> None:
        try:
            text = definition(type_name, installed_share_folders())
        except RecordingError as error:
            self._recorded[topic] = None
            self.get_logger().warning(f"{topic} is not recorded: {error}")
            return
        profile = _profile([publisher.qos_profile for publisher in publishers])
        channel = self._writer.register(topic, type_name, text, _offered(profile), _type_hash(publishers[0]))

        def write(data: bytes, info: dict) -> None:
            self._writer.write(channel, data, time.time_ns(), info["source_timestamp"])
            self._count += 1

        self._recorded[topic] = self.create_subscription(_message_class(type_name), topic, write, profile, raw=True)


def _message_class(type_name: str) -> type:
    """The class of a type such as "sensor_msgs/msg/Imu"."""
    package, kind, name = type_name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), name)


def _profile(offered: list[QoSProfile]) -> QoSProfile:
    """What matches all publishers of a topic and loses as little as they allow."""
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
    latched = all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)
    return QoSProfile(
        depth=QUEUE,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _offered(profile: QoSProfile) -> Qos:
    return Qos(
        reliable=profile.reliability == ReliabilityPolicy.RELIABLE,
        transient_local=profile.durability == DurabilityPolicy.TRANSIENT_LOCAL,
    )


def _type_hash(publisher: TopicEndpointInfo) -> str:
    """ "RIHS01_…", or nothing where the ROS distribution does not tell it (Humble)."""
    type_hash = getattr(publisher, "topic_type_hash", None)
    return "" if type_hash is None else str(type_hash)


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(Recorder)


if __name__ == "__main__":
    sys.exit(main())
