"""The poke, on a coarse cube."""

import numpy as np
import pytest

from soft_twin.validation import poke as module
from soft_twin.validation.poke import REACH, cube, depth_at, poke, table, work

COARSE = (4, 3)


@pytest.fixture(scope="module", params=[("floor", 0.0), ("clamped", 0.0), ("clamped", 0.5)])
def coarse(request):
    support, friction = request.param
    return poke(support, COARSE, 0.05, friction)


def test_the_cylinder_goes_in_and_out():
    assert depth_at(0.0) == 0.0
    assert depth_at(module.STROKE) == pytest.approx(0.04)
    assert depth_at(2.0 * module.STROKE + 1e-9) < 0.0


def test_nothing_penetrates_and_nothing_explodes(coarse):
    assert coarse.finished
    assert coarse.penetrations.max() < REACH
    assert coarse.between.max() < REACH, "nor do faces"
    assert coarse.determinants.min() > 0.0
    assert coarse.speeds.max() < 3.0 * 0.5 * np.pi * 0.04 / module.STROKE
    assert coarse.left < 1e-3


def test_the_force_grows_with_depth_and_damping_takes_work(coarse):
    pressing = coarse.times < module.STROKE
    force, depth = coarse.forces[pressing], coarse.depths[pressing]
    assert force[-1] == pytest.approx(coarse.forces.max(), rel=0.1)
    assert np.corrcoef(force, depth)[0, 1] > 0.9
    assert work(coarse) > 0.0
    assert coarse.support in table([coarse])


def test_nodes_lie_on_the_cylinder_and_fill_the_cube():
    mesh = cube((8, 3))
    assert mesh.size == pytest.approx([0.16, 0.16, 0.16])
    radii = np.linalg.norm(mesh.nodes[:, :2] - 0.08, axis=1)
    assert np.isclose(radii, 0.99 * 0.025).sum() == 16 * 4
