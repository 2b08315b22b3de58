"""Which robot a recording is of: written into it by the recorder, found again by whoever reads it."""

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path

from soft_twin.descriptions.shortened import shortened
from soft_twin.errors import RecordingError, SoftTwinError, UsageError
from soft_twin.recording.reader import metadata, topic_types
from soft_twin.robots import load_robot
from soft_twin.robots.base import Robot
from soft_twin.robots.cable_tube import CableTube

METADATA = "soft_twin"  # name of the metadata record
logger = logging.getLogger(__name__)


def robot_metadata(robot: Robot) -> dict[str, str]:
    """What a recording says of its robot: name, the description's path, and the SHA-256 of its bytes."""
    digest = hashlib.sha256(robot.path.read_bytes()).hexdigest()
    return {"robot": robot.name, "description": str(robot.path.resolve()), "description_sha256": digest}


def recorded_robot(path: str | Path, asked: str | None = None) -> Robot:
    """The robot that was recorded.

    Args:
        path: an MCAP recording.
        asked: name or description of the robot, where somebody says it; otherwise the recording does, or, older ones,
            the only namespace in it that is the name of a robot in config/.

    Raises:
        RecordingError: the recording is missing or unreadable, or its robot is not to be found.
        UsageError, DescriptionError: there is no such robot.
    """
    if asked is not None:
        return load_robot(asked)
    told = metadata(path, METADATA)
    robot = _told(path, told) if told else _by_namespace(path)
    if told and told.get("description_sha256") != robot_metadata(robot)["description_sha256"]:
        logger.warning("%s: the description of '%s' has changed since this was recorded", path, robot.name)
    return robot


def cable_tube(robot: Robot) -> CableTube:
    """The robot itself, if its runs can be evaluated.

    Raises:
        UsageError: it is of another kind.
    """
    if not isinstance(robot, CableTube):
        raise UsageError(f"runs of '{robot.name}' are not evaluated: only those of robots with cables are")
    return robot


def check_topics(path: str | Path, series: Mapping[str, object], namespace: str) -> None:
    """Refuse a recording that has nothing of a robot.

    Args:
        path: of the recording, for the message.
        series: what it has, by topic.
        namespace: of the robot.

    Raises:
        RecordingError: no topic is in the namespace; the message names those there are.
    """
    if not any(topic.startswith(f"/{namespace}/") for topic in series):
        there = ", ".join(sorted({shortened(topic.split("/")[1]) for topic in series if topic.count("/") > 1}))
        raise RecordingError(f"{path}: no topic of '{namespace}' in it: it has {there or 'none that is known'}")


def _told(path: str | Path, told: Mapping[str, str]) -> Robot:
    """By the description's path; by name where the file has moved away."""
    description = Path(told.get("description", ""))
    by_path = description.suffix in (".yaml", ".yml") and description.is_file()
    try:
        robot = load_robot(description if by_path else told.get("robot", ""))
    except SoftTwinError as error:
        raise RecordingError(f"{path}: its robot is not to be found, say --robot: {error}") from error
    if robot.name != told.get("robot"):
        raise RecordingError(
            f"{path}: recorded of {shortened(told.get('robot'))}, but '{description}' is of '{robot.name}': say --robot"
        )
    return robot


def _by_namespace(path: str | Path) -> Robot:
    spaces = sorted({topic.split("/")[1] for topic in topic_types(path) if topic.count("/") > 1})
    robots = []
    for space in spaces:
        try:
            robots.append(load_robot(space))
        except UsageError:
            continue
    if len(robots) != 1:
        there = ", ".join(map(shortened, spaces)) or "none"
        raise RecordingError(f"{path}: says not which robot it is of (namespaces: {there}): say --robot")
    return robots[0]
