"""Recordings made up for tests, written with the package's own writer."""

from pathlib import Path

import numpy as np
from mcap_ros2._dynamic import serialize_dynamic

from soft_twin.recording.definitions import definition
from soft_twin.recording.writer import McapWriter, Qos

EPOCH = 1_700_000_000_000_000_000  # [ns]
STAMPED = "std_msgs/Header header\n"
TYPES = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec\n",
    "diagnostic_msgs/DiagnosticArray": STAMPED + "DiagnosticStatus[] status\n",
    "diagnostic_msgs/DiagnosticStatus": "byte level\nstring name\nstring message\nstring hardware_id\n"
    "KeyValue[] values\n",
    "diagnostic_msgs/KeyValue": "string key\nstring value\n",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Pose": "Point position\nQuaternion orientation\n",
    "geometry_msgs/PoseArray": STAMPED + "geometry_msgs/Pose[] poses\n",
    "geometry_msgs/PoseStamped": STAMPED + "Pose pose\n",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n",
    "geometry_msgs/QuaternionStamped": STAMPED + "Quaternion quaternion\n",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Vector3Stamped": STAMPED + "Vector3 vector\n",
    "sensor_msgs/Imu": STAMPED + "geometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n"
    "geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n"
    "geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance\n",
    "sensor_msgs/JointState": STAMPED + "string[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n",
    "sensor_msgs/PointCloud2": STAMPED + "uint32 height\nuint32 width\nPointField[] fields\nbool is_bigendian\n"
    "uint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n",
    "sensor_msgs/PointField": "string name\nuint32 offset\nuint8 datatype\nuint32 count\n",
    "sensor_msgs/Temperature": STAMPED + "float64 temperature\nfloat64 variance\n",
    "soft_twin_msgs/Shape": STAMPED + "string[] names\ngeometry_msgs/Point[] points\nfloat64 energy\n"
    "float64 residual\nfloat64 confidence\n",
    "soft_twin_msgs/Pressures": STAMPED + "string[] names\nfloat64[] pressures\n",
    "soft_twin_msgs/SolverStatus": STAMPED + "string frame\ngeometry_msgs/Pose target\nbool use_orientation\n"
    "geometry_msgs/Pose reached\nbool compensating\nbool holding\nstring[] actuators\nfloat64[] efforts\n"
    "float64[] coordinates\nstring[] active_limits\nfloat64 error\nfloat64 orientation_error\nbool converged\n"
    "bool reachable\nfloat64 residual\nint32 iterations\nfloat64 duration\n",
    "std_msgs/Bool": "bool data\n",
    "std_msgs/Empty": "",
    "std_msgs/Float64": "float64 data\n",
    "std_msgs/Header": "builtin_interfaces/Time stamp  # when\nstring frame_id\n",
    "std_msgs/String": "string data\n",
}


def share_folder(folder: Path) -> Path:
    """A share folder with the definitions of TYPES."""
    for name, text in TYPES.items():
        package, _, message = name.partition("/")
        path = folder / package / "msg" / f"{message}.msg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class Recorder:
    """Writes messages given as dictionaries; times in seconds."""

    def __init__(self, path: Path, namespace: str = "slender"):
        self.writer = McapWriter(path)
        self._share = share_folder(path.parent / "share")
        self._namespace = namespace
        self._encoders = {}

    def add(
        self, topic: str, type_name: str, stamp: float, content: dict, delay: float = 0.0, resent: float = 0.0
    ) -> None:
        """A message measured at `stamp`, published `delay` later and received `resent` after that."""
        if topic not in self._encoders:
            text = definition(type_name, [self._share])
            name = topic if topic.startswith("/") else f"/{self._namespace}/{topic}"
            channel = self.writer.register(name, type_name, text, Qos())
            self._encoders[topic] = channel, serialize_dynamic(type_name, text)[type_name]
        channel, encode = self._encoders[topic]
        when = EPOCH + round(1e9 * stamp)
        header = {"header": {"stamp": {"sec": when // 10**9, "nanosec": when % 10**9}, "frame_id": "base_link"}}
        stamped = "Header header" in TYPES[type_name.replace("/msg/", "/")]
        sent = when + round(1e9 * delay)
        self.writer.write(channel, encode(header | content if stamped else content), sent + round(1e9 * resent), sent)

    def close(self) -> None:
        self.writer.close()


def xyz(values) -> dict:
    return dict(zip("xyz", map(float, values), strict=True))


def xyzw(values) -> dict:
    return dict(zip("xyzw", map(float, values), strict=True))


def pose(position, quaternion_xyzw=(0.0, 0.0, 0.0, 1.0)) -> dict:
    return {"pose": {"position": xyz(position), "orientation": xyzw(quaternion_xyzw)}}


def joints(names, position=(), effort=()) -> dict:
    return {"name": list(names), "position": list(map(float, position)), "velocity": [], "effort": list(effort)}


OLD_SOLVER_STATUS = (
    STAMPED + "geometry_msgs/Point target\nbool compensating\nfloat64 residual\n"
    "int32 iterations\nfloat64 duration\nfloat64 error\nbool converged\nbool reachable\nstring[] active_limits\n"
)  # as it was before targets were poses of frames


def old_solver_status(duration: float, target=(0.0, 0.0, 0.1), compensating=True, converged=True, limits=()) -> dict:
    return {
        "target": xyz(target),
        "compensating": compensating,
        "residual": 1e-9,
        "iterations": 1,
        "duration": duration,
        "error": 0.0,
        "converged": converged,
        "reachable": True,
        "active_limits": list(limits),
    }


def solver_status(
    duration: float, target=(0.0, 0.0, 0.1), compensating=True, error=0.0, converged=True, limits=(), **more
) -> dict:
    status = old_solver_status(duration, target, compensating, converged, limits)
    place = pose(target)["pose"]
    status |= {"target": place, "reached": place, "error": error, "orientation_error": float("nan"), "frame": "tip"}
    status |= {"use_orientation": False, "holding": False, "actuators": [], "efforts": [], "coordinates": []}
    return status | more


def shape(points, names=None) -> dict:
    names = [f"axis_{i}" for i in range(len(points))] if names is None else list(names)
    return {"names": names, "points": [xyz(p) for p in points], "energy": 1e-3, "residual": 0.0, "confidence": 1.0}


def arc(length: float, bend: np.ndarray, count: int = 11) -> np.ndarray:
    """(count, 3) a circular arc from the origin along +z whose direction turns by the vector `bend` (x, y) [rad]."""
    angle = np.linalg.norm(bend)
    s = np.linspace(0.0, length, count)
    if angle < 1e-9:
        return np.column_stack([0 * s, 0 * s, s])
    across = (1.0 - np.cos(angle * s / length)) * length / angle
    return np.column_stack([*np.outer(bend / angle, across), np.sin(angle * s / length) * length / angle])
