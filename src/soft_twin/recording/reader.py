"""Recordings out: messages of an MCAP file, and one bundle of numpy arrays per topic.

Message packages are not needed: a recording carries the definitions of its types.
"""

import contextlib
import logging
import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
from mcap.exceptions import EndOfFile, InvalidMagic, McapError
from mcap.records import Channel, Footer, Metadata, Schema
from mcap.records import Message as Record
from mcap.stream_reader import CRCValidationError, StreamReader
from mcap.writer import MCAP0_MAGIC
from mcap_ros2.decoder import DecoderFactory
from zstandard import ZstdError

from soft_twin.errors import RecordingError
from soft_twin.files import checked_file, one_line
from soft_twin.recording.chunks import MAX_RECORD_SIZE, BombError, Bounded, records
from soft_twin.recording.schemas import check_definition

MAX_RECORDING = 50 * 10**9  # [bytes]
MAX_ARRAYS = 600 * 10**6  # [bytes] of all arrays of a recording
BLOCK = 1024  # messages of a topic that become arrays at once
MOST_NAMES = 1000  # columns of a topic
TEXTS = ("data", "active_limits", "frame")  # fields that may hold something else than numbers
DAMAGE = (
    McapError,
    EndOfFile,
    CRCValidationError,
    ZstdError,
    struct.error,
    UnicodeDecodeError,
    ValueError,
    OverflowError,
)

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
        RecordingError: no such file, not an MCAP file, a message that its own definition does not fit or that has
            none, or sizes that no recording has.
    """
    decoders: dict[int, Callable[[bytes], Any]] = {}
    factory = DecoderFactory()
    for schema, channel, record in _records(path, topics):
        if channel.id not in decoders:
            decoders[channel.id] = _decoder(factory, schema, channel, path)
        try:
            data = decoders[channel.id](record.data)
        except Exception as error:  # the decoder follows the file's definition into anything
            raise RecordingError(
                f"{path}: a message of '{one_line(channel.topic)}' is no {one_line(schema.name)}: {one_line(error)}"
            ) from error
        yield Message(channel.topic, schema.name, record.log_time, record.publish_time, data)


def arrays(path: str | Path, topics: Collection[str] | None = None) -> dict[str, Series]:
    """The recording as arrays by topic; topics of types without a line in FIELDS are left out.

    Raises:
        RecordingError: see `read_messages`; also a message without what its type has, or arrays beyond MAX_ARRAYS.
    """
    wanted = {name for name, type_name in topic_types(path).items() if type_name in FIELDS}
    wanted = wanted if topics is None else wanted & set(topics)
    gathered: dict[str, _Gathered] = {}
    for message in read_messages(path, wanted):
        if message.topic not in gathered:
            gathered[message.topic] = _Gathered(path, message)
        gathered[message.topic].add(message)
        if len(gathered[message.topic].rows) == BLOCK:
            gathered[message.topic].convert()
            if sum(one.size for one in gathered.values()) > MAX_ARRAYS:
                raise RecordingError(f"{path}: more than {MAX_ARRAYS} bytes of arrays: ask for fewer topics")
    return {topic: rows.series() for topic, rows in sorted(gathered.items())}


def topic_types(path: str | Path) -> dict[str, str]:
    """The type of each topic that has messages."""
    return {channel.topic: schema.name for schema, channel, _ in _records(path, None)}


def is_complete(path: str | Path) -> bool:
    """Whether the recording was ended properly and is undamaged, rather than cut off."""
    try:
        with _open(path) as stream:
            return any(isinstance(record, Footer) for record in records(stream))
    except (*DAMAGE, InvalidMagic, BombError):
        return False


def metadata(path: str | Path, name: str) -> dict[str, str]:
    """The first metadata record of that name, without one an empty dictionary.

    Raises:
        RecordingError: no such file, or not an MCAP file.
    """
    with _open(path) as stream:
        reader = StreamReader(Bounded(stream), record_size_limit=MAX_RECORD_SIZE, emit_chunks=True)
        for record in _until_damage(reader.records, path):
            if isinstance(record, Metadata) and record.name == name:
                return record.metadata
    return {}


@contextlib.contextmanager
def _open(path: str | Path) -> Iterator[IO[bytes]]:
    """The file, at its beginning, where MCAP's magic bytes are.

    Raises:
        RecordingError: they are not, or there is no such file.
    """
    checked_file(path, "recording", MAX_RECORDING, RecordingError)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise RecordingError(f"cannot read the recording '{path}': {error.strerror}") from error
        if stream.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
            raise RecordingError(f"'{path}' is not an MCAP recording: its first bytes are not MCAP's")
        stream.seek(0)
        yield stream


def _records(path: str | Path, topics: Collection[str] | None) -> Iterator[tuple[Schema, Channel, Record]]:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    with _open(path) as stream:
        for record in _until_damage(records(stream), path):
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Record):
                channel = _declared(channels, record.channel_id, "channel", path)
                if topics is None or channel.topic in topics:
                    yield _declared(schemas, channel.schema_id, "schema", path), channel, record


def _declared(known: dict[int, Any], number: int, what: str, path: str | Path) -> Any:
    if number not in known:
        raise RecordingError(f"{path}: a message's {what} {number} is declared nowhere before it")
    return known[number]


def _until_damage(found: Iterator[Any], path: str | Path) -> Iterator[Any]:
    """What is found, up to where the file is damaged."""
    try:
        yield from found
    except InvalidMagic:
        logger.warning("%s: bytes after the end of the recording are not MCAP's", path)
    except BombError as error:
        raise RecordingError(f"{path}: {error} bytes: no recording does that") from error
    except DAMAGE as error:
        logger.warning("%s: the recording was cut off, read up to there (%s)", path, type(error).__name__)


def _decoder(factory: DecoderFactory, schema: Schema, channel: Channel, path: str | Path) -> Callable[[bytes], Any]:
    """Of a channel's messages."""
    topic = one_line(channel.topic)
    try:
        check_definition(schema.name, schema.data.decode())
        with contextlib.redirect_stderr(StringIO()):  # the parser of definitions talks
            decoder = factory.decoder_for(channel.message_encoding, schema)
    except RecordingError as error:
        raise RecordingError(f"{path}: cannot decode '{topic}': {error}") from error
    except Exception as error:  # the parser of definitions raises anything on a broken one
        raise RecordingError(
            f"{path}: cannot decode '{topic}': no definition of {one_line(schema.name)}: {one_line(error)}"
        ) from error
    if decoder is None:
        raise RecordingError(
            f"{path}: cannot decode '{topic}': encoding '{one_line(channel.message_encoding)}' with schema "
            f"'{one_line(schema.encoding)}', expected cdr with ros2msg"
        )
    return decoder


