"""The first target of docs/ros.md, an S shape, on the emulated robot: driver, frames, motors and body by one clock."""

import can
import numpy as np
import pytest
from virtual_clock import VirtualClock

from soft_twin import load_robot
from soft_twin.driving.cables.cable_driver import CableDriver
from soft_twin.emulation.base_motion import inclinations
from soft_twin.emulation.plant import Plant
from soft_twin.emulation.robot import EmulatedRobot

UPRIGHT, TARGET = [0.0, 0.0, -9.81], [0.01, 0.0, 0.097]
TICK, BODY_TICKS = 0.004, 5


class Bus(can.BusABC):
    """The emulated motors' bus without a kernel in between, which has a time of its own."""

    def __init__(self, motors):
        super().__init__("motors")
        self.motors, self.waiting = motors, []

    def send(self, message, timeout=None):
        self.motors.receive(message.arbitration_id, bytes(message.data))

    def _recv_internal(self, timeout):
        if not self.waiting:
            return None, False
        can_id, data = self.waiting.pop(0)
        return can.Message(arbitration_id=can_id, data=data, is_extended_id=False), False


class Bench:
    """A driver and an emulated robot that live tick by tick."""

    def __init__(self, robot):
        self.clock, self.ticks = VirtualClock(), 0
        self.body = Plant(robot, mesh="hex20r")
        motion = inclinations([0.0], move_time=1.0, hold_time=1.0)
        self.emulated = EmulatedRobot(robot, motion, self.body, real_time=False)
        self.bus = Bus(self.emulated._motors.motors)
        self.driver = CableDriver(robot.winches, self.bus, clock=self.clock, threaded=False)

    def live(self, seconds, command=None):
        for _ in range(round(seconds / TICK)):
            self.ticks += 1
            self.clock.now += TICK
            self.emulated.advance_devices(self.ticks * TICK)
            self.bus.waiting += self.bus.motors.feedback()
            if self.ticks % BODY_TICKS == 0:
                self.emulated.advance_body(self.ticks * TICK, BODY_TICKS * TICK)
            if command is not None:
                self.driver.command(command)
            self.driver.tick()

    def close(self):
        self.driver.close()
        self.emulated.close()


@pytest.fixture
def bench():
    bench = Bench(load_robot("slender"))
    yield bench
    bench.close()


def test_the_first_target_of_the_docs_is_reached_again_and_again(bench):
    robot = load_robot("slender")
    wound = robot.build_inverse(robot.build_twin()).solve(UPRIGHT, TARGET).displacements
    rest = bench.body.tip
    bench.live(0.5)
    bench.driver.home()
    bench.driver.enable()
    for _ in range(2):
        bench.live(0.8, wound)
        np.testing.assert_allclose(bench.emulated.truth().tip, TARGET, atol=1.5e-3)
        bench.live(0.6, np.zeros(6))
        np.testing.assert_allclose(bench.emulated.truth().tip, rest, atol=1e-3)
    assert bench.driver.state().mode == "active"
    assert bench.driver.state().faults == ()
    assert (bench.emulated.body_failures, bench.body.damped_steps) == (0, 0)


def test_a_robot_that_is_let_go_stands_up_with_slack_cables(bench):
    """Limp winches are turned by their cables until these are slack, and no further."""
    robot = load_robot("slender")
    wound = robot.build_inverse(robot.build_twin()).solve(UPRIGHT, TARGET).displacements
    rest = bench.body.tip
    bench.live(0.5)
    bench.driver.home()
    bench.driver.enable()
    bench.live(0.6, wound)
    bench.driver.relax()
    bench.live(1.5)
    truth = bench.emulated.truth()
    np.testing.assert_allclose(truth.tip, rest, atol=2e-3)
    assert truth.tensions.max() < 0.1
    assert truth.displacements.min() > -2e-3
