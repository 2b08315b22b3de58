"""Targets from files: meshes are met by their surface, however its corners stand; broken files are told."""

import meshio
import numpy as np
import pytest
from scipy.spatial import Delaunay
from test_shape_control import HIGHEST, PLANE, SIZE, bumps, cloud, control  # noqa: F401

from soft_twin.errors import InputError, RecordingError, UsageError
from soft_twin.learning.shape_control import FIXED
from soft_twin.learning.shape_target import ShapeTarget
from soft_twin.learning.target_files import DRAWN, read_target
from soft_twin.recording.ply_files import write_ply

PRESSURES = [2000.0, 0.0]  # one bump, and a sheet that is flat elsewhere


@pytest.fixture(scope="module")
def uneven():
    """A mesh whose triangles are small where the bump is and large where the sheet is flat."""
    points = cloud(PRESSURES, 6000)
    points = points[(points[:, 2] > 1e-5) | (np.arange(len(points)) % 40 == 0)]
    ticks, ends = np.tile(np.linspace(0.0, 1.0, 30), 2), np.repeat([0.0, 1.0], 30)
    rim = np.unique(np.vstack([np.column_stack([ticks, ends]), np.column_stack([ends, ticks])]), axis=0)
    low, high = PLANE[:, :2].min(axis=0), PLANE[:, :2].max(axis=0)
    rim = low + rim * (high - low)
    filled = np.sqrt(PRESSURES[0] / HIGHEST)
    points = np.vstack([points, np.column_stack([SIZE * rim, 0.036 * filled * bumps(rim)[:, 0]])])
    return points, Delaunay(points[:, :2]).simplices


def test_a_mesh_is_drawn_evenly_and_met_where_its_corners_alone_mislead(control, uneven, tmp_path):  # noqa: F811
    points, triangles = uneven
    write_ply(tmp_path / "mould.ply", points, triangles=triangles)
    drawn = control.solve(read_target(tmp_path / "mould.ply"), FIXED)
    even = control.solve(ShapeTarget.of(cloud(PRESSURES, DRAWN), whole=True), FIXED)
    corners = control.solve(ShapeTarget.of(points, whole=True), FIXED)
    assert drawn.mean < 2e-4 and abs(drawn.mean - even.mean) < 1e-4 and corners.mean > 5.0 * drawn.mean
    np.testing.assert_allclose(drawn.pressures, PRESSURES, atol=30.0)


@pytest.mark.parametrize("suffix", [".ply", ".stl", ".obj", ".off"])
def test_meshes_of_all_kinds_are_the_same_surface(uneven, tmp_path, suffix):
    points, triangles = uneven
    path = tmp_path / f"mould{suffix}"
    if suffix == ".ply":
        write_ply(path, points, triangles=triangles)
    else:
        meshio.Mesh(points, [("triangle", triangles)]).write(path)
    found, again = read_target(path), read_target(path)
    np.testing.assert_array_equal(found.points, again.points)
    assert len(found.points) == DRAWN and found.whole and not read_target(path, whole=False).whole
    sides = points[triangles]
    area = 0.5 * np.linalg.norm(np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0]), axis=1).sum()
    flat = found.points[:, 0] > 80.0  # a fifth of 100 x 100 mm, and 1 of 20 of the corners
    assert flat.mean() == pytest.approx(0.02 * 0.1 / area, rel=0.05) and (points[:, 0] > 0.08).mean() < 0.1
    assert np.abs(found.normals[flat, 2]).mean() > 0.99


@pytest.mark.parametrize("mark", [",", " "])
def test_clouds_are_taken_as_they_are(tmp_path, mark):
    points, up = cloud(PRESSURES, 100), np.tile([0.0, 0.0, 2.0], (100, 1))
    np.savetxt(tmp_path / "cloud.csv", points, delimiter=mark)
    found = read_target(tmp_path / "cloud.csv")
    np.testing.assert_allclose(found.points, 1e3 * points, atol=1e-9)
    assert not found.whole and read_target(tmp_path / "cloud.csv", whole=True).whole
    np.savetxt(tmp_path / "cloud.xyz", np.column_stack([points, up]), delimiter=mark)
    np.testing.assert_allclose(read_target(tmp_path / "cloud.xyz").normals, 0.5 * up)
    write_ply(tmp_path / "cloud.ply", points, up)
    np.testing.assert_allclose(read_target(tmp_path / "cloud.ply").normals, 0.5 * up)


