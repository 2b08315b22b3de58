"""Frames for training from recordings of clouds and pressures."""

import sys
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import RecordingError
from soft_twin.learning.frames import read_recording
from soft_twin.learning.recorded_frames import Topics, around, noise_of, standing, write_frames

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


PLACES = np.array([[0.0, 0.0, 0.01], [0.05, 0.0, 0.01], [0.0, 0.05, 0.01]])  # of markers at rest [m]
RESTING = ((0.0, (0.0, 0.0)), *STEPS[1:])


def poses(stamp, missed=(), count=3, nothing=np.nan):
    """Markers that rise by 1 mm a second; of those that are missed there is `nothing`."""
    rows = PLACES[:count] + [0.0, 0.0, 1e-3 * stamp]
    rows[[number for number in missed if number < count]] = nothing
    turn = {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}
    return {"poses": [{"position": dict(zip("xyz", row, strict=True)), "orientation": turn} for row in rows.tolist()]}


@pytest.fixture
def recorded(tmp_path):
    def record(
        names=("right", "left"),
        fields=FIELDS,
        seen=SEEN,
        topic="scan",
        steps=STEPS,
        markers=(),
        noise=5.0,
        lag=0.0,
        commands=None,
    ):
        random = np.random.default_rng(0)
        recorder = synthetic.Recorder(tmp_path / "scans.mcap")
        pressures = np.array(steps[0][1])
        for stamp in np.arange(0.0, 40.0, 0.1):
            asked = np.array([own for begin, own in steps if begin <= stamp + 1e-9][-1])
            way = (asked - pressures) * np.exp(-0.1 / max(lag, 1e-3))
            pressures = asked - np.where(np.isfinite(way), way, 0.0)
            for told in (commands or (lambda *_: ()))(stamp, asked):
                recorder.add("chambers/command", "soft_twin_msgs/msg/Pressures", stamp, told)
            own = (pressures + random.normal(0.0, noise, 2))[::-1]
            recorder.add(
                "chambers/state", "soft_twin_msgs/msg/Pressures", stamp, {"names": list(names), "pressures": [*own]}
            )
        for stamp in seen:
            recorder.add(topic, "sensor_msgs/msg/PointCloud2", stamp, cloud(1e-3 * stamp, fields))
        for stamp, content in markers:
            recorder.add("markers", "geometry_msgs/msg/PoseArray", stamp, content)
        recorder.writer.close()
        return tmp_path / "scans.mcap"

    return record


def test_pressures_stand_until_one_leaves_its_slack():
    pressures = np.array([[0.0, 0.0], [0.4, 0.9], [0.0, 1.1], [0.9, 1.9], [0.9, 2.2]])
    slack, own = np.array([1.0, 1.0]), np.arange(5)
    unknown = np.full(5, -1)
    assert standing(pressures, slack, own, unknown).tolist() == [0, 0, 2, 2, 4]
    pressures[[0, 3], [0, 1]] = np.nan
    assert standing(pressures, slack, own, unknown).tolist() == [0, 1, 1, 3, 4]


def test_pressures_that_come_to_where_they_stand_stand_from_there_on():
    means = np.array([[0.0], [0.0], [1.5], [3.0], [4.5], [5.0], [5.5]])
    ends, unknown = np.array([1, 2, 3, 4, 5, 6, 6]), np.full(7, -1)
    assert standing(means, np.array([1.0]), ends, unknown).tolist() == [0, 0, 2, 3, 4, 4, 4]


def test_pressures_that_creep_to_what_they_were_told_last_stand_all_the_time():
    creeping = np.array([[0.0], [0.0], [4.0], [7.0], [8.0], [8.9], [9.3], [9.6], [10.0], [10.2]])
    ends, slack = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 9]), np.array([1.0])
    for last, starts in (
        ([0, 1, 1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 2, 3, 3, 3, 3, 3, 3, 3]),
        ([-1] * 10, [0, 0, 2, 3, 3, 3, 6, 6, 6, 6]),
        ([0, 1, 1, 1, 1, 1, 2, 2, 2, 2], [0, 0, 2, 3, 3, 3, 6, 6, 6, 6]),
    ):
        assert standing(creeping, slack, ends, np.array(last)).tolist() == starts


