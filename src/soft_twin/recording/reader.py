"""Recordings out: messages, and one bundle of numpy arrays per topic.

Message packages are not needed: a recording carries the definitions of its types.
"""

import contextlib
import itertools
import logging
import struct
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from mcap.records import Channel, Schema
from mcap_ros2.decoder import DecoderFactory

from soft_twin.errors import RecordingError
from soft_twin.files import one_line
from soft_twin.recording.schemas import check_definition
from soft_twin.recording.storage import each_file, stored, topics_in

ZSTD = b"\x28\xb5\x2f\xfd"  # with which what is compressed by it begins
MAX_ARRAYS = 600 * 10**6  # [bytes] of all arrays of a recording
BLOCK = 4096  # messages that become arrays at once
BLOCK_SIZE = 4 * 2**20  # [bytes] of messages that become arrays at once, however few they are
BACK = 1.0  # [s] by which log times of a topic, and the times at which it was sent, go back without being told
MOST_NAMES = 1000  # columns of a topic
NAMED_BY = {
    "sensor_msgs/msg/JointState": "name",
    "soft_twin_msgs/msg/Pressures": "names",
    "soft_twin_msgs/msg/Shape": "names",
    "soft_twin_msgs/msg/SolverStatus": "actuators",
}  # the field with the names of columns
TEXTS = ("data", "active_limits", "frame")  # fields that may hold something else than numbers
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
class Stored:
    """One recorded message, not decoded yet.

    Attributes:
        topic, type_name: full topic name; type such as "sensor_msgs/msg/Imu".
        log_time, publish_time: when the recorder had it, and when it was sent [ns since the epoch].
        data: its bytes, as they were on the wire (CDR).
        decode: the message, fields as attributes. Raises RecordingError where its own definition does not fit it, or
            it has none.
    """

    topic: str
    type_name: str
    log_time: int
    publish_time: int
    data: bytes = field(repr=False)
    decode: Callable[[], Any] = field(repr=False)


@dataclass(frozen=True)
class Series:
    """All messages of one topic as arrays, one row a message, in the order of their log times, as `ros2 bag play` has
    them: files that tools have merged, or whose names alone say their order, hold messages in another one.

    Attributes:
        type_name: such as "sensor_msgs/msg/JointState".
        log_time, publish_time, stamp: (n,) int64 [ns since the epoch]; stamp is that of the header, or the publish
            time where a type has no header.
        names: of the columns, where the type names them (joints, points).
        fields: the arrays by name, see FIELDS; `series["position"]` is short for `series.fields["position"]`.
        twice: how long a stretch of log times is that was recorded twice [ns], and whose messages are mixed: the clock
            was set back by more than BACK, or files of one time were joined. Messages that were lost and sent again are
            received late, but in the order in which they were sent.
    """

    type_name: str
    log_time: np.ndarray
    publish_time: np.ndarray
    stamp: np.ndarray
    names: tuple[str, ...]
    fields: dict[str, np.ndarray] = field(repr=False)
    twice: int = 0

    def __len__(self) -> int:
        return len(self.log_time)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]


def read_messages(path: str | Path, topics: Collection[str] | None = None) -> Iterator[Message]:
    """The messages of `topics` (all where None), decoded, in the order in which they are stored.

    A recording that ends in the middle (a killed recorder, a full disk) is read up to its last whole chunk,
    with a warning in the log.

    Raises:
        RecordingError: no such recording, nothing that rosbag2 writes, a message that its own definition does not fit
            or that has none, or sizes that no recording has.
    """
    for each in read_stored(path, topics):
        yield Message(each.topic, each.type_name, each.log_time, each.publish_time, each.decode())


def read_stored(
    path: str | Path, topics: Collection[str] | None = None, heads: Collection[str] = ()
) -> Iterator[Stored]:
    """As `read_messages`, for who decodes only some of them, or knows their bytes.

    Args:
        path, topics: which.
        heads: topics of types with a header, of whose messages `decode` gives no more than its stamp.

    Raises:
        RecordingError: no such recording, nothing that rosbag2 writes, or sizes that no recording has.
    """
    for file, tell in each_file(path):
        decoders: dict[int, Callable[[bytes], Any]] = {}
        factory = DecoderFactory()
        for schema, channel, record in stored(file, topics, tell):
            if channel.topic in heads:
                decoders[channel.id] = _head
            decode = partial(_decoded, file, schema, channel, record.data, decoders, factory)
            yield Stored(channel.topic, schema.name, record.log_time, record.publish_time, record.data, decode)


