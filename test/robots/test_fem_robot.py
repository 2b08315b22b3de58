"""Robots of kind `fem`: what their files say is what is built, and what cannot be built is named."""

import copy
import json

import numpy as np
import pytest
import yaml

import soft_twin
from soft_twin.errors import DescriptionError, InputError, MeshError
from soft_twin.inverse.goals import PositionGoal
from soft_twin.mesh.files import write_mesh
from soft_twin.resources import folder

DOWN, SIDEWAYS = np.array([0.0, 0.0, -9.81]), np.array([0.0, -9.81, 0.0])
FINGER = yaml.safe_load((folder("config") / "finger.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def finger():
    return soft_twin.load_robot("finger")


@pytest.fixture(scope="module")
def twin(finger):
    return finger.build_twin()


@pytest.fixture
def load(tmp_path):
    def load(change):
        content = copy.deepcopy(FINGER)
        change(content["robot"])
        path = tmp_path / "mine.yaml"
        path.write_text(json.dumps(content, indent=0))
        return soft_twin.load_robot(path)

    return load


def test_the_finger_is_what_its_file_says(finger, twin):
    body = twin.body
    np.testing.assert_allclose(body.mesh.nodes.min(axis=0), [-0.010, -0.009, 0.0], atol=1e-12)
    np.testing.assert_allclose(body.mesh.nodes.max(axis=0), [0.010, 0.009, 0.080], atol=1e-12)
    hollow = (0.005 * 0.006 * 0.005) * 14
    assert body.mass == pytest.approx(1080.0 * (0.020 * 0.018 * 0.080 - hollow) + 0.002, rel=1e-9)
    assert finger.actuator_names == ["left", "right", "air"]
    assert twin.model.actuators.names == finger.actuator_names
    assert len(twin.model.unknowns.plates) == 1
    np.testing.assert_allclose(twin.equilibrium(np.zeros(3)).tip, [0.0, 0.0, 0.080], atol=1e-9)


def test_the_finger_bends_towards_its_cables_and_away_from_its_air(twin):
    pulled = twin.equilibrium(DOWN, efforts=[1.0, 1.0, 0.0])
    blown = twin.equilibrium(DOWN, efforts=[0.0, 0.0, 20e3])
    assert pulled.tip[0] < -0.01
    assert -0.01 < blown.tip[0] < -1e-4
    assert blown.coordinates[2] > 0.0
    assert abs(pulled.tip[1]) < 1e-6
    np.testing.assert_allclose(twin.equilibrium(DOWN, coordinates=blown.coordinates).tip, blown.tip, atol=1e-6)


@pytest.mark.parametrize("name", ["finger", "arm"])
def test_what_feasible_efforts_reach_is_reached(name):
    robot = soft_twin.load_robot(name)
    inverse = robot.build_inverse()
    twin, rng = inverse.twin, np.random.default_rng(7)
    high = robot.limits()[0].high
    target = twin.equilibrium(SIDEWAYS, efforts=rng.uniform(0.0, 0.4, len(high)) * high).tip
    twin.reset()
    solution = inverse.solve(SIDEWAYS, goals=[PositionGoal(twin.frames["tip"], target)])
    assert solution.reachable
    assert solution.error < 1e-5
    assert (solution.efforts >= 0.0).all()
    assert (solution.efforts <= high).all()


def test_the_finger_is_controlled_tick_by_tick(finger, twin):
    twin.reset()
    controller = finger.build_controller(twin)
    controller.enable(True)
    for _ in range(40):
        tick = controller.update(DOWN)
    assert tick.converged
    assert tick.error < 1e-3
    assert tick.efforts.shape == tick.coordinates.shape == (3,)
    with pytest.raises(InputError, match="in metres"):
        controller.set_target([0.0, 0.0, 77.0])


def test_in_motion_it_comes_to_rest_where_the_twin_is(finger, twin):
    efforts = np.array([0.6, 0.2, 8e3])
    moving = finger.build_dynamics(dt=0.05)
    moving.model.efforts = efforts
    moving.advance(1.5)
    np.testing.assert_allclose(moving.pose.points, twin.equilibrium(DOWN, efforts=efforts).points, atol=2e-5)
    assert moving.kinetic_energy() < 1e-9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda robot: robot["chambers"][0].update(surface="chamber 9"), r"robot.chambers: air: .*chamber 9"),
        (lambda robot: robot["body"].update(clamped="floor"), r"robot.body: .*floor"),
        (lambda robot: robot["frames"]["tip"].update(nodes="nowhere"), r"robot.frames.tip: .*nowhere"),
        (
            lambda robot: robot["cables"][0].update(start=[0.5, 0.0, 0.0]),
            r"robot.cables: left: a cable leaves the body",
        ),
        (lambda robot: robot["body"]["materials"][0].update(model="gum"), r"robot.body.materials: .*gum"),
        (lambda robot: robot["body"]["materials"][0].update(volume="bone"), r"robot.body: .*bone"),
        (
            lambda robot: robot["chambers"][0].update(surface="outside"),
            r"chambers: air: .*its rim .* close it or",
        ),
    ],
)
def test_what_cannot_be_built_is_named_with_its_place(load, change, message):
    robot = load(change)
    with pytest.raises(DescriptionError, match=message) as error:
        robot.build_twin()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda robot: robot["frames"].pop("tip") and robot["frames"].update(nail={"nodes": "tip"}), "has to be 'tip'"),
        (lambda robot: (robot.pop("cables"), robot.pop("chambers")), "nothing moves this robot"),
        (lambda robot: robot["cables"][1].update(name="left"), "share the name 'left'"),
        (lambda robot: robot["body"]["mesh"].update(file="a.vtu", size=[1.0, 1.0, 1.0]), "one of 'file' and 'voxels'"),
        (lambda robot: robot["cables"][0].update(displacement=[0.01, 0.02]), "does not contain 0"),
        (lambda robot: robot["target"].update(tip=[0.0, 0.0, 5.0]), "target.tip: .* twice the body's size"),
        (lambda robot: robot["body"]["mesh"]["voxels"]["hollows"][0].update(last=[2, 1, 40]), "is no cell of a block"),
    ],
)
def test_contradictions_are_named_when_the_file_is_read(load, change, message):
    with pytest.raises(DescriptionError, match=message):
        load(change)


def test_a_mesh_beside_the_file_is_found_and_its_unit_is_checked(load, tmp_path, twin):
    write_mesh(twin.body.mesh, tmp_path / "finger.vtu")

    def change(robot, size=(0.020, 0.018, 0.080)):
        robot["body"]["mesh"] = {"file": "finger.vtu", "size": list(size)}

    assert load(change).build_model().unknowns.size == twin.model.unknowns.size
    robot = load(lambda robot: change(robot, (2.0, 1.8, 8.0)))
    with pytest.raises(MeshError, match="finger.vtu"):
        robot.build_model()
