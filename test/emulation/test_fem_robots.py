"""Emulated robots of finite elements: bytes to pressure to bend, chambers that fill, IMUs on plates."""

import numpy as np
import pytest
import serial
import yaml
from scipy.spatial.transform import Rotation

from soft_twin import load_robot
from soft_twin.emulation.base_motion import inclinations
from soft_twin.emulation.imus import FeltMotion
from soft_twin.emulation.plant import AIR, Plant, Plates
from soft_twin.emulation.robot import EmulatedRobot
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mechanics.unknowns import Pose
from soft_twin.sensing.sample_check import SampleCheck
from soft_twin.sensing.samples import ImuSample
from soft_twin.solvers.equilibrium import equilibrium

UPRIGHT = MovingBase(np.array([0.0, 0.0, -9.81]))
PERIOD = 0.02


def small(folder, **obstacle):
    """The finger of config/ with fewer cells, and another floor or none."""
    content = yaml.safe_load(load_robot("finger").path.read_text(encoding="utf-8"))
    robot = content["robot"]
    voxels = robot["body"]["mesh"]["voxels"]
    del voxels["along"]
    voxels.update(cells=[4, 3, 5], hollows=[{"first": [2, 1, 1], "last": [2, 1, 3]}])
    robot["obstacles"] = [{**robot["obstacles"][0], **obstacle}] if obstacle else []
    path = folder / "finger.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return load_robot(path)


@pytest.fixture(scope="module")
def finger(tmp_path_factory):
    return small(tmp_path_factory.mktemp("finger"))


def test_a_chamber_fills_to_its_set_point_and_bends_the_body(finger):
    """At rest the gas has the pressure that its valve holds, and the body is where its statics are."""
    plant = Plant(finger)
    for _ in range(100):
        plant.step(PERIOD, np.array([-0.005, -0.005, 10e3]), UPRIGHT)
    assert plant.efforts[2] == pytest.approx(10e3, rel=1e-3)
    assert plant.damped_steps == 0
    assert plant.tip[0] < -1e-4
    volume = plant.coordinates[2]
    plant.model.efforts = np.array([0.0, 0.0, 10e3])
    rest = equilibrium(plant.model).pose.points
    np.testing.assert_allclose(plant.points, rest, atol=2e-5)
    assert plant.model.actuators.coordinates(rest)[2] == pytest.approx(volume, rel=1e-2)


def test_a_floor_pushes_as_much_as_the_clamp_does_not_carry(finger, tmp_path):
    """Of a body that sags onto it sideways, heavier than it is, by the forces at the nodes."""
    lowest, sideways = finger.build_emulated_model().body.mesh.nodes[:, 0].min(), np.array([-40.0, 0.0, 0.0])
    plant = Plant(small(tmp_path, point=[float(lowest) - 5e-4, 0.0, 0.0], friction=0.0))
    assert plant.contact_load == 0.0
    for _ in range(150):
        plant.step(PERIOD, np.array([-0.005, -0.005, 0.0]), MovingBase(sideways))
    body = plant.model.body
    clamp = body.assemble(plant.points)[1][body.place < 0].sum(axis=0)  # its own nodes' weight left out
    carried = body.weight(sideways)[body.place >= 0].sum(axis=0)
    assert plant.contact_load > 0.2 * -carried[0]
    assert plant.contact_load == pytest.approx(-clamp[0] - carried[0], rel=1e-2)
    assert plant.contact_load == pytest.approx(plant.contact_force[0])


def test_a_chamber_that_grows_at_once_keeps_its_gas(finger):
    """Boyle: in a step that is short against the valve's time, (p + p₀) V stays, whatever the body does."""
    plant = Plant(finger)
    for _ in range(60):
        plant.step(PERIOD, np.array([-0.005, -0.005, 8e3]), UPRIGHT)
    plant._fill_rate = 1e-6
    pressure, volume = plant.efforts[2], plant._rest_volumes[2] + plant.coordinates[2]
    for _ in range(50):  # the cables press the chamber together
        wound = min(plant.coordinates[0] + 4e-4, 0.012)
        plant.step(PERIOD, np.array([wound, wound, plant.efforts[2]]), UPRIGHT)
    now = plant._rest_volumes[2] + plant.coordinates[2]
    assert abs(now / volume - 1.0) > 1e-3
    assert (plant.efforts[2] + AIR) * now == pytest.approx((pressure + AIR) * volume, rel=2e-4)


