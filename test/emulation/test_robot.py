import struct
import time
from contextlib import contextmanager

import numpy as np
import pytest
import serial

from soft_twin import load_robot
from soft_twin.driving.cables.cable_driver import CableDriver
from soft_twin.driving.cables.can_bus import open_bus
from soft_twin.emulation.base_motion import inclinations
from soft_twin.emulation.plant import Plant
from soft_twin.emulation.robot import EmulatedRobot
from soft_twin.errors import ConvergenceError, DeviceError, InputError
from soft_twin.sensing.imu_frames import FrameDecoder, encode_heater

SPRING = 600.0  # [N/m]


class SpringBody:
    """A stand-in for the plant: every cable pulls against a spring; it remembers what it was told."""

    def __init__(self):
        self.tip, self.tip_direction = np.array([0.0, 0.0, 0.1]), np.array([0.0, 0.0, 1.0])
        self.efforts, self.points = np.zeros(6), np.zeros((3, 3))
        self.compliance, self.coordinates, self.plates = np.full(6, 1.0 / SPRING), np.zeros(6), None
        self.elapsed, self.gravity, self.fails = 0.0, np.zeros(3), False
        self.payload, self.contact_load, self.hung = 0.0, 0.0, None

    def hang(self, payload, thread, swing):
        if payload > 50.0:
            raise InputError("payload: too heavy")
        self.payload, self.hung = payload, (thread, swing)

    def step(self, dt, drives, base):
        if self.fails:
            raise ConvergenceError("the body did not find its equilibrium")
        self.elapsed += dt
        self.gravity = base.gravity
        self.efforts = np.maximum(SPRING * drives, 0.0)

    def settle(self, gravity):
        if self.fails:
            raise ConvergenceError("the body did not find its equilibrium")
        self.efforts, self.gravity = np.zeros(6), gravity


@pytest.fixture
def emulated():
    robots = []

    def make(hold_time=0.5, **choices):
        motion = inclinations([0.0], move_time=0.2, hold_time=hold_time)
        robots.append(EmulatedRobot(load_robot("slender"), motion, seed=3, **{"body": SpringBody(), **choices}))
        return robots[-1]

    yield make
    for robot in robots:
        robot.close()


def _imu_samples(port, robot, until, start=0.0):
    decoder, samples = FrameDecoder(), []
    for now in np.arange(start, until, 0.004):
        robot.advance_devices(now)
        samples += decoder.feed(port.read(port.in_waiting))
    return samples + decoder.feed(port.read(100_000)), decoder


def test_imu_samples_come_at_their_rate_with_the_time_they_were_taken(emulated):
    robot = emulated(real_time=False)
    with serial.Serial(robot.imu_path, timeout=0.1) as port:
        samples, decoder = _imu_samples(port, robot, until=1.0)
    times = np.array([sample.time for _, sample in samples])
    assert len(times) >= 95
    np.testing.assert_allclose(np.diff(times), 0.01, atol=0.5e-3)
    assert (decoder.errors.lost_frames, decoder.errors.bad_crc) == (0, 0)


def test_the_imu_feels_the_base_as_it_moves(emulated):
    robot = emulated(real_time=False)
    robot.play(at=0.0)
    with serial.Serial(robot.imu_path, timeout=0.1) as port:
        samples, _ = _imu_samples(port, robot, until=0.6)
    # upright at first, then horizontal with gravity along -y: REP-145 specific force is +g upwards
    np.testing.assert_allclose(samples[0][1].specific_force, [0.0, 0.0, 9.81], atol=0.3)
    np.testing.assert_allclose(samples[-1][1].specific_force, [0.0, 9.81, 0.0], atol=0.3)
    assert max(abs(sample.angular_velocity[0]) for _, sample in samples) > 5.0