class _Gathered:
    """The messages of one topic, turned into arrays block by block: as objects they are fifty times as large.

    Attributes:
        rows: messages that are not arrays yet.
        size: of the arrays [bytes].
    """

    def __init__(self, path: str | Path, first: Message):
        self.rows: list[Message] = []
        self.size = 0
        self._where = f"{path}: '{one_line(first.topic)}'"
        self._type_name = first.type_name
        self._names: tuple[str, ...] | None = None
        self._blocks: list[dict[str, np.ndarray]] = []

    def add(self, message: Message) -> None:
        """Take in a message.

        Raises:
            RecordingError: it is of another type than those before it.
        """
        if message.type_name != self._type_name:
            raise RecordingError(f"{self._where} has messages of {self._type_name} and {one_line(message.type_name)}")
        self.rows.append(message)

    def convert(self) -> None:
        """Turn the messages into arrays.

        Raises:
            RecordingError: one lacks a field of its type, or has something else there.
        """
        try:
            data = [row.data for row in self.rows]
            names, fields = FIELDS[self._type_name](data, self._names)
            fields = {name: _checked(name, values, len(data)) for name, values in fields.items()}
            self._blocks.append(self._times(data) | fields)
            if _shapes(self._blocks[0]) != _shapes(self._blocks[-1]):
                raise ValueError("lists of several lengths")
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise RecordingError(f"{self._where} has what no {self._type_name} has: {one_line(error)}") from error
        self._names = names
        self.size += sum(values.nbytes for values in self._blocks[-1].values())
        self.rows = []

    def _times(self, data: list[SimpleNamespace]) -> dict[str, np.ndarray]:
        publish = np.array([row.publish_time for row in self.rows], dtype=np.int64)
        stamps = [_stamp(row.header.stamp) for row in data] if hasattr(data[0], "header") else publish
        log = np.array([row.log_time for row in self.rows], dtype=np.int64)
        return {"/log": log, "/publish": publish, "/stamp": np.array(stamps, dtype=np.int64)}

    def series(self) -> Series:
        """All of the topic."""
        if self.rows:
            self.convert()
        whole = {name: np.concatenate([block[name] for block in self._blocks]) for name in self._blocks[0]}
        times = (whole.pop(name) for name in ("/log", "/publish", "/stamp"))
        return Series(self._type_name, *times, names=self._names, fields=whole)


