import dataclasses
import struct
from types import SimpleNamespace

import numpy as np
import pytest

import soft_twin
from soft_twin.descriptions.drives import WinchDescription
from soft_twin.emulation.c610 import EmulatedC610, MotorParameters

WINCH = WinchDescription(radius=0.0065, gear_ratio=36.0, direction=1, current_limit=3.0)
FREE = MotorParameters(friction=0.0)
NO_PULL = np.zeros(2)


def _motors(parameters=FREE, winch=WINCH):
    return EmulatedC610([1, 6], winch, parameters)


def _drive(motors, first, sixth, seconds, dt=0.004, tensions=NO_PULL):
    for _ in range(round(seconds / dt)):
        motors.receive(0x200, struct.pack(">4h", round(1000 * first), 0, 0, 0))
        motors.receive(0x1FF, struct.pack(">4h", 0, round(1000 * sixth), 0, 0))
        motors.step(dt, tensions)


def test_speed_follows_current_with_the_lag():
    motors = _motors()
    _drive(motors, 1.0, 0.5, FREE.lag, dt=0.0005)
    final = FREE.torque_constant / WINCH.radius * WINCH.radius**2 * FREE.lag / FREE.inertia
    # first-order lag behind a current loop of 1 ms
    expected = final * (1.0 - (FREE.lag * np.exp(-1.0) - 0.001 * np.exp(-20.0)) / (FREE.lag - 0.001))
    np.testing.assert_allclose(motors.rates, [expected, 0.5 * expected], rtol=0.02)
    _drive(motors, 1.0, 0.5, 1.0)
    np.testing.assert_allclose(motors.rates, [final, 0.5 * final], rtol=1e-6)


@pytest.mark.parametrize("gear_ratio", [18.0, 72.0])
def test_another_gear_changes_torque_and_friction_in_proportion_and_inertia_by_its_square(gear_ratio):
    share, current = gear_ratio / 36.0, 0.3
    motors = _motors(winch=dataclasses.replace(WINCH, gear_ratio=gear_ratio))
    stall = share * current * FREE.torque_constant / WINCH.radius
    _drive(motors, current, current, 0.5, tensions=np.array([stall, 0.0]))
    force, mass = stall, share**2 * FREE.inertia / WINCH.radius**2
    np.testing.assert_allclose(motors.rates, [0.0, force * FREE.lag / mass], rtol=1e-6, atol=1e-4)


def test_displacement_is_the_integral_of_the_rate_whatever_the_step():
    coarse, fine = _motors(), _motors()
    _drive(coarse, 0.5, 0.5, 0.2, dt=0.02)
    _drive(fine, 0.5, 0.5, 0.2, dt=0.0005)
    np.testing.assert_allclose(coarse.displacements, fine.displacements, rtol=0.02)


def test_feedback_bytes():
    motors = _motors()
    start = [struct.unpack(">Hhh2x", data) for _, data in motors.feedback()]
    _drive(motors, 0.2, -0.2, 0.5)
    (first_id, first), (sixth_id, sixth) = motors.feedback()
    assert (first_id, sixth_id) == (0x201, 0x206)
    assert first[6:] == b"\0\0"
    angle, rpm, current = struct.unpack(">Hhh2x", first)
    counts = motors.displacements[0] / WINCH.radius * 36 * 8192 / (2 * np.pi)
    assert angle == (start[0][0] + round(counts)) % 8192
    assert rpm == round(motors.rates[0] / WINCH.radius * 36 * 60 / (2 * np.pi))
    assert current == 200
    assert struct.unpack(">Hhh2x", sixth)[1:] == (-rpm, -200)


@pytest.mark.parametrize("growth", [0.0, 1e-4])
def test_what_a_drum_winds_is_what_its_rotor_has_turned(growth):
    winch = dataclasses.replace(WINCH, growth=growth)  # radius r0 + g phi, and its cables of other lengths than drawn
    motors = EmulatedC610([1, 6], winch, FREE, scales=[1.0, 1.2])
    before, turned = None, np.zeros(2)
    for _ in range(1500):
        angles = np.array([struct.unpack(">H6x", data)[0] for _, data in motors.feedback()])
        if before is not None:
            turned += (angles - before + 4096) % 8192 - 4096
        before = angles
        _drive(motors, 0.4, 0.4, 0.001, dt=0.001)
    phi = turned / 8192 * 2.0 * np.pi / 36.0
    wound = np.array([1.0, 1.2]) * (0.0065 * phi + 0.5 * growth * phi**2)
    assert wound.min() > 0.02
    np.testing.assert_allclose(motors.displacements, wound, rtol=0.01)
    rpm = np.array([struct.unpack(">2xh4x", data)[0] for _, data in motors.feedback()])
    radii = np.array([1.0, 1.2]) * (0.0065 + growth * phi)
    np.testing.assert_allclose(motors.rates, rpm / 60.0 * 2.0 * np.pi / 36.0 * radii, rtol=0.01)


