"""PLY files as scanners and other programs write them, byte by byte, and broken ones."""

import struct
import tracemalloc

import meshio
import numpy as np
import pytest

from soft_twin.errors import InputError, RecordingError
from soft_twin.recording.ply_files import read_ply, write_ply

POINTS = np.array([[0.0, 0.0, 0.5], [0.1, 0.0, 0.5], [0.1, 0.2, 0.25], [0.0, 0.2, 0.5]])
NORMALS = np.array([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
QUAD, FAN = [0, 1, 2, 3], [[0, 1, 2], [0, 2, 3]]


def header(form, *lines):
    return "\n".join(["ply", f"format {form} 1.0", "comment made by hand", *lines, "end_header\n"]).encode()


def vertices(count=4, kind="float", names="x y z"):
    return [f"element vertex {count}", *(f"property {kind} {name}" for name in names.split())]


def read(tmp_path, data):
    path = tmp_path / "scan.ply"
    path.write_bytes(data)
    return read_ply(path)


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "own.ply"
    write_ply(path, POINTS, NORMALS, np.array(FAN))
    found = read_ply(path)
    for own, expected in zip(found, (POINTS, NORMALS, FAN), strict=True):
        np.testing.assert_array_equal(own, expected)
    write_ply(path, POINTS)
    assert read_ply(path).normals is None and read_ply(path).triangles.shape == (0, 3)


def test_paths_and_points_may_be_text_and_lists(tmp_path):
    write_ply(str(tmp_path / "own.ply"), POINTS.tolist(), triangles=FAN)
    found = read_ply(str(tmp_path / "own.ply"))
    np.testing.assert_array_equal(found.points, POINTS)
    np.testing.assert_array_equal(found.triangles, FAN)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((POINTS[:, :2],), r"expected points \(n, 3\), found an array of shape \(4, 2\)"),
        (("abc",), r"expected points \(n, 3\), found 'abc'"),
        ((POINTS, NORMALS[:3]), "4 points, but 3 normals"),
        ((POINTS, None, [[0, 1]]), r"expected triangles \(n, 3\)"),
        ((POINTS, None, [[0, 1, 4]]), "corners that are none of its 4 points"),
    ],
)
def test_what_is_no_scan_is_not_written(tmp_path, arguments, told):
    with pytest.raises(InputError, match=told):
        write_ply(tmp_path / "own.ply", *arguments)
    with pytest.raises(InputError, match="scan: expected the path of a file, found None"):
        write_ply(None, POINTS)
    assert not list(tmp_path.iterdir())


def test_others_files_are_read_and_ours_by_others(tmp_path):
    for binary in (True, False):
        mesh = meshio.Mesh(POINTS, [("triangle", np.array(FAN))], point_data={"nx": NORMALS[:, 0]})
        mesh.write(tmp_path / "theirs.ply", file_format="ply", binary=binary)
        found = read_ply(tmp_path / "theirs.ply")
        np.testing.assert_allclose(found.points, POINTS)
        np.testing.assert_array_equal(found.triangles, FAN)
        assert found.normals is None
    write_ply(tmp_path / "ours.ply", POINTS, NORMALS, np.array(FAN))
    theirs = meshio.read(tmp_path / "ours.ply")
    np.testing.assert_allclose(theirs.points, POINTS)
    np.testing.assert_array_equal(theirs.cells_dict["triangle"], FAN)


@pytest.mark.parametrize("form", ["binary_little_endian", "binary_big_endian"])
def test_rows_have_colours_lists_of_other_names_and_bytes_in_any_order(tmp_path, form):
    sign = "<" if form == "binary_little_endian" else ">"
    lines = ["element camera 1", "property float view", *vertices(4, "float", "x y z"), "property uchar red"]
    lines += ["property short label", "element face 1", "property uchar flags", "property list uchar uint vertex_index"]
    data = struct.pack(f"{sign}f", 3.0)
    data += b"".join(struct.pack(f"{sign}3fBh", *point, 200, -7) for point in POINTS)
    data += struct.pack(f"{sign}BB4I", 1, 4, *QUAD)
    found = read(tmp_path, header(form, *lines) + data)
    np.testing.assert_allclose(found.points, POINTS, atol=1e-7)
    np.testing.assert_array_equal(found.triangles, FAN)


