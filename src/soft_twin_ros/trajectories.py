"""Trajectory messages to arrays: pure functions."""

import numpy as np
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from soft_twin.errors import InputError
from soft_twin.inverse.targets import TIP
from soft_twin_ros.conversions import in_order, is_frame, to_array, to_rotation

NANOSECOND = 1e-9  # [s]
AT_ONCE = 1.0  # [s] that a trajectory's stamp may be from the present time

Times = list[float]


def pose_points(
    told: MultiDOFJointTrajectory, base: str, turned: bool
) -> tuple[Times, np.ndarray, str, np.ndarray | None, np.ndarray | None]:
    """Times [s], positions (k, 3) [m], the frame that is led, rotations (k, 3, 3) where they count (`turned`), and
    velocities (k, 3) [m/s] where each point has one; in the frame `base`.

    Raises:
        InputError: in another frame, of more than one frame of the body, or an orientation that is none.
    """
    if not is_frame(told.header.frame_id, base):
        raise InputError(f"poses in frame '{told.header.frame_id}': expected '{base}'")
    if len(told.joint_names) > 1 or any(len(point.transforms) != 1 for point in told.points):
        raise InputError(f"poses of {', '.join(told.joint_names) or TIP}: expected one frame, one transform a point")
    transforms = [point.transforms[0] for point in told.points]
    places = np.array([to_array(each.translation) for each in transforms])
    turns = np.array([to_rotation(each.rotation, "poses") for each in transforms]) if turned else None
    velocities = [to_array(point.velocities[0].linear) for point in told.points if point.velocities]
    return _times(told), places, (told.joint_names or [TIP])[0], turns, _of_all(velocities, told)


def actuation_points(told: JointTrajectory, names: list[str]) -> tuple[Times, np.ndarray, np.ndarray | None]:
    """Times [s], values (k, a) of the actuators in the order of `names`, and rates (k, a) where each point has them.

    Raises:
        InputError: of other actuators than these, another number of values than of names, or one is not finite.
    """

    def ordered(values, what: str) -> np.ndarray:
        return in_order(told.joint_names, values, names, "actuators", what, "displacements [m] and pressures [Pa]")

    values = np.array([ordered(point.positions, "positions") for point in told.points])
    rates = [ordered(point.velocities, "velocities") for point in told.points if point.velocities]
    return _times(told), values, _of_all(rates, told)


def check_start(told: JointTrajectory | MultiDOFJointTrajectory, now: float) -> None:
    """See that a trajectory begins at once, whose stamp is 0 or about `now` [s].

    Raises:
        InputError: it began long ago, or shall begin later.
    """
    stamp = told.header.stamp.sec + told.header.stamp.nanosec * NANOSECOND
    ahead = stamp - now
    if stamp != 0.0 and abs(ahead) > AT_ONCE:
        when = f"{ahead:.1f} s from now" if ahead > 0.0 else f"{-ahead:.1f} s ago"
        raise InputError(f"a trajectory whose stamp is {when}: it begins at once; expected 0, or the present time")


def _times(told: JointTrajectory | MultiDOFJointTrajectory) -> Times:
    return [point.time_from_start.sec + point.time_from_start.nanosec * NANOSECOND for point in told.points]


def _of_all(rates: list[np.ndarray], told: JointTrajectory | MultiDOFJointTrajectory) -> np.ndarray | None:
    """(k, n), or nothing where no point has them.

    Raises:
        InputError: some have.
    """
    if rates and len(rates) < len(told.points):
        raise InputError(f"{len(rates)} of {len(told.points)} points have velocities: expected all of them, or none")
    return np.array(rates) if rates else None