def test_its_torque_does_at_the_cable_what_it_does_at_the_rotor():
    motors = EmulatedC610([1, 6], dataclasses.replace(WINCH, growth=1e-4), FREE, scales=[1.0, 1.2])
    _drive(motors, 0.4, 0.4, 1.0)
    rates, pulls = motors.rates.copy(), 0.4 * FREE.torque_constant * FREE.lag / FREE.inertia  # torque to drum's speed
    radii = rates / pulls
    assert radii[1] > 1.2 * 0.0065
    _drive(motors, 0.4, 0.4, 2.0, tensions=0.4 * FREE.torque_constant / radii)
    assert np.abs(motors.rates).max() < 0.02 * rates.min()


def test_winches_begin_where_their_cables_are_homed_unless_it_is_told_what_they_have_wound(tmp_path):
    robot = soft_twin.load_robot("slender")
    cables = [dataclasses.replace(cable, offset=-0.001) for cable in robot.winches.cables]
    drive = dataclasses.replace(robot.winches, cables=cables)
    told = SimpleNamespace(name="told", winches=drive, emulated=robot.emulated)
    np.testing.assert_allclose(EmulatedC610.of(told).displacements, -0.001)
    wound = dataclasses.replace(robot.emulated, wound=(0.0005,) * 6)
    told = SimpleNamespace(name="told", winches=drive, emulated=wound)
    np.testing.assert_allclose(EmulatedC610.of(told).displacements, 0.0005)


def test_a_limp_winch_is_turned_by_its_cable_and_a_driven_one_hardly():
    limp, driven = _motors(), _motors()
    pull = np.full(2, 0.5)
    for _ in range(25):
        limp.step(0.004, pull)
    _drive(driven, 0.001, 0.001, 0.1, tensions=pull)
    assert np.all(limp.limp)
    np.testing.assert_allclose(limp.rates, -0.5 * FREE.free_mobility, rtol=0.02)
    assert np.all(np.abs(driven.displacements) < 0.1 * np.abs(limp.displacements))


def test_a_rotor_that_is_turned_round_is_where_its_rates_say():
    """A limp winch that still winds in is caught by a taut cable, comes to rest, and is pulled out."""
    motors = _motors(MotorParameters())
    motors.step(1.0, NO_PULL)
    motors.rates[:] = first = 0.02
    motors.step(0.004, np.array([2.0, 8.0]))
    assert np.all(motors.rates == 0.0)
    assert np.all((motors.displacements > 0.0) & (motors.displacements < 0.5 * first * 0.004))
    motors.step(0.004, np.array([2.0, 8.0]))
    assert np.all(motors.rates < 0.0)


def test_a_slack_cable_does_not_turn_a_limp_winch():
    motors = _motors()
    motors.step(1.0, NO_PULL)
    assert np.all(motors.displacements == 0.0)


def test_dry_friction_holds_small_pulls_and_stops_a_coasting_winch():
    parameters = MotorParameters(friction=1e-3)
    held = _motors(parameters)
    held.step(1.0, np.full(2, 0.9e-3 / WINCH.radius))
    assert np.all(held.displacements == 0.0)
    _drive(held, 0.3, 0.3, 0.1)
    _drive(held, 0.0, 0.0, 0.3)
    assert np.all(held.rates == 0.0)


def test_silence_takes_the_current_away():
    motors = _motors()
    _drive(motors, 1.0, 1.0, 0.1)
    for _ in range(round(0.2 / 0.004)):
        motors.step(0.004, NO_PULL)
    assert np.all(np.abs(motors.currents) < 1e-9)
    assert np.all(motors.limp)


def test_currents_beyond_the_controllers_range_are_cut():
    motors = _motors()
    motors.receive(0x200, struct.pack(">4h", 32767, 0, 0, 0))
    motors.step(0.05, NO_PULL)
    assert motors.currents[0] == pytest.approx(10.0)


@pytest.mark.parametrize(("can_id", "data"), [(0x201, bytes(8)), (0x200, b"\x10"), (0x7FF, b"")])
def test_other_frames_are_ignored(can_id, data):
    motors = _motors()
    motors.receive(can_id, data)
    motors.step(0.01, NO_PULL)
    assert np.all(motors.currents == 0.0)


def test_the_direction_of_winding_turns_the_rotor_the_other_way():
    winch = WinchDescription(radius=0.0065, gear_ratio=36.0, direction=-1, current_limit=3.0)
    motors = _motors(winch=winch)
    _drive(motors, -0.5, 0.5, 0.1)
    assert motors.displacements[0] > 0.0 > motors.displacements[1]
    assert struct.unpack(">Hhh2x", motors.feedback()[0][1])[1] < 0


def test_winches_of_a_description_may_begin_slack():
    robot = soft_twin.load_robot("neck")
    wound = (-0.003, -0.0015, -0.004)
    emulated = robot.description.emulated.model_copy(update={"wound": wound})
    slack = dataclasses.replace(robot, description=robot.description.model_copy(update={"emulated": emulated}))
    np.testing.assert_array_equal(EmulatedC610.of(slack).displacements, wound)
    np.testing.assert_array_equal(EmulatedC610.of(soft_twin.load_robot("slender")).displacements, np.zeros(6))
