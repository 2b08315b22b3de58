"""Recordings of a robot that are of something else: told by the twin's own shapes, before anything is trained."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from small_membrane import content

from soft_twin.errors import MeshError, RecordingError
from soft_twin.learning.frames import Scan, read_recording, write_markers, write_recording
from soft_twin.learning.plausibility import checked_rows, outliers
from soft_twin.learning.simulations import learnable, pressure_limits
from soft_twin.mesh.triangles import drawn
from soft_twin.parallel import Workers

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.learning.inflation import DOWN
from soft_twin.learning.pipeline import Pipeline

PRESSURES = np.array([[2500.0, 300.0], [600.0, 2000.0], [1500.0, 1400.0], [2900.0, 2800.0]])


def robot_of(folder, change=lambda learning: None):
    mine = content()
    change(mine["learning"])
    path = folder / "two_rooms.yaml"
    path.write_text(yaml.safe_dump(mine), encoding="utf-8")
    return learnable(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A robot, scans of a stiffer one (at other pressures), markers of it, and a store of simulations."""
    folder = tmp_path_factory.mktemp("plausible")
    robot, learning = robot_of(folder)
    twin, random = robot.build_twin(), np.random.default_rng(0)
    surface = Pipeline(robot, learning, folder, folder / "store", Workers(1)).surface
    scans, markers = [], []
    for pressures in PRESSURES:
        twin.equilibrium(DOWN, efforts=0.8 * pressures)
        points = surface.weights @ twin.points
        scans.append(Scan(*drawn(points, surface.triangles, 400, random)))
        markers.append(points[::9])
    return robot, learning, folder / "store", scans, np.array(markers), surface.points[::9]


def read(made, folder, scans=None, pressures=PRESSURES):
    robot, learning, store, known, *_ = made
    write_recording(folder, pressures, robot.chamber_names, known if scans is None else scans)
    return Pipeline(robot, learning, folder, store, Workers(1)).recording


def moved(scans, rows, change):
    return [change(scan) if row in rows else scan for row, scan in enumerate(scans)]


ALL = range(len(PRESSURES))
WRONG = {
    "shifted": (ALL, lambda scan: replace(scan, points=scan.points + [0.35, 0.0, 0.0]), "from the twin's surface"),
    "one shifted": ([3], lambda scan: replace(scan, points=scan.points + [0.0, 0.1, 0.0]), r"frame 3 \(.*3.ply\): its"),
    "sunk": (ALL, lambda scan: replace(scan, points=scan.points - [0.0, 0.0, 0.05]), "from the twin's surface"),
    "inches": ([1], lambda scan: replace(scan, points=3.0 * scan.points), r"frame 1 \(.*1.ply\): its points are"),
    "kilometres": (ALL, lambda scan: replace(scan, points=1e-3 * scan.points), "is it in another unit"),
    "centimetres": (ALL, lambda scan: replace(scan, points=1e2 * scan.points), "Metres in base_link are expected"),
    "upside down": (
        ALL,
        lambda scan: Scan(scan.points * [1.0, 1.0, -1.0] + [0.0, 0.0, 0.02], scan.normals * [1.0, 1.0, -1.0]),
        "is the scan upside down",
    ),
    "inside out": ([2], lambda scan: replace(scan, normals=-scan.normals), r"frame 2 .* normals point into the body"),
    "any normals": (
        ALL,
        lambda scan: replace(scan, normals=np.random.default_rng(1).normal(size=scan.normals.shape)),
        "its normals are not the surface's",
    ),
}  # fmt: skip


def test_scans_of_a_robot_that_is_a_fifth_stiffer_are_taken(made, tmp_path):
    assert len(read(made, tmp_path).scans) == len(PRESSURES)


def test_scans_of_which_half_is_missing_are_taken(made, tmp_path):
    halves = [Scan(scan.points[scan.points[:, 0] > 0.0], scan.normals[scan.points[:, 0] > 0.0]) for scan in made[3]]
    assert len(read(made, tmp_path, halves).scans) == len(PRESSURES)


@pytest.mark.parametrize("name", WRONG)
def test_scans_of_something_else_are_told_with_frame_and_file(made, tmp_path, name):
    rows, change, told = WRONG[name]
    with pytest.raises(RecordingError, match=told):
        read(made, tmp_path, moved(made[3], rows, change))


def test_pressures_in_another_unit_are_told(made, tmp_path):
    for unit in (1e-3, 1e-2):
        with pytest.raises(
            RecordingError, match="no pressure is above .* where chambers may have 3000 Pa: are they in kPa"
        ):
            read(made, tmp_path, pressures=unit * PRESSURES)


def test_markers_of_something_else_are_told(made, tmp_path):
    robot, learning, store, _, markers, rest = made
    gaps = markers.copy()
    gaps[0, ::2] = np.nan

    def recording(frames):
        write_markers(tmp_path, PRESSURES, robot.chamber_names, frames, rest)
        return Pipeline(robot, learning, tmp_path, store, Workers(1)).recording

    assert np.isnan(recording(gaps).markers).any()
    with pytest.raises(RecordingError, match=r"frame 0 \(frame_0000.c3d\): its points are .* from the twin's surface"):
        recording(gaps + [0.0, 0.2, 0.0])


def test_frames_beyond_where_the_twin_balloons_are_told(tmp_path):
    mine = content(12_000.0)
    (tmp_path / "two_rooms.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    robot, learning = learnable(tmp_path / "two_rooms.yaml")
    points = np.random.default_rng(0).uniform(-0.05, 0.05, (2, 40, 3))
    scans = [Scan(each, np.tile([0.0, 0.0, 1.0], (40, 1))) for each in points]
    write_recording(tmp_path, np.array([[9000.0, 0.0], [500.0, 11_500.0]]), robot.chamber_names, scans)
    read_recording(tmp_path, robot.chamber_names, pressure_limits(robot), 0.15)
    with pytest.raises(
        RecordingError, match=r"frame 1 \(frame_0001.ply\): right 11500 Pa: the twin balloons above 110"
    ):
        _ = Pipeline(robot, learning, tmp_path, tmp_path / "store", Workers(1)).recording


def test_a_surface_that_cannot_be_flattened_is_told_before_anything_is_simulated(tmp_path):
    robot, learning = robot_of(tmp_path, lambda learning: learning.update(surface="base"))
    with pytest.raises(MeshError, match="robot 'two_rooms', surface 'base': the surface cannot be flattened"):
        _ = Pipeline(robot, learning, tmp_path, tmp_path / "store", Workers(1)).recording
    assert not (tmp_path / "store").exists()


def test_many_frames_are_checked_by_some_of_them():
    np.testing.assert_array_equal(checked_rows(3), [0, 1, 2])
    rows = checked_rows(500)
    assert len(rows) == 40 and rows[0] == 0 and rows[-1] == 499 and np.diff(rows).max() <= 13


def test_frames_that_stay_far_off_are_named():
    errors = np.array([0.5, 0.6, 0.4, 4.0, 0.5, 0.3])
    np.testing.assert_array_equal(outliers(errors, 300.0), [3])
    assert not len(outliers(errors, 3000.0))
    assert not len(outliers(np.linspace(0.2, 1.0, 20), 100.0))
