"""The pneumatic arm: symmetry is measured as it should be, and the real mesh bends as its chambers lie."""

import os
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import MeshError
from soft_twin.twin.mesh_files import read_mesh
from soft_twin.twin.voxels import voxel_mesh
from soft_twin.validation.sopra import FILE, Bend, bends, chambers_of, symmetry, table

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
