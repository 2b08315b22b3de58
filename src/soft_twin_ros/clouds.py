"""Point clouds of messages as arrays, and back."""

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from soft_twin.errors import InputError
from soft_twin_ros.conversions import header

KINDS = {PointField.FLOAT32: "f4", PointField.FLOAT64: "f8"}
AXES, NORMALS = ("x", "y", "z"), ("normal_x", "normal_y", "normal_z")
MOST = 1_000_000  # points


def cloud_arrays(message: PointCloud2) -> tuple[np.ndarray, np.ndarray | None]:
    """(k, 3) points, and normals (k, 3) where the message has them; points that are not finite, which scanners tell of
    what they did not see, are left out.

    Raises:
        InputError: no fields x, y, z of floats, more points than anybody needs, or another size than it says.
    """
    count = message.width * message.height
    if count > MOST:
        raise InputError(f"cloud: {count} points, at most {MOST} are taken")
    names = [field.name for field in message.fields]
    missing = [name for name in AXES if name not in names]
    if missing:
        raise InputError(f"cloud: no field {', '.join(missing)}; it has {', '.join(names) or 'none'}")
    if message.row_step != message.width * message.point_step or len(message.data) != message.row_step * message.height:
        raise InputError(f"cloud: {len(message.data)} bytes for {message.height} rows of {message.row_step} bytes")
    points = _columns(message, AXES)
    normals = _columns(message, NORMALS) if set(NORMALS) <= set(names) else None
    seen = np.isfinite(points).all(axis=1)
    return points[seen], None if normals is None else normals[seen]


def cloud_message(stamp: float, frame: str, points: np.ndarray) -> PointCloud2:
    """Points (k, 3) [m] in single precision."""
    fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate(AXES)]
    data = np.ascontiguousarray(points, "<f4").tobytes()
    return PointCloud2(
        header=header(stamp, frame), height=1, width=len(points), fields=fields, point_step=12, row_step=len(data),
        data=data, is_dense=True,
    )  # fmt: skip


def _columns(message: PointCloud2, names: tuple[str, ...]) -> np.ndarray:
    """(k, 3) values of fields."""
    order, fields = ">" if message.is_bigendian else "<", {field.name: field for field in message.fields}
    formats = []
    for name in names:
        kind = KINDS.get(fields[name].datatype)
        if kind is None or fields[name].offset + int(kind[1]) > message.point_step:
            raise InputError(f"cloud: field {name} is no float32 or float64 within {message.point_step} bytes")
        formats.append(order + kind)
    offsets = [fields[name].offset for name in names]
    layout = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": message.point_step})
    rows = np.frombuffer(bytes(message.data), layout)
    return np.column_stack([rows[name].astype(float) for name in names])
