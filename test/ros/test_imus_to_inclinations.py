"""The struts' node in this process: boards whose clocks are not the robot's."""

import time

import numpy as np
import pytest
import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu

from soft_twin_ros.conversions import header
from soft_twin_ros.imus_to_inclinations import ImusToInclinations

STRUTS = [f"strut_{i}" for i in range(20)]


@pytest.fixture
def node(start_node, monkeypatch):
    """One whose clock is a number that a test sets, and what it publishes."""
    node = start_node(ImusToInclinations, robot="tm40", estimator="complementary")
    node.begin()
    deadline = time.monotonic() + 60.0
    while not node.active:
        assert time.monotonic() < deadline
        node.trigger_configure()
        node.trigger_activate()
    node.published, node.time = [], 1000.0
    monkeypatch.setattr(node, "now", lambda: node.time)
    monkeypatch.setattr(node._inclinations, "publish", node.published.append)
    return node


def speak(node, ahead, duration=0.5, struts=STRUTS):
    """Boards at rest, whose clocks are ahead by so much [s], for a while."""
    rng = np.random.default_rng(0)
    for _ in range(int(duration / 0.02)):
        node.time += 0.02
        for name in struts:
            sample = Imu(header=header(node.time + ahead.get(name, 0.0), name))
            for of, mean, noise in ((sample.linear_acceleration, 9.81, 1e-2), (sample.angular_velocity, 0.0, 1e-3)):
                of.x, of.y, of.z = rng.normal([0.0, 0.0, mean], noise).tolist()
            node._receive(name, sample)
        node._publish()


def unmeasured(node):
    """The struts without an angle in what was published last, shortly before now."""
    last = node.published[-1]
    assert abs(last.header.stamp.sec + 1e-9 * last.header.stamp.nanosec - node.time) < 0.1
    return [name for name, angle in zip(last.names, last.angles, strict=True) if np.isnan(angle)]


@pytest.mark.parametrize(("ahead", "told"), [(10.0, "10.00 s ahead of the clock"), (-3600.0, "3600.00 s ago")])
def test_a_board_with_another_clock_is_named_and_hides_no_other_strut(node, ahead, told):
    speak(node, {"strut_3": ahead})
    assert unmeasured(node) == ["strut_3"]
    assert f"strut_3: samples stamped {told}: set the clocks in step" in node.health().message


def test_a_board_that_is_gone_when_the_clock_is_set_back_silences_nobody(node):
    speak(node, {})
    assert unmeasured(node) == []
    node.time -= 60.0
    speak(node, {}, struts=STRUTS[1:])
    assert unmeasured(node) == ["strut_0"]


def test_where_all_clocks_are_ahead_the_node_says_so(node):
    speak(node, dict.fromkeys(STRUTS, 5.0))
    assert not node.published
    assert "strut_19: samples stamped 5.00 s ahead of the clock" in node.health().message


def test_without_a_time_on_clock_it_is_said(node, monkeypatch):
    speak(node, {})
    monkeypatch.setattr(node, "now", lambda: 0.0)
    node._publish()
    assert "no time on /clock yet" in node.health().message


def test_boards_that_offer_best_effort_are_heard(node):
    board = rclpy.create_node("board")
    publisher = board.create_publisher(Imu, "struts/strut_3/imu", qos_profile_sensor_data)
    deadline = time.monotonic() + 10.0
    while not publisher.get_subscription_count():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    board.destroy_node()
