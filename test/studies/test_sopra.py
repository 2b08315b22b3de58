"""The pneumatic arm: symmetry is measured as it should be, and the real mesh bends as its chambers lie."""

import os
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from soft_twin.errors import MeshError, UsageError
from soft_twin.mesh.files import read_mesh
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import jacobians
from soft_twin.studies import sopra
from soft_twin.studies.sopra import (
    FIBRES,
    FILE,
    Bend,
    _from_x,
    bends,
    chambers_of,
    comparison,
    hoops,
    quadratic,
    regularity,
    run,
    symmetry,
    table,
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


@pytest.mark.parametrize(("turned", "said"), [(-0.006, 0.0), (0.025, 0.0), (119.98, 120.0), (-119.99, 240.0)])
def test_a_chamber_that_is_nearly_at_0_is_not_at_360(turned, said):
    angle = np.radians(turned)
    nodes = 0.01 * np.array([np.cos(angle), np.sin(angle), 0.0]) + [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
    assert _from_x(SimpleNamespace(nodes=nodes), np.array([[0, 1, 2]])) == said


@pytest.mark.parametrize("turned", [0.0, 30.0, 90.0, 170.0])
def test_the_names_in_the_picture_stand_beside_its_arrows(turned, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(sopra, "write_picture", lambda path, figure, **_: drawn.append(figure))
    mesh = voxel_mesh(np.ones((1, 1, 2), bool), 0.01, "tet4")
    uppers = [replace(bend(0.1, angle), shape=mesh.nodes) for angle in (180.0 + turned, 300.0 + turned, 60.0 + turned)]
    found = [*uppers, *(replace(each, segment="lower", moved=0.35 * each.moved) for each in uppers)]
    sopra._draw(tmp_path / "sopra.png", mesh, found)
    drawn[0].draw_without_rendering()
    plan = drawn[0].axes[0]
    names = [text.get_window_extent() for text in plan.texts if text.get_text()]
    arrows = 1e3 * np.linspace(0.0, 1.0, 200)[:, None, None] * [each.moved[:2] for each in found]
    assert len(names) == 6
    assert not any(name.contains(*point) for name in names for point in plan.transData.transform(arrows.reshape(-1, 2)))
    assert not any(one.overlaps(other) for one, other in combinations(names, 2))


def test_another_body_is_refused():
    with pytest.raises(MeshError, match="0 closed chambers, not 6"):
        chambers_of(voxel_mesh(np.ones((1, 1, 2), bool), 0.01, "tet4"))


def test_a_folder_without_the_mesh_is_told_with_what_says_where_it_is(tmp_path):
    with pytest.raises(UsageError, match=r"no mesh of the arm at '.*sopra_494.vtk': --data"):
        run(tmp_path, tmp_path)


def test_fibres_go_around_the_nearest_chamber():
    occupied = np.ones((10, 5, 5), bool)
    occupied[2, 2, 1:4] = occupied[7, 2, 1:4] = False
    mesh = voxel_mesh(occupied, 0.01, "tet4")
    chambers = [mesh.surface("chamber 1"), mesh.surface("chamber 2")]
    directions, walls = hoops(mesh, chambers)
    centres = mesh.nodes[mesh.cells].mean(axis=1)
    assert (np.sort(walls) == np.flatnonzero((centres[:, 2] > 0.01) & (centres[:, 2] < 0.04))).all()
    axis = np.where(centres[:, :1] < 0.05, [[0.025, 0.025]], [[0.075, 0.025]])
    across = centres[:, :2] - axis
    assert np.linalg.norm(directions[walls], axis=1) == pytest.approx(1.0)
    assert np.einsum("mi,mi->m", directions[walls, :2], across[walls]) == pytest.approx(0.0, abs=1e-12)
    assert directions[walls, 2] == pytest.approx(0.0, abs=1e-12)


def test_quadratic_cells_are_the_same_cells():
    mesh = voxel_mesh(np.ones((2, 1, 2), bool), 0.01, "tet4")
    curved = quadratic(mesh)
    assert curved.element.name == "tet10"
    assert (curved.cells[:, :4] == mesh.cells).all()
    volumes = jacobians(curved)[1] @ curved.element.weights
    assert volumes.sum() == pytest.approx(4e-6)


def test_the_comparison_says_how_symmetric_each_case_is():
    found = [bend(distance, angle) for distance in (0.05, 0.01) for angle in (70.0, 190.0, 310.0)]
    line = comparison({"case": found}).splitlines()[1]
    assert line.count("50.00") == 3 and line.count("10.00") == 3 and line.count("0.0 %") == 2


@pytest.mark.skipif(not (DATA / FILE).is_file(), reason=f"{FILE} is not in {DATA}")
def test_quadratic_cells_bend_the_arm_alike_and_away_from_each_chamber():
    mesh = read_mesh(DATA / FILE)
    assert "85 % of the nodes" in regularity(mesh)
    linear, curved = bends(mesh, 20e3), bends(quadratic(mesh), 20e3, FIBRES)
    for found in (linear, curved):
        assert [each.segment for each in found] == ["upper"] * 3 + ["lower"] * 3
    for each in curved:
        assert abs((each.direction - each.chamber) % 360.0 - 180.0) < 1.0
    for half in (slice(3), slice(3, 6)):
        assert symmetry(curved[half])[0] < 0.04 < symmetry(linear[half])[0]
    assert np.mean([each.across for each in curved[:3]]) > 1.5 * np.mean([each.across for each in linear[:3]])
    assert "six symmetric bends" in table(curved)
