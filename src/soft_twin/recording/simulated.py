"""Recordings of what was computed in simulated time: no node, no middleware, the same topics and types as a run's."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from soft_twin.recording.robots import METADATA, robot_metadata
from soft_twin.recording.writer import open_recording
from soft_twin.robots.base import Robot

EPOCH = 1_700_000_000_000_000_000  # [ns] of the simulated time 0


class SimulatedRecording:
    """Messages stamped with simulated time [s], under the robot's namespace and in its `base_link`."""

    def __init__(self, path: str | Path, robot: Robot):
        """Raises RecordingError: the path cannot be written."""
        self._writer, self._name = open_recording(path), robot.name
        self._writer.describe(METADATA, robot_metadata(robot))

    def __enter__(self) -> "SimulatedRecording":
        return self

    def __exit__(self, *exception: object) -> None:
        self._writer.close()

    def pose(self, topic: str, time: float, position: np.ndarray, axis: np.ndarray) -> None:
        """A PoseStamped: position (3,) [m], and the shortest turn that takes +z to an axis (3,)."""
        turn = np.array([-axis[1], axis[0], 0.0, 1.0 + axis[2]])
        x, y, z, w = turn / np.linalg.norm(turn)
        make = _types()
        pose = make["geometry_msgs/msg/Pose"](
            _point("geometry_msgs/msg/Point", position), make["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w)
        )
        self._write(topic, time, "geometry_msgs/msg/PoseStamped", pose=pose)

    def vector(self, topic: str, time: float, vector: np.ndarray) -> None:
        """A Vector3Stamped."""
        inner = _point("geometry_msgs/msg/Vector3", vector)
        self._write(topic, time, "geometry_msgs/msg/Vector3Stamped", vector=inner)

    def number(self, topic: str, time: float, number: float) -> None:
        """A Float64."""
        self._write(topic, time, "std_msgs/msg/Float64", stamped=False, data=float(number))

    def text(self, topic: str, time: float, text: str) -> None:
        """A String."""
        self._write(topic, time, "std_msgs/msg/String", stamped=False, data=text)

    def joints(self, topic: str, time: float, names: list[str], position: np.ndarray, effort: np.ndarray) -> None:
        """A JointState."""
        self._write(topic, time, "sensor_msgs/msg/JointState", name=names, position=position, velocity=np.zeros(0),
                    effort=effort)  # fmt: skip

    def imu(self, topic: str, time: float, angular_velocity: np.ndarray, specific_force: np.ndarray) -> None:
        """An Imu without orientation: rates (3,) [rad/s] and specific force (3,) [m/s²]."""
        make, unknown = _types(), np.zeros(9)
        vector = "geometry_msgs/msg/Vector3"
        self._write(
            topic,
            time,
            "sensor_msgs/msg/Imu",
            orientation=make["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0),
            orientation_covariance=np.array([-1.0, *unknown[1:]]),
            angular_velocity=_point(vector, angular_velocity),
            angular_velocity_covariance=unknown,
            linear_acceleration=_point(vector, specific_force),
            linear_acceleration_covariance=unknown,
        )

    def temperature(self, topic: str, time: float, temperature: float) -> None:
        """A Temperature [°C]."""
        self._write(topic, time, "sensor_msgs/msg/Temperature", temperature=float(temperature), variance=0.0)

    def _write(self, topic: str, time: float, kind: str, stamped: bool = True, **content: Any) -> None:
        when, make, store = EPOCH + round(1e9 * time), _types(), _store()
        if stamped:
            stamp = make["builtin_interfaces/msg/Time"](sec=when // 10**9, nanosec=when % 10**9)
            content["header"] = make["std_msgs/msg/Header"](stamp=stamp, frame_id=f"{self._name}/base_link")
        definition, digest = _definition(kind)
        channel = self._writer.register(f"/{self._name}/{topic}", kind, definition, type_hash=digest)
        self._writer.write(channel, store.serialize_cdr(make[kind](**content), kind), when)


def _point(kind: str, values: np.ndarray) -> Any:
    return _types()[kind](**dict(zip("xyz", map(float, values), strict=True)))


@cache
def _store() -> Any:
    return get_typestore(Stores.ROS2_HUMBLE)


def _types() -> dict[str, Any]:
    return _store().types


@cache
def _definition(kind: str) -> tuple[str, str]:
    """A type's text and hash."""
    return _store().generate_msgdef(kind, ros_version=2)
