"""The neck's loop in simulated time: two IMUs behind their filters, winches, a payload, and what goes wrong."""

import numpy as np
import pytest
import yaml

import soft_twin
from soft_twin.emulation.base_motion import inclinations
from soft_twin.inverse.plate_controller import CommandLimits, PlateController
from soft_twin.inverse.plate_holder import PlateHolder
from soft_twin.studies.neck_loop import DT, NeckLoop, judged, step_to

pytestmark = pytest.mark.usefixtures("settled")


@pytest.fixture(scope="module")
def robot():
    return soft_twin.load_robot("neck")


@pytest.fixture(scope="module")
def loop(robot):
    """Steered by chords, which are degrees off, and held."""
    limits = CommandLimits(robot.winches.cable_limits.displacement, robot.winches.cable_limits.rate)
    return NeckLoop(robot, PlateHolder(PlateController(robot.build_twin("pcc_chord"), limits=limits)))


def test_the_plate_is_held_by_what_the_filters_say(loop):
    step = step_to(loop, 15.0, 10.0, seconds=2.5)
    assert step.steady < 0.5 and step.overshoot < 0.05
    assert np.isnan([step.payload, step.deviation]).all(), "nobody looks"


def test_boards_that_are_mounted_askew_tilt_the_plate_until_they_are_aligned(robot):
    loop = NeckLoop(robot, robot.build_plate_holder("pcc_chord"), seed=7, askew=np.radians(1.0))
    assert step_to(loop, 15.0, 10.0, seconds=1.2).steady > 0.8
    loop.align()
    assert step_to(loop, 15.0, 10.0, seconds=2.0).steady < 0.3


def test_without_the_plates_imu_it_is_steered_and_with_it_held_again(loop):
    loop.silent = {"plate"}
    before = loop.holder.controller.correction
    assert "IMU of the plate" in loop.run(0.2).open_because
    np.testing.assert_array_equal(loop.holder.controller.correction, before)
    loop.silent = set()
    assert loop.run(0.2).open_because == ""


def test_a_payload_that_drops_off_tilts_the_plate_for_a_moment_only(loop):
    step_to(loop, 15.0, 10.0, seconds=1.2)
    loop.load(1.0)
    loop.run(1.5)
    loop.load(0.0)
    begun = len(loop.trace)
    loop.run(1.5)
    away = np.abs(loop.trace[begun:] - [15.0, 10.0]).max(axis=1)
    assert away.max() < 5.0
    assert away[-1] < 0.5


def test_a_payload_that_swings_is_held_within_degrees_and_told(loop):
    step_to(loop, 15.0, 10.0, seconds=1.2)
    begun = len(loop.trace)
    for i in range(round(2.2 / DT)):
        loop.load(0.5 + 0.3 * np.sin(9.0 * DT * i))
        held = loop.run(DT)
    loop.load(0.0)
    assert any("what hangs on the plate swings" in words for words in held.noticed)
    assert np.abs(loop.trace[begun:] - [15.0, 10.0]).max() < 4.0
    assert np.isfinite(loop.trace).all()


@pytest.mark.parametrize("plate", [0.15, 0.6])
def test_a_neck_that_is_ten_times_softer_is_held_as_well(robot, tmp_path, plate):
    """Upright, tensions alone would not hold it, and say little of what hangs on it: no payload may be made up, under
    which it would buckle."""
    content = yaml.safe_load(robot.path.read_text(encoding="utf-8"))
    content["robot"]["body"]["materials"][0]["young_modulus"] /= 10.0
    content["robot"]["body"]["plates"][0]["mass"] = plate
    path = tmp_path / "soft_neck.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    soft = soft_twin.load_robot(path)
    loop = NeckLoop(soft, soft.build_plate_holder(), zero=(-1e-4, 1e-4, 0.0), seed=11)
    loop.align()
    assert step_to(loop, 19.7, 15.7).steady < 0.5


def test_a_base_on_its_side_is_felt_by_both_imus(robot):
    holder = PlateHolder(PlateController(robot.build_twin("pcc_chord")))
    lying = NeckLoop(robot, holder, inclination=0.0)
    for gravity in (lying.measured.base, lying.measured.plate):
        np.testing.assert_allclose(gravity, [0.0, -9.81, 0.0], atol=0.6)


def test_a_motion_is_judged_beside_its_target_and_not_beside_where_it_came_to_rest():
    target, start = np.array([20.0, 0.0]), np.zeros(2)
    time = DT * np.arange(1, 101)
    trace = np.column_stack([20.0 * (1.0 - np.exp(-time / 0.2)), np.zeros(100)])
    step = judged(trace, start, target)
    assert step.settling == pytest.approx(0.2 * np.log(20.0 / 0.3), abs=2 * DT)
    assert step.overshoot == 0.0 and step.steady < 0.01
    beside = judged(trace + [0.0, 0.4], start, target)
    assert beside.settling == np.inf, "it rests, but not at the target"
    assert beside.steady == pytest.approx(0.4 * np.cos(np.radians(20.0)), abs=1e-3)
    beyond = judged(np.vstack([trace, [[21.0, 0.0]] * 10, [[20.0, 0.0]] * 50]), start, target)
    assert beyond.overshoot == pytest.approx(0.05)
    assert beyond.settling == pytest.approx(2.2, abs=DT)


def test_a_base_that_is_carried_turns_the_gravity_that_both_imus_feel(robot):
    holder = PlateHolder(PlateController(robot.build_twin("pcc_chord")))
    loop = NeckLoop(robot, holder, motion=(inclinations([90.0, 60.0, 90.0], 0.6, 0.4), 0.8))
    upright = loop.measured.base
    loop.run(0.1)
    np.testing.assert_allclose(loop.measured.base, upright, atol=0.05)
    loop.carried = True
    loop.run(1.0)
    loop.carried = False
    for gravity in (loop.measured.base, loop.measured.plate):
        np.testing.assert_allclose(gravity, 9.81 * np.array([0.0, -0.5, -np.sqrt(0.75)]), atol=0.4)
