"""Markers: recordings with gaps in C3D files, where markers sit on a surface, and a warp that they teach."""

import re

import numpy as np
import pytest

from soft_twin.errors import RecordingError, UsageError
from soft_twin.learning.frames import MarkerRecording, Scan, read_recording, write_markers, write_scan
from soft_twin.recording.c3d_files import MarkerSet, read_marker_set, write_marker_set

pytest.importorskip("c3d", reason="c3d is not installed: pip install soft_twin[learning]")
pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import jax.numpy as jnp
from small_membrane import two_rooms
from test_shape_control import PLANE, model

from soft_twin.learning.knots import Knots
from soft_twin.learning.layer import SurfaceLayer
from soft_twin.learning.markers import learn_warp_by_markers, marker_parameters, nearest_parameters
from soft_twin.learning.training import WarpTraining

LIMITS = np.array([[0.0, 3000.0]] * 2)
NAMES = ["left", "right"]
PRESSURES = np.array([[0.0, 3000.0], [1500.5, 1e-3]])


def frames(seed=0, count=5):
    random = np.random.default_rng(seed)
    rest = random.uniform(-0.1, 0.1, (count, 3))
    markers = rest + random.normal(0.0, 0.01, (2, count, 3))
    markers[0, 1] = markers[1, 4] = np.nan
    return markers, rest


@pytest.fixture
def folder(tmp_path):
    write_markers(tmp_path, PRESSURES, NAMES, *frames())
    return tmp_path


def read(folder):
    return read_recording(folder, NAMES, LIMITS, 0.2)


def test_what_was_written_is_read_gaps_and_all(folder):
    recording, (markers, rest) = read(folder), frames()
    assert isinstance(recording, MarkerRecording)
    np.testing.assert_array_equal(recording.pressures, PRESSURES)
    np.testing.assert_allclose(recording.markers, markers, atol=1e-7)
    np.testing.assert_array_equal(np.isnan(recording.markers), np.isnan(markers))
    np.testing.assert_allclose(recording.rest, rest, atol=1e-7)
    assert read(folder).digest == recording.digest
    write_marker_set(folder / "rest.c3d", MarkerSet(tuple(f"M{i:03d}" for i in range(5)), rest + 1e-3))
    assert read(folder).digest != recording.digest


