"""Recordings out: messages of an MCAP file, and one bundle of numpy arrays per topic.

Message packages are not needed: a recording carries the definitions of its types.
"""

import logging
import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from mcap.exceptions import EndOfFile, InvalidMagic, McapError
from mcap.records import Channel, Schema
from mcap.records import Message as Record
from mcap.stream_reader import CRCValidationError, StreamReader
from mcap.writer import MCAP0_MAGIC
from mcap_ros2.decoder import DecoderFactory
from zstandard import ZstdError

from soft_twin.errors import RecordingError

MAX_RECORD_SIZE = 256 * 2**20  # [bytes]
DAMAGE = (McapError, EndOfFile, CRCValidationError, ZstdError, struct.error, UnicodeDecodeError)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    """One recorded message.

    Attributes:
        topic, type_name: full topic name; type such as "sensor_msgs/msg/Imu".
        log_time: when the recorder had it [ns since the epoch].
        publish_time: when it was sent [ns since the epoch].
        data: the decoded message, fields as attributes.
    """

    topic: str
    type_name: str
    log_time: int
    publish_time: int
    data: SimpleNamespace = field(repr=False)


@dataclass(frozen=True)
class Series:
    """All messages of one topic as arrays, one row a message, in the order of recording.

    Attributes:
        type_name: such as "sensor_msgs/msg/JointState".
        log_time, publish_time, stamp: (n,) int64 [ns since the epoch]; stamp is that of the header, or the publish
            time where a type has no header.
        names: of the columns, where the type names them (joints, points).
        fields: the arrays by name, see FIELDS; `series["position"]` is short for `series.fields["position"]`.
    """

    type_name: str
    log_time: np.ndarray
    publish_time: np.ndarray
    stamp: np.ndarray
    names: tuple[str, ...]
    fields: dict[str, np.ndarray] = field(repr=False)

    def __len__(self) -> int:
        return len(self.log_time)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]


def read_messages(path: str | Path, topics: Collection[str] | None = None) -> Iterator[Message]:
    """The messages of `topics` (all where None), decoded, in the order of recording.

    A recording that ends in the middle (a killed recorder, a full disk) is read up to its last whole chunk,
    with a warning in the log.

    Raises:
        RecordingError: no such file, not an MCAP file, or a message that its own definition does not fit.
    """
    decoders: dict[int, Callable[[bytes], Any]] = {}
    factory = DecoderFactory()
    for schema, channel, record in _records(path, topics):
        if channel.id not in decoders:
            decoder = factory.decoder_for(channel.message_encoding, schema)
            if decoder is None:
                raise RecordingError(
                    f"{path}: cannot decode '{channel.topic}': encoding '{channel.message_encoding}' with schema "
                    f"'{schema.encoding}', expected cdr with ros2msg"
                )
            decoders[channel.id] = decoder
        try:
            data = decoders[channel.id](record.data)
        except (struct.error, UnicodeDecodeError, IndexError, EndOfFile) as error:
            raise RecordingError(f"{path}: a message of '{channel.topic}' is no {schema.name}: {error}") from error
        yield Message(channel.topic, schema.name, record.log_time, record.publish_time, data)


def arrays(path: str | Path, topics: Collection[str] | None = None) -> dict[str, Series]:
    """The recording as arrays by topic; topics of types without a line in FIELDS are left out.

    Raises:
        RecordingError: see `read_messages`.
    """
    wanted = {name for name, type_name in topic_types(path).items() if type_name in FIELDS}
    wanted = wanted if topics is None else wanted & set(topics)
    messages: dict[str, list[Message]] = {}
    for message in read_messages(path, wanted):
        messages.setdefault(message.topic, []).append(message)
    return {topic: _series(rows) for topic, rows in sorted(messages.items())}


def topic_types(path: str | Path) -> dict[str, str]:
    """The type of each topic that has messages."""
    return {channel.topic: schema.name for schema, channel, _ in _records(path, None)}


def is_complete(path: str | Path) -> bool:
    """Whether the recording was ended properly, rather than cut off."""
    with _open(path) as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - len(MCAP0_MAGIC)))
        return size > len(MCAP0_MAGIC) and stream.read() == MCAP0_MAGIC


def _open(path: str | Path):
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise RecordingError(f"cannot read the recording '{path}': {error.strerror}") from error


def _records(path: str | Path, topics: Collection[str] | None) -> Iterator[tuple[Schema, Channel, Record]]:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    with _open(path) as stream:
        if stream.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
            raise RecordingError(f"'{path}' is not an MCAP recording: its first bytes are not MCAP's")
        stream.seek(0)
        for record in _until_damage(stream, path):
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Record):
                channel = channels[record.channel_id]
                if topics is None or channel.topic in topics:
                    yield schemas[channel.schema_id], channel, record