def test_faces_of_unlike_lengths_are_fans(tmp_path):
    lines = [*vertices(), "element face 2", "property list uchar int vertex_indices"]
    points = POINTS.astype("<f4").tobytes()
    faces = struct.pack("<B4i", 4, *QUAD) + struct.pack("<B3i", 3, 1, 3, 2)
    found = read(tmp_path, header("binary_little_endian", *lines) + points + faces)
    np.testing.assert_array_equal(found.triangles, [*FAN, [1, 3, 2]])
    text = "".join(f"{x} {y} {z}\n" for x, y, z in POINTS) + "4 0 1 2 3\n3 1 3 2\n"
    found = read(tmp_path, header("ascii", *lines) + text.encode())
    np.testing.assert_array_equal(found.triangles, [*FAN, [1, 3, 2]])
    np.testing.assert_array_equal(found.points, POINTS)


def test_line_ends_of_other_systems_and_what_stands_between_rows(tmp_path):
    text = header("ascii", *vertices(4, "double", "x y z nx ny nz")).replace(b"\n", b"\r\n")
    rows = "\r\n\r\n".join(" ".join(map(str, [*p, *n])) for p, n in zip(POINTS, NORMALS, strict=True))
    found = read(tmp_path, text + rows.encode())
    np.testing.assert_array_equal(found.points, POINTS)
    np.testing.assert_array_equal(found.normals, NORMALS)
    short = header("ascii", *vertices()) + b"0 0 1\n0 0 1\n0 0 1\n0 0 1"
    assert len(read(tmp_path, short).points) == 4


GOOD = header("binary_little_endian", *vertices()) + POINTS.astype("<f4").tobytes()
TEXT = header("ascii", *vertices()) + b"0 0 1\n" * 4
WRONG = {
    "header": (b"ply\nformat ascii 1.0\n", "it has no header"),
    "no ply": (b"solid cube\nend_header\n", "it has no header"),
    "format": (TEXT.replace(b"ascii", b"utf8"), "expected a line 'format'"),
    "type": (TEXT.replace(b"float x", b"float128 x"), "a property 'property float128 x'"),
    "line": (TEXT.replace(b"comment", b"remark"), "its header has a line 'remark made by hand'"),
    "axes": (TEXT.replace(b"float z", b"float w"), "no points with z"),
    "end": (GOOD[:-5], "ends too early: 4 rows 'vertex' take 48 bytes or more, 43 are there"),
    "text end": (TEXT.replace(b"0 0 1", b"0.5 0.5 1")[:-12], "ends too early, among rows 'vertex'"),
    "row": (TEXT.replace(b"0 0 1", b"0.5 0.5 1")[:-3], "columns|expected 3 numbers"),
    "words": (TEXT.replace(b"0 0 1", b"0 high 1"), "high"),
    "many": (GOOD.replace(b"vertex 4", b"vertex 1999999"), "ends too early: 1999999 rows"),
    "too many": (GOOD.replace(b"vertex 4", b"vertex 2000000000"), "at most 2000000 are read"),
    "text many": (TEXT.replace(b"vertex 4", b"vertex 1999999"), "ends too early"),
    "minus": (TEXT.replace(b"vertex 4", b"vertex -4"), "a line 'element vertex -4'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_broken_files_are_told_and_cost_nothing(tmp_path, name):
    data, told = WRONG[name]
    tracemalloc.start()
    with pytest.raises(RecordingError, match=f"scan.ply: not readable as a PLY file: .*({told})"):
        read(tmp_path, data)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


FACES = [*vertices(), "element face 1", "property list uchar int vertex_indices"]


@pytest.mark.parametrize(
    ("faces", "told"),
    [
        (struct.pack("<B3i", 3, 0, 1, 4), "corners that are none of its 4 points"),
        (struct.pack("<B3i", 3, 0, 1, -1), "corners that are none of its 4 points"),
        (struct.pack("<B2i", 3, 0, 1), "ends too early"),
        (struct.pack("<B", 255), "ends too early"),
    ],
)
def test_broken_faces_are_told(tmp_path, faces, told):
    points = POINTS.astype("<f4").tobytes()
    with pytest.raises(RecordingError, match=told):
        read(tmp_path, header("binary_little_endian", *FACES) + points + faces)


def test_a_list_that_is_longer_than_anything_is_told(tmp_path):
    lines = [*vertices(), "element face 1", "property list uint int vertex_indices"]
    data = header("binary_little_endian", *lines) + POINTS.astype("<f4").tobytes()
    data += struct.pack("<I3i", 2**32 - 1, 0, 1, 2)
    with pytest.raises(RecordingError, match="ends too early, in a list"):
        read(tmp_path, data)
