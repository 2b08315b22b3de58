"""Trajectory messages as arrays."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint as PosePoint

from soft_twin.errors import InputError
from soft_twin_ros.trajectories import actuation_points, check_start, pose_points


def pose(x, seconds, velocity=None, w=1.0, count=1):
    transform = Transform(translation=Vector3(x=x), rotation=Quaternion(w=w))
    point = PosePoint(transforms=[transform] * count, time_from_start=Duration(sec=seconds, nanosec=500_000_000))
    if velocity is not None:
        point.velocities = [Twist(linear=Vector3(x=velocity))]
    return point


def test_poses_have_times_places_turns_and_where_all_have_them_velocities():
    told = MultiDOFJointTrajectory(points=[pose(0.01, 0, 0.1), pose(0.02, 1, 0.2)])
    times, places, frame, turns, velocities = pose_points(told, "left/base_link", True)
    assert (times, frame) == ([0.5, 1.5], "tip")
    np.testing.assert_array_equal(places, [[0.01, 0.0, 0.0], [0.02, 0.0, 0.0]])
    np.testing.assert_array_equal(turns, [np.eye(3)] * 2)
    np.testing.assert_array_equal(velocities, [[0.1, 0.0, 0.0], [0.2, 0.0, 0.0]])
    told.points[0].velocities, told.joint_names, told.header.frame_id = [], ["ring"], "base_link"
    with pytest.raises(InputError, match="1 of 2 points have velocities: expected all of them, or none"):
        pose_points(told, "left/base_link", False)
    told.points[1].velocities = []
    assert pose_points(told, "left/base_link", False)[2:] == ("ring", None, None)


@pytest.mark.parametrize(("stamp", "when"), [(900.0, "100.0 s ago"), (1005.5, "5.5 s from now")])
def test_trajectories_begin_at_once(stamp, when):
    told = JointTrajectory(header=Header(stamp=Time(sec=int(stamp), nanosec=int(1e9 * (stamp % 1.0)))))
    with pytest.raises(InputError, match=f"stamp is {when}: it begins at once"):
        check_start(told, 1000.0)
    check_start(told, stamp + 0.5)
    check_start(JointTrajectory(), 1000.0)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ({"joint_names": ["tip", "ring"], "points": [pose(0.0, 0)]}, "poses of tip, ring: expected one frame"),
        ({"points": [pose(0.0, 0, count=2)]}, "one transform a point"),
        ({"points": [pose(0.0, 0, w=3.0)]}, "expected a unit quaternion"),
    ],
)
def test_poses_that_cannot_be_read_are_named(said, cause):
    with pytest.raises(InputError, match=cause):
        pose_points(MultiDOFJointTrajectory(**said), "base_link", True)


def test_poses_are_in_the_base_s_frame():
    told = MultiDOFJointTrajectory(points=[pose(0.0, 0)])
    told.header.frame_id = "world"
    with pytest.raises(InputError, match="poses in frame 'world': expected 'base_link'"):
        pose_points(told, "base_link", False)


def test_actuations_are_put_into_the_robots_order():
    point = JointTrajectoryPoint(positions=[1.0, 2.0], velocities=[3.0, 4.0], time_from_start=Duration(sec=2))
    told = JointTrajectory(joint_names=["air", "left"], points=[point])
    times, values, rates = actuation_points(told, ["left", "air"])
    assert times == [2.0] and values.tolist() == [[2.0, 1.0]] and rates.tolist() == [[4.0, 3.0]]
    with pytest.raises(InputError, match="actuators air, left: expected left, right"):
        actuation_points(told, ["left", "right"])
