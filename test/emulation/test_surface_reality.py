"""The emulated reality of a surface: each of its differences from the twin does what its name says."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from small_membrane import content, two_rooms

import soft_twin
from soft_twin.descriptions.learning import Thickness
from soft_twin.emulation.surface_reality import SurfaceReality, uneven
from soft_twin.errors import InputError
from soft_twin.learning.simulations import learnable, surface_of
from soft_twin.mechanics.materials.mooney_rivlin import MooneyRivlin
from soft_twin.robots.fem_meshes import relief

GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.fixture
def reality(tmp_path):
    def reality(scale=1.0, **differences):
        mine = content()
        mine["robot"]["emulated"] = {"young_modulus_scale": scale}
        mine["learning"]["reality"] = differences
        path = tmp_path / "two_rooms.yaml"
        path.write_text(yaml.safe_dump(mine), encoding="utf-8")
        return SurfaceReality(*learnable(path))

    return reality


def height(reality, pressures, seconds=0.0):
    return reality.shape(np.array(pressures), seconds)[:, 2].max()


def test_without_differences_but_the_law_it_is_nearly_the_twin(reality, tmp_path):
    twin = two_rooms(tmp_path).build_twin()
    own = reality()
    twin.equilibrium(GRAVITY, efforts=[300.0, 0.0])
    surface = surface_of(twin, "tip")
    np.testing.assert_allclose(own.shape(np.array([300.0, 0.0])), surface.weights @ twin.points, atol=3e-4)
    np.testing.assert_array_equal(own.triangles, surface.triangles)


def test_softer_thinner_and_older_bodies_go_further_threads_and_leaks_hold_them_back(reality):
    pressures = [1500.0, 0.0]
    plain = height(reality(), pressures)
    assert height(reality(scale=0.8), pressures) > plain + 5e-4
    assert height(reality(creep=0.2, creep_time=10.0), pressures, seconds=100.0) > plain + 5e-4
    assert height(reality(creep=0.2, creep_time=10.0), pressures, seconds=0.0) == pytest.approx(plain, abs=1e-9)
    threads = [{"direction": [1.0, 0.0, 0.0], "modulus": 100e3}]
    assert height(reality(fibres=threads), pressures) < plain - 5e-4
    leaking = reality(leak=0.2)
    assert (leaking.leaks >= 0.0).all() and (leaking.leaks <= 0.4).all()
    expected = height(reality(), (1.0 - leaking.leaks) * pressures)
    assert height(leaking, pressures) == pytest.approx(expected, abs=1e-9)


def test_creep_is_a_loss_of_stiffness(reality):
    softer = height(reality(scale=0.8, creep=0.0), [1500.0, 500.0])
    assert height(reality(creep=0.2, creep_time=1.0), [1500.0, 500.0], seconds=50.0) == pytest.approx(softer, abs=1e-9)


def test_thickness_varies_as_it_says_and_the_upper_side_stays():
    mesh = soft_twin.load_robot("membrane").build_twin().body.mesh
    thickness = Thickness(sheet=(0.010, 0.012), deviation=0.1, length=0.02)
    other = uneven(mesh, thickness, np.random.default_rng(5))
    upper, lower = (np.isclose(mesh.nodes[:, 2], z) for z in (0.012, 0.010))
    np.testing.assert_allclose(other.nodes[upper], mesh.nodes[upper], atol=1e-15)
    np.testing.assert_allclose(other.nodes[np.isclose(mesh.nodes[:, 2], 0.0), 2], 0.0, atol=1e-15)
    found = np.log((0.012 - other.nodes[lower, 2]) / 0.002)
    assert found.std() == pytest.approx(0.1, rel=0.25)
    again = uneven(mesh, thickness, np.random.default_rng(5))
    np.testing.assert_array_equal(again.nodes, other.nodes)


def test_on_a_relief_thickness_varies_as_without_it_and_the_upper_side_stays():
    robot, learning = learnable("mannequin")
    plain = learning.model_copy(update={"reality": learning.reality.model_copy(update={"thickness": None})})
    before, after = (SurfaceReality(robot, each).model.body.mesh for each in (plain, learning))
    upper = np.unique(before.surface("tip"))
    np.testing.assert_allclose(after.nodes[upper], before.nodes[upper], atol=1e-15)
    np.testing.assert_array_equal(after.nodes[:, :2], before.nodes[:, :2])
    lift = relief(robot.description.body.mesh.voxels, before.nodes)[:, 2]
    lower = np.isclose(before.nodes[:, 2] - lift, 0.018)
    skin = 0.020 - (after.nodes[lower, 2] - lift[lower])
    assert np.log(skin / 0.002).std() == pytest.approx(0.12, rel=0.3)


def test_every_material_of_a_reality_has_its_own_stiffness():
    robot, learning = learnable("bellows")
    laws = [part.material.energy for part in SurfaceReality(robot, learning).model.body.parts]
    soft, *plates = [law.c1 for law in laws if isinstance(law, MooneyRivlin)]
    assert len(plates) == 4 and min(plates) > 10.0 * soft


def test_what_the_emulated_robot_is_when_it_runs_is_not_the_realitys(reality, tmp_path):
    """Its mesh, coarse for real time, its steps and its valves."""
    pressures = np.array([1500.0, 500.0])
    before = reality(scale=0.8, leak=0.1).shape(pressures)
    mine = yaml.safe_load((tmp_path / "two_rooms.yaml").read_text(encoding="utf-8"))
    voxels = dict(mine["robot"]["body"]["mesh"]["voxels"], cells=[7, 3, 2], along_y=[0.008, 0.06, 0.008])
    hollows = [{**hollow, "last": [hollow["last"][0], 1, 0]} for hollow in voxels["hollows"]]
    mine["robot"]["emulated"].update(mesh={"voxels": {**voxels, "hollows": hollows}}, step=0.05, leak=0.5)
    path = tmp_path / "runs.yaml"
    path.write_text(yaml.safe_dump(mine), encoding="utf-8")
    robot, learning = learnable(path)
    assert len(robot.build_emulated_model().body.mesh.nodes) < len(robot.build_model().body.mesh.nodes)
    np.testing.assert_array_equal(SurfaceReality(robot, learning).shape(pressures), before)


def test_the_wall_of_a_tube_is_uneven_closed_around_and_its_outer_side_stays():
    mesh = learnable("manipulator")[0].build_twin().body.mesh
    thickness = Thickness(wall=(0.0195, 0.0225), deviation=0.1, length=0.02)
    other = uneven(mesh, thickness, np.random.default_rng(5))
    before, after = (np.hypot(*each.nodes[:, :2].T) for each in (mesh, other))
    outer, inner, lumen = (np.isclose(before, radius) for radius in (0.0225, 0.0195, 0.0035))
    np.testing.assert_allclose(other.nodes[outer], mesh.nodes[outer], atol=1e-15)
    np.testing.assert_allclose(other.nodes[lumen], mesh.nodes[lumen], atol=1e-15)
    np.testing.assert_array_equal(other.nodes[:, 2], mesh.nodes[:, 2])
    np.testing.assert_allclose(np.arctan2(*other.nodes[:, :2].T), np.arctan2(*mesh.nodes[:, :2].T), atol=1e-12)
    thick = np.log((0.0225 - after[inner]) / 0.003)
    assert thick.std() == pytest.approx(0.1, rel=0.25)
    turns = 1e-4 * np.arange(-1, 2)  # a step across the place where angles begin again is as small as any other
    near = np.column_stack([0.02 * np.cos(np.pi + turns), 0.02 * np.sin(np.pi + turns), np.full(3, 0.1)])
    around = replace(mesh, nodes=np.vstack([mesh.nodes, near]))
    steps = np.diff(np.hypot(*uneven(around, thickness, np.random.default_rng(5)).nodes[-3:, :2].T))
    assert np.abs(steps).max() < 1e-6


def test_a_reality_may_have_a_mesh_of_its_own(tmp_path):
    robot, learning = learnable("manipulator")
    same = learning.model_copy(update={"reality": learning.reality.model_copy(update={"mesh": None})})
    fine, coarse = SurfaceReality(robot, learning), SurfaceReality(robot, same)
    assert len(fine.triangles) == 2 * len(coarse.triangles)
    assert fine.model.body.mesh.nodes.shape[0] > 1.5 * coarse.model.body.mesh.nodes.shape[0]
    assert fine.shape(np.zeros(6)).shape == (48 * 45, 3)


def test_what_is_no_number_is_refused(reality):
    own = reality()
    with pytest.raises(InputError, match="pressures"):
        own.shape(np.array([np.nan, 0.0]))
    with pytest.raises(InputError, match="seconds"):
        own.shape(np.zeros(2), -1.0)
