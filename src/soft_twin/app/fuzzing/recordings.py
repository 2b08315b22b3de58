"""Recordings of the slender robot made up from a seed: good ones, odd ones, and ones that are none."""

import io
import struct
from collections.abc import Callable

import lz4.frame
import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.records import Channel, Chunk, Header, Message, Schema
from mcap.writer import MCAP0_MAGIC, Writer
from mcap_ros2._dynamic import serialize_dynamic

EPOCH = 1_700_000_000_000_000_000  # [ns]
SECONDS, PERIOD = 4.0, 0.05
BOMB_SIZE = 2_200_000_000  # [bytes]
SEPARATOR = "=" * 80
TYPES = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec\n",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Pose": "Point position\nQuaternion orientation\n",
    "geometry_msgs/PoseStamped": "std_msgs/Header header\nPose pose\n",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n",
    "geometry_msgs/QuaternionStamped": "std_msgs/Header header\nQuaternion quaternion\n",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Vector3Stamped": "std_msgs/Header header\nVector3 vector\n",
    "sensor_msgs/Imu": "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\n"
    "float64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n"
    "float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n"
    "float64[9] linear_acceleration_covariance\n",
    "sensor_msgs/JointState": "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
    "float64[] effort\n",
    "soft_twin_msgs/SolverStatus": "std_msgs/Header header\nstring frame\ngeometry_msgs/Pose target\n"
    "bool use_orientation\ngeometry_msgs/Pose reached\nbool compensating\nbool holding\nstring[] actuators\n"
    "float64[] efforts\nfloat64[] coordinates\nstring[] active_limits\nfloat64 error\nfloat64 orientation_error\n"
    "bool converged\nbool reachable\nfloat64 residual\nint32 iterations\nfloat64 duration\n",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id\n",
    "std_msgs/String": "string data\n",
}
LIES = (
    "", "garbage {", "float64[1000000000] x\n", "uint8[4000000000] x\n", "std_msgs/Nothing x\n", "string[] data\n",
    f"Self x\n{SEPARATOR}\nMSG: std_msgs/Self\nSelf x\n",
    f"Hollow[1000000000] x\n{SEPARATOR}\nMSG: std_msgs/Hollow\nuint8[1] y\n",
    "wstring x\n", "float64 x y z\n", "\x00\x01", "string data\nstring data\n", "float64 data\n" * 20_000,
)  # fmt: skip
CABLES = [f"cable_{i}" for i in range(1, 7)]
ODD = (float("nan"), float("inf"), 1e300, -1e300, 1e9, 0.0)


def definition(name: str) -> str:
    """The full text of a type."""
    text, waiting, done = TYPES[name], [name], {name}
    while waiting:
        package, parts = waiting[0].split("/")[0], TYPES[waiting.pop(0)].split()
        for word in parts:
            inner = word if word in TYPES else f"{package}/{word}"
            if inner in TYPES and inner not in done:
                done.add(inner)
                waiting.append(inner)
                text += f"{SEPARATOR}\nMSG: {inner}\n{TYPES[inner]}"
    return text


