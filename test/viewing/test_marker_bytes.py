"""Triangles out of a marker's bytes, as another library writes them."""

from contextlib import suppress

import numpy as np
import pytest
from filmed import STORE, marker, serialised, tetrahedron

from soft_twin.errors import RecordingError
from soft_twin.viewing.marker_bytes import marker_points


@pytest.mark.parametrize("frame", ["", "b", "ab", "left/base_link", "lab/left/base_link", "x" * 41])
@pytest.mark.parametrize("name", ["", "body", "seven77"])
def test_points_are_those_that_were_written_whatever_the_names(frame, name):
    points = np.random.default_rng(len(frame)).normal(size=(9, 3))
    found = marker_points(serialised(marker(points, frame, name)))
    np.testing.assert_allclose(found, points, rtol=1e-6)
    assert len(marker_points(serialised(marker([], frame, name)))) == 0


def test_the_other_order_of_bytes_is_read_as_well():
    message = marker(tetrahedron())
    data = bytes(STORE.serialize_cdr(message, message.__msgtype__, little_endian=False))
    np.testing.assert_allclose(marker_points(data), tetrahedron(), rtol=1e-6)


def test_what_ends_before_or_is_something_else_is_refused():
    data = serialised(marker(tetrahedron()))
    for end in range(0, 300, 7):
        with pytest.raises(RecordingError, match=r"no visualization_msgs/Marker"):
            marker_points(data[:end])
    for seed in range(200):
        noise = np.random.default_rng(seed).bytes(400)
        with suppress(RecordingError):
            assert marker_points(noise).nbytes <= 400
