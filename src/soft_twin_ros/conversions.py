"""Messages to arrays and back: pure functions. Library quaternions are (w, x, y, z), those of messages (x, y, z, w)."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, QuaternionStamped, Vector3, Vector3Stamped
from sensor_msgs.msg import Imu, JointState, Temperature
from soft_twin_msgs.msg import Pressures, Shape, SolverStatus
from std_msgs.msg import Header

from soft_twin.errors import InputError
from soft_twin.sensing.rotations import quaternion_from_matrix, rotation_matrix
from soft_twin.sensing.samples import ImuSample

if TYPE_CHECKING:
    from soft_twin.inverse.controller import Tick
    from soft_twin.inverse.targets import PoseTarget
    from soft_twin.sensing.gravity import GravityEstimate

UNIT = 0.01  # by which the length of a quaternion may differ from 1
UNKNOWN_COVARIANCE = np.array([-1.0, *[0.0] * 8])  # REP-145


def to_seconds(stamp: Time) -> float:
    """A stamp as seconds since the epoch, to the nearest float: `to_stamp` of it gives the same seconds again."""
    return stamp.sec + stamp.nanosec * 1e-9


def out_of_step(what: str, stamp: float, now: float, stale_after: float) -> str:
    """Why a measurement of that stamp is none of the last `stale_after`; empty if it is [s]."""
    age = now - stamp
    if abs(age) <= stale_after:
        return ""
    if stamp == 0.0:
        return f"{what} without a stamp: say when it was measured"
    if age < 0.0:
        return f"{what} stamped {-age:.2f} s ahead of the clock: set the clocks in step"
    return f"{what} stamped {age:.2f} s ago: expected within {stale_after:g} s"


def to_stamp(seconds: float) -> Time:
    """Seconds since the epoch as a stamp, to the nanosecond that a float can tell (0.2 µs today)."""
    whole = math.floor(seconds)
    carry, nanosec = divmod(round((seconds - whole) * 1e9), 10**9)
    return Time(sec=whole + carry, nanosec=nanosec)


def to_array(message: Vector3 | Point) -> np.ndarray:
    """x, y, z of a vector or point: (3,)."""
    return np.array([message.x, message.y, message.z])


def to_vector(values: Sequence[float]) -> Vector3:
    """Three numbers as a vector."""
    x, y, z = map(float, values)
    return Vector3(x=x, y=y, z=z)


def to_point(values: Sequence[float]) -> Point:
    """Three numbers as a point."""
    x, y, z = map(float, values)
    return Point(x=x, y=y, z=z)


def to_quaternion(wxyz: Sequence[float]) -> Quaternion:
    """A quaternion w, x, y, z as a message."""
    w, x, y, z = map(float, wxyz)
    return Quaternion(x=x, y=y, z=z, w=w)


def header(seconds: float, frame: str) -> Header:
    """A header with that time and frame."""
    return Header(stamp=to_stamp(seconds), frame_id=frame)


def imu_message(sample: ImuSample, frame: str) -> Imu:
    """A raw sample, without orientation (REP-145: its covariance begins with −1)."""
    return Imu(
        header=header(sample.time, frame),
        orientation_covariance=UNKNOWN_COVARIANCE,
        angular_velocity=to_vector(sample.angular_velocity),
        linear_acceleration=to_vector(sample.specific_force),
    )


def temperature_message(sample: ImuSample, frame: str) -> Temperature:
    """The chip's temperature, with the stamp of its sample."""
    return Temperature(header=header(sample.time, frame), temperature=float(sample.temperature))


def imu_sample(message: Imu, temperature: float) -> ImuSample:
    """The sample in a raw IMU message; `temperature` [°C] comes from a topic of its own."""
    return ImuSample(
        time=to_seconds(message.header.stamp),
        angular_velocity=to_array(message.angular_velocity),
        specific_force=to_array(message.linear_acceleration),
        temperature=temperature,
    )


def oriented_imu_message(estimate: "GravityEstimate", frame: str) -> Imu:
    """Rates without bias, specific force and orientation of `frame`, which the estimate is in; covariances likewise."""
    return Imu(
        header=header(estimate.time, frame),
        orientation=to_quaternion(estimate.quaternion_wxyz),
        orientation_covariance=np.asarray(estimate.orientation_covariance, dtype=float).ravel(),
        angular_velocity=to_vector(estimate.angular_velocity),
        linear_acceleration=to_vector(estimate.specific_force),
    )


