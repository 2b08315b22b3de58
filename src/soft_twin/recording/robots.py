"""Which robot a recording is of: written into it by the recorder, found again by whoever reads it."""

import hashlib
import logging
import os
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path

from soft_twin.descriptions.shortened import shortened
from soft_twin.errors import RecordingError, SoftTwinError, UsageError
from soft_twin.files import one_line
from soft_twin.recording.reader import Series, read_stored, topic_types
from soft_twin.recording.storage import metadata
from soft_twin.robots import load_robot
from soft_twin.robots.base import DrivenRobot, Robot
from soft_twin.sensing.imu_calibration import calibration_beside

METADATA = "soft_twin"  # name of the metadata record
CALIBRATED = "imu_calibration_sha256"  # in it
TOPICS = (
    *("imu/data_raw", "imu/data", "gravity", "struts/inclination", "solver/status", "shape", "twin/tip"),
    *("cables/command", "cables/state", "chambers/command", "chambers/state", "truth/tip", "truth/base"),
)  # by which the namespace of a robot is known
TYPES = {
    "cables/command": "sensor_msgs/msg/JointState",
    "cables/state": "sensor_msgs/msg/JointState",
    "chambers/command": "soft_twin_msgs/msg/Pressures",
    "chambers/state": "soft_twin_msgs/msg/Pressures",
    "gravity": "geometry_msgs/msg/Vector3Stamped",
    "gravity/reset": "std_msgs/msg/Empty",
    "imu/data_raw": "sensor_msgs/msg/Imu",
    "imu/temperature": "sensor_msgs/msg/Temperature",
    "run/phase": "std_msgs/msg/String",
    "shape": "soft_twin_msgs/msg/Shape",
    "solver/status": "soft_twin_msgs/msg/SolverStatus",
    "truth/base": "geometry_msgs/msg/QuaternionStamped",
    "truth/pace": "std_msgs/msg/Float64",
    "truth/shape": "soft_twin_msgs/msg/Shape",
    "truth/tip": "geometry_msgs/msg/PoseStamped",
    "twin/reset": "std_msgs/msg/Empty",
    "twin/tip": "geometry_msgs/msg/PoseStamped",
}  # of what reports and replays read
MOST_LOOKED_AT = 2000  # messages until every node has told its health a few times
NAME = re.compile(r"[A-Za-z0-9_]{1,100}")
URDF_NAME = re.compile(r'<robot\b[^>]*\sname="([^"]{1,100})"')
logger = logging.getLogger(__name__)


def robot_metadata(robot: Robot, recording: Path | None = None) -> dict[str, str]:
    """What a recording says of its robot: name, the description's path, and the SHA-256 of its bytes; where its file is
    given, and the calibration of the IMU is beside it, the SHA-256 of that, too."""
    digest = hashlib.sha256(robot.path.read_bytes()).hexdigest()
    told = {"robot": robot.name, "description": str(robot.path.resolve()), "description_sha256": digest}
    if recording is not None and (beside := calibration_beside(recording)).is_file():
        told[CALIBRATED] = hashlib.sha256(beside.read_bytes()).hexdigest()
    return told


def recorded_robot(path: str | Path, asked: str | None = None, namespace: str | None = None) -> Robot:
    """The robot that was recorded.

    Args:
        path: of the recording.
        asked: name or description of the robot, where somebody says it; otherwise the recording does, or, where it is
            of another recorder, its only namespace whose robot is known: see `told_robots`.
        namespace: of the robot's topics, where somebody says it.

    Raises:
        RecordingError: the recording is missing or unreadable, or its robot is not to be found.
        UsageError, DescriptionError: there is no such robot.
    """
    if asked is not None:
        return load_robot(asked)
    told = metadata(path, METADATA)
    robot = _told(path, told) if told else _by_namespace(path, namespace)
    if told and told.get("description_sha256") != robot_metadata(robot)["description_sha256"]:
        logger.warning("%s: the description of '%s' has changed since this was recorded", path, robot.name)
    return robot


def replayed_robot(robot: Robot) -> DrivenRobot:
    """The robot itself, if its runs can be replayed.

    Raises:
        UsageError: it is of another kind.
    """
    if not isinstance(robot, DrivenRobot) or robot.muscle_names:
        raise UsageError(f"runs of '{robot.name}' are not replayed: only those of robots of cables and chambers are")
    return robot


def check_actuators(path: str | Path, status: Series | None, robot: DrivenRobot) -> None:
    """See that a recording's solves are of this robot.

    Args:
        path: of the recording, for messages.
        status: what is recorded of `solver/status`.
        robot: that is said to have been recorded.

    Raises:
        RecordingError: they are of other actuators. Older recordings do not name them.
    """
    own = tuple(robot.actuator_names)
    if status is not None and status.names not in ((), own):
        there, here = (", ".join(map(shortened, names)) for names in (status.names, own))
        raise RecordingError(f"{path}: recorded of a robot with {there}, but '{robot.name}' has {here}: say --robot")


def check_types(path: str | Path, topics: Mapping[str, str], namespace: str) -> None:
    """See that topics of a robot are of the types that its nodes give them.

    Args:
        path: of the recording, for messages.
        topics: the type of each in it, by its full name.
        namespace: of the robot's.

    Raises:
        RecordingError: one is of another type.
    """
    for topic, expected in TYPES.items():
        if (found := topics.get(prefix(namespace) + topic, expected)) != expected:
            raise RecordingError(f"{path}: '{topic}' is of {one_line(found)}: expected {expected}")