HEADS = {
    "names": ("x,y,z", ",", [0, 1, 2]),
    "semicolons": ("x;y;z", ";", [0, 1, 2]),
    "units": ('"X [m]";"Y [m]";"Z [m]"', ";", [0, 1, 2]),
    "tabs": ("X\tY\tZ", "\t", [0, 1, 2]),
    "spaces": ("x y z", " ", [0, 1, 2]),
    "others": ("one,two,three", ",", [0, 1, 2]),
    "order": ("y,x,z", ",", [1, 0, 2]),
    "numbers": ("nr,x,y,z,red", ",", [3, 0, 1, 2, 3]),
    "none": ("", "; ", [0, 1, 2]),
    "comment": ("# x y z", " ", [0, 1, 2]),
}


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("name", HEADS)
def test_tables_have_a_line_of_names_as_scanners_write_it(tmp_path, name, bom):
    head, mark, columns = HEADS[name]
    points = cloud(PRESSURES, 50)
    rows = np.column_stack([points, np.arange(50)])[:, columns]
    lines = [mark.join(f"{value:.6f}" for value in row) for row in rows]
    (tmp_path / "cloud.csv").write_text(bom + "\n".join([head, *lines]), encoding="utf-8")
    np.testing.assert_allclose(read_target(tmp_path / "cloud.csv").points, 1e3 * points, atol=1e-3)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_decimal_commas_are_read_where_columns_have_another_mark(tmp_path, mark):
    points = cloud(PRESSURES, 50)
    text = "\n".join(mark.join(f"{value:.6f}" for value in row) for row in points).replace(".", ",")
    (tmp_path / "cloud.csv").write_text(text)
    np.testing.assert_allclose(read_target(tmp_path / "cloud.csv").points, 1e3 * points, atol=1e-3)


def test_normals_are_known_by_their_names_and_colours_are_none(tmp_path):
    points, up = cloud(PRESSURES, 50), np.tile([0.0, 0.0, 2.0], (50, 1))
    table = np.column_stack([up, points])
    np.savetxt(tmp_path / "cloud.csv", table, delimiter=",", header="nx,ny,nz,x,y,z", comments="")
    found = read_target(tmp_path / "cloud.csv")
    np.testing.assert_allclose(found.points, 1e3 * points)
    np.testing.assert_allclose(found.normals, 0.5 * up)
    table = np.column_stack([points, 255.0 + 0.0 * up])
    np.savetxt(tmp_path / "cloud.csv", table, delimiter=",", header="x,y,z,r,g,b", comments="")
    assert np.abs(read_target(tmp_path / "cloud.csv").normals[:, 0]).max() < 0.99


def test_quadrilaterals_are_two_triangles(tmp_path):
    x, y = np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0])
    points = 0.1 * np.column_stack([x.ravel(), y.ravel(), 0.0 * x.ravel()])
    meshio.Mesh(points, [("quad", np.array([[0, 1, 4, 3], [1, 2, 5, 4]]))]).write(tmp_path / "plate.obj")
    found = read_target(tmp_path / "plate.obj").points
    np.testing.assert_allclose(found.mean(axis=0), [100.0, 50.0, 0.0], atol=1.0)


WRONG = {
    "missing.stl": (None, UsageError, "no target at"),
    "mould.step": (b"x", UsageError, "expected a file that ends in .ply, .stl"),
    "broken.stl": (b"solid x\nfacet normal 0 0", InputError, "is not readable|has no triangles"),
    "points.obj": (b"v 0 0 0\nv 1 0 0\n", InputError, "has no triangles|not readable"),
    "beyond.off": (b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n", InputError, "corners that are none of its 3 points"),
    "flat.off": (
        b"OFF\n3 1 0\n0 0 0\n1 0 0\n2 0 0\n3 0 1 2\n",
        InputError,
        "flat.off: target: its 1 triangles have no area",
    ),
    "binary.csv": (b"\xff\xfe\x00", InputError, "not readable as a table of numbers"),
    "words.csv": (b"x,y,z\n1,2,3\n\n1,two,3\n", InputError, "words.csv':4: '1,two,3': expected 3 numbers"),
    "uneven.csv": (b"1 2 3\n1 2\n", InputError, "uneven.csv':2: '1 2': expected 3 numbers"),
    "empty.csv": (b"", InputError, "empty.csv' has no points: expected a line of x, y, z for each"),
    "names.csv": (b"\xef\xbb\xbfx,y,z\n", InputError, "names.csv' has no points: expected a line of x, y, z"),
    "said.txt": (b"# x y z\n", InputError, "said.txt' has no points"),
    "plane.csv": (b"1,2\n3,4\n", InputError, "has 2 columns: expected x, y, z"),
    "few.csv": (b"1,2,3\n3,4,5\n", InputError, "few.csv: target: expected 30 or more points"),
    "half.ply": (b"ply\nformat ascii 1.0\n", RecordingError, "not readable as a PLY file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_no_targets_are_told(tmp_path, name):
    data, error, told = WRONG[name]
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(error, match=told):
        read_target(tmp_path / name)


def test_a_target_is_read_from_a_path():
    with pytest.raises(UsageError, match="target: expected the path of a file, found None"):
        read_target(None)
