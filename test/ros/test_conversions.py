import math

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, Vector3Stamped
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from soft_twin.errors import InputError
from soft_twin.sensing.samples import ImuSample
from soft_twin_ros.conversions import (
    efforts_in_order,
    gravity_vector,
    imu_message,
    imu_sample,
    joint_state,
    pose_message,
    positions_in_order,
    shape_message,
    shortest_rotation_wxyz,
    target_pose,
    to_seconds,
    to_stamp,
)

TODAY = 1_795_229_277.302126848  # [s]
CABLES = ["a", "b", "c"]


def sample(time=TODAY):
    return ImuSample(time, np.array([0.1, -0.2, 0.3]), np.array([0.4, 0.5, 9.8]), 41.5)


def test_a_stamp_keeps_its_seconds():
    stamp = to_stamp(12.25)
    assert (stamp.sec, stamp.nanosec) == (12, 250_000_000)


def test_a_time_just_below_a_second_carries_over():
    stamp = to_stamp(2.9999999999)
    assert (stamp.sec, stamp.nanosec) == (3, 0)


def test_seconds_come_back_to_the_bit_from_the_second_time_on():
    once = to_seconds(to_stamp(TODAY))
    assert abs(once - TODAY) < 5e-7
    assert to_seconds(to_stamp(once)) == once


def test_a_time_stays_the_same_from_node_to_node():
    for seconds in 1.8e9 + np.random.default_rng(0).uniform(0.0, 1e6, 1000):
        assert to_seconds(to_stamp(float(seconds))) == seconds


def test_a_raw_sample_survives_its_message():
    message = imu_message(sample(), "imu_link")
    back = imu_sample(message, 41.5)
    np.testing.assert_array_equal(back.angular_velocity, sample().angular_velocity)
    np.testing.assert_array_equal(back.specific_force, sample().specific_force)
    assert back.temperature == 41.5
    assert message.orientation_covariance[0] == -1.0  # REP-145: no orientation


def test_positions_come_in_the_robots_order():
    message = JointState(name=["c", "a", "b"], position=[3.0, 1.0, 2.0])
    np.testing.assert_array_equal(positions_in_order(message, CABLES), [1.0, 2.0, 3.0])


def test_joints_of_ros2_control_are_read_by_the_interface_that_they_have():
    """A system writes the interfaces that its joints have; older ones write zeros for the others."""
    cables = JointState(name=CABLES, position=[1.0, 2.0, 3.0], velocity=[0.0] * 3, effort=[0.0] * 3)
    np.testing.assert_array_equal(positions_in_order(cables, CABLES), [1.0, 2.0, 3.0])
    chambers = JointState(name=["b", "a"], effort=[2e3, 1e3])
    np.testing.assert_array_equal(efforts_in_order(chambers, ["a", "b"]), [1e3, 2e3])
    with pytest.raises(InputError, match="0 efforts for 3 joints"):
        efforts_in_order(JointState(name=CABLES, position=[0.0] * 3), CABLES)


@pytest.mark.parametrize(
    ("names", "positions", "cause"),
    [
        (["a", "b"], [1.0, 2.0], "expected a, b, c"),
        (["a", "b", "d"], [1.0, 2.0, 3.0], "expected a, b, c"),
        (["a", "a", "b"], [1.0, 2.0, 3.0], "expected a, b, c"),
        ([], [1.0, 2.0, 3.0], "without names"),
        (["a", "b", "c"], [1.0, 2.0], "2 positions for 3 joints"),
        (["a", "b", "c"], [1.0, math.nan, 3.0], "finite"),
        (["a", "b", "c"], [1.0, math.inf, 3.0], "finite"),
    ],
)
def test_unusable_commands_are_named(names, positions, cause):
    with pytest.raises(InputError, match=cause):
        positions_in_order(JointState(name=names, position=positions), CABLES)


