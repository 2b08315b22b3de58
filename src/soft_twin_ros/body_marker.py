"""The body as one TRIANGLE_LIST marker, serialised once: each frame only patches stamp and points in its bytes.

Building 10 000 triangles from Point objects takes 0.15 s a frame, patching them about 1 ms.
"""

import numpy as np
from geometry_msgs.msg import Point
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker

from soft_twin_ros.conversions import to_stamp

STAMP_OFFSET = 4  # [bytes] after CDR's own header: the stamp is the first thing in the message
COLOUR = (0.95, 0.55, 0.35, 1.0)  # red, green, blue, opacity
_MARK = -7.25e77  # a coordinate that stands nowhere else in the message


class BodyMarker:
    """Bytes of a visualization_msgs/Marker.

    Args:
        frame: of the points.
        triangles: (t, 3) indices of their corners, counter-clockwise seen from outside.
    """

    def __init__(self, frame: str, triangles: np.ndarray):
        self._corners = np.asarray(triangles).ravel()
        self._bytes = bytearray(serialize_message(_marker(frame, len(self._corners))))
        start = self._bytes.index(np.float64(_MARK).tobytes())
        count = 3 * len(self._corners)
        self._points = np.frombuffer(self._bytes, dtype="<f8", count=count, offset=start).reshape(-1, 3)
        self._stamp = np.frombuffer(self._bytes, dtype="<i4", count=2, offset=STAMP_OFFSET)

    def frame(self, seconds: float, points: np.ndarray) -> bytes:
        """The message at that time with the mesh's nodes at `points` (n, 3) [m]."""
        stamp = to_stamp(seconds)
        self._stamp[:] = stamp.sec, stamp.nanosec
        self._points[:] = points[self._corners]
        return bytes(self._bytes)


def _marker(frame: str, corners: int) -> Marker:
    marker = Marker(ns="body", type=Marker.TRIANGLE_LIST, action=Marker.ADD)
    marker.header.frame_id = frame
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 1.0
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = COLOUR
    marker.points = [Point(x=_MARK, y=_MARK, z=_MARK)] * corners
    return marker
