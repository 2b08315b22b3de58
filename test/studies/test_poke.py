"""The poke, on a coarse cube."""

from functools import cache

import matplotlib.image
import numpy as np
import pytest

from soft_twin.parallel import Workers, kept_to_the_end, working_with
from soft_twin.studies import poke as module
from soft_twin.studies import poke_fine
from soft_twin.studies.poke import REACH, cube, depth_at, poke, table, work

COARSE = (4, 3)


@cache
def coarsely(support, friction):
    return poke(support, COARSE, 0.05, friction)


@pytest.fixture(scope="module", params=[("floor", 0.0), ("clamped", 0.0), ("clamped", 0.5)])
def coarse(request):
    return coarsely(*request.param)


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


def test_hard_steps_are_halved_and_grow_again(monkeypatch):
    monkeypatch.setattr(module, "HARD", 4)
    each = poke("clamped", COARSE, 0.05)
    lengths = np.diff(each.times, prepend=0.0)
    assert each.finished
    assert lengths.min() < 0.03
    assert lengths[-1] == pytest.approx(0.05)
    assert each.times[-1] == pytest.approx(2.0 * module.STROKE + module.REST)


@pytest.mark.parametrize(("study", "count"), [(module, 3), (poke_fine, 2)], ids=["poke", "poke_fine"])
def test_a_whole_run_shows_all_supports_and_goes_on_where_it_was_interrupted(study, count, monkeypatch, tmp_path):
    done = []

    def interrupted(support, cells=None, friction=0.0):
        done.append((support, friction))
        if len(done) == 2:
            raise KeyboardInterrupt
        return coarsely(support, friction)

    monkeypatch.setattr(module, "poke", interrupted)
    with working_with(Workers(1)):
        with pytest.raises(KeyboardInterrupt, match=f"1 of {count} pokes are kept"), kept_to_the_end():
            study.run(tmp_path, tmp_path)
        with kept_to_the_end():
            shown = study.run(tmp_path, tmp_path).splitlines()
    assert done == [("floor", 0.0), ("clamped", 0.0), ("clamped", 0.0), ("clamped", 0.5)][: count + 1]
    assert shown[0].split()[:2] == ["floor", "clamped"]
    (forces,) = ([float(each) for each in line.split()[3:5]] for line in shown if line.startswith("largest force"))
    assert forces[0] == pytest.approx(forces[1], rel=0.05), "far below what is poked it matters little what holds it"
    name = study.__name__.rpartition(".")[2]
    assert np.ptp(matplotlib.image.imread(tmp_path / f"{name}.png")) > 0.5


def test_the_fine_poke_has_as_many_coordinates_as_the_papers():
    across, along = poke_fine.CELLS
    assert 3813 <= 3 * (across + 1) ** 2 * along <= 3 * (across + 1) ** 2 * (along + 1) <= 5184
