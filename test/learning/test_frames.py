"""Recordings of scans: written and read again; every file that is wrong is told."""

import shutil

import numpy as np
import pytest
from test_flattening import sheet

from soft_twin.errors import RecordingError
from soft_twin.learning.frames import Scan, read_recording, read_scan, write_recording, write_scan
from soft_twin.recording.ply_files import write_ply

LIMITS = np.array([[0.0, 3000.0]] * 2)
NAMES = ["left", "right"]


def cloud(seed=0, count=40):
    random = np.random.default_rng(seed)
    normals = random.normal(size=(count, 3))
    return Scan(random.uniform(-0.1, 0.1, (count, 3)), normals / np.linalg.norm(normals, axis=1, keepdims=True))


@pytest.fixture
def folder(tmp_path):
    write_recording(tmp_path, np.array([[0.0, 3000.0], [1500.5, 1e-3]]), NAMES, [cloud(0), cloud(1, 50)])
    return tmp_path


def read(folder, names=NAMES, size=0.2):
    return read_recording(folder, names, LIMITS, size)


def test_what_was_written_is_read(folder):
    recording = read(folder)
    np.testing.assert_array_equal(recording.pressures, [[0.0, 3000.0], [1500.5, 1e-3]])
    assert [len(scan.points) for scan in recording.scans] == [40, 50]
    np.testing.assert_allclose(recording.scans[1].points, cloud(1, 50).points, atol=1e-12)
    np.testing.assert_allclose(recording.scans[1].normals, cloud(1, 50).normals, atol=1e-12)
    assert read(folder).digest == recording.digest
    write_scan(folder / "frame_0001.ply", cloud(2, 50))
    assert read(folder).digest != recording.digest


def test_how_long_pressures_had_stood_is_read_where_it_is_told(folder):
    assert read(folder).held is None
    pressures, scans = read(folder).pressures, read(folder).scans
    write_recording(folder, pressures, NAMES, scans, np.array([12.5, 80.0]))
    np.testing.assert_array_equal(read(folder).held, [12.5, 80.0])
    np.testing.assert_array_equal(read(folder).pressures, pressures)
    table = folder / "frames.csv"
    text = table.read_text()
    for wrong in ("-80.0", "nan", "inf"):
        table.write_text(text.replace("80.0", wrong))
        with pytest.raises(RecordingError, match=f"frame 1: held is {wrong.replace('.0', '')} s: expected 0 or more"):
            read(folder)
    with pytest.raises(RecordingError, match="columns are file, left, right, held; expected file, left, and held"):
        read(folder, NAMES[:1])


def test_scans_in_millimetres_and_of_something_else_are_told(folder):
    scan = cloud()
    write_scan(folder / "frame_0000.ply", Scan(1e3 * scan.points, scan.normals))
    with pytest.raises(RecordingError, match=r"frame_0000.ply: its points lie .* is the scan in millimetres\? Metres"):
        read(folder)
    for scale in (100.0, 39.4):
        write_scan(folder / "frame_0000.ply", Scan(scale * scan.points, scan.normals))
        with pytest.raises(RecordingError, match=r"is the scan in centimetres or inches\? Metres"):
            read(folder)
    write_scan(folder / "frame_0000.ply", Scan(scan.points + 1e4, scan.normals))
    with pytest.raises(RecordingError, match="in another frame"):
        read(folder)


def test_frames_that_are_there_twice_are_told(folder):
    table = folder / "frames.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines, lines[1], ""]))
    with pytest.raises(RecordingError, match="frame_0000.ply is there twice"):
        read(folder)
    table.write_text("\n".join([*lines, "frame_0002.ply,0.0,1000.0", ""]))
    shutil.copy(folder / "frame_0001.ply", folder / "frame_0002.ply")
    with pytest.raises(RecordingError, match="frame_0002.ply is a copy of frame_0001.ply"):
        read(folder)


