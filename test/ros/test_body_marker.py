import numpy as np
from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker

from soft_twin_ros.body_marker import BodyMarker

TRIANGLES = np.array([[0, 1, 2], [2, 1, 3]])
POINTS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.5]])


def decoded(marker, seconds, points):
    return deserialize_message(marker.frame(seconds, points), Marker)


def test_patched_bytes_are_the_message():
    message = decoded(BodyMarker("base_link", TRIANGLES), 3.5, POINTS)
    assert message.type == Marker.TRIANGLE_LIST
    assert message.header.frame_id == "base_link"
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (3, 500_000_000)
    corners = np.array([[p.x, p.y, p.z] for p in message.points])
    np.testing.assert_array_equal(corners, POINTS[TRIANGLES.ravel()])
    assert (message.scale.x, message.pose.orientation.w) == (1.0, 1.0)


def test_a_frame_keeps_its_points_when_the_next_one_is_made():
    marker = BodyMarker("base_link", TRIANGLES)
    first = marker.frame(1.0, POINTS)
    marker.frame(2.0, POINTS + 1.0)
    assert deserialize_message(first, Marker).points[1].x == 1.0