@pytest.mark.parametrize("count", [255, 256, 400, 511])
def test_more_markers_than_a_list_of_the_format_takes(tmp_path, count):
    markers, rest = frames(count=count)
    write_markers(tmp_path, PRESSURES, NAMES, markers, rest)
    recording = read(tmp_path)
    np.testing.assert_allclose(recording.markers, markers, atol=1e-7)
    np.testing.assert_allclose(recording.rest, rest, atol=1e-7)
    content = (tmp_path / "rest.c3d").read_bytes()
    lists = re.findall(rb"(LABELS\d?)..\xff\x02\x04(.)", content, re.DOTALL)  # offset, text, two dimensions: 4, …
    assert [name for name, _ in lists] == [b"LABELS", b"LABELS2", b"LABELS3"][: -(-count // 255)]
    assert sum(size[0] for _, size in lists) == count
    assert read_marker_set(tmp_path / "rest.c3d").names[-1] == f"M{count - 1:03d}"
    assert not list(tmp_path.glob(".*"))


def test_a_recording_that_could_not_be_written_is_none(folder):
    """Also where there was one: its table would name frames of two."""
    (folder / "frame_0001.c3d").unlink()
    (folder / "frame_0001.c3d" / "in the way").mkdir(parents=True)
    with pytest.raises(UsageError, match="cannot write"):
        write_markers(folder, PRESSURES, NAMES, *frames(1))
    assert sorted(path.name for path in folder.iterdir()) == ["frame_0000.c3d", "frame_0001.c3d", "rest.c3d"]
    with pytest.raises(RecordingError):
        read(folder)


def test_markers_are_known_by_name_not_by_order_and_one_without_a_row_was_not_seen(folder):
    (markers, _), names = frames(), ("M003", "M000", "M002")
    write_marker_set(folder / "frame_0001.c3d", MarkerSet(names, markers[1][[3, 0, 2]]))
    found = read(folder).markers[1]
    np.testing.assert_allclose(found[[0, 2, 3]], markers[1][[0, 2, 3]], atol=1e-7)
    assert np.isnan(found[[1, 4]]).all()


def test_a_takes_frames_are_averaged_where_they_see_a_marker_and_its_unit_counts(tmp_path):
    import c3d

    writer = c3d.Writer(point_rate=100.0, point_units="m   ")
    writer.set_point_labels(["a", "b"])
    rows = np.array([[[1, 0, 0, 0, 0], [9, 9, 9, -1, -1]], [[3, 0, 0, 0, 0], [2, 2, 2, 0, 0]]], np.float32)
    writer.add_frames([(each, np.zeros((0, 1))) for each in rows])
    with (tmp_path / "take.c3d").open("wb") as stream:
        writer.write(stream)
    found = read_marker_set(tmp_path / "take.c3d")
    assert found.names == ("a", "b")
    np.testing.assert_allclose(found.points, [[2.0, 0.0, 0.0], [2.0, 2.0, 2.0]])


def test_wrong_recordings_of_markers_are_told(folder):
    markers, rest = frames()
    labels = tuple(f"M{i:03d}" for i in range(5))
    good = (folder / "frame_0000.c3d").read_bytes()

    def told(message):
        with pytest.raises(RecordingError, match=message):
            read(folder)

    write_marker_set(folder / "frame_0000.c3d", MarkerSet(("M000", "hat"), rest[:2]))
    told("frame_0000.c3d: hat is no marker of .*rest.c3d")
    write_marker_set(folder / "frame_0000.c3d", MarkerSet(labels, 1e3 * rest))
    told("in millimetres")
    write_marker_set(folder / "frame_0000.c3d", MarkerSet(labels, np.full((5, 3), np.nan)))
    told("not one marker was seen")
    write_marker_set(folder / "frame_0000.c3d", MarkerSet(("a", "a"), rest[:2]))
    told("of one name")
    (folder / "frame_0000.c3d").write_bytes(good[:700])
    told("not readable as a C3D file")
    (folder / "frame_0000.c3d").write_bytes(good)
    write_marker_set(folder / "rest.c3d", MarkerSet(labels, markers[0]))
    told("rest.c3d: M001 was not seen at rest")
    (folder / "rest.c3d").unlink()
    told("rest.c3d")
    write_scan(folder / "frame_0001.ply", Scan(np.zeros((4, 3)), np.tile([0.0, 0.0, 1.0], (4, 1))))
    table = (folder / "frames.csv").read_text(encoding="utf-8")
    (folder / "frames.csv").write_text(table.replace("frame_0001.c3d", "frame_0001.ply"), encoding="utf-8")
    told("its files are .c3d, .ply: expected all")


def bowl(count=12):
    """Control points (count, count, 3) of a curved surface."""
    u, v = np.meshgrid(*2 * [np.linspace(-60.0, 60.0, count)], indexing="ij")
    return np.stack([u, v, 0.004 * (u**2 + 0.5 * u * v)], axis=-1)


def test_parameters_of_points_on_a_surface_are_found_again():
    uv = np.vstack([np.random.default_rng(0).uniform(0.0, 1.0, (30, 2)), [[0.0, 0.0], [1.0, 0.3]]])
    control, knots = bowl(), Knots.uniform((12, 12))
    layer = SurfaceLayer(uv, knots, float)
    points, normals = (np.asarray(each) for each in layer.points_and_normals(jnp.asarray(control)))
    np.testing.assert_allclose(nearest_parameters(control, knots, points, 1.0), uv, atol=2e-5)
    inner = slice(30)
    np.testing.assert_allclose(
        nearest_parameters(control, knots, (points + 2.0 * normals)[inner], 5.0), uv[inner], atol=2e-4
    )
    with pytest.raises(RecordingError, match="marker 3 of 32 is 40 mm away"):
        away = points.copy()
        away[2] += 40.0 * normals[2]
        nearest_parameters(control, knots, away, 5.0)


def test_a_warp_is_taught_by_markers_with_gaps(tmp_path):
    shapes, robot = model(), two_rooms(tmp_path)
    rest = PLANE[[20, 30, 45, 60, 75, 88, 100, 110, 120, 135, 150]] * 0.1
    uv, random = marker_parameters(shapes, rest), np.random.default_rng(0)
    layer = SurfaceLayer(uv, shapes.knots)
    pressures = random.uniform(0.0, 3000.0, (24, 2))

    def real(each):
        points = 1e-3 * np.asarray(layer.points(shapes.control(jnp.asarray(each, jnp.float32))))
        return 1.02 * points + [0.001, -0.002, 0.003]

    markers = np.array([real(each) for each in pressures])
    markers[random.uniform(size=markers.shape[:2]) < 0.2] = np.nan
    markers[3, 5] = np.nan
    recording = MarkerRecording(pressures, markers, rest)
    correction = learn_warp_by_markers(shapes, recording, robot, WarpTraining(16, 2, 24, 4e-4, epochs=150))
    unseen = np.random.default_rng(1).uniform(0.0, 3000.0, (5, 2))
    before = np.mean([np.linalg.norm(correction.simulated(each, uv) - real(each), axis=1).mean() for each in unseen])
    after = np.mean([np.linalg.norm(correction(each, uv) - real(each), axis=1).mean() for each in unseen])
    assert before > 3e-3 and after < 0.2 * before