@pytest.mark.parametrize("direction", [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, -1], [0.3, -0.2, -0.9]])
def test_the_tips_orientation_takes_z_to_its_direction(direction):
    w, x, y, z = shortest_rotation_wxyz(np.array(direction, dtype=float))
    turned = Rotation.from_quat([x, y, z, w]).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(turned, np.array(direction) / np.linalg.norm(direction), atol=1e-12)


def test_the_shortest_rotation_is_short():
    turn = shortest_rotation_wxyz(np.array([0.0, math.sin(0.2), math.cos(0.2)]))
    assert 2.0 * math.acos(turn[0]) == pytest.approx(0.2)


def test_a_tip_has_frame_stamp_and_position():
    message = pose_message(5.5, "base_link", np.array([0.01, 0.02, 0.1]), None, np.array([0.0, 0.0, 1.0]))
    assert message.header.frame_id == "base_link"
    assert to_seconds(message.header.stamp) == 5.5
    assert (message.pose.position.x, message.pose.position.z) == (0.01, 0.1)
    assert message.pose.orientation.w == 1.0


def gravity_message(x, y, z, frame="base_link"):
    message = Vector3Stamped()
    message.header.frame_id = frame
    message.vector.x, message.vector.y, message.vector.z = x, y, z
    return message


def test_gravity_without_a_frame_is_taken():
    np.testing.assert_array_equal(gravity_vector(gravity_message(0.0, 0.0, -9.81, ""), "base_link"), [0, 0, -9.81])


@pytest.mark.parametrize(
    "message",
    [
        gravity_message(0.0, 0.0, -9.81, "world"),
        gravity_message(math.nan, 0.0, -9.81),
        gravity_message(0.0, 0.0, math.inf),
        gravity_message(0.0, 0.0, -1.0),
        gravity_message(0.0, 0.0, -9810.0),
    ],
)
def test_what_is_no_gravity_is_refused(message):
    with pytest.raises(InputError, match="gravity"):
        gravity_vector(message, "base_link")


def target_message(frame="base_link", **turn):
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.z = 0.1
    for name, value in turn.items():
        setattr(message.pose.orientation, name, value)
    return message


def test_a_target_in_another_frame_is_refused():
    with pytest.raises(InputError, match="expected 'base_link'"):
        target_pose(target_message("world"), "base_link", False)


def test_a_targets_orientation_counts_where_that_is_asked_for():
    position, rotation = target_pose(target_message(x=0.6, w=0.8), "base_link", True)
    np.testing.assert_array_equal(position, [0.0, 0.0, 0.1])
    np.testing.assert_allclose(rotation, Rotation.from_quat([0.6, 0.0, 0.0, 0.8]).as_matrix())
    assert target_pose(target_message("", w=7.0), "base_link", False)[1] is None


@pytest.mark.parametrize("w", [7.0, 0.0, math.nan])
def test_an_orientation_that_is_none_is_refused(w):
    with pytest.raises(InputError, match="expected a unit quaternion"):
        target_pose(target_message(w=w), "base_link", True)


def test_a_pose_keeps_its_rotation():
    turn = Rotation.from_euler("xyz", [0.3, -0.2, 0.5])
    found = pose_message(0.0, "base_link", np.zeros(3), turn.as_matrix()).pose.orientation
    np.testing.assert_allclose([found.x, found.y, found.z, found.w], turn.as_quat(), atol=1e-12)


def test_joints_are_named_and_plain_floats():
    message = joint_state(1.0, CABLES, np.array([1, 2, 3]), np.zeros(3))
    assert list(message.name) == CABLES
    assert list(message.position) == [1.0, 2.0, 3.0]


def test_a_shape_names_its_points():
    message = shape_message(1.0, "base_link", ["base", "tip"], np.array([[0, 0, 0], [0, 0, 0.1]]), 1e-3, 1e-9)
    assert list(message.names) == ["base", "tip"]
    assert message.points[1].z == 0.1
    assert math.isnan(message.confidence)