def _until_damage(stream, path: str | Path) -> Iterator[Any]:
    try:
        yield from StreamReader(stream, validate_crcs=True, record_size_limit=MAX_RECORD_SIZE).records
    except InvalidMagic:
        logger.warning("%s: bytes after the end of the recording are not MCAP's", path)
    except DAMAGE as error:
        logger.warning("%s: the recording was cut off, read up to there (%s)", path, type(error).__name__)


def _series(rows: list[Message]) -> Series:
    type_name = rows[0].type_name
    names, fields = FIELDS[type_name]([row.data for row in rows])
    publish_time = np.array([row.publish_time for row in rows], dtype=np.int64)
    header = hasattr(rows[0].data, "header")
    return Series(
        type_name=type_name,
        log_time=np.array([row.log_time for row in rows], dtype=np.int64),
        publish_time=publish_time,
        stamp=np.array([_stamp(row.data.header.stamp) for row in rows], dtype=np.int64) if header else publish_time,
        names=names,
        fields=fields,
    )


def _stamp(time: SimpleNamespace) -> int:
    return time.sec * 1_000_000_000 + time.nanosec


def _xyz(vectors: list[SimpleNamespace]) -> np.ndarray:
    return np.array([(v.x, v.y, v.z) for v in vectors])


def _xyzw(quaternions: list[SimpleNamespace]) -> np.ndarray:
    return np.array([(q.x, q.y, q.z, q.w) for q in quaternions])


def _imu(rows: list[SimpleNamespace]) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    return (), {
        "orientation_xyzw": _xyzw([row.orientation for row in rows]),
        "orientation_covariance": np.array([row.orientation_covariance for row in rows]).reshape(-1, 3, 3),
        "angular_velocity": _xyz([row.angular_velocity for row in rows]),
        "linear_acceleration": _xyz([row.linear_acceleration for row in rows]),
    }


def _vector(rows):
    return (), {"vector": _xyz([row.vector for row in rows])}


def _pose(rows):
    return (), {
        "position": _xyz([row.pose.position for row in rows]),
        "orientation_xyzw": _xyzw([row.pose.orientation for row in rows]),
    }


def _quaternion(rows):
    return (), {"quaternion_xyzw": _xyzw([row.quaternion for row in rows])}


def _joints(rows):
    """Columns in the order of the first message; a quantity that a message leaves out is NaN."""
    names = tuple(rows[0].name)
    fields = {}
    for quantity in ("position", "velocity", "effort"):
        table = np.full((len(rows), len(names)), np.nan)
        for i, row in enumerate(rows):
            values = dict(zip(row.name, getattr(row, quantity), strict=False))
            table[i] = [values.get(name, np.nan) for name in names]
        fields[quantity] = table
    return names, fields


def _event(rows):
    return (), {}


def _data(rows):
    return (), {"data": np.array([row.data for row in rows])}


def _temperature(rows):
    return (), {"temperature": np.array([row.temperature for row in rows])}


def _solver_status(rows):
    fields = {
        name: np.array([getattr(row, name) for row in rows])
        for name in ("compensating", "residual", "iterations", "duration", "error", "converged", "reachable")
    }
    fields["target"] = _xyz([row.target for row in rows])
    limits = np.empty(len(rows), dtype=object)
    limits[:] = [tuple(row.active_limits) for row in rows]
    return (), fields | {"active_limits": limits}


def _shape(rows):
    """Points (n, k, 3) in the order of the first message's names; NaN where a message lacks one."""
    names = tuple(rows[0].names)
    points = np.full((len(rows), len(names), 3), np.nan)
    for i, row in enumerate(rows):
        found = {name: (p.x, p.y, p.z) for name, p in zip(row.names, row.points, strict=False)}
        points[i] = [found.get(name, (np.nan,) * 3) for name in names]
    scalars = {name: np.array([getattr(row, name) for row in rows]) for name in ("energy", "residual", "confidence")}
    return names, {"points": points} | scalars


FIELDS = {
    "geometry_msgs/msg/PoseStamped": _pose,
    "geometry_msgs/msg/QuaternionStamped": _quaternion,
    "geometry_msgs/msg/Vector3Stamped": _vector,
    "sensor_msgs/msg/Imu": _imu,
    "sensor_msgs/msg/JointState": _joints,
    "sensor_msgs/msg/Temperature": _temperature,
    "soft_twin_msgs/msg/Shape": _shape,
    "soft_twin_msgs/msg/SolverStatus": _solver_status,
    "std_msgs/msg/Empty": _event,
    "std_msgs/msg/Float64": _data,
    "std_msgs/msg/String": _data,
}
