"""The IMU's node in this process: what can be set of it while it runs."""

import pytest
from rclpy.parameter import Parameter

from soft_twin_ros.imu_to_gravity import ImuToGravity


@pytest.fixture
def node():
    started = ImuToGravity()
    yield started
    started.close()
    started.destroy_node()


def set_to(node, name, value):
    """As the services of `ros2 param set` do it."""
    return node.set_parameters_atomically([Parameter(name, value=value)])


def duty(node, cold=20.0):
    """Of the heater once its target, 15 K above the start's temperature, is set."""
    heater = node._estimator.heater
    for time in (0.0, 1.0):
        heater.update(time, cold)
    return heater.update(1.1, cold)


def test_the_heater_s_gain_can_be_set_and_outlives_a_reset(node):
    assert duty(node) == 1.0  # 15 K · 1 / K, at the limit
    assert set_to(node, "heater_gain", 0.05).successful
    assert node._estimator.heater.update(1.2, 20.0) == pytest.approx(0.05 * 15.0, abs=0.01)
    node._estimator.reset()
    assert duty(node) == pytest.approx(0.05 * 15.0)


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