def test_what_comes_late_is_caught_up_with_and_nothing_is_left_out(emulated):
    robot = emulated(real_time=False)
    with serial.Serial(robot.imu_path, timeout=0.1) as port:
        decoder, samples = FrameDecoder(), []
        for now in (0.0, 0.2, 0.5, 0.9):
            robot.advance_devices(now)
            samples += decoder.feed(port.read(100_000))
    assert decoder.errors.lost_frames == 0
    np.testing.assert_allclose([sample.time for _, sample in samples], 0.01 * np.arange(91), atol=1e-3)


def test_the_heater_obeys_its_bytes(emulated):
    robot = emulated(real_time=False)
    with serial.Serial(robot.imu_path, timeout=0.1) as port:
        port.write(encode_heater(0.5))
        _imu_samples(port, robot, until=0.1)
    assert robot.heater_duty == pytest.approx(0.5, abs=1e-4)


def test_the_body_feels_the_gravity_of_its_base(emulated):
    body = SpringBody()
    robot = emulated(real_time=False, body=body)
    robot.advance_body(0.1, 0.02)
    np.testing.assert_allclose(body.gravity, [0.0, 0.0, -9.81], atol=1e-9)
    assert robot.truth().phase == "rest"
    robot.play(at=0.0)
    robot.advance_body(0.4, 0.02)
    np.testing.assert_allclose(body.gravity, [0.0, -9.81, 0.0], atol=1e-9)
    assert robot.truth().phase == "hold 0"
    robot.advance_body(2.0, 0.02)
    assert robot.truth().phase == "over"


def test_a_body_that_fails_stays_as_it_was_and_says_so(emulated):
    body = SpringBody()
    robot = emulated(real_time=False, body=body)
    body.fails = True
    robot.advance_body(0.1, 0.02)
    assert robot.body_failures == 1
    assert "equilibrium" in robot.last_failure
    np.testing.assert_array_equal(robot.truth().tip, [0.0, 0.0, 0.1])


@contextmanager
def _driven(robot):
    """A driver that is enabled, and moves the cables to displacements (c,) [m] when it is called with them."""
    driver = CableDriver(load_robot("slender").winches, open_bus("slcan", robot.can_path))
    end = time.monotonic() + 10.0

    def go(target):
        while not np.allclose(robot.truth().displacements, target, atol=1e-4) and time.monotonic() < end:
            driver.command(target)
            time.sleep(0.01)
        return driver

    try:
        while driver.state().counters["ticks"] < 20 and time.monotonic() < end:
            time.sleep(0.01)
        driver.home()
        driver.enable()
        yield go
    finally:
        driver.close()


def test_driven_in_real_time_through_its_bytes(emulated):
    robot, target = emulated(), np.linspace(0.0, 0.003, 6)
    with _driven(robot) as go:
        go(target)
        np.testing.assert_allclose(robot.truth().displacements, target, atol=2e-4)
        np.testing.assert_allclose(robot.truth().tensions, SPRING * target, atol=0.2)


def _let_out_in_a_stall(robot, monkeypatch):
    """How much of 4 mm the motors of a robot let go of when it is kept waiting for 0.15 s [m]."""
    stalls, turned, target, give_up = [], [], np.full(6, 4e-3), robot._clock.give_up

    def late():
        if stalls:
            time.sleep(stalls.pop())
        return give_up()

    monkeypatch.setattr(robot._clock, "give_up", late)
    with _driven(robot) as go:
        driver = go(target)
        stalls.append(0.15)
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            driver.command(target)
            turned.append(robot._motors.motors.displacements.copy())
            time.sleep(0.01)
    assert not stalls
    return np.abs(target - turned).max()


def test_a_busy_host_does_not_make_motors_let_go_of_their_cables(emulated, monkeypatch):
    """A driver that hears nothing meanwhile commands zeros, as motors that are silent may be turned unseen. What else
    keeps this machine busy may move them, too, but not each of three times."""
    assert any(_let_out_in_a_stall(emulated(), monkeypatch) < 1e-3 for _ in range(3))