class Run:
    """A run with a base that turns, a tip, a twin and solves; `odd` spoils single values.

    Args:
        stream: where to.
        odd: called with each message's topic and content; what it returns is written instead, None: nothing.
        name: namespace of the topics.
    """

    def __init__(self, stream, odd: Callable[[str, dict], dict | None] | None = None, name: str = "slender"):
        self._writer = Writer(stream, chunk_size=32_768)
        self._writer.start(profile="ros2", library="fuzzing")
        self._odd, self._name = odd, name
        self._channels: dict[str, tuple] = {}

    def write(self) -> None:
        """All messages, and the end of the file."""
        phases = {0.0: "without", SECONDS / 2: "with"}
        for k, time in enumerate(np.arange(0.0, SECONDS, PERIOD)):
            angle = 0.4 * np.sin(2.0 * time) if 0.5 < time % 2.0 < 1.0 else 0.3
            if time in phases:
                self._add("run/phase", "std_msgs/String", time, {"data": phases[time]})
            self._moment(k, float(time), float(angle))
        self._writer.finish()

    def _moment(self, k: int, time: float, angle: float) -> None:
        turn = {"x": np.sin(angle / 2), "y": 0.0, "z": 0.0, "w": np.cos(angle / 2)}
        force = {"x": 0.0, "y": 9.81 * np.sin(angle), "z": 9.81 * np.cos(angle)}
        tip = {"x": 0.001, "y": 0.002 * angle, "z": 0.099}
        nine, none = [0.0] * 9, {"x": 0.0, "y": 0.0, "z": 0.0}
        imu = {"orientation": turn, "angular_velocity": none, "linear_acceleration": force}
        imu |= {f"{w}_covariance": nine for w in ("orientation", "angular_velocity", "linear_acceleration")}
        self._add("imu/data_raw", "sensor_msgs/Imu", time, imu)
        down = {axis: -value for axis, value in force.items()}
        self._add("gravity", "geometry_msgs/Vector3Stamped", time, {"vector": down})
        self._add("truth/base", "geometry_msgs/QuaternionStamped", time, {"quaternion": turn})
        for topic in ("truth/tip", "twin/tip"):
            self._add(topic, "geometry_msgs/PoseStamped", time, {"pose": {"position": tip, "orientation": turn}})
        joints = {"name": CABLES, "position": [0.001] * 6, "velocity": [], "effort": [1.0] * 6}
        self._add("cables/command", "sensor_msgs/JointState", time, joints)
        self._add("solver/status", "soft_twin_msgs/SolverStatus", time, _status(time > SECONDS / 2))

    def _add(self, topic: str, kind: str, time: float, content: dict) -> None:
        stamp = EPOCH + round(1e9 * time)
        header = {"stamp": {"sec": stamp // 10**9, "nanosec": stamp % 10**9}, "frame_id": "base_link"}
        content = {"header": header} | content if "Header" in TYPES[kind] else content
        content = content if self._odd is None else self._odd(topic, content)
        if content is not None:
            channel, encode = self._channel(topic, kind)
            self._writer.add_message(channel, stamp, encode(content), stamp)

    def _channel(self, topic: str, kind: str) -> tuple:
        if topic not in self._channels:
            name, text = kind.replace("/", "/msg/"), definition(kind)
            schema = self._writer.register_schema(name, "ros2msg", text.encode())
            channel = self._writer.register_channel(f"/{self._name}/{topic}", "cdr", schema)
            self._channels[topic] = channel, serialize_dynamic(name, text)[name]
        return self._channels[topic]


def _status(compensating: bool) -> dict:
    """A solve that found what it was asked for."""
    place = {"position": {"x": 0.0, "y": 0.0, "z": 0.1}, "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
    status = {"frame": "tip", "target": place, "reached": place, "use_orientation": False, "holding": False}
    status |= {"actuators": CABLES, "efforts": [1.0] * 6, "coordinates": [0.001] * 6, "active_limits": ["cable_1 low"]}
    status |= {"compensating": compensating, "residual": 1e-9, "iterations": 1, "duration": 0.004}
    return status | {"error": 0.0, "orientation_error": float("nan"), "converged": True, "reachable": True}


def good_recording() -> bytes:
    """A run as it should be."""
    stream = io.BytesIO()
    Run(stream).write()
    return stream.getvalue()


def odd_recording(rng: np.random.Generator) -> bytes:
    """A file that is sound, of a run with odd values, or without some topics."""
    lost = {
        topic for topic in ("run/phase", "truth/tip", "truth/base", "twin/tip", "solver/status") if rng.random() < 0.1
    }
    share = 10.0 ** rng.uniform(-3.0, 0.0)

    def odd(topic: str, content: dict) -> dict | None:
        if topic in lost:
            return None
        return _spoiled(content, rng) if rng.random() < share else content

    stream = io.BytesIO()
    Run(stream, odd, str(rng.choice(["slender", "slender", "slender", "other", "tm40"]))).write()
    return stream.getvalue()


def _spoiled(content: dict, rng: np.random.Generator) -> dict:
    key = list(content)[rng.integers(len(content))]
    value = content[key]
    if isinstance(value, dict):
        return content | {key: _spoiled(value, rng)}
    if isinstance(value, bool):
        return content | {key: not value}
    if key == "sec":
        return content | {key: int(rng.choice([0, -(2**31), 2**31 - 1, value + 5, value - 5]))}
    if isinstance(value, list):
        return content | {key: value[: rng.integers(len(value) + 1)] if rng.random() < 0.5 else value * 3}
    if isinstance(value, float):
        return content | {key: float(rng.choice(ODD))}
    return content | {key: "x" * int(rng.integers(2000))} if isinstance(value, str) else content


def false_recording(rng: np.random.Generator) -> bytes:
    """A file of records that contradict each other, lie about sizes, or come too early."""
    return FALSE[rng.integers(len(FALSE))](rng)


def _records(*items) -> bytes:
    builder = RecordBuilder()
    Header(profile="ros2", library="fuzzing").write(builder)
    for item in items:
        item.write(builder)
    return MCAP0_MAGIC + builder.end()


def _schema(text: str, name: str = "std_msgs/msg/String", encoding: str = "ros2msg") -> Schema:
    return Schema(id=1, data=text.encode(), encoding=encoding, name=name)


def _channel(schema: int = 1, encoding: str = "cdr", topic: str = "/slender/run/phase") -> Channel:
    return Channel(id=1, topic=topic, message_encoding=encoding, metadata={}, schema_id=schema)


def _message(data: bytes, channel: int = 1, time: int = EPOCH) -> Message:
    return Message(channel_id=channel, log_time=time, data=data, publish_time=time, sequence=0)


def _text(text: str) -> bytes:
    return b"\x00\x01\x00\x00" + struct.pack("<I", len(text) + 1) + text.encode() + b"\x00"


def _undeclared(rng: np.random.Generator) -> bytes:
    message = _message(_text("with"), int(rng.integers(1, 3)))
    return _records(_channel(int(rng.integers(0, 3))), message) if rng.random() < 0.7 else _records(message)


def _lying(rng: np.random.Generator) -> bytes:
    names = [
        "std_msgs/msg/String",
        "sensor_msgs/msg/Imu",
        "sensor_msgs/msg/JointState",
        "std_msgs/msg/Float64",
        "",
        "x",
    ]
    body = rng.bytes(int(rng.integers(0, 300))) if rng.random() < 0.5 else _text("with")
    schema = _schema(LIES[rng.integers(len(LIES))], str(rng.choice(names)), str(rng.choice(["ros2msg", "ros2idl", ""])))
    return _records(schema, _channel(1, str(rng.choice(["cdr", "cdr", "cdr", "json"]))), *[_message(body)] * 3)


def _wrong_chunk(rng: np.random.Generator) -> bytes:
    names = ("zstd", "lz4", "", "none", "brotli")
    data = rng.bytes(int(rng.integers(0, 3000)))
    size = int(rng.choice([0, len(data), 2**20, 2**33, 2**63]))
    chunk = Chunk(
        compression=str(rng.choice(names)), data=data, message_start_time=0, message_end_time=0, uncompressed_crc=0,
        uncompressed_size=size,
    )  # fmt: skip
    return _records(chunk)


_bombs: dict[str, bytes] = {}


def _bomb(rng: np.random.Generator) -> bytes:
    name = str(rng.choice(["zstd", "lz4"]))
    if name not in _bombs:
        _bombs[name] = _packed_zeros(name)
    size = BOMB_SIZE if rng.random() < 0.5 else int(rng.integers(0, 2**20))
    chunk = Chunk(
        compression=name, data=_bombs[name], message_start_time=0, message_end_time=0, uncompressed_crc=0,
        uncompressed_size=size,
    )  # fmt: skip
    return _records(_schema("string data\n"), _channel(), chunk)


def _packed_zeros(name: str) -> bytes:
    """BOMB_SIZE bytes of 0."""
    piece, count = bytes(2**20), BOMB_SIZE // 2**20
    packer = zstandard.ZstdCompressor(level=1).compressobj() if name == "zstd" else lz4.frame.LZ4FrameCompressor()
    start = packer.begin() if name == "lz4" else b""
    return start + b"".join(packer.compress(piece) for _ in range(count)) + packer.flush()


def _empty(rng: np.random.Generator) -> bytes:
    return MCAP0_MAGIC * int(rng.integers(0, 4)) + rng.bytes(int(rng.integers(0, 50)))


FALSE = (_undeclared, _undeclared, _lying, _lying, _lying, _wrong_chunk, _wrong_chunk, _bomb, _empty)
