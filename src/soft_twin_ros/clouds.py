"""Point clouds as messages."""

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from soft_twin.recording.clouds import AXES, NORMALS
from soft_twin_ros.conversions import header


def cloud_message(stamp: float, frame: str, points: np.ndarray, normals: np.ndarray | None = None) -> PointCloud2:
    """Points (k, 3) [m], and normals (k, 3) where they are known, in single precision."""
    names, columns = (AXES, points) if normals is None else ((*AXES, *NORMALS), np.hstack([points, normals]))
    fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate(names)]
    data = np.ascontiguousarray(columns, "<f4").tobytes()
    return PointCloud2(
        header=header(stamp, frame), height=1, width=len(points), fields=fields, point_step=4 * len(names),
        row_step=len(data), data=data, is_dense=True,
    )  # fmt: skip