def test_time_in_which_a_body_is_put_to_rest_is_not_lost(emulated):
    """A machine is not too busy because somebody rewinds."""

    class Slow(SpringBody):
        def settle(self, gravity):
            time.sleep(1.2)
            super().settle(gravity)

    robot = emulated(body=Slow())
    robot.rewind()
    assert robot.pace.lost_by_body < 0.5
    lived, end = robot._body.elapsed, time.monotonic() + 10.0
    while robot._body.elapsed < lived + 0.1:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert robot.pace.lost_by_body < 0.5


def test_play_starts_the_motion_from_its_beginning(emulated):
    robot = emulated()
    assert robot.truth().phase == "rest"
    robot.play()
    end = time.monotonic() + 10.0
    while robot.truth().phase != "hold 0" and time.monotonic() < end:
        time.sleep(0.01)
    # horizontal: base +z lies in the horizontal plane
    w, x, y, _ = robot.truth().attitude_wxyz
    assert 1.0 - 2.0 * (x * x + y * y) == pytest.approx(0.0, abs=1e-6)
    assert w == pytest.approx(np.sqrt(0.5))


def test_the_plant_droops_while_its_winches_are_limp_and_turns_their_drums(emulated):
    """With the robot's own body, in lock-step: held horizontal, no winch driven."""
    robot = emulated(hold_time=3.0, real_time=False, body=Plant(load_robot("slender")))
    robot.play(at=0.0)
    for tick in range(1, 51):
        robot.advance_devices(0.02 * tick)
        robot.advance_body(0.02 * tick, 0.02)
    truth = robot.truth()
    sag = -truth.tip[1]
    assert 0.014 < sag < 0.040
    # cables on the upper side are pulled out by the bending body, without holding it
    assert truth.displacements.min() < -0.001
    assert truth.tensions.max() < 0.15


def test_a_winch_whose_body_is_late_lets_out_no_more_than_its_cable_has(emulated):
    """Limp winches under a pull that nobody computes anew: each lets out until its cable is slack, and stands."""
    body = SpringBody()
    robot = emulated(real_time=False, body=body)
    body.step = lambda *_: None
    body.efforts = np.full(6, 9.0)
    robot.advance_body(0.0, 0.02)
    robot.advance_devices(2.0)
    robot.advance_body(2.0, 0.02)
    np.testing.assert_allclose(robot.truth().displacements, -9.0 / SPRING, rtol=0.2)


def test_a_winch_whose_body_is_late_feels_the_cable_that_it_winds_in(emulated):
    """2 A wind in against a body that nobody computes anew: until the cable pulls by as much."""
    body = SpringBody()
    robot = emulated(real_time=False, body=body)
    body.step = lambda *_: None
    motors = robot._motors.motors
    for tick in range(1, 501):
        motors.receive(0x200, struct.pack(">4h", *4 * [round(2.0 / 10.0 * 10000)]))
        robot.advance_devices(0.004 * tick)
    robot.advance_body(2.0, 0.02)
    wound = robot.truth().displacements[:4]
    radius = load_robot("slender").winches.winch.radius
    np.testing.assert_allclose(np.abs(wound), 2.0 * 0.18 / radius / SPRING, rtol=0.2)


@pytest.mark.parametrize("rounding", [0.0, 1e-30, 1e-9])
def test_a_winch_whose_body_is_late_winds_in_its_slack_freely(emulated, rounding):
    """3 mm of it: homing would take what pulled before for a cable that is taut. A solver's zero is not always one."""
    body = SpringBody()
    robot = emulated(real_time=False, body=body)
    motors = robot._motors.motors
    motors.displacements[:] = -0.003
    robot.advance_body(0.0, 0.02)
    body.step, body.efforts = lambda *_: None, np.full(6, rounding)
    robot.advance_body(0.0, 0.02)
    felt = []
    for tick in range(1, 501):
        motors.receive(0x200, struct.pack(">4h", *4 * [round(2.0 / 10.0 * 10000)]))
        robot.advance_devices(0.004 * tick)
        felt.append((motors.displacements[0], robot._tensions_now()[0]))
    displacements, tensions = np.array(felt).T
    assert tensions[displacements < 0.0].max() == 0.0 < tensions[-1]
    radius = load_robot("slender").winches.winch.radius
    np.testing.assert_allclose(displacements[-1], 2.0 * 0.18 / radius / SPRING, rtol=0.2)


