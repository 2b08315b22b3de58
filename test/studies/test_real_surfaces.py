"""Twins of what is real, corrected where they were learned from and tested elsewhere; skipped without recordings."""

import json
import os
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.errors import RecordingError, UsageError
from soft_twin.studies import neck_logs
from soft_twin.studies.learning import real_surfaces
from soft_twin.studies.learning.real import neck, segment, sheets, silicone, tested

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))


def rolled(places, radius):
    """(k, 3) of a sheet (k, 2) around a cylinder along y."""
    angle = places[:, 0] / radius
    return np.column_stack([radius * np.sin(angle), places[:, 1], radius * (1.0 - np.cos(angle))])


def at_points(plate, points):
    """(k, 3) where a plate that is held at some of the points has them all."""
    return np.asarray(sheets.SurfaceLayer(plate.uv, plate.fit.knots).points(plate.control(points)))


def test_a_plate_follows_a_sheet_that_is_rolled_and_moved_as_a_whole():
    random = np.random.default_rng(0)
    places = random.uniform(-100.0, 100.0, (80, 2))
    plate = sheets.Plate(np.column_stack([places, np.zeros(80)]))
    seen = rolled(places, 600.0)
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    turn *= np.linalg.det(turn)
    np.testing.assert_allclose(plate.aligned(seen @ turn.T + 40.0), plate.aligned(seen), atol=1e-6)
    held = plate.aligned(seen)
    off = np.linalg.norm(at_points(plate, held) - held, axis=1)
    assert off[plate.held].max() < 0.1  # it is held there
    stretched = plate.flat * [1.1, 0.9, 1.0] + [5.0, 0.0, 3.0]  # of no bending energy: met everywhere
    np.testing.assert_allclose(at_points(plate, stretched), stretched, atol=0.1)


def test_places_that_hold_a_plate_are_far_apart():
    ticks = np.linspace(0.0, 1.0, 9)
    places = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    found = places[sheets._spread(places, 4)]
    assert {tuple(place) for place in found.tolist()} == {(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)}


def test_points_that_lie_alone_are_left_out():
    ticks = np.linspace(0.0, 0.1, 21)
    sheet = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    points = np.column_stack([np.vstack([sheet, [[0.2, 0.2], [-0.1, 0.0]]]), np.zeros(len(sheet) + 2)])
    np.testing.assert_array_equal(silicone.without_strays(points), points[:-2])


def test_a_tip_is_carried_in_the_twins_axes():
    rim = np.array([[0.02, 0.0, -0.1], [0.0, 0.02, -0.1], [-0.02, 0.0, -0.1], [0.0, -0.02, -0.1]])
    moved, half = np.array([0.0, 0.0, -0.01]), np.diag([-1.0, -1.0, 1.0])  # aside, in the cameras' axes
    axes = segment._axes([moved])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    found = segment._carried(rim, rim.mean(axis=0), moved, np.eye(3), axes)
    np.testing.assert_allclose(found - rim, np.tile(axes @ moved, (4, 1)), atol=1e-12)
    assert abs((axes @ moved)[2]) < 1e-12 and np.linalg.norm(axes @ moved) == pytest.approx(0.01)
    turned = segment._carried(rim, rim.mean(axis=0), 0.0 * moved, half, axes)
    assert np.linalg.norm(turned - turned.mean(axis=0), axis=1) == pytest.approx(0.02)


def test_a_neck_is_corrected_at_poses_between_those_that_were_learned_from():
    if not (DATA / neck_logs.FOLDER).is_dir():
        pytest.skip(f"no logs of necks in {DATA / neck_logs.FOLDER}")
    rows = {(row.learned_from, row.tested_on): row for row in neck.tested(DATA)}
    between = rows["the other poses", "every seventh pose"]
    assert between.after < 0.5 * between.before
    other = rows["0 g", "1000 g"]  # which says nothing of it
    assert other.after > other.before


def test_bent_paper_is_met_better_by_what_other_shapes_say():
    if not (DATA / sheets.FOLDER).is_dir():
        pytest.skip(f"no recordings in {DATA / sheets.FOLDER}")
    file, flat = sheets.SHEETS["paper"]
    shapes = sheets.read_sheet(DATA / sheets.FOLDER / file)
    assert shapes.shape == (10, 90, 3)
    plate = sheets.Plate(shapes[flat])
    points = np.array([plate.aligned(shape) for shape in shapes])
    control = np.array([plate.control(shape) for shape in points])
    others, free = np.arange(10) != 2, np.setdiff1d(np.arange(90), plate.held)
    found = sheets._corrected(plate, control, points, others, 2, free, None)
    before, after = (np.linalg.norm(each - points[2, free], axis=1).mean() for each in found)
    assert after < 0.6 * before


def test_what_is_not_there_or_broken_is_told(tmp_path):
    with pytest.raises(UsageError, match="no recordings in"):
        real_surfaces.run(tmp_path, tmp_path)
    with pytest.raises(UsageError, match="no recording"):
        sheets.tested(tmp_path)
    (tmp_path / "broken.mat").write_bytes(b"nonsense")
    with pytest.raises(RecordingError, match=r"broken\.mat: not readable"):
        sheets.read_sheet(tmp_path / "broken.mat")
    with pytest.raises(UsageError, match="no recording"):
        segment._moved(tmp_path / "100mbar_V3.c3d")


def test_rows_are_those_of_what_is_in_the_recordings(tmp_path, monkeypatch):
    recording = tmp_path / "there" / "1" / "shape.txt"
    recording.parent.mkdir(parents=True)
    asked = []

    def read(data, say):
        asked.append(float(recording.read_text()))
        return [tested.Tested("a sheet", "3 shapes", "shape 1", "mm", 4.0, asked[-1], 9.0, 3.0)]

    monkeypatch.setattr(real_surfaces, "PARTS", {"sheet": (Path("there"), read)})
    for error in ("1.25", "1.25", "2.75"):
        recording.write_text(error)
        assert f" {error} mm" in real_surfaces.run(tmp_path / "out", tmp_path)
    assert asked == [1.25, 2.75]


def test_parts_that_are_there_are_tabled_and_drawn_and_others_named(tmp_path, monkeypatch):
    row = tested.Tested("a sheet", "3 shapes", "shape 1", "mm", 4.0, 1.0, 9.0, 3.0)
    (tmp_path / "there").mkdir()
    parts = {"sheet": (Path("there"), lambda data, say: [row]), "neck": (Path("nowhere"), None)}
    monkeypatch.setattr(real_surfaces, "PARTS", parts)
    told = real_surfaces.run(tmp_path, tmp_path)
    assert "shape 1" in told and "4.00" in told and "1.00" in told
    assert f"left out: neck, no recordings in {tmp_path / 'nowhere'}" in told
    assert json.loads((tmp_path / "table.json").read_text())[0]["after"] == 1.0
    assert np.ptp(matplotlib.image.imread(tmp_path / "real_surfaces.png")) > 0.5
