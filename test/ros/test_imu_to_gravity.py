"""The IMU's node in this process: what can be set of it while it runs."""

import contextlib
import os
import time
import tty
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, Temperature
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from soft_twin.errors import DeviceError
from soft_twin_ros.conversions import header
from soft_twin_ros.imu_to_gravity import BRIEF, ImuToGravity
from soft_twin_ros.node import ERROR, WARN


@pytest.fixture
def node_of(start_node):
    """Starts a node with parameters."""
    return partial(start_node, ImuToGravity)


@pytest.fixture
def node(node_of):
    return node_of()


def set_to(node, name, value):
    """As the services of `ros2 param set` do it."""
    return node.set_parameters_atomically([Parameter(name, value=value)])


def duty(node, cold=20.0):
    """Of the heater once its target, 15 K above the start's temperature, is set."""
    heater = node._estimator.heater
    for stamp in (0.0, 1.0, 2.0):
        heater.update(stamp, cold)
    return heater.update(2.1, cold)


def test_the_heater_s_gain_can_be_set_and_outlives_a_reset(node):
    assert duty(node) == 1.0  # 15 K · 1 / K, at the limit
    assert set_to(node, "heater_gain", 0.05).successful
    assert node._estimator.heater.update(2.2, 20.0) == pytest.approx(0.05 * 15.0, abs=0.01)
    node._estimator.reset()
    assert node._estimator.heater.update(2.3, 20.0) == pytest.approx(0.05 * 15.0, abs=0.01)


@pytest.mark.parametrize(("name", "value"), [("heater_gain", 0.0), ("heater_gain", 50.0), ("heater_reset_time", 0.1)])
def test_gains_out_of_bounds_are_refused(node, name, value):
    before = node._estimator.heater.parameters
    result = set_to(node, name, value)
    assert not result.successful
    assert node._estimator.heater.parameters == before


def test_a_whole_number_for_a_gain_is_told_in_words(node):
    told = set_to(node, "heater_gain", 2).reason
    assert told.startswith("heater_gain = 2: expected 2.0, with its point (duty of the heater for an error")
    assert "estimator = 3: expected text" in set_to(node, "estimator", 3).reason
    assert "place_in_world = 1.0: expected a list like its default" in set_to(node, "place_in_world", 1.0).reason


class Board:
    """A micro-ROS board at rest, 10 K colder than its heater shall make it, and what it is told of its heater."""

    def __init__(self, node, qos=10):
        self.node, self.client, self.duties = node, rclpy.create_node("board"), []
        self.node.begin()
        self._executor, self._noise = SingleThreadedExecutor(), np.random.default_rng(0)
        for each in (node, self.client):
            self._executor.add_node(each)
        self._samples = self.client.create_publisher(Imu, "imu/data_raw", qos)
        self._temperatures = self.client.create_publisher(Temperature, "imu/temperature", qos)
        self.client.create_subscription(Float64, "imu/heater", lambda said: self.duties.append(said.data), 100)

    def until(self, done, samples=True, temperatures=True):
        end = time.monotonic() + 60.0
        while not done():
            assert time.monotonic() < end, self.node.health()
            now = header(time.time(), "imu_link")
            if temperatures:
                self._temperatures.publish(Temperature(header=now, temperature=30.0 if self.duties else 25.0))
            if samples:
                sample = Imu(header=now)
                for of, mean, noise in ((sample.linear_acceleration, 9.81, 1e-2), (sample.angular_velocity, 0.0, 1e-3)):
                    of.x, of.y, of.z = self._noise.normal([0.0, 0.0, mean], noise).tolist()
                self._samples.publish(sample)
            turn = time.monotonic() + 0.01
            while time.monotonic() < turn:
                self._executor.spin_once(timeout_sec=0.001)

    def heats(self):
        return len(self.duties) > 3 and min(self.duties[-3:]) > 0.5

    def rests(self):
        return len(self.duties) > 3 and max(self.duties[-3:]) == 0.0


@pytest.fixture
def board(node):
    result = Board(node)
    yield result
    result.client.destroy_node()


def test_a_chip_whose_temperature_is_not_told_any_more_is_not_heated(node, board):
    set_to(node, "temperature_silent_after", 0.5)
    board.until(board.heats)
    board.until(board.rests, temperatures=False)
    assert "imu/temperature is silent: the heater is off" in node.health().message
    board.until(board.heats)
    assert "silent" not in node.health().message


