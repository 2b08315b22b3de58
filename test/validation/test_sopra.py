"""The pneumatic arm: symmetry is measured as it should be, and the real mesh bends as its chambers lie."""

import os
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import MeshError
from soft_twin.twin.mesh_files import read_mesh
from soft_twin.twin.voxels import voxel_mesh
from soft_twin.validation.beam import recorded
from soft_twin.validation.sopra import (
    FILE,
    PRESSURES,
    SEGMENT,
    YOUNG_MODULUS,
    Bend,
    bends,
    chambers_of,
    fitted_modulus,
    measured_travel,
    segment_mesh,
    segment_table,
    symmetry,
    table,
    travels,
)

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))


def bend(distance: float, degrees: float) -> Bend:
    way = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])
    return Bend("upper", degrees - 180.0, distance * way, 1, 0.0, np.zeros((1, 3)))


def test_symmetric_bends_have_no_spread():
    assert symmetry([bend(0.05, angle) for angle in (70.0, 190.0, 310.0)]) == pytest.approx((0.0, 0.0), abs=1e-9)
    spread, turn = symmetry([bend(0.04, 60.0), bend(0.05, 190.0), bend(0.06, 310.0)])
    assert spread == pytest.approx(0.2)
    assert turn == pytest.approx(10.0)


def test_another_body_is_refused():
    with pytest.raises(MeshError, match="0 closed chambers, not 6"):
        chambers_of(voxel_mesh(np.ones((1, 1, 2), bool), 0.01, "tet4"))


@pytest.mark.skipif(not (DATA / FILE).is_file(), reason=f"{FILE} is not in {DATA}")
def test_the_arm_bends_away_from_each_chamber():
    found = bends(read_mesh(DATA / FILE), 20e3)
    assert [each.segment for each in found] == ["upper"] * 3 + ["lower"] * 3
    for each in found:
        assert abs((each.direction - each.chamber) % 360.0 - 180.0) < 10.0
    upper, lower = (np.mean([each.across for each in found[half]]) for half in (slice(3), slice(3, 6)))
    assert upper > 3.0 * lower > 0.0
    assert "six symmetric bends" in table(found + found)


def test_travel_is_measured_between_step_and_vent():
    frames = np.random.default_rng(0).normal(0.0, 1e-5, (600, 7, 3))
    frames += 0.1
    frames[100:500, 4:, 1] += np.linspace(0.03, 0.04, 400)[:, None]
    early, late = measured_travel(frames)
    assert early == pytest.approx(0.03125, abs=1e-4)
    assert late == pytest.approx(0.03911, abs=1e-4)


def test_the_segment_has_three_chambers_and_bends_ever_more():
    mesh = segment_mesh(along=4, around=2)
    assert {"base", "chamber 1", "chamber 2", "chamber 3"} == set(mesh.surfaces)
    middle = [mesh.nodes[np.unique(mesh.surface(f"chamber {i}"))].mean(axis=0) for i in (1, 2, 3)]
    assert np.degrees(np.arctan2(*np.transpose(middle)[1::-1])) % 359.99999 == pytest.approx(
        [0.0, 120.0, 240.0], abs=1e-4
    )
    found = travels(mesh, YOUNG_MODULUS, np.array([100.0, 200.0]))
    assert 0.0 < 2.0 * found[0] < found[1]


def test_the_fitted_modulus_is_that_of_the_curve():
    trial = np.arange(50.0, 451.0, 50.0)
    curve = np.append(1e-7 * trial**2, np.nan)
    measured = 1e-7 * (PRESSURES / 1.25) ** 2
    fitted = fitted_modulus(np.append(trial, 500.0), curve, PRESSURES, measured)
    assert fitted == pytest.approx(1.25 * YOUNG_MODULUS, rel=0.01)
    lines = segment_table(np.column_stack([measured, measured]), np.append(measured[:3], np.nan), fitted, measured)
    assert lines.count("no equilibrium") == 1


@pytest.mark.skipif(not (DATA / SEGMENT).is_dir(), reason=f"{SEGMENT} is not in {DATA}")
def test_the_measured_segment_moves_ever_more():
    found = np.array([measured_travel(recorded(DATA / SEGMENT / f"{each:.0f}mbar_V3.c3d")) for each in PRESSURES])
    assert found[:, 1] == pytest.approx([3.2e-3, 7.9e-3, 15.6e-3, 36.9e-3], abs=0.2e-3)
    assert (found[:, 0] < found[:, 1]).all()