def test_broken_scans_are_told(folder, tmp_path):
    path = folder / "frame_0000.ply"
    path.write_bytes(b"ply\nformat ascii 1.0\nnonsense")
    with pytest.raises(RecordingError, match="not readable as a PLY file"):
        read(folder)
    text = ["ply", "format ascii 1.0", "element vertex 4", *(f"property double {axis}" for axis in "xyz"), "end_header"]
    path.write_text("\n".join([*text, *("0 0 0.1" for _ in range(4)), ""]))
    with pytest.raises(RecordingError, match="a scan has normals nx, ny, nz, or faces"):
        read(folder)
    write_scan(path, Scan(np.zeros((40, 3)), np.zeros((40, 3))))
    with pytest.raises(RecordingError, match="40 of 40 normals have no direction"):
        read(folder)
    for wrong in (np.nan, np.inf):
        write_scan(path, Scan(np.zeros((40, 3)), np.vstack([[[0.0, wrong, 1.0]], np.ones((39, 3))])))
        with pytest.raises(RecordingError, match="1 of 40 normals have no direction"):
            read(folder)
    write_scan(path, Scan(np.full((40, 3), np.nan), np.ones((40, 3))))
    with pytest.raises(RecordingError, match="expected 30 or more points of finite numbers, found 0"):
        read_scan(path, 0.2)
    write_scan(path, Scan(np.zeros((4, 3)), np.ones((4, 3))))
    with pytest.raises(RecordingError, match="found 4"):
        read_scan(path, 0.2)
    whole = cloud()
    write_scan(path, whole)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RecordingError, match="it ends too early"):
        read(folder)
    path.unlink()
    with pytest.raises(RecordingError, match="no scan at"):
        read(folder)


def test_points_that_a_scanner_did_not_see_are_left_out(folder):
    scan = cloud()
    points = scan.points.copy()
    points[3] = np.nan
    write_scan(folder / "frame_0000.ply", Scan(points, scan.normals))
    np.testing.assert_array_equal(read(folder).scans[0].points, np.delete(scan.points, 3, axis=0))


def test_normals_are_those_of_faces_where_there_are_no_others(folder):
    points, triangles = sheet(7, 7)
    bowl = 0.1 * points + np.outer((points**2).sum(axis=1), [0.0, 0.0, 0.02])
    write_ply(folder / "frame_0000.ply", np.vstack([bowl, np.ones((2, 3))]), triangles=triangles)
    found = read(folder).scans[0]
    np.testing.assert_array_equal(found.points, bowl)
    slope = np.column_stack([-0.4 * points[:, :2], np.ones(49)])
    expected = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    inner = (np.abs(points[:, :2] - points[:, :2].mean(axis=0)) < 0.45).all(axis=1)
    assert (found.normals[inner] * expected[inner]).sum(axis=1).min() > 0.999


def test_a_mark_that_spreadsheets_put_before_a_table_does_no_harm(folder):
    table = folder / "frames.csv"
    table.write_bytes(b"\xef\xbb\xbf" + table.read_bytes())
    np.testing.assert_array_equal(read(folder).pressures, [[0.0, 3000.0], [1500.5, 1e-3]])


def test_a_recording_is_its_folder_or_its_table(folder):
    np.testing.assert_array_equal(read(folder / "frames.csv").pressures, read(folder).pressures)
    with pytest.raises(RecordingError, match="frame_0000.ply' is no folder with a table of frames: expected one with"):
        read(folder / "frame_0000.ply")


def test_tables_that_do_not_fit_are_told(folder):
    with pytest.raises(RecordingError, match="its columns are file, left, right; expected file, one, two"):
        read(folder, ["one", "two"])
    table = folder / "frames.csv"
    text = table.read_text()
    table.write_text(text.replace("3000.0", "3001.0"))
    with pytest.raises(RecordingError, match="frame 0: right 3001 Pa is outside 0…3000 Pa"):
        read(folder)
    table.write_text(text.replace("3000.0", "high"))
    with pytest.raises(RecordingError, match="no numbers"):
        read(folder)
    table.write_text(text.replace("frame_0000.ply", "../frame_0000.ply"))
    with pytest.raises(RecordingError, match="without folders"):
        read(folder)
    table.write_text("file,left,right\n")
    with pytest.raises(RecordingError, match="no frames: expected a line of 3 values"):
        read(folder)
    table.write_text("\n".join([*text.splitlines()[:2], "", "frame_0001.ply,1"]))
    with pytest.raises(RecordingError, match="frames.csv:4: 2 values, expected 3"):
        read(folder)
    table.write_text(text + "\n\n")
    read(folder)
    table.unlink()
    with pytest.raises(RecordingError, match="no table of frames"):
        read(folder)