def test_each_time_that_pressures_stood_is_a_frame_of_its_last_cloud(recorded, tmp_path):
    assert write_frames(recorded(), tmp_path / "frames", NAMES, LIMITS) == (3, ())
    found = read_recording(tmp_path / "frames", NAMES, LIMITS, 0.2)
    np.testing.assert_allclose(found.pressures, [own for _, own in STEPS], atol=8.0)  # means of ten, 5 Pa of noise
    np.testing.assert_allclose(found.held, [8.55, 13.55, 14.55], atol=1e-6)  # 0.45 s before they change is too late
    for scan, stamp in zip(found.scans, (8.55, 23.55, 39.55), strict=True):
        np.testing.assert_allclose(scan.points[:, 2], 1e-3 * stamp, atol=1e-7)
        np.testing.assert_allclose(scan.normals, np.tile([0.0, 0.0, 1.0], (100, 1)), atol=1e-6)


def test_pressures_stand_however_noisy_their_sensors_are(recorded, tmp_path):
    """By the slack itself: each of four hundred samples would leave it."""
    assert write_frames(recorded(noise=40.0), tmp_path / "frames", NAMES, 3.0 * LIMITS).frames == 3
    found = read_recording(tmp_path / "frames", NAMES, 3.0 * LIMITS, 0.2)
    np.testing.assert_allclose(found.pressures, [own for _, own in STEPS], atol=50.0)
    np.testing.assert_allclose(found.held, [9.05, 14.05, 14.55], atol=0.6)


def test_noise_that_takes_means_out_of_their_slack_ends_no_time_of_standing(recorded, tmp_path):
    """Means of ten samples, 47 Pa, next to a slack of 120 Pa: one of forty would be as far from another."""
    assert write_frames(recorded(noise=150.0), tmp_path / "frames", NAMES, 3.0 * LIMITS).frames == 3
    found = read_recording(tmp_path / "frames", NAMES, 3.0 * LIMITS, 0.2)
    np.testing.assert_allclose(found.held, [9.05, 14.05, 14.55], atol=0.6)


@pytest.mark.parametrize("stale", [0.5, 2.0, 3.0])
def test_a_pump_that_takes_its_time_makes_no_second_frame_of_a_shape(recorded, tmp_path, stale):
    """Commands come again and again; the names are in another order, and a float's last digit is no other command."""

    def commands(stamp, asked):
        return [{"names": list(NAMES), "pressures": (asked + 0.05 * np.sin(9.0 * stamp)).tolist()}]

    assert write_frames(recorded(lag=stale, commands=commands), tmp_path / "frames", NAMES, LIMITS).frames == 3
    found = read_recording(tmp_path / "frames", NAMES, LIMITS, 0.2)
    np.testing.assert_allclose(found.pressures[0], STEPS[0][1], atol=8.0)
    assert (found.held > np.array([8.5, 13.5, 14.5]) - 2.5 * stale).all()


@pytest.mark.parametrize(
    "told",
    [
        lambda stamp, asked: [{"names": ["other"], "pressures": [1.0]}],
        lambda stamp, asked: [{"names": list(NAMES), "pressures": asked.tolist()[: 1 + (stamp < 5.0)]}],
    ],
)
def test_commands_that_no_driver_would_take_say_nothing(recorded, tmp_path, told):
    assert write_frames(recorded(commands=told), tmp_path / "frames", NAMES, LIMITS).frames == 3


