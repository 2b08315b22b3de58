import dataclasses
import select
import subprocess
import sys
import threading
import time

import can
import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.driving.cables.c610 import encode_currents
from soft_twin.driving.cables.cable_control import DriverParameters
from soft_twin.driving.cables.cable_driver import CableDriver, TickBudget
from soft_twin.driving.cables.can_bus import open_bus
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.motor_bus import MotorBus
from soft_twin.errors import DeviceError

from ..wire import VirtualClock

DT = 0.004
MOST_LATE = 10  # [ticks] that are caught up with


class RealTimeMotors:
    """The slender robot's motors on a pseudo-terminal, in a thread; their time stands still while that is too late."""

    def __init__(self, robot):
        self.bus = MotorBus(EmulatedC610([cable.motor_id for cable in robot.winches.cables], robot.winches.winch))
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        start, ticks = time.monotonic(), 0
        while not self._closing.wait(DT):
            late = int((time.monotonic() - start) / DT) - ticks
            lived = min(late, MOST_LATE)
            self.bus.stand_still(late - lived)
            for _ in range(lived):
                self.bus.step(DT, np.zeros(6))
            ticks += late

    def close(self):
        self._closing.set()
        self._thread.join()
        self.bus.close()


@pytest.fixture
def robot():
    return load_robot("slender")


@pytest.fixture
def motors(robot):
    motors = RealTimeMotors(robot)
    yield motors
    motors.close()


@pytest.fixture
def driver(robot, motors):
    driver = CableDriver(robot.winches, open_bus("slcan", motors.bus.port.path))
    _home(driver)
    yield driver
    driver.close()


def _home(driver):
    assert _wait(lambda: driver.state().counters["ticks"] > 10 and _done(driver.home)), driver.state().faults


def _done(call):
    """Whether it can be done now: a busy machine keeps motors from being heard in time, and then they say so."""
    try:
        call()
    except DeviceError:
        return False
    return True


def _enable(driver):
    """Enable the motors, homed again where a busy machine has kept them from being heard."""

    def enabled():
        if any("home the cables" in fault for fault in driver.state().faults):
            _done(driver.home)
        return _done(driver.enable) and driver.state().enabled

    assert _wait(enabled), (driver.state().faults, driver.state().counters)


def _wait(condition, timeout=10.0):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class LockStep:
    """A driver without a thread, and motors, in one virtual time: both live a tick in turn.

    Args:
        driver: without a thread, on the clock.
        motors: lives so long a time [s], and tells of it.
        tell: waits until what they tell has reached the driver.
    """

    def __init__(self, driver, clock, motors, tell=lambda: None):
        self.driver, self._clock, self._motors, self._tell = driver, clock, motors, tell

    def live(self, seconds, command=None):
        for _ in range(round(seconds / DT)):
            self._motors(DT)
            self._tell()
            if command is not None:
                self.driver.command(command)
            self._clock.sleep(DT)
            self.driver.tick()

    def home_and_reach(self, target):
        self.live(0.1)
        self.driver.home()
        self.driver.enable()
        self.live(2.0, target)
        assert self.driver.state().enabled, self.driver.state().faults
        np.testing.assert_allclose(self.driver.state().displacements, target, atol=1e-4)


def test_real_bytes_move_the_emulated_winches_to_the_command(robot):
    bus, clock = MotorBus(EmulatedC610(range(1, 7), robot.winches.winch)), VirtualClock()
    channel = open_bus("slcan", bus.port.path)
    driver = CableDriver(robot.winches, channel, clock=clock, threaded=False)

    def cross_the_kernel():
        """A pseudo-terminal hands bytes over when the kernel finds time, though nobody's clock goes on meanwhile."""
        select.select([channel.fileno()], [], [], 1e-3)

    target = np.linspace(-0.001, 0.004, 6)
    LockStep(driver, clock, lambda dt: bus.step(dt, np.zeros(6)), cross_the_kernel).home_and_reach(target)
    np.testing.assert_allclose(bus.motors.displacements, target, atol=1e-4)
    driver.close()
    bus.close()


def _pull(driver, motors):
    def has_pulled():
        if not driver.state().enabled:
            _enable(driver)
        driver.command(np.full(6, 0.01))
        return np.any(motors.bus.motors.displacements > 0.001)

    assert _wait(has_pulled), (driver.state().faults, driver.state().counters)


def test_stopping_and_closing_leave_the_motors_without_current(driver, motors):
    _pull(driver, motors)
    driver.stop()
    assert _wait(lambda: not np.any(motors.bus.motors.currents > 1e-6))
    assert driver.state().mode == "stopped"