def vector_message(seconds: float, frame: str, values: Sequence[float]) -> Vector3Stamped:
    """Three numbers as a vector with time and frame."""
    return Vector3Stamped(header=header(seconds, frame), vector=to_vector(values))


def attitude_message(seconds: float, frame: str, wxyz: Sequence[float]) -> QuaternionStamped:
    """A quaternion w, x, y, z as a message with time and the frame it turns into."""
    return QuaternionStamped(header=header(seconds, frame), quaternion=to_quaternion(wxyz))


def pose_message(
    seconds: float, frame: str, position: np.ndarray, rotation: np.ndarray | None, direction: np.ndarray | None = None
) -> PoseStamped:
    """A pose with time and frame, see `to_pose`."""
    return PoseStamped(header=header(seconds, frame), pose=to_pose(position, rotation, direction))


def to_pose(position: np.ndarray, rotation: np.ndarray | None, direction: np.ndarray | None = None) -> Pose:
    """A pose of something at `position` (3,) that is turned by `rotation` (3, 3).

    Without a rotation, its z axis is `direction` (3,), and its turn about that the least one; without both it is not
    turned.
    """
    if rotation is not None:
        turn = to_quaternion(quaternion_from_matrix(rotation))
    else:
        turn = Quaternion() if direction is None else to_quaternion(shortest_rotation_wxyz(direction))
    return Pose(position=to_point(position), orientation=turn)


def shortest_rotation_wxyz(direction: np.ndarray) -> np.ndarray:
    """(4,) unit quaternion w, x, y, z of the shortest rotation that takes +z to `direction` (3,).

    q = (1 + d_z, −d_y, d_x, 0) normalised, d of length 1; about x where d is −z and all axes are as short.
    """
    d = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    q = np.array([1.0 + d[2], -d[1], d[0], 0.0])
    length = np.linalg.norm(q)
    return q / length if length > 1e-9 else np.array([0.0, 1.0, 0.0, 0.0])


def joint_state(
    seconds: float, names: Sequence[str], positions: Sequence[float], efforts: Sequence[float]
) -> JointState:
    """Cables as joints: position = displacement [m], effort = tension [N]."""
    return JointState(
        header=header(seconds, ""), name=list(names), position=_floats(positions), effort=_floats(efforts)
    )


def positions_in_order(message: JointState, names: Sequence[str]) -> np.ndarray:
    """Positions (c,) of a joint message in the order of `names`.

    Raises:
        InputError: other names than these, another number of positions than of names, or one is not finite.
    """
    return in_order(message.name, message.position, names, "joints", "positions", "displacements [m]")


def efforts_in_order(message: JointState, names: Sequence[str]) -> np.ndarray:
    """Efforts (c,) of a joint message in the order of `names`: of chambers as joints, their gauge pressures [Pa].

    Raises:
        InputError: other names than these, another number of efforts than of names, or one is not finite.
    """
    return in_order(message.name, message.effort, names, "joints", "efforts", "gauge pressures [Pa]")


def pressures_message(seconds: float, names: Sequence[str], pressures: Sequence[float]) -> Pressures:
    """Gauge pressures (n,) [Pa] of chambers."""
    return Pressures(header=header(seconds, ""), names=list(names), pressures=_floats(pressures))


def pressures_in_order(message: Pressures, names: Sequence[str]) -> np.ndarray:
    """Pressures (n,) [Pa] of a message in the order of `names`.

    Raises:
        InputError: other names than these, another number of pressures than of names, or one is not finite.
    """
    return in_order(message.names, message.pressures, names, "chambers", "pressures", "gauge pressures [Pa]")


def in_order(
    found: Sequence[str], values: Sequence[float], names: Sequence[str], owners: str, what: str, right: str
) -> np.ndarray:
    """Finite values, one for each of `names` and in their order; `owners`, `what` and `right` are for the messages."""
    if sorted(found) != sorted(names):
        raise InputError(f"{owners} {', '.join(found) or 'without names'}: expected {', '.join(names)}")
    if len(values) != len(found):
        raise InputError(f"{len(values)} {what} for {len(found)} {owners}: expected one each")
    by_name = dict(zip(found, values, strict=True))
    ordered = np.array([by_name[name] for name in names])
    if not np.all(np.isfinite(ordered)):
        raise InputError(f"{what} {ordered.tolist()}: expected finite {right}")
    return ordered


