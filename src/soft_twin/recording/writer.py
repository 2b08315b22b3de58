"""Recordings in: serialized ROS 2 messages to an MCAP file that rosbag2 and Foxglove open."""

import fcntl
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mcap.writer import CompressionType, Writer

from soft_twin.errors import RecordingError
from soft_twin.recording.bag_metadata import write_metadata

FLUSH_INTERVAL = 0.5  # [s]
CHUNK_SIZE = 256 * 1024  # [bytes]
INFINITE = "{sec: 9223372036, nsec: 854775807}"  # RMW_DURATION_INFINITE


@dataclass(frozen=True)
class Qos:
    """What of a publisher's quality of service matters to whoever plays its messages back."""

    reliable: bool = True
    transient_local: bool = False
    depth: int = 10

    def offered(self) -> str:
        """The profile as rosbag2 keeps it with a channel: a YAML list of one mapping.

        Policies are the numbers of rmw's enumerations. Humble and Iron know nothing else; later releases read
        numbers when the file's "rosbag2" metadata has no serialized bag metadata, which is what McapWriter writes.
        """
        fields = {
            "history": 1,
            "depth": self.depth,
            "reliability": 1 if self.reliable else 2,
            "durability": 1 if self.transient_local else 2,
            "deadline": INFINITE,
            "lifespan": INFINITE,
            "liveliness": 1,
            "liveliness_lease_duration": INFINITE,
            "avoid_ros_namespace_conventions": "false",
        }
        return "- " + "\n  ".join(f"{key}: {value}" for key, value in fields.items()) + "\n"


def claimed(path: Path) -> BinaryIO:
    """A recording's file with its lock, until it is closed; what stands in it is left alone.

    Raises:
        RecordingError: another writer has locked it.
        OSError: it cannot be written.
    """
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise RecordingError(
            f"'{path}' is being recorded to: end that recording first, or give this one another name"
        ) from error
    except OSError:  # a file system without locks
        pass
    return file


class McapWriter:
    """One MCAP file with profile "ros2": messages as CDR bytes, schemas as ros2msg text.

    A finished chunk reaches the operating system with the first write that comes FLUSH_INTERVAL after the last
    one, so that a killed process leaves a file that reads up to its last half second. Not thread-safe.

    Args:
        path: the file; folders on the way are made, an old file is replaced.

    Raises:
        RecordingError: the path cannot be written, now or (disk full) at any later call, or another one writes it.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._claim = claimed(self.path)
            self._stream = self.path.open("wb")
        except OSError as error:
            raise self._unwritable(error) from error
        self._writer = Writer(self._stream, chunk_size=CHUNK_SIZE, compression=CompressionType.ZSTD)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._last_flush = time.monotonic()
        self._writer.start(profile="ros2", library="soft_twin")
        self._writer.add_metadata("rosbag2", {"ROS_DISTRO": os.environ.get("ROS_DISTRO", "")})
        self.flush()

    def __enter__(self) -> "McapWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def register(
        self, topic: str, type_name: str, definition_text: str, qos: Qos | None = None, type_hash: str = ""
    ) -> int:
        """The channel of a topic, made on the first call.

        Args:
            topic: full name, such as "/slender/gravity".
            type_name: such as "geometry_msgs/msg/Vector3Stamped".
            definition_text: full text of the type, see `definitions.definition`.
            qos: what the publisher offers.
            type_hash: "RIHS01_…" where known.
        """
        if topic not in self._channels:
            if type_name not in self._schemas:
                text = definition_text.encode()
                self._schemas[type_name] = self._writer.register_schema(type_name, "ros2msg", text)
            metadata = {"offered_qos_profiles": (qos or Qos()).offered(), "topic_type_hash": type_hash}
            self._channels[topic] = self._writer.register_channel(topic, "cdr", self._schemas[type_name], metadata)
        return self._channels[topic]

    def describe(self, name: str, values: Mapping[str, str]) -> None:
        """Append a metadata record; one that comes before all messages is there after a recorder was killed, too."""
        try:
            self._writer.add_metadata(name, dict(values))
        except OSError as error:
            raise self._unwritable(error) from error
        self.flush()

    def write(self, channel: int, data: bytes, log_time: int, publish_time: int | None = None) -> None:
        """Append one message.

        Args:
            channel: what `register` returned.
            data: the message as CDR bytes with their 4-byte header.
            log_time: when it was received [ns since the epoch].
            publish_time: when it was sent [ns since the epoch]; None or 0: unknown, then the log time stands for it.
        """
        try:
            self._writer.add_message(channel, log_time, bytes(data), publish_time or log_time)
        except OSError as error:
            raise self._unwritable(error) from error
        if time.monotonic() - self._last_flush >= FLUSH_INTERVAL:
            self.flush()

    def flush(self) -> None:
        """End the chunk in progress and hand all bytes to the operating system."""
        try:
            self._writer.flush()
        except OSError as error:
            raise self._unwritable(error) from error
        self._last_flush = time.monotonic()

    def close(self) -> None:
        """Write indexes and end the file; further calls do nothing."""
        if self._stream.closed:
            return
        try:
            with self._stream:
                self._writer.finish()
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            self._claim.close()

    def _unwritable(self, error: OSError) -> RecordingError:
        return RecordingError(f"cannot write the recording '{self.path}': {error.strerror or error}")


class BagWriter(McapWriter):
    """A folder that `ros2 bag` takes: one MCAP file, and metadata.yaml when it is closed.

    Args:
        folder: of the bag; of an old one in it, what has the same names is replaced.
    """

    def __init__(self, folder: str | Path):
        super().__init__(Path(folder) / f"{Path(folder).name}_0.mcap")
        write_metadata(self.path)  # away with an old one: there is nothing to tell of yet

    def close(self) -> None:
        super().close()
        write_metadata(self.path)


def open_recording(path: str | Path) -> McapWriter:
    """A plain MCAP file where the path ends in .mcap, else a bag.

    Raises:
        RecordingError: it cannot be written.
    """
    return (McapWriter if Path(path).suffix == ".mcap" else BagWriter)(path)
