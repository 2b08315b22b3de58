"""Point clouds of sensor_msgs/PointCloud2 as arrays, whoever decoded the message."""

from typing import Any

import numpy as np

from soft_twin.errors import InputError

KINDS = {7: "f4", 8: "f8"}  # PointField's FLOAT32 and FLOAT64
AXES, NORMALS = ("x", "y", "z"), ("normal_x", "normal_y", "normal_z")
MOST = 1_000_000  # points


def cloud_arrays(message: Any) -> tuple[np.ndarray, np.ndarray | None]:
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
        rows = f"{message.height} rows of {message.row_step} bytes, {message.width} points of {message.point_step} each"
        raise InputError(f"cloud: {len(message.data)} bytes for {rows}")
    points = _columns(message, AXES)
    normals = _columns(message, NORMALS) if set(NORMALS) <= set(names) else None
    seen = np.isfinite(points).all(axis=1)
    return points[seen], None if normals is None else normals[seen]


def _columns(message: Any, names: tuple[str, ...]) -> np.ndarray:
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
    with np.errstate(invalid="ignore"):  # of bytes in the other order, which are no numbers
        return np.column_stack([rows[name].astype(float) for name in names])