def is_frame(name: str, frame: str) -> bool:
    """Whether a message that says `name` is in a robot's `frame`: nothing, or the frame without the robot's prefix, is
    taken for it."""
    return name in ("", frame, frame.rpartition("/")[2])


def target_pose(message: PoseStamped, frame: str, use_orientation: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Position (3,) [m] and rotation (3, 3) of a target; without `use_orientation` it has no rotation.

    Raises:
        InputError: in another frame than `frame`, see `is_frame`, or its orientation is no unit quaternion.
    """
    if not is_frame(message.header.frame_id, frame):
        raise InputError(f"target in frame '{message.header.frame_id}': expected '{frame}'")
    position = to_array(message.pose.position)
    if not use_orientation:
        return position, None
    return position, to_rotation(message.pose.orientation, "target")


def to_rotation(turn: Quaternion, what: str) -> np.ndarray:
    """(3, 3) of a quaternion in a message; `what` it is of, for the message of an error.

    Raises:
        InputError: it is no unit quaternion.
    """
    xyzw = np.array([turn.x, turn.y, turn.z, turn.w])
    size = math.hypot(*xyzw)
    if not abs(size - 1.0) < UNIT:  # true for NaN too
        raise InputError(f"{what}: orientation x, y, z, w = {xyzw.tolist()}: expected a unit quaternion")
    return rotation_matrix(np.roll(xyzw, 1) / size)


def gravity_vector(message: Vector3Stamped, frame: str) -> np.ndarray:
    """Gravity (3,) [m/s²] in a message.

    Raises:
        InputError: in another frame than `frame`, see `is_frame`, not finite, or no gravity on earth.
    """
    if not is_frame(message.header.frame_id, frame):
        raise InputError(f"gravity in frame '{message.header.frame_id}': expected '{frame}'")
    gravity = to_array(message.vector)
    if not 9.0 < math.hypot(*gravity) < 10.5:  # false for NaN too
        raise InputError(f"gravity {gravity.tolist()}: expected a finite vector of 9.81 m/s^2")
    return gravity


def shape_message(
    seconds: float, frame: str, names: Sequence[str], points: np.ndarray, energy: float, residual: float
) -> Shape:
    """Named points (n, 3) of a body [m]; its confidence is not estimated."""
    return Shape(
        header=header(seconds, frame),
        names=list(names),
        points=[to_point(point) for point in points],
        energy=float(energy),
        residual=float(residual),
        confidence=math.nan,
    )


def status_message(
    seconds: float, frame: str, tick: "Tick", target: "PoseTarget", actuators: Sequence[str]
) -> SolverStatus:
    """What a tick was asked, and what it came to."""
    direction = tick.tip_direction if target.frame == "tip" else None
    return SolverStatus(
        header=header(seconds, frame),
        frame=target.frame,
        target=to_pose(target.position, target.rotation),
        use_orientation=target.rotation is not None,
        reached=to_pose(tick.reached, tick.reached_rotation, direction),
        compensating=bool(tick.compensating),
        holding=bool(tick.holding),
        actuators=list(actuators),
        efforts=_floats(tick.efforts),
        coordinates=_floats(tick.coordinates),
        active_limits=list(tick.active_limits),
        error=float(tick.error),
        orientation_error=float(tick.orientation_error),
        converged=bool(tick.converged),
        reachable=bool(tick.reachable),
        residual=float(tick.residual),
        iterations=int(tick.iterations),
        duration=float(tick.duration),
    )


def target_message(seconds: float, frame: str, target: "PoseTarget", tick: "Tick") -> PoseStamped:
    """The pose that is aimed at: turned as the twin's frame is, where the target leaves that free."""
    direction = tick.tip_direction if target.frame == "tip" else None
    turn = tick.reached_rotation if target.rotation is None else target.rotation
    return pose_message(seconds, frame, target.position, turn, direction)


def diagnostic(name: str, hardware: str, level: bytes, message: str, values: Mapping[str, object]) -> DiagnosticStatus:
    """One entry of /diagnostics; numbers are written with four digits."""
    return DiagnosticStatus(
        level=level,
        name=name,
        message=message,
        hardware_id=hardware,
        values=[KeyValue(key=str(key), value=_text(value)) for key, value in values.items()],
    )


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _floats(values: Sequence[float]) -> list[float]:
    return [float(value) for value in values]