def test_a_temperature_to_hold_can_be_given(node_of):
    board = Board(node_of(heater_target=28.0))
    board.until(lambda: board.node.health().message == "IMU heating")
    board.until(board.rests)
    board.client.destroy_node()


def test_a_board_without_a_thermometer_is_not_complained_of(node, board):
    board.until(lambda: node.health().message == "IMU off", temperatures=False)
    board.until(board.rests, temperatures=False)


def test_a_board_that_offers_best_effort_is_heard(node):
    board = Board(node, qos_profile_sensor_data)
    board.until(lambda: node.health().message == "IMU heating")
    board.client.destroy_node()


def test_nothing_is_calibrated_by_what_a_board_said_before_it_fell_silent(node_of, tmp_path):
    node = node_of(calibration=str(tmp_path / "imu.yaml"))
    board = Board(node)

    def calibrate(service):
        return service(Trigger.Request(), Trigger.Response())

    board.until(lambda: calibrate(node._calibrate_accelerometer).success)
    board.until(lambda: node.health().message == "IMU silent: gravity is not published", samples=False)
    for service in (node._calibrate_accelerometer, node._calibrate_mounting):
        answer = calibrate(service)
        assert not answer.success and answer.message == "the IMU is silent: there is nothing to calibrate by"
    board.until(lambda: calibrate(node._calibrate_accelerometer).success)
    board.client.destroy_node()


def test_a_board_that_tells_no_samples_is_told_not_to_heat(node, board):
    board.until(board.heats)
    board.until(board.rests, samples=False)
    board.until(board.heats)


def test_a_node_whose_board_takes_no_bytes_can_be_deactivated_and_activated_again(node_of):
    near, far = os.openpty()
    tty.setraw(far)
    node = node_of(device=os.ttyname(far))
    node.begin()
    end = time.monotonic() + 10.0
    while node._board is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    os.set_blocking(far, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(far, bytes(4096))
    assert node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
    assert node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    os.close(near)
    os.close(far)


def test_a_device_that_is_no_imu_board_is_told(node_of):
    near, far = os.openpty()
    tty.setraw(far)
    node, noise = node_of(device=os.ttyname(far), appears_within=0.0), np.random.default_rng(1)
    node.begin()
    end = time.monotonic() + 10.0
    while not (health := node.health()).message.startswith("IMU silent: ") or "bytes without" not in health.message:
        assert time.monotonic() < end, health.message
        os.write(near, noise.bytes(50))
        time.sleep(0.02)
    assert health.level == ERROR and "it is no IMU board, or sends at another baud rate" in health.message
    os.close(near)
    os.close(far)


class Gone:
    """A device that can be opened, and is gone when it is read: a bridge whose board is unplugged."""

    def __init__(self, device):
        self._device, self.faults = device, ()

    def read(self, timeout):
        time.sleep(0.02)
        raise DeviceError(f"IMU at '{self._device}' is gone")

    def close(self):
        pass


def test_a_device_that_is_gone_when_it_was_opened_stays_the_same_fault(node_of, monkeypatch):
    """Who told it as opened in between would log an error each time."""
    monkeypatch.setattr("soft_twin_ros.imu_to_gravity.ImuBoard", Gone)
    node = node_of(device="/dev/bridge", reopen_period=0.05, appears_within=0.0)
    node.begin()
    told, end = set(), time.monotonic() + 10.0
    while not node.health().message.endswith("is gone"):
        assert time.monotonic() < end
        time.sleep(0.01)
    while len(told) < 2 and time.monotonic() < end - 8.0:
        told.add(node.health().message)
    assert told == {"IMU at '/dev/bridge' is gone"}


def test_gravity_that_is_missing_for_a_moment_is_a_warning_and_then_an_error(node, board):
    board.until(lambda: node._estimate is not None and node._estimate.valid)
    node._estimate = replace(node._estimate, valid=False, faults=("tilt uncertain",))
    assert node.health().level == WARN
    node._valid_at -= BRIEF
    assert node.health().level == ERROR
    assert node.health().message == "gravity is not published: tilt uncertain"


def test_who_is_activated_again_has_as_long_to_find_gravity(node, board):
    board.until(lambda: node._estimate is not None and node._estimate.valid)
    assert node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
    node._valid_at -= BRIEF
    assert node.trigger_activate() == TransitionCallbackReturn.SUCCESS
    node._estimate = replace(node._estimate, valid=False, faults=("tilt uncertain",))
    assert node.health().level == WARN