def test_a_rewound_robot_is_as_it_was(emulated):
    body = SpringBody()
    robot = emulated(real_time=False, body=body)
    body.fails = True
    robot.advance_body(0.1, 0.02)
    np.testing.assert_array_equal(robot.truth().tensions, 0.0)
    with pytest.raises(DeviceError, match="equilibrium"):
        robot.rewind()
    body.fails = False
    robot.rewind()
    assert robot.last_failure == ""
    np.testing.assert_allclose(body.gravity, [0.0, 0.0, -9.81], atol=1e-9)


def test_rotors_stand_still_for_time_that_was_given_up(emulated):
    """Each period of a driver's clock has its frames, and no rotor turns while the robot's time stands."""
    robot = emulated(real_time=False)
    with serial.Serial(robot.can_path, timeout=0.05) as port:
        port.write(b"O\r")
        robot.advance_devices(0.1)
        port.read(100_000)
        robot._stand_still(0.05)
        robot._stand_still(0.002)
        robot._stand_still(0.002)
        frames = port.read(100_000).split(b"\r")[:-1]
    assert len(frames) == 6 * int(0.054 * robot.timing.motors)
    assert len({frame[:9] for frame in frames}) == 6  # one angle each
    assert {frame[9:13] for frame in frames} == {b"0000"}


def test_an_imu_stands_still_on_a_clock_that_goes_on(emulated):
    """Time that was given up has its samples, without a turn: no driver takes those after it for old ones."""
    robot = emulated(real_time=False, hold_time=2.0)
    robot.play(at=0.0)
    with serial.Serial(robot.imu_path, timeout=0.05) as port:
        robot.advance_devices(0.1)
        port.read(100_000)
        robot._stand_still(0.3)
        robot.advance_devices(0.2)
        samples = [sample for _, sample in FrameDecoder().feed(port.read(100_000))]
    times = np.array([sample.time for sample in samples])
    np.testing.assert_allclose(np.diff(times), 0.01, atol=0.5e-3)
    assert times[-1] == pytest.approx(0.1 + 0.3 + 0.1, abs=0.011)
    rates = np.array([abs(sample.angular_velocity[0]) for sample in samples])
    assert rates[:30].max() < 0.2 < 2.0 < rates[31:].max()


def test_nothing_is_lost_on_the_way_to_a_driver_that_was_halted(emulated):
    robot = emulated(real_time=False)
    with serial.Serial(robot.can_path, timeout=0.05) as port:
        port.write(b"O\r")
        robot.advance_devices(0.0)
        port.read(100_000)
        robot._stand_still(1.0)
        robot.advance_devices(1.0)
        assert not robot._motors.is_heard
        received = b""
        while not robot._motors.is_heard:
            received += port.read(1000)
        received += port.read(100_000)
    assert received.count(b"\r") == 6 * 500
    assert robot._motors.port.lost == 0


def test_a_payload_is_put_on_with_the_next_step_and_is_told_as_truth(emulated):
    body = SpringBody()
    robot = emulated(real_time=False, body=body)
    robot.hang(0.4, 0.2, 0.1)
    assert body.payload == 0.0
    robot.advance_body(0.1, 0.02)
    assert (robot.truth().payload, body.hung) == (0.4, (0.2, 0.1))
    robot.hang(60.0)
    robot.advance_body(0.12, 0.02)
    assert "too heavy" in robot.last_failure
    robot.advance_body(0.14, 0.02)
    assert (robot.truth().payload, robot.last_failure) == (0.4, "")