def _decoded(
    file: Path,
    schema: Schema,
    channel: Channel,
    data: bytes,
    decoders: dict[int, Callable[[bytes], Any]],
    factory: DecoderFactory,
) -> Any:
    """A message; `decoders`: of channels of this file, made as they are needed."""
    if channel.id not in decoders:
        decoders[channel.id] = _decoder(factory, schema, channel, file)
    try:
        _check_begin(data)
        return decoders[channel.id](data)
    except Exception as error:  # the decoder follows the file's definition into anything
        raise RecordingError(
            f"{file}: a message of '{one_line(channel.topic)}' is no {one_line(schema.name)}: {one_line(error)}"
        ) from error


def _head(data: bytes) -> SimpleNamespace:
    """The stamp with which a message that has a header begins, behind the four bytes that say its byte order."""
    sec, nanosec = struct.unpack_from("<iI" if data[1] & 1 else ">iI", data, 4)
    return SimpleNamespace(header=SimpleNamespace(stamp=SimpleNamespace(sec=sec, nanosec=nanosec)))


def _check_begin(data: bytes) -> None:
    """Refuse what is no CDR, which begins with a zero."""
    if data.startswith(ZSTD):
        raise ValueError("rosbag2 has compressed it, `ros2 bag convert` the bag first")
    if data and data[0] != 0:
        raise ValueError(f"it begins with {data[0]:02x}, expected 00 as CDR does")


def arrays(
    path: str | Path, topics: Collection[str] | None = None, times_alone: Collection[str] = ()
) -> dict[str, Series]:
    """The recording as arrays by topic; topics of types without a line in FIELDS are left out.

    Args:
        path, topics: which; all topics where None.
        times_alone: topics of whose messages nothing but the times is wanted: where these have a header, what follows
            its stamp is not decoded, and there are no fields.

    Raises:
        RecordingError: see `read_messages`; also a message without what its type has, a topic of two types, one of them
            with a line in FIELDS, or arrays beyond MAX_ARRAYS.
    """
    wanted = _known_topics(path, topics)
    heads = {topic for topic in times_alone if wanted.get(topic) not in HEADLESS}
    gathered: dict[str, _Gathered] = {}
    count = size = 0
    for each in read_stored(path, wanted, heads):
        if each.topic not in gathered:
            gathered[each.topic] = _Gathered(path, each, _event if each.topic in heads else FIELDS[each.type_name])
        gathered[each.topic].add(each)
        count, size = count + 1, size + len(each.data)
        if count == BLOCK or size >= BLOCK_SIZE:
            _convert(path, gathered)
            count = size = 0
    _convert(path, gathered)
    found = {topic: rows.series() for topic, rows in sorted(gathered.items())}
    tell_back(path, max((rows.back for rows in gathered.values()), default=0))
    return found


def tell_back(path: str | Path, back: int) -> None:
    """Warn where log times of a topic go back by so long [ns], as they do not where one recorder wrote them."""
    if back > 1e9 * BACK:
        logger.warning(
            "%s: log times go back by %.4g s in it, as where a clock was set or files were joined: in their order "
            "messages count", path, 1e-9 * back
        )  # fmt: skip


def _convert(path: str | Path, gathered: Mapping[str, "_Gathered"]) -> None:
    """Turn what is gathered into arrays.

    Raises:
        RecordingError: they are beyond MAX_ARRAYS, or see `_Gathered.convert`.
    """
    for rows in gathered.values():
        rows.convert()
    if sum(rows.size for rows in gathered.values()) > MAX_ARRAYS:
        raise RecordingError(
            f"{path}: more than {MAX_ARRAYS / 1e6:g} MB of arrays: cut it into shorter ones, or ask for fewer topics"
        )


def topic_types(path: str | Path) -> dict[str, str]:
    """The type of each topic that has messages."""
    return dict(_types(path, None))


def _types(path: str | Path, topics: Collection[str] | None) -> list[tuple[str, str]]:
    """Topics and types of the messages of `topics`, all where None, each once."""
    pairs = (pair for file, tell in each_file(path) for pair in topics_in(file, tell))
    return [pair for pair in dict.fromkeys(pairs) if topics is None or pair[0] in topics]


def _known_topics(path: str | Path, topics: Collection[str] | None) -> dict[str, str]:
    """Those of `topics`, all where None, whose type has a line in FIELDS, with that type.

    Raises:
        RecordingError: one has messages of another type, too.
    """
    found = _types(path, topics)
    known = {topic: type_name for topic, type_name in found if type_name in FIELDS}
    types = {topic: sorted(one_line(name) for other, name in found if other == topic) for topic in known}
    for topic, names in sorted(types.items()):
        if len(names) > 1:
            raise RecordingError(f"{path}: '{one_line(topic)}' has messages of {' and '.join(names)}")
    return known


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
    if not schema.encoding:
        raise RecordingError(
            f"{path}: cannot decode '{topic}': the definition of {one_line(schema.name)} is neither in it nor "
            "installed: source the workspace with its package"
        )
    if decoder is None:
        raise RecordingError(
            f"{path}: cannot decode '{topic}': encoding '{one_line(channel.message_encoding)}' with schema "
            f"'{one_line(schema.encoding)}', expected cdr with ros2msg"
        )
    return decoder