def test_an_unplugged_adapter_is_a_named_fault_and_raises_nowhere(driver, motors):
    _enable(driver)
    motors.bus.close()
    assert _wait(lambda: driver.state().mode == "fault")
    assert any("CAN bus gone" in fault for fault in driver.state().faults)
    driver.command(np.zeros(6))
    with pytest.raises(DeviceError, match="CAN bus gone"):
        driver.enable()


def test_motors_that_lose_their_driver_let_go(driver, motors):
    _pull(driver, motors)
    driver.close()
    assert _wait(lambda: np.all(motors.bus.motors.limp))


def test_the_driver_runs_on_any_bus_of_python_can(robot):
    """The contract's other backend: motors on python-can's virtual bus."""
    clock, motors = VirtualClock(), EmulatedC610(range(1, 7), robot.winches.winch)
    with open_bus("virtual", "cable_driver", receive_own_messages=False) as far_end:
        driver = CableDriver(robot.winches, open_bus("virtual", "cable_driver"), clock=clock, threaded=False)

        def answer(dt):
            while (frame := far_end.recv(timeout=0.0)) is not None:
                motors.receive(frame.arbitration_id, bytes(frame.data))
            motors.step(dt, np.zeros(6))
            for can_id, data in motors.feedback():
                far_end.send(can.Message(arbitration_id=can_id, data=data, is_extended_id=False))

        LockStep(driver, clock, answer).home_and_reach(np.full(6, 0.003))
        np.testing.assert_allclose(motors.displacements, 0.003, atol=1e-4)
        driver.close()


def test_feedback_of_others_and_garbage_are_counted(robot):
    with open_bus("virtual", "cable_driver_garbage") as far_end:
        driver = CableDriver(robot.winches, open_bus("virtual", "cable_driver_garbage"))
        far_end.send(can.Message(arbitration_id=0x208, data=bytes(8), is_extended_id=False))
        for message in encode_currents({1: 0.0}):
            far_end.send(message)
        assert _wait(lambda: driver.state().counters["foreign"] == 1 and driver.state().counters["garbage"] == 1)
        driver.close()


def test_a_rate_that_would_fill_the_bus_is_refused(robot):
    with open_bus("virtual", "cable_driver_full") as bus, pytest.raises(DeviceError, match="% of the bus"):
        CableDriver(robot.winches, bus, dataclasses.replace(DriverParameters(), rate=1000.0))


@pytest.mark.parametrize("count", [7, 8])
def test_more_motors_than_a_bus_has_room_for_are_refused_whatever_the_rate(robot, count):
    cables = [dataclasses.replace(robot.winches.cables[0], name=str(i), motor_id=i) for i in range(1, count + 1)]
    limits = dataclasses.replace(robot.winches.cable_limits)
    drive = dataclasses.replace(robot.winches, cables=cables, cable_limits=limits)
    told = f"{count} motors do not fit on a bus of 1 Mbit/s: .* drive 6 at the most"
    with open_bus("virtual", "cable_driver_crowded") as bus, pytest.raises(DeviceError, match=told):
        CableDriver(drive, bus, dataclasses.replace(DriverParameters(), rate=10.0))


def test_a_stream_of_a_thousand_commands_a_second_leaves_room_on_the_bus():
    clock, ticks = VirtualClock(), 0
    budget = TickBudget(400.0, clock)
    for _ in range(1000):
        clock.sleep(0.001)
        if budget.wait() <= 0.0:
            budget.spend()
            ticks += 1
    assert 395 <= ticks <= 403


KILLED = """
import sys, time
from soft_twin import load_robot
from soft_twin.driving.cables.cable_driver import CableDriver
from soft_twin.driving.cables.can_bus import open_bus
from soft_twin.errors import DeviceError
driver = CableDriver(load_robot("slender").winches, open_bus("slcan", sys.argv[1]))
while True:
    if not driver.state().enabled:
        try:
            driver.home()
            driver.enable()
        except DeviceError:  # nothing is heard of the motors yet, or has been for a while
            pass
    driver.command([0.003] * 6)
    time.sleep(0.01)
"""


def test_a_killed_driver_leaves_limp_motors_and_can_be_started_again(robot, motors):
    victim = subprocess.Popen([sys.executable, "-c", KILLED, motors.bus.port.path])
    try:
        assert _wait(lambda: np.all(motors.bus.motors.displacements > 0.002), timeout=30.0)
    finally:
        victim.kill()
        victim.wait()
    assert _wait(lambda: np.all(motors.bus.motors.limp), timeout=2.0)
    again = CableDriver(robot.winches, open_bus("slcan", motors.bus.port.path))
    _home(again)
    _enable(again)
    again.close()
