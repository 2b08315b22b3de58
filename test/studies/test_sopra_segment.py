"""The measured segment of the pneumatic arm: its section, fibres and travel, and that a fit finds what is known."""

import os
from pathlib import Path

import numpy as np
import pytest

from soft_twin.mesh.selection import enclosed_volume
from soft_twin.recording.c3d_files import read_markers
from soft_twin.studies.sopra_segment import (
    CAP,
    CROSS,
    FOLDER,
    HOLE,
    HOLE_WALL,
    LENGTH,
    OUTER_WALL,
    PRESSURES,
    RADIUS,
    fibre_directions,
    fit,
    measured_travel,
    segment_mesh,
    table,
    travels,
)

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))


@pytest.fixture(scope="module")
def mesh():
    return segment_mesh(along=4, around=2)


def test_travel_is_measured_between_step_and_vent():
    frames = np.random.default_rng(0).normal(0.0, 1e-5, (600, 7, 3))
    frames += 0.1
    frames[100:500, 4:, 1] += np.linspace(0.03, 0.04, 400)[:, None]
    early, late = measured_travel(frames)
    assert early == pytest.approx(0.03125, abs=1e-4)
    assert late == pytest.approx(0.03911, abs=1e-4)


def test_a_tip_that_turns_about_its_middle_does_not_travel():
    markers = np.array([[-9.645, -26.5, 0.0], [-9.645, 26.5, 0.0], [-28.2, 0.0, 0.0]]) * 1e-3
    turned = markers @ np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    frames = np.zeros((600, 7, 3))
    frames[:, 4:] = markers
    frames[100:500, 4:] = turned + [0.01, 0.0, 0.0]
    assert measured_travel(frames) == pytest.approx([0.01, 0.01], abs=1e-6)


def test_the_section_is_as_published(mesh):
    radius = np.hypot(*mesh.nodes[:, :2].T)
    assert radius.max() == pytest.approx(RADIUS)
    assert np.abs(mesh.nodes[:, :2]).sum(axis=1).min() == pytest.approx(HOLE, rel=1e-6)
    chamber = mesh.nodes[np.unique(mesh.surface("chamber 1"))]
    assert chamber[:, 0].min() == pytest.approx(HOLE + HOLE_WALL)
    assert np.hypot(*chamber[:, :2].T).max() == pytest.approx(RADIUS - OUTER_WALL)
    to_wall = (chamber[:, 0] - np.abs(chamber[:, 1])) / np.sqrt(2.0)
    assert to_wall.min() == pytest.approx(0.5 * CROSS, abs=1e-5)
    assert [chamber[:, 2].min(), chamber[:, 2].max()] == pytest.approx([CAP - LENGTH, -CAP])


def test_four_chambers_are_alike_and_a_quarter_turn_apart(mesh):
    surfaces = [mesh.surface(f"chamber {i}") for i in (1, 2, 3, 4)]
    volumes = [-enclosed_volume(mesh.nodes, faces) for faces in surfaces]
    assert volumes == pytest.approx([volumes[0]] * 4)
    middles = np.array([mesh.nodes[np.unique(faces)].mean(axis=0) for faces in surfaces])
    assert middles[1] == pytest.approx([-middles[0, 1], middles[0, 0], middles[0, 2]], abs=1e-9)
    assert middles[0, 0] > 0.01 and abs(middles[0, 1]) < 1e-9


def test_fibres_follow_the_walls(mesh):
    directions, centres = fibre_directions(mesh), mesh.nodes[mesh.cells[:, :8]].mean(axis=1)
    assert np.linalg.norm(directions, axis=1) == pytest.approx(1.0)
    for i in (1, 2, 3, 4):
        hoop, cross = mesh.volume(f"hoop {i}"), mesh.volume(f"cross {i}")
        along = np.einsum("mi,mi->m", directions, centres) / np.linalg.norm(centres[:, :2], axis=1)
        assert np.abs(along[hoop]).max() < 0.5 < 0.99 < np.abs(along[cross]).min()
    outer = mesh.volume("hoop 1")[np.hypot(*centres[mesh.volume("hoop 1"), :2].T) > 0.016]
    assert len(outer) and np.abs(along[outer]).max() < 1e-9


def test_fibres_make_a_chamber_longer_instead_of_wider():
    mesh = segment_mesh(along=2, around=2)
    alone, wound, tight = (travels(mesh, 300e3, fibres, PRESSURES[:1])[0] for fibres in (0.0, 1e6, 16e6))
    assert 0.0 < 2.0 * alone < wound < tight


def test_a_fit_finds_what_is_known():
    mesh, pressures = segment_mesh(along=2, around=2), np.array([150.0, 300.0])
    measured = travels(mesh, 400e3, 0.9e6, pressures)
    young_modulus, fibres = fit(mesh, measured, (380e3, 1e6), pressures)
    assert young_modulus == pytest.approx(400e3, rel=0.01)
    assert fibres == pytest.approx(0.9e6, rel=0.05)


def test_the_table_says_where_nothing_was_found():
    found = np.array([1e-3, 2e-3, 3e-3, np.nan])
    lines = table(np.ones((4, 2)), {"fitted": (3e5, 1e6)}, {"fitted": found})
    assert lines.count("none") == 1 and "E 300 kPa, fibres 1.00 MPa" in lines


@pytest.mark.skipif(not (DATA / FOLDER).is_dir(), reason=f"{FOLDER} is not in {DATA}")
def test_the_measured_segment_moves_ever_more():
    found = np.array([measured_travel(read_markers(DATA / FOLDER / f"{each:.0f}mbar_V3.c3d")) for each in PRESSURES])
    assert found[:, 1] == pytest.approx([3.2e-3, 8.1e-3, 16.5e-3, 39.2e-3], abs=0.2e-3)
    assert (found[:, 0] < found[:, 1]).all()