def test_a_chamber_that_is_half_empty_keeps_its_gas(finger):
    """As above, of a vacuum, in which gas is softer by its lower pressure."""
    plant = Plant(finger)
    for k in range(60):
        plant.step(PERIOD, np.array([-0.005, -0.005, -50e3 * min(1.0, (k + 1) / 40.0)]), UPRIGHT)
    plant._fill_rate = 1e-6
    pressure, volume = plant.efforts[2], plant._rest_volumes[2] + plant.coordinates[2]
    for _ in range(50):
        wound = min(plant.coordinates[0] + 4e-4, 0.012)
        plant.step(PERIOD, np.array([wound, wound, plant.efforts[2]]), UPRIGHT)
    now = plant._rest_volumes[2] + plant.coordinates[2]
    assert pressure < -45e3 and abs(now / volume - 1.0) > 1e-3
    assert (plant.efforts[2] + AIR) * now == pytest.approx((pressure + AIR) * volume, rel=2e-4)


def test_a_small_chamber_beside_a_cable_fills(tmp_path):
    """3 mm³, next to which a cable's give is 1e12 times as much in its unit."""
    width, length = 0.004, 0.2
    shares = {"along_x": [0.3, 0.2, 0.2, 0.3], "along_y": [0.36, 0.18, 0.36]}
    voxels = {
        "cells": [4, 3, 10],
        "size": [width, 0.9 * width, length],
        "along": [0.005] * 3 + [(length - 0.015) / 7] * 7,
        "element": "hex20r",
        "hollows": [{"first": [2, 1, 1], "last": [2, 1, 1], "name": "bulb"}],
    } | {axis: [width * share for share in each] for axis, each in shares.items()}
    cable = {"name": "cable", "start": [0.0014, 0.0002, 0.0], "end": [0.0014, 0.0002, length]}
    robot = {
        "name": "tube",
        "kind": "fem",
        "body": {
            "mesh": {"voxels": voxels},
            "materials": [{"model": "corotational", "young_modulus": 5e5, "poisson_ratio": 0.45, "density": 1100.0}],
            "damping": {"rayleigh_mass": 2.0, "rayleigh_stiffness": 0.02},
            "clamped": "base",
        },
        "cables": [cable | {"tension": [0.0, 3.0], "displacement": [-0.02, 0.1], "stiffness": 500.0}],
        "chambers": [{"name": "air", "surface": "bulb", "pressure": [0.0, 3e4]}],
        "frames": {"tip": {"nodes": "tip"}},
        "target": {"tip": [0.0, 0.0, length]},
    }
    (tmp_path / "tube.yaml").write_text(yaml.safe_dump({"robot": robot}), encoding="utf-8")
    plant = Plant(load_robot(tmp_path / "tube.yaml"))
    for _ in range(15):
        plant.step(PERIOD, np.array([0.0, 20e3]), MovingBase(np.array([0.0, 0.0, 9.81])))
    assert plant.efforts[1] == pytest.approx(20e3, rel=0.01)


def test_a_tip_that_is_a_point_is_turned_as_what_is_around_it():
    """In the middle of a sheet that air lifts it stands upright; with the body turned as one, it is turned so."""
    plant = Plant(load_robot("membrane"))
    for _ in range(40):
        plant.step(0.05, 3e3 * (np.arange(9) == 4), UPRIGHT)
    assert plant.tip[2] > 0.02
    np.testing.assert_allclose(plant.tip_direction, [0.0, 0.0, 1.0], atol=1e-3)
    turn, rest = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix(), plant.model.rest
    plant.restart(Pose(rest.points @ turn.T, rest.centres, rest.rotations))
    np.testing.assert_allclose(plant.tip_direction, turn[:, 2], atol=1e-12)


def test_a_body_that_is_wider_than_high_has_the_sections_of_its_twin():
    """A sheet of 320 mm that is 12 mm thick: what names its sections is their height."""
    robot = load_robot("membrane")
    stations = robot.build_controller().stations
    np.testing.assert_allclose(stations, Plant(robot).stations, atol=1e-12)
    assert stations[-1] == pytest.approx(0.012)


def test_an_imu_on_a_plate_feels_gravity_turned_with_the_plate(finger):
    plant = Plant(finger)
    for _ in range(100):
        plant.step(PERIOD, np.array([-0.005, -0.005, 10e3]), UPRIGHT)
    rate, force = FeltMotion(finger, inclinations([0.0], 1.0, 1.0), 0.01).at(-1.0, plant.plates)[1]
    np.testing.assert_allclose(rate, 0.0, atol=1e-2)
    np.testing.assert_allclose(plant.plates.rotations[0] @ force, [0.0, 0.0, 9.81], atol=0.05)
    assert abs(force[0]) > 0.02


