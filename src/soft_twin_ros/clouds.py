"""Point clouds as messages."""

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from soft_twin.recording.clouds import AXES
from soft_twin_ros.conversions import header


def cloud_message(stamp: float, frame: str, points: np.ndarray) -> PointCloud2:
    """Points (k, 3) [m] in single precision."""
    fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate(AXES)]
    data = np.ascontiguousarray(points, "<f4").tobytes()
    return PointCloud2(
        header=header(stamp, frame), height=1, width=len(points), fields=fields, point_step=12, row_step=len(data),
        data=data, is_dense=True,
    )  # fmt: skip