def _shapes(block: dict[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    return {name: values.shape[1:] for name, values in block.items()}


def _checked(name: str, values: np.ndarray, count: int) -> np.ndarray:
    """A field's values, if they are what a field of that name holds: text and lists in TEXTS, else numbers."""
    if len(values) != count or (values.dtype.kind not in "buif" and name not in TEXTS):
        raise ValueError(f"'{name}' holds {values.dtype}, expected a number each")
    return values


def _stamp(time: SimpleNamespace) -> int:
    return time.sec * 1_000_000_000 + time.nanosec


def _column_names(found: list[str]) -> tuple[str, ...]:
    if len(found) > MOST_NAMES:
        raise ValueError(f"{len(found)} names, more than {MOST_NAMES}")
    return tuple(found)


def _xyz(vectors: list[SimpleNamespace]) -> np.ndarray:
    return np.array([(v.x, v.y, v.z) for v in vectors])


def _xyzw(quaternions: list[SimpleNamespace]) -> np.ndarray:
    return np.array([(q.x, q.y, q.z, q.w) for q in quaternions])


def _imu(rows: list[SimpleNamespace], names: Any) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    return (), {
        "orientation_xyzw": _xyzw([row.orientation for row in rows]),
        "orientation_covariance": np.array([row.orientation_covariance for row in rows]).reshape(-1, 3, 3),
        "angular_velocity": _xyz([row.angular_velocity for row in rows]),
        "linear_acceleration": _xyz([row.linear_acceleration for row in rows]),
    }


def _vector(rows, names):
    return (), {"vector": _xyz([row.vector for row in rows])}


def _pose(rows, names):
    return (), {
        "position": _xyz([row.pose.position for row in rows]),
        "orientation_xyzw": _xyzw([row.pose.orientation for row in rows]),
    }


def _quaternion(rows, names):
    return (), {"quaternion_xyzw": _xyzw([row.quaternion for row in rows])}


def _joints(rows, names):
    """Columns in the order of the first message."""
    names = _column_names(rows[0].name) if names is None else names
    return names, _by_name(rows, "name", ("position", "velocity", "effort"), names)


def _pressures(rows, names):
    """Columns in the order of the first message."""
    names = _column_names(rows[0].names) if names is None else names
    return names, _by_name(rows, "names", ("pressures",), names)


def _by_name(rows, owners: str, quantities: tuple[str, ...], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """(n, c) of each quantity, in the order of `names`; what a message leaves out is NaN."""
    fields = {}
    for quantity in quantities:
        table = np.full((len(rows), len(names)), np.nan)
        for i, row in enumerate(rows):
            values = dict(zip(getattr(row, owners), getattr(row, quantity), strict=False))
            table[i] = [values.get(name, np.nan) for name in names]
        fields[quantity] = table
    return fields


def _event(rows, names):
    return (), {}


def _data(rows, names):
    data = [row.data for row in rows]
    values = np.array(data, dtype=object if isinstance(data[0], str) else float)
    return (), {"data": values}


def _temperature(rows, names):
    return (), {"temperature": np.array([row.temperature for row in rows])}


_ANSWERS = ("compensating", "converged", "reachable")
_MEASURES = ("residual", "duration", "error")
_LATER = {"use_orientation": False, "holding": False}  # what older recordings do not tell
_TURNS = {"target_xyzw": "target", "reached_xyzw": "reached"}


def _solver_status(rows, names):
    """Columns are the actuators; older recordings have a place for a target, aim at the tip, and name no actuators."""
    fields = {
        name: np.array([getattr(row, name) for row in rows], dtype=kind)
        for kind, names in ((bool, _ANSWERS), (float, _MEASURES), (np.int64, ("iterations",)))
        for name in names
    }
    fields |= {name: np.array([getattr(row, name, default) for row in rows]) for name, default in _LATER.items()}
    fields["frame"] = np.array([getattr(row, "frame", "tip") for row in rows], dtype=object)
    limits = np.empty(len(rows), dtype=object)
    limits[:] = [tuple(row.active_limits) for row in rows]
    targets = [getattr(row.target, "position", row.target) for row in rows]
    fields |= {"active_limits": limits, "target": _xyz(targets)}
    if not hasattr(rows[0], "actuators"):
        return (), fields
    names = _column_names(rows[0].actuators) if names is None else names
    fields |= {name: _xyzw([getattr(row, pose).orientation for row in rows]) for name, pose in _TURNS.items()}
    fields["reached"] = _xyz([row.reached.position for row in rows])
    return names, fields | _by_name(rows, "actuators", ("efforts", "coordinates"), names)


def _shape(rows, names):
    """Points (n, k, 3) in the order of the first message's names; NaN where a message lacks one."""
    names = _column_names(rows[0].names) if names is None else names
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
    "soft_twin_msgs/msg/Pressures": _pressures,
    "soft_twin_msgs/msg/Shape": _shape,
    "soft_twin_msgs/msg/SolverStatus": _solver_status,
    "std_msgs/msg/Empty": _event,
    "std_msgs/msg/Float64": _data,
    "std_msgs/msg/String": _data,
}