def recorded_namespace(path: str | Path, topics: Iterable[str], robot: Robot, asked: str | None = None) -> str:
    """The namespace of a robot's topics: what is asked for, else its name, else the only one that no other robot has.

    Args:
        path: of the recording, for messages.
        topics: full names of those in it.
        robot: that was recorded.
        asked: where somebody says it.

    Raises:
        RecordingError: there are none of the robot, or of several robots; the message says what there is.
    """
    topics = list(topics)
    wanted = robot.name if asked is None else asked.strip("/")
    spaces = _of_robots(topics) if asked is None else []
    below = [space for space in spaces if space.startswith(f"{wanted}/")]
    if asked is None:
        there = any(topic.startswith(prefix(wanted)) for topic in topics) and not below
    else:
        there = any(prefix(wanted) + name in topics for name in TOPICS)  # not of robots in namespaces within it
    if there:
        return wanted
    others = below or [space for space in spaces if not _is_robot(space)]
    if len(others) == 1:
        return others[0]
    if others:
        names = ", ".join(map(shortened, others))
        raise RecordingError(f"{path}: several robots in it, say which by --namespace: {names}")
    of = shortened(wanted) if wanted else "a robot without a namespace"
    raise RecordingError(f"{path}: no topic of {of} in it: {_remedy(topics)}")


def prefix(namespace: str) -> str:
    """With which the names of a namespace's topics begin."""
    return f"/{namespace}/" if namespace else "/"


def _of_robots(topics: Iterable[str]) -> list[str]:
    """Namespaces that have topics of robots; one within another, such as left/truth or left/plate, is that one's."""
    spaces = {topic[: -len(name)].strip("/") for topic in topics for name in TOPICS if topic.endswith(f"/{name}")}
    spaces -= {"truth"} if "" in spaces else set()
    return sorted(space for space in spaces if not any(space.startswith(f"{other}/") for other in spaces))


def _outermost(topics: Iterable[str]) -> list[str]:
    """First words of names that have several."""
    return sorted({topic.split("/")[1] for topic in topics if topic.count("/") > 1})


def _is_robot(name: str) -> bool:
    """Whether a robot in config/ is called so; a path, which `load_robot` takes too, is no name."""
    if not NAME.fullmatch(name):
        return False
    try:
        load_robot(name)
    except UsageError:
        return False
    return True


def _told(path: str | Path, told: Mapping[str, str]) -> Robot:
    """By the description's path; by name where the file has moved away."""
    description = Path(told.get("description", ""))
    by_path = description.suffix in (".yaml", ".yml") and os.path.isfile(description)
    try:
        robot = load_robot(description if by_path else told.get("robot", ""))
    except SoftTwinError as error:
        gone = "" if by_path or not told.get("description") else f"its description '{one_line(description)}' is gone; "
        raise RecordingError(f"{path}: its robot is not to be found, say --robot: {gone}{error}") from error
    if robot.name != told.get("robot"):
        raise RecordingError(
            f"{path}: recorded of {shortened(told.get('robot'))}, but '{description}' is of '{robot.name}': say --robot"
        )
    return robot


def _by_namespace(path: str | Path, asked: str | None) -> Robot:
    topics = list(topic_types(path))
    if not topics:
        raise RecordingError(f"{path}: there are no messages in it")
    spaces = _of_robots(topics) or _outermost(topics)
    known = {space: name for space, name in told_robots(path, spaces).items() if asked in (None, space)}
    if len(known) == 1:
        return load_robot(*known.values())
    if asked is not None and asked not in spaces:
        raise RecordingError(f"{path}: no topic of {shortened(asked)} in it: {_remedy(topics)}")
    there = ", ".join(map(shortened, spaces)) or "none"
    remedy = "--namespace" if known else "--robot"
    raise RecordingError(f"{path}: says not which robot it is of (namespaces: {there}): say {remedy}")


def told_robots(path: str | Path, spaces: Iterable[str]) -> dict[str, str]:
    """Names of the robots in config/ that namespaces of a recording are of, as far as it is known: a namespace may be
    the robot's name, nodes tell it in their diagnostics, and the URDF on `robot_description` has it."""
    robots = {space: space for space in spaces if _is_robot(space)}
    rest = {space for space in spaces if space not in robots}
    urdfs = {f"{prefix(space)}robot_description": space for space in rest}
    for message in islice(read_stored(path, {"/diagnostics", *urdfs}), MOST_LOOKED_AT) if rest else ():
        told = []
        if message.topic in urdfs and message.type_name == "std_msgs/msg/String":
            name = URDF_NAME.search(message.decode().data)
            told = [(urdfs[message.topic], name[1])] if name else []
        elif message.type_name == "diagnostic_msgs/msg/DiagnosticArray":
            health = message.decode().status
            told = [(status.name.rpartition("/")[0].strip("/"), status.hardware_id) for status in health]
        robots |= {space: name for space, name in told if space in rest and _is_robot(name)}
        if rest <= robots.keys():
            break
    return robots


def _remedy(topics: Collection[str]) -> str:
    """What to do where a robot's topics are not found among these."""
    if not topics:
        return "there are no messages in it"
    if spaces := _of_robots(topics):
        return f"it has {', '.join(map(shortened, spaces))}: say --namespace, or --robot where it is another"
    there = ", ".join(map(shortened, _outermost(topics))) or "none that is known"
    return f"it has {there}: record the robot's topics, by recording:= of its launch or `ros2 bag record -a`"
