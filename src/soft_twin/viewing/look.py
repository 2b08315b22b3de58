"""How a robot looks at a moment, by the newest that each of its topics has said."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soft_twin.errors import InputError
from soft_twin.recording.clouds import cloud_arrays
from soft_twin.viewing.marker_bytes import marker_points

UNIT = 1e-3  # by which a unit quaternion's length may differ from 1
MOST_VALUES = 9  # of a row that is read


@dataclass(frozen=True)
class Pose:
    """A place (3,) [m] and how what is there is turned, w, x, y, z."""

    position: np.ndarray
    wxyz: np.ndarray


@dataclass(frozen=True)
class Lines:
    """Segments (n, 2, 3) [m] and the colours (n, 2, 3) of their ends, 0…255."""

    segments: np.ndarray
    colours: np.ndarray


@dataclass
class Look:
    """What is known of a robot, in its base_link; empty where nothing is.

    Attributes:
        body: (k, 3) corners of the body's triangles, three and three [m].
        lines: struts and cables, by name.
        tip, target, true_tip: of the twin, where it shall be, and of an emulated robot in truth.
        surfaces: (k, 3) points of a predicted surface and of a target's [m], by name.
        base: w, x, y, z of base_link in the world; None where no IMU tells it.
        told: what else is worth reading, by what it is.
    """

    body: np.ndarray | None = None
    lines: dict[str, Lines] = field(default_factory=dict)
    tip: Pose | None = None
    target: Pose | None = None
    true_tip: Pose | None = None
    surfaces: dict[str, np.ndarray] = field(default_factory=dict)
    base: np.ndarray | None = None
    told: dict[str, str] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """How far the tip is from its target [m]: the true one, where that is known; NaN where one is not."""
        tip = self.true_tip or self.tip
        if tip is None or self.target is None:
            return float("nan")
        return float(np.linalg.norm(tip.position - self.target.position))


def _body(look: Look, points: np.ndarray) -> None:
    look.body = points[: len(points) // 3 * 3]


def _lines(look: Look, lines: dict[str, Lines]) -> None:
    look.lines = lines


def _tip(look: Look, pose: Pose) -> None:
    look.tip = pose


def _target(look: Look, pose: Pose) -> None:
    look.target = pose


def _true_tip(look: Look, pose: Pose) -> None:
    look.true_tip = pose


def _base(look: Look, wxyz: np.ndarray) -> None:
    look.base = wxyz


def _predicted(look: Look, points: np.ndarray) -> None:
    look.surfaces["predicted"] = points


def _wanted(look: Look, points: np.ndarray) -> None:
    look.surfaces["target"] = points


def _status(look: Look, told: dict[str, str]) -> None:
    look.told |= told


def _pose(message: Any) -> Pose:
    at = message.pose.position
    return Pose(np.array([at.x, at.y, at.z]), _wxyz(message.pose.orientation))


def _attitude(message: Any) -> np.ndarray:
    """Of an IMU's message.

    Raises:
        InputError: it has none: no filter is behind it.
    """
    wxyz = _wxyz(message.orientation)
    if not abs(np.linalg.norm(wxyz) - 1.0) < UNIT:
        raise InputError(f"orientation w, x, y, z = {wxyz.tolist()}: expected a unit quaternion")
    return wxyz


def _wxyz(turn: Any) -> np.ndarray:
    return np.array([turn.w, turn.x, turn.y, turn.z])


def _segments(message: Any) -> dict[str, Lines]:
    """Of those markers in an array that are lists of lines."""
    return {
        marker.ns: Lines(
            np.array([(at.x, at.y, at.z) for at in marker.points]).reshape(-1, 2, 3),
            (255.0 * np.array([(c.r, c.g, c.b) for c in marker.colors])).astype(np.uint8).reshape(-1, 2, 3),
        )
        for marker in message.markers
        if len(marker.points) == len(marker.colors) and len(marker.points) % 2 == 0
    }


def _words(message: Any) -> dict[str, str]:
    doing = "compensates" if message.reachable else "compensates, the target is out of reach"
    if not message.compensating:
        doing = "follows the body"
    if message.holding:
        doing = "holds the last safe command"
    return {"solver": doing, "limits that bind": ", ".join(message.active_limits)}


def _numbers(names: Sequence[str], values: Sequence[float], factor: float, unit: str) -> str:
    """Values in a row, and whose they are; of many the least and the largest."""
    if len(values) > MOST_VALUES:
        return f"{factor * min(values):.2f} … {factor * max(values):.2f} {unit} of {len(values)}"
    return f"{', '.join(f'{factor * value:.2f}' for value in values)} {unit} of {', '.join(names)}"


@dataclass(frozen=True)
class Topic:
    """What a topic says of a look.

    Attributes:
        kinds: types that it may have.
        read: what of a message is kept; of its bytes, where `whole`.
        show: puts that into a look.
        whole: messages are not decoded.
    """

    kinds: tuple[str, ...]
    read: Callable[[Any], Any]
    show: Callable[[Look, Any], None]
    whole: bool = False


_POSES = ("geometry_msgs/msg/PoseStamped",)
_CLOUDS = ("sensor_msgs/msg/PointCloud2",)
TOPICS: Mapping[str, Topic] = {
    "body": Topic(("visualization_msgs/msg/Marker",), marker_points, _body, whole=True),
    "markers": Topic(("visualization_msgs/msg/MarkerArray",), _segments, _lines),
    "twin/tip": Topic(_POSES, _pose, _tip),
    "twin/target": Topic(_POSES, _pose, _target),
    "truth/tip": Topic(_POSES, _pose, _true_tip),
    "imu/data": Topic(("sensor_msgs/msg/Imu",), _attitude, _base),
    "shape/points": Topic(_CLOUDS, lambda message: cloud_arrays(message)[0], _predicted),
    "target_shape": Topic(_CLOUDS, lambda message: cloud_arrays(message)[0], _wanted),
    "solver/status": Topic(("soft_twin_msgs/msg/SolverStatus",), _words, _status),
    "run/phase": Topic(("std_msgs/msg/String",), lambda message: {"phase": message.data}, _status),
    "cables/state": Topic(
        ("sensor_msgs/msg/JointState",),
        lambda message: {"tensions": _numbers(message.name, message.effort, 1.0, "N")},
        _status,
    ),
    "chambers/state": Topic(
        ("soft_twin_msgs/msg/Pressures",),
        lambda message: {"pressures": _numbers(message.names, message.pressures, 1e-3, "kPa")},
        _status,
    ),
}


SHOWN = ("body", "markers", "twin/tip")  # a namespace with one of these is a robot's


def shown_topics(there: Mapping[str, str]) -> dict[str, tuple[str, Topic]]:
    """The namespace of a robot, and what is said of it, by full names of topics.

    Args:
        there: types by full names.
    """
    found = {
        name: (name[1 : -len(end) - 1], topic)
        for end, topic in TOPICS.items()
        for name, kind in there.items()
        if name.endswith(f"/{end}") and len(name) > len(end) + 1 and kind in topic.kinds
    }
    robots = {namespace for name, (namespace, _) in found.items() if name[len(namespace) + 2 :] in SHOWN}
    return {name: (namespace, topic) for name, (namespace, topic) in found.items() if namespace in robots}
