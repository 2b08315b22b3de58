"""Recordings of two robots, written by rosbags: who knows nothing of ours."""

from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_HUMBLE)
TYPES = STORE.types
SECOND = 10**9  # [ns]


def of(name, **fields):
    """A message of a type such as "geometry_msgs/msg/Point"."""
    return TYPES[name](**fields)


def header(frame="left/base_link"):
    return of("std_msgs/msg/Header", stamp=of("builtin_interfaces/msg/Time", sec=7, nanosec=9), frame_id=frame)


def point(values):
    return of("geometry_msgs/msg/Point", **dict(zip("xyz", map(float, values), strict=True)))


def turn(xyzw=(0.0, 0.0, 0.0, 1.0)):
    return of("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", map(float, xyzw), strict=True)))


def marker(points, frame="left/base_link", name="body", kind=11, colours=()):
    """A list of triangles (11), or of lines (5)."""
    return of(
        "visualization_msgs/msg/Marker",
        header=header(frame),
        ns=name,
        id=0,
        type=kind,
        action=0,
        pose=of("geometry_msgs/msg/Pose", position=point((0, 0, 0)), orientation=turn()),
        scale=of("geometry_msgs/msg/Vector3", x=1.0, y=1.0, z=1.0),
        color=of("std_msgs/msg/ColorRGBA", r=1.0, g=0.5, b=0.0, a=1.0),
        lifetime=of("builtin_interfaces/msg/Duration", sec=0, nanosec=0),
        frame_locked=False,
        points=[point(each) for each in points],
        colors=[of("std_msgs/msg/ColorRGBA", r=r, g=g, b=b, a=1.0) for r, g, b in colours],
        texture_resource="",
        texture=of("sensor_msgs/msg/CompressedImage", header=header(), format="", data=np.zeros(0, np.uint8)),
        uv_coordinates=[],
        text="",
        mesh_resource="",
        mesh_file=of("visualization_msgs/msg/MeshFile", filename="", data=np.zeros(0, np.uint8)),
        mesh_use_embedded_materials=False,
    )


def pose(place, xyzw=(0.0, 0.0, 0.0, 1.0)):
    whole = of("geometry_msgs/msg/Pose", position=point(place), orientation=turn(xyzw))
    return of("geometry_msgs/msg/PoseStamped", header=header(), pose=whole)


def imu(xyzw, told=True):
    """`told`: whether the IMU says that it knows its orientation."""
    zero, unknown = of("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=0.0), np.zeros(9)
    return of(
        "sensor_msgs/msg/Imu",
        header=header(),
        orientation=turn(xyzw),
        orientation_covariance=unknown if told else np.array([-1.0, *unknown[1:]]),
        angular_velocity=zero,
        angular_velocity_covariance=unknown,
        linear_acceleration=zero,
        linear_acceleration_covariance=unknown,
    )


def serialised(message):
    return bytes(STORE.serialize_cdr(message, message.__msgtype__))


def tetrahedron(shift=0.0):
    """(12, 3) corners of its four triangles [m]."""
    corners = np.array([[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.1]]) + [0.0, 0.0, shift]
    return corners[[0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3]]


def write(folder: Path, messages, mcap=True):
    """A bag of (second, topic, message)."""
    plugin = StoragePlugin.MCAP if mcap else StoragePlugin.SQLITE3
    with Writer(folder, version=9, storage_plugin=plugin) as writer:
        connections = {}
        for second, topic, message in messages:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, message.__msgtype__, typestore=STORE)
            writer.write(connections[topic], round(1000 * SECOND + second * SECOND), serialised(message))
    return folder
