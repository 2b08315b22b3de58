"""The triangles of a visualization_msgs/Marker, read from its bytes: decoded, ten thousand points take 0.1 s."""

import struct

import numpy as np

from soft_twin.errors import RecordingError

_ENCAPSULATION = 4  # [bytes] before the message: how it is encoded
_KINDS = 12  # [bytes] of id, type and action
_POSE, _SCALE, _COLOUR, _LIFETIME = 7 * 8, 3 * 8, 4 * 4, 8  # [bytes]
_POINT = 3 * 8  # [bytes]


def marker_points(data: bytes) -> np.ndarray:
    """(k, 3) points of a marker [m], in its frame, as float32.

    Args:
        data: the message in CDR, with its encapsulation.

    Raises:
        RecordingError: it is no marker.
    """
    try:
        reader = _Reader(data)
        reader.skip(8, 4)  # stamp
        reader.skip_text()  # frame
        reader.skip_text()  # namespace
        reader.skip(_KINDS, 4)
        reader.skip(_POSE + _SCALE, 8)
        reader.skip(_COLOUR + _LIFETIME, 4)
        reader.skip(1, 1)  # whether it is locked to its frame
        count = reader.number()
        start = reader.skip(count * _POINT, 8) if count else 0
    except struct.error as error:
        raise RecordingError(f"{len(data)} bytes that are no visualization_msgs/Marker") from error
    points = np.frombuffer(data, reader.order + "f8", 3 * count, start).reshape(-1, 3)
    return points.astype(np.float32)


class _Reader:
    """Goes through a message; what it asks for begins at a multiple of its alignment."""

    def __init__(self, data: bytes):
        self.order = "<" if struct.unpack_from("4B", data)[1] & 1 else ">"
        self._data, self._at = data, _ENCAPSULATION

    def skip(self, size: int, alignment: int) -> int:
        """Go on behind `size` bytes; where they begin."""
        start = self._at + (_ENCAPSULATION - self._at) % alignment
        self._at = start + size
        if self._at > len(self._data):
            raise struct.error("the message ends before")
        return start

    def number(self) -> int:
        return struct.unpack_from(self.order + "I", self._data, self.skip(4, 4))[0]

    def skip_text(self) -> None:
        self.skip(self.number(), 1)
