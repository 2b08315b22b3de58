"""Everything that the robot's nodes publish into a bag, as it was on the wire.

Topics in the node's namespace and /diagnostics are recorded as they appear, undecoded. The file is readable at any
moment, also after the process was killed. Where nothing more can be written, the disk being full, the node ends.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from soft_twin.errors import RecordingError
from soft_twin.recording.definitions import definition, installed_share_folders
from soft_twin.recording.robots import METADATA, robot_metadata
from soft_twin.recording.writer import Qos, open_recording
from soft_twin_ros.any_topic import matching, message_class
from soft_twin_ros.node import OK, Health, RobotNode, RobotParameters, run
from soft_twin_ros.parameters import parameter

LOOK_FOR_TOPICS = 0.1  # [s]
TAKE_PERIOD = 0.02  # [s]
QUEUE = 200  # messages of a topic that wait until they are taken
GLOBAL_TOPICS = ("/diagnostics", "/tf", "/tf_static")


@dataclass(frozen=True)
class Parameters(RobotParameters):
    """Of this node."""

    path: str = parameter(
        "out/run", "the recording: folder of a bag, or one file that ends in .mcap; an old one is replaced"
    )


@dataclass
class _Recorded:
    """A topic: its channel of the recording, what hears it, and how many publishers it had at the last look."""

    channel: int
    subscription: Subscription
    profile: QoSProfile
    publishers: int


class Recorder(RobotNode):
    """See the module's docstring.

    The subscriptions belong to a node that no executor looks after: their messages are taken in one go, fifty times a
    second, with the times at which they were sent and received. Waking up for each of them costs four times as much.
    """

    def __init__(self):
        super().__init__("recorder", Parameters)
        if Path(self.parameters.path).exists():
            self.get_logger().warning(f"the recording '{self.parameters.path}' of before is replaced")
        self._writer = open_recording(self.parameters.path)
        self._writer.describe(METADATA, robot_metadata(self.robot, self._writer.path))
        self._prefix = self.get_namespace().rstrip("/") + "/"
        self._input = Node(  # by its own name, whatever the process's arguments call the recorder
            "recorder_input",
            namespace=self.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._recorded: dict[str, _Recorded] = {}
        self._unreadable: set[str] = set()  # topics of types that nobody has the definitions of
        self._count = 0
        self._writes = True
        self.create_steady_timer(LOOK_FOR_TOPICS, self._look_for_topics)
        self.create_steady_timer(TAKE_PERIOD, self._take)

    def health(self) -> Health:
        counts = {"topics": len(self._recorded), "messages": self._count}
        return Health(OK, f"recording to {self.parameters.path}", counts)

    def close(self) -> None:
        try:
            if self._writes:
                self._take()
            self._writer.close()
        except RecordingError:
            if self._writes:
                raise
        finally:
            self._input.destroy_node()

    def _look_for_topics(self) -> None:
        for topic, types in self.get_topic_names_and_types():
            if topic in self._recorded:
                self._look_again(self._recorded[topic], topic)
            elif topic not in self._unreadable and is_recorded(topic, self._prefix):
                publishers = self.get_publishers_info_by_topic(topic)
                if publishers:
                    self._record(topic, types[0], publishers)

    def _look_again(self, recorded: _Recorded, topic: str) -> None:
        """Where a publisher has come that offers less than those before it, listen so that all are heard."""
        if (count := self.count_publishers(topic)) == recorded.publishers:
            return
        offered = [publisher.qos_profile for publisher in self.get_publishers_info_by_topic(topic)]
        recorded.publishers, profile = count, matching([recorded.profile, *offered], QUEUE)
        if profile != recorded.profile:
            self._write(recorded)
            self._input.destroy_subscription(recorded.subscription)
            recorded.profile = profile
            recorded.subscription = self._listen(recorded.subscription.msg_type, topic, profile)

    def _record(self, topic: str, type_name: str, publishers: list[TopicEndpointInfo]) -> None:
        try:
            text = definition(type_name, installed_share_folders())
        except RecordingError as error:
            self.get_logger().warning(f"{topic} is not recorded: {error}")
            self._unreadable.add(topic)
            return
        profile = matching([publisher.qos_profile for publisher in publishers], QUEUE)
        channel = self._writer.register(topic, type_name, text, _offered(profile), _type_hash(publishers[0]))
        subscription = self._listen(message_class(type_name), topic, profile)
        self._recorded[topic] = _Recorded(channel, subscription, profile, len(publishers))

    def _listen(self, kind: type, topic: str, profile: QoSProfile) -> Subscription:
        return self._input.create_subscription(kind, topic, _not_called, profile, raw=True)

    def _take(self) -> None:
        """Write what has come in since the last time.

        Raises:
            RecordingError: it cannot be written.
        """
        try:
            for recorded in self._recorded.values():
                self._write(recorded)
        except RecordingError:
            self._writes = False
            raise

    def _write(self, recorded: _Recorded) -> None:
        subscription = recorded.subscription
        with subscription.handle:
            while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
                data, info = taken
                self._writer.write(recorded.channel, data, info["received_timestamp"], info["source_timestamp"])
                self._count += 1


def is_recorded(topic: str, prefix: str) -> bool:
    """Whether a topic is one of a robot's, whose topics begin with `prefix`, or of all robots'; hidden ones, such as
    those that actions are made of, are not, as with `ros2 bag record`."""
    hidden = any(part.startswith("_") for part in topic.split("/"))
    return topic in GLOBAL_TOPICS or (topic.startswith(prefix) and not hidden)


def _not_called(data: bytes) -> None:
    """The callback that a subscription must have; its messages are taken without it."""


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
