"""Frames for training from recordings of clouds and pressures."""

import sys
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import RecordingError
from soft_twin.learning.frames import read_recording
from soft_twin.learning.recorded_frames import standing, write_frames

sys.path.insert(0, str(Path(__file__).parents[1] / "recording"))
import synthetic

NAMES, LIMITS = ["left", "right"], np.array([[0.0, 2000.0], [0.0, 4000.0]])
STEPS = ((0.0, (500.0, 0.0)), (10.0, (1500.0, 3000.0)), (25.0, (1000.0, 3000.0)))  # [s], [Pa]
SEEN = np.arange(0.55, 40.0, 1.0)  # [s]
FIELDS = ("x", "y", "z", "normal_x", "normal_y", "normal_z")


def cloud(height, fields=FIELDS):
    """A sheet of 100 points so high, facing up."""
    ticks = np.linspace(-0.1, 0.1, 10)
    x, y = np.meshgrid(ticks, ticks)
    rows = np.stack([x, y, np.full_like(x, height), 0 * x, 0 * x, 1 + 0 * x], axis=-1).reshape(-1, 6)
    rows = rows[:, : len(fields)].astype("<f4")
    told = [{"name": name, "offset": 4 * i, "datatype": 7, "count": 1} for i, name in enumerate(fields)]
    return {
        "height": 1, "width": len(rows), "fields": told, "is_bigendian": False, "point_step": 4 * len(fields),
        "row_step": rows.nbytes, "data": rows.tobytes(), "is_dense": True,
    }  # fmt: skip


@pytest.fixture
def recorded(tmp_path):
    def record(names=("right", "left"), fields=FIELDS, seen=SEEN, topic="scan"):
        random = np.random.default_rng(0)
        recorder = synthetic.Recorder(tmp_path / "scans.mcap")
        for stamp in np.arange(0.0, 40.0, 0.1):
            pressures = np.array([own for begin, own in STEPS if begin <= stamp + 1e-9][-1])
            own = (pressures + random.normal(0.0, 5.0, 2))[::-1]
            recorder.add(
                "chambers/state", "soft_twin_msgs/msg/Pressures", stamp, {"names": list(names), "pressures": [*own]}
            )
        for stamp in seen:
            recorder.add(topic, "sensor_msgs/msg/PointCloud2", stamp, cloud(1e-3 * stamp, fields))
        recorder.writer.close()
        return tmp_path / "scans.mcap"

    return record


def test_pressures_stand_until_one_leaves_its_slack():
    pressures = np.array([[0.0, 0.0], [0.4, 0.9], [0.0, 1.1], [0.9, 1.9], [0.9, 2.2]])
    assert standing(pressures, np.array([1.0, 1.0])).tolist() == [0, 0, 2, 2, 4]


def test_each_time_that_pressures_stood_is_a_frame_of_its_last_cloud(recorded, tmp_path):
    assert write_frames(recorded(), tmp_path / "frames", NAMES, LIMITS) == 3
    found = read_recording(tmp_path / "frames", NAMES, LIMITS, 0.2)
    np.testing.assert_allclose(found.pressures, [own for _, own in STEPS], atol=8.0)  # means of ten, 5 Pa of noise
    np.testing.assert_allclose(found.held, [9.55, 14.55, 14.55], atol=1e-6)
    for scan, stamp in zip(found.scans, (9.55, 24.55, 39.55), strict=True):
        np.testing.assert_allclose(scan.points[:, 2], 1e-3 * stamp, atol=1e-7)
        np.testing.assert_allclose(scan.normals, np.tile([0.0, 0.0, 1.0], (100, 1)), atol=1e-6)


def test_what_a_recording_lacks_is_told(recorded, tmp_path):
    def refused(match, path, topic=None):
        with pytest.raises(RecordingError, match=match):
            write_frames(path, tmp_path / "frames", NAMES, LIMITS, topic)
        assert not (tmp_path / "frames").exists()

    refused("its chambers are right, top", recorded(names=("right", "top")))
    refused("no fields normal_x", recorded(fields=FIELDS[:3]))
    refused("after pressures had stood for 1 s", recorded(seen=[10.3, 25.5]))
    refused(
        "expected '/slender/other'; there is /slender/scan of sensor_msgs/msg/PointCloud2", recorded(), "/slender/other"
    )
    refused("expected one topic of sensor_msgs/msg/PointCloud2; there is none", recorded(seen=[]))