def test_a_board_on_a_plate_turns_by_what_its_gyroscope_says_whenever_the_body_is_computed(finger):
    """A body that is computed now and then jumps; gyroscope and accelerometer still agree from sample to sample."""
    motion, felt = FeltMotion(finger, inclinations([0.0], 1.0, 1.0), 0.01), []
    still, turn = np.zeros((1, 3)), np.array([[0.0, 0.3, 0.0]])
    for i in range(60):
        rotations = Rotation.from_rotvec(turn * (i >= 20)).as_matrix()
        felt.append(motion.at(-1.0, Plates(still, rotations, still, still, turn / 0.02))[1])
    board = finger.imus[1].mounting
    for rate, force in felt:
        board = board @ Rotation.from_rotvec(0.01 * rate).as_matrix()
        np.testing.assert_allclose(board @ force, [0.0, 0.0, 9.81], atol=1e-9)
    turned = Rotation.from_matrix(board @ finger.imus[1].mounting.T).as_rotvec()
    np.testing.assert_allclose(turned, turn[0], atol=1e-5)


def test_a_board_on_a_plate_whose_body_is_computed_late_feels_no_jerk_and_no_push_that_lasts(finger):
    """The body gives 60 ms of a turn at 2 rad/s every 20 to 250 ms, and time stands still now and then."""
    motion, check, rng = (
        FeltMotion(finger, inclinations([0.0], 1.0, 1.0), 0.01),
        SampleCheck(),
        np.random.default_rng(1),
    )
    board, speed, time = finger.imus[1].mounting, np.zeros(3), 0.0
    for step in range(40):
        moves = 5 <= step < 15
        turned = Rotation.from_rotvec([[0.0, 0.12 * min(max(step - 4, 0), 10), 0.0]]).as_matrix()
        velocity = np.array([[0.2 if moves else 0.0, 0.0, 0.0]])
        plates = Plates(np.zeros((1, 3)), turned, velocity, velocity / 0.06, velocity, span=0.06)
        for sample in range(rng.integers(2, 26)):
            stands = sample in (2, 3, 4)
            rate, force = (motion.at_rest if stands else motion.at)(-1.0, plates)[1]
            time += 0.01
            noisy = rng.normal(0.0, 1e-3, (2, 3)) + [rate, force]
            assert not check.judge(ImuSample(time, *noisy, 25.0)).faults
            board = board @ Rotation.from_rotvec(0.01 * rate).as_matrix()
            speed = speed + 0.01 * (board @ force - [0.0, 0.0, 9.81])
            if stands:
                np.testing.assert_allclose(board @ force, [0.0, 0.0, 9.81], atol=1e-9)
            np.testing.assert_array_less(np.abs(speed), 0.2 + 1e-9)
    np.testing.assert_allclose(speed, 0.0, atol=1e-6)
    np.testing.assert_allclose(board, turned[0] @ finger.imus[1].mounting, atol=1e-6)


class Loop:
    """An emulated robot and its drivers, tick by tick."""

    def __init__(self, robot, tick=0.004):
        self.body = Plant(robot)
        self.emulated = EmulatedRobot(robot, inclinations([0.0], 1.0, 1.0), self.body, real_time=False)
        self.tick, self.ticks = tick, 0

    def live(self, seconds):
        for _ in range(round(seconds / self.tick)):
            self.ticks += 1
            now = self.ticks * self.tick
            self.emulated.advance_devices(now)
            if self.ticks % 5 == 0:
                self.emulated.advance_body(now, 5 * self.tick)


def test_bytes_become_pressure_and_pressure_bends(finger):
    """The OpenPneu's own words on its port: select, target, start."""
    loop = Loop(finger)
    try:
        straight = loop.emulated.truth().tip
        with serial.Serial(loop.emulated.valves_path, timeout=0.1) as port:
            port.write(b"SC=0\r\nT=10\r\nC\r\n")
            loop.live(1.0)
            said = port.read(100_000).decode("ascii")
        truth = loop.emulated.truth()
    finally:
        loop.emulated.close()
    assert truth.pressures[0] == pytest.approx(10e3, rel=0.02)
    assert truth.volumes[0] > 1e-8
    assert truth.tip[0] < straight[0] - 1e-4
    telegrams = [line for line in said.splitlines() if line.startswith("T") and line.endswith(";")]
    assert float(telegrams[-1][1:].split(",")[0]) == pytest.approx(10.0, abs=0.5)


def test_a_robot_has_the_devices_of_its_description(finger):
    loop = Loop(finger)
    try:
        robot = loop.emulated
        assert robot.can_path and robot.valves_path
        assert robot.imu_path == robot.imu_paths["base"] != robot.imu_paths["nail"]
        assert len(robot.truth().tensions) == 2
    finally:
        robot.close()