class _Gathered:
    """The messages of one topic, turned into arrays block by block: as objects they are fifty times as large.

    Attributes:
        size: of the arrays [bytes].
        back: by how much a row is before an earlier one in log and publish time, known with `series` [ns].
    """

    def __init__(self, path: str | Path, first: Stored, fields: Callable[..., Any]):
        """`fields`: makes names and arrays of decoded messages, see FIELDS."""
        self._log: list[int] = []
        self._publish: list[int] = []
        self._data: list[SimpleNamespace] = []
        self.size = self.back = 0
        self._where = f"{path}: '{one_line(first.topic)}'"
        self._type_name, self._fields = first.type_name, fields
        self._names: tuple[str, ...] | None = None
        self._told = False
        self._blocks: list[dict[str, np.ndarray]] = []

    def add(self, message: Stored) -> None:
        """Decode a message, and keep it until it becomes a row.

        Raises:
            RecordingError: see `Stored.decode`.
        """
        self._data.append(message.decode())
        self._log.append(message.log_time)
        self._publish.append(message.publish_time)

    def convert(self) -> None:
        """Turn the messages that are kept into rows of arrays.

        Raises:
            RecordingError: one lacks a field of its type, or has something else there.
        """
        data = self._data
        if not data:
            return
        try:
            names, fields = self._fields(data, self._names)
            self._tell_others(data, names)
            fields = {name: _checked(name, values, len(data)) for name, values in fields.items()}
            self._blocks.append(self._times(data) | fields)
            if _shapes(self._blocks[0]) != _shapes(self._blocks[-1]):
                raise ValueError("lists of several lengths")
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise RecordingError(f"{self._where} has what no {self._type_name} has: {one_line(error)}") from error
        self._names = names
        self.size += sum(_size(values) for values in self._blocks[-1].values())
        self._log, self._publish, self._data = [], [], []

    def _tell_others(self, data: list[SimpleNamespace], names: tuple[str, ...]) -> None:
        """Say once that later messages name what has no column, as where two publishers share a topic."""
        owner = NAMED_BY.get(self._type_name)
        if owner is None or self._told:
            return
        others = {name for row in data for name in getattr(row, owner, ())} - set(names)
        if others:
            self._told = True
            logger.warning("%s: not read, as its first message has none: %s", self._where, one_line(sorted(others)))

    def _times(self, data: list[SimpleNamespace]) -> dict[str, np.ndarray]:
        publish = np.array(self._publish, dtype=np.int64)
        stamps = [_stamp(row.header.stamp) for row in data] if hasattr(data[0], "header") else publish
        return {
            "/log": np.array(self._log, dtype=np.int64),
            "/publish": publish,
            "/stamp": np.array(stamps, dtype=np.int64),
        }

    def series(self) -> Series:
        """All of the topic that has become rows."""
        whole = {name: np.concatenate([block[name] for block in self._blocks]) for name in self._blocks[0]}
        times = np.array([whole["/log"], whole["/publish"]])
        self.back = int(np.max(np.min(np.maximum.accumulate(times, axis=1) - times, axis=0)))
        twice = _recorded_twice(*times)
        order = np.argsort(whole["/log"], kind="stable")
        whole = {name: values[order] for name, values in whole.items()}
        times = (whole.pop(name) for name in ("/log", "/publish", "/stamp"))
        return Series(self._type_name, *times, names=self._names, fields=whole, twice=twice)


def _recorded_twice(log: np.ndarray, publish: np.ndarray) -> int:
    """How long a stretch is that parts of log times [ns] have in common, between steps back by more than BACK of both
    these and the times at which messages were sent."""
    steps = np.maximum(np.diff(log, prepend=log[0]), np.diff(publish, prepend=publish[0]))
    starts = np.flatnonzero(steps < -1e9 * BACK)
    parts = sorted((int(part.min()), int(part.max())) for part in np.split(log, starts))
    ends = itertools.accumulate((end for _, end in parts), max)
    common = (min(before, end) - start for before, (start, end) in zip(ends, parts[1:], strict=False))
    return max(common, default=0)


def _size(values: np.ndarray) -> int:
    """Of an array with what its objects take [bytes]."""
    objects = values.tolist() if values.dtype == object else []
    inner = (one for value in objects if isinstance(value, tuple) for one in value)
    return values.nbytes + sum(map(sys.getsizeof, objects)) + sum(map(sys.getsizeof, inner))


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
HEADLESS = ("std_msgs/msg/Empty", "std_msgs/msg/Float64", "std_msgs/msg/String")  # of FIELDS