def test_noise_is_what_means_differ_by_while_pressures_stand_or_change_evenly():
    stamps, random = np.arange(0.0, 400.0, 0.1), np.random.default_rng(0)
    steps = 500.0 * (stamps // 10.0 % 3.0)
    pressures = np.column_stack([steps, 30.0 * stamps]) + random.normal(0.0, 100.0, (len(stamps), 2))
    means = around(stamps, pressures)[0]
    expected = 100.0 / np.sqrt(10.0)  # of ten samples
    np.testing.assert_allclose(noise_of(stamps, means), expected, rtol=0.4)
    np.testing.assert_allclose(noise_of(stamps, np.column_stack([0.0 * stamps, 30.0 * stamps])), 0.0, atol=1e-9)
    assert noise_of(stamps[:5], means[:5]).tolist() == [0.0, 0.0]


def test_means_are_those_around_each_stamp():
    stamps, pressures = np.array([0.0, 0.4, 0.8, 1.6, 3.0]), np.array([[0.0], [1.0], [5.0], [7.0], [np.nan]])
    means, first, last = around(stamps, pressures)
    np.testing.assert_allclose(means[:, 0], [0.5, 2.0, 3.0, 7.0, np.nan])
    assert first.tolist() == [0, 0, 1, 3, 4] and last.tolist() == [1, 2, 2, 3, 4]


def test_pressures_that_nobody_knew_have_not_stood(recorded, tmp_path):
    """As a driver tells them before its first answer, and when its device was away."""
    away = (
        (0.0, (np.nan, np.nan)),
        (5.0, (500.0, 0.0)),
        (20.0, (np.nan, 0.0)),
        (20.3, (500.0, 0.0)),
        (38.5, (np.nan, 0.0)),
    )
    assert write_frames(recorded(steps=away), tmp_path / "frames", NAMES, LIMITS).frames == 2
    found = read_recording(tmp_path / "frames", NAMES, LIMITS, 0.2)
    np.testing.assert_allclose(found.held, [18.55 - 5.0, 37.55 - 20.3], atol=0.11)  # a state every 0.1 s
    with pytest.raises(RecordingError, match="all pressures are NaN"):
        write_frames(recorded(steps=away[:1]), tmp_path / "others", NAMES, LIMITS)


def test_what_is_seen_after_pressures_were_told_for_the_last_time_is_no_frame(recorded, tmp_path):
    found = []
    for seen in (SEEN, [*SEEN, 42.0, 1040.0]):
        assert write_frames(recorded(seen=seen), tmp_path / "frames", NAMES, LIMITS).frames == 3
        found.append(read_recording(tmp_path / "frames", NAMES, LIMITS, 0.2).digest)
    assert found[0] == found[1]


def test_what_a_recording_lacks_is_told(recorded, tmp_path):
    def refused(match, path, **topics):
        with pytest.raises(RecordingError, match=match):
            write_frames(path, tmp_path / "frames", NAMES, LIMITS, Topics(**topics))
        assert not (tmp_path / "frames").exists()

    refused("its chambers are right, top", recorded(names=("right", "top")))
    refused("no fields normal_x", recorded(fields=FIELDS[:3]))
    refused("after pressures had stood for 1 s", recorded(seen=[10.3, 25.5]))
    refused("all of '/slender/scan' is 1000.7 s after '/slender/chambers/state'", recorded(seen=SEEN + 1040.0))
    refused("all of '/slender/scan' is 960.4 s before '/slender/chambers/state'", recorded(seen=SEEN - 1000.0))
    there = "there is /slender/scan of sensor_msgs/msg/PointCloud2"
    refused(f"expected '/slender/other'; {there}", recorded(), scan="/slender/other")
    refused("expected one topic of sensor_msgs/msg/PointCloud2; there is none", recorded(seen=[]))


@pytest.mark.parametrize("nothing", [np.nan, 0.0])
def test_markers_are_means_of_the_last_second_and_their_places_those_without_pressure(recorded, tmp_path, nothing):
    """Thirteen in a second; one is seen in every third message, another not after the last step."""
    pytest.importorskip("c3d")
    stamps = np.arange(0.05, 40.0, 0.08)
    missed = [(0,) * int(i % 3 > 0) + (1,) * int(stamp > 25.0) for i, stamp in enumerate(stamps)]
    seen = [(stamp, poses(stamp, own, nothing=nothing)) for stamp, own in zip(stamps, missed, strict=True)]
    path = recorded(steps=RESTING, markers=seen)
    assert write_frames(path, tmp_path / "scans", NAMES, LIMITS).frames == 3
    assert (tmp_path / "scans" / "frame_0000.ply").is_file()
    assert write_frames(path, tmp_path / "frames", NAMES, LIMITS, Topics(markers="/slender/markers")) == (3, ())
    found = read_recording(tmp_path / "frames", NAMES, LIMITS, 0.2)
    np.testing.assert_allclose(found.held, [9.49, 14.45, 14.97], atol=1e-6)
    np.testing.assert_allclose(found.pressures[1:], [own for _, own in RESTING[1:]], atol=8.0)
    rise = {2: 9.01, 0: 9.05}  # [mm], means of thirteen messages and of those four that saw it
    for marker, mean in rise.items():
        np.testing.assert_allclose(found.rest[marker], PLACES[marker] + [0.0, 0.0, 1e-3 * mean], atol=1e-6)
    np.testing.assert_allclose(found.markers[1, 2], PLACES[2] + [0.0, 0.0, 0.02397], atol=1e-6)
    assert np.isnan(found.markers[2, 1]).all() and np.isfinite(found.markers[:2]).all()


@pytest.mark.parametrize("topics", [Topics(), Topics(markers="/slender/markers")])
def test_frames_are_the_same_in_whatever_order_a_file_has_what_was_seen(recorded, tmp_path, topics):
    pytest.importorskip("c3d")
    markers, digests = [(stamp, poses(stamp)) for stamp in np.arange(0.05, 40.0, 0.08)], []
    for step in (1, -1):
        path = recorded(seen=SEEN[::step], markers=markers[::step], steps=RESTING)
        write_frames(path, tmp_path / "frames", NAMES, LIMITS, topics)
        digests.append(read_recording(tmp_path / "frames", NAMES, LIMITS, 0.2).digest)
    assert digests[0] == digests[1]


def test_markers_that_are_not_seen_without_pressure_are_left_out_and_told(recorded, tmp_path):
    pytest.importorskip("c3d")
    seen = [(stamp, poses(stamp, (1,) if stamp < 10.0 else ())) for stamp in SEEN]
    assert write_frames(recorded(seen=[], steps=RESTING, markers=seen), tmp_path / "frames", NAMES, LIMITS) == (3, (1,))
    found = read_recording(tmp_path / "frames", NAMES, LIMITS, 0.2)
    np.testing.assert_allclose(found.markers[2], PLACES[[0, 2]] + [0.0, 0.0, 1e-3 * SEEN[-1]], atol=1e-6)


def test_what_a_recording_of_markers_lacks_is_told(recorded, tmp_path):
    def refused(match, **content):
        with pytest.raises(RecordingError, match=match):
            write_frames(recorded(seen=[], **content), tmp_path / "frames", NAMES, LIMITS)
        assert not (tmp_path / "frames").exists()

    all_seen = [(stamp, poses(stamp)) for stamp in SEEN]
    refused("no marker of '/slender/markers' was seen after there had been no pressure for 1 s", markers=all_seen)
    none = [(stamp, poses(stamp, (0, 1, 2))) for stamp in SEEN]
    refused("no marker of '/slender/markers' was seen", markers=none, steps=RESTING)
    fewer = [*all_seen[:-1], (SEEN[-1], poses(SEEN[-1], count=2))]
    refused("'/slender/markers' has now 3 markers, now 2", markers=fewer, steps=RESTING)
    refused("nothing on '/slender/markers' was seen after pressures had stood for 1 s", markers=all_seen[:1])
