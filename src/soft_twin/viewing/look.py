"""How a robot looks at a moment, by the newest that each of its topics has said."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soft_twin.errors import InputError
from soft_twin.recording.clouds import cloud_arrays
from soft_twin.viewing.marker_bytes import marker_points

UNIT = 1e-3  # by which a unit quaternion's length may differ from 1
NO_ORIENTATION = -1.0  # by sensor_msgs/Imu, where its covariance begins with it
LINE_LIST, ADD = 5, 0  # of a visualization_msgs/Marker: its type and action
SILENT = 1.0  # [s] after which a robot's picture is an old one
MOST_VALUES = 9  # of a row that is read


@dataclass(frozen=True)
class Pose:
    """A place (3,) [m] and how what is there is turned, w, x, y, z."""

    position: np.ndarray
    wxyz: np.ndarray

    @property
    def known(self) -> bool:
        """Whether all of it is."""
        return bool(np.isfinite(self.position).all() and np.isfinite(self.wxyz).all())


@dataclass(frozen=True)
class Lines:
    """Segments (n, 2, 3) [m] and the colours (n, 2, 3) of their ends, 0…255."""

    segments: np.ndarray
    colours: np.ndarray


@dataclass(frozen=True)
class Row:
    """Values in a row [unit], and whose they are; as text of many the least and the largest, of none nothing."""

    names: tuple[str, ...]
    values: tuple[float, ...]
    unit: str

    @property
    def curves(self) -> dict[str, float]:
        """What is drawn over time: of many the least and the largest."""
        if len(self.values) > MOST_VALUES:
            return {"least": min(self.values), "largest": max(self.values)}
        return dict(zip(self.names, self.values, strict=False))

    def __str__(self) -> str:
        if not self.values:
            return ""
        if len(self.values) > MOST_VALUES:
            return f"{min(self.values):.2f} … {max(self.values):.2f} {self.unit} of {len(self.values)}"
        return f"{', '.join(f'{value:.2f}' for value in self.values)} {self.unit} of {', '.join(self.names)}"


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
        silent: for how long nothing that is drawn of it was said [s].
    """

    body: np.ndarray | None = None
    lines: dict[str, Lines] = field(default_factory=dict)
    tip: Pose | None = None
    target: Pose | None = None
    true_tip: Pose | None = None
    surfaces: dict[str, np.ndarray] = field(default_factory=dict)
    base: np.ndarray | None = None
    told: dict[str, str | Row] = field(default_factory=dict)
    silent: float = 0.0

    @property
    def error(self) -> float:
        """How far the tip is from its target [m]: the true one, where that is known; NaN where one is not."""
        tip = self.true_tip or self.tip
        if tip is None or self.target is None:
            return float("nan")
        return float(np.linalg.norm(tip.position - self.target.position))


def _body(look: Look, corners: np.ndarray) -> None:
    look.body = corners


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


def _status(look: Look, told: Mapping[str, str | Row]) -> None:
    look.told |= told


def _pose(message: Any) -> Pose:
    at = message.pose.position
    return Pose(np.array([at.x, at.y, at.z]), _wxyz(message.pose.orientation))


def _attitude(message: Any) -> np.ndarray:
    """Of an IMU's message.

    Raises:
        InputError: it has none: no filter is behind it.
    """
    if message.orientation_covariance[0] == NO_ORIENTATION:
        raise InputError("orientation_covariance begins with -1: the IMU tells no orientation")
    wxyz = _wxyz(message.orientation)
    if not abs(np.linalg.norm(wxyz) - 1.0) < UNIT:
        raise InputError(f"orientation w, x, y, z = {wxyz.tolist()}: expected a unit quaternion")
    return wxyz


def _wxyz(turn: Any) -> np.ndarray:
    return np.array([turn.w, turn.x, turn.y, turn.z])


def _triangles(data: bytes) -> np.ndarray:
    """Of a marker: the (k, 3) corners of its triangles that are known [m]."""
    points = marker_points(data)
    triangles = points[: len(points) // 3 * 3].reshape(-1, 3, 3)
    return triangles[np.isfinite(triangles).all(axis=(1, 2))].reshape(-1, 3)


def _segments(message: Any) -> dict[str, Lines]:
    """Of those markers in an array that are lists of lines, by namespace and id."""
    return {
        f"{marker.ns} {marker.id}": _lines_of(marker)
        for marker in message.markers
        if (marker.type, marker.action) == (LINE_LIST, ADD)
    }


def _lines_of(marker: Any) -> Lines:
    """The segments that are known, in the colours of their ends, or all in the marker's."""
    count = len(marker.points) // 2
    points = np.array([(at.x, at.y, at.z) for at in marker.points[: 2 * count]]).reshape(-1, 2, 3)
    colours = marker.colors if len(marker.colors) == len(marker.points) else [marker.color] * len(marker.points)
    shares = np.array([(c.r, c.g, c.b) for c in colours[: 2 * count]]).reshape(-1, 2, 3)
    known = np.isfinite(points).all(axis=(1, 2))
    return Lines(points[known], (255.0 * np.clip(np.nan_to_num(shares[known]), 0.0, 1.0)).astype(np.uint8))


def _words(message: Any) -> dict[str, str]:
    doing = "compensates" if message.reachable else "compensates, the target is out of reach"
    if not message.compensating:
        doing = "follows the body"
    if message.holding:
        doing = "holds the last safe command"
    return {"solver": doing, "limits that bind": ", ".join(message.active_limits)}


@dataclass(frozen=True)
class Topic:
    """What a topic says of a look.

    Attributes:
        kinds: types that it may have.
        read: what of a message is kept; of its bytes, where `whole`.
        show: puts that into a look.
        whole: messages are not decoded.
        draws: a namespace where this is said is a robot's.
    """

    kinds: tuple[str, ...]
    read: Callable[[Any], Any]
    show: Callable[[Look, Any], None]
    whole: bool = False
    draws: bool = False


_POSES = ("geometry_msgs/msg/PoseStamped",)
_CLOUDS = ("sensor_msgs/msg/PointCloud2",)
TOPICS: Mapping[str, Topic] = {
    "body": Topic(("visualization_msgs/msg/Marker",), _triangles, _body, whole=True, draws=True),
    "markers": Topic(("visualization_msgs/msg/MarkerArray",), _segments, _lines, draws=True),
    "twin/tip": Topic(_POSES, _pose, _tip, draws=True),
    "twin/target": Topic(_POSES, _pose, _target),
    "truth/tip": Topic(_POSES, _pose, _true_tip),
    "imu/data": Topic(("sensor_msgs/msg/Imu",), _attitude, _base),
    "shape/points": Topic(_CLOUDS, lambda message: cloud_arrays(message)[0], _predicted),
    "target_shape": Topic(_CLOUDS, lambda message: cloud_arrays(message)[0], _wanted),
    "solver/status": Topic(("soft_twin_msgs/msg/SolverStatus",), _words, _status),
    "run/phase": Topic(("std_msgs/msg/String",), lambda message: {"phase": message.data}, _status),
    "cables/state": Topic(
        ("sensor_msgs/msg/JointState",),
        lambda message: {"tensions": Row(tuple(message.name), tuple(message.effort), "N")},
        _status,
    ),
    "chambers/state": Topic(
        ("soft_twin_msgs/msg/Pressures",),
        lambda message: {
            "pressures": Row(tuple(message.names), tuple(1e-3 * value for value in message.pressures), "kPa")
        },
        _status,
    ),
}


def topic_of(name: str, kind: str) -> tuple[str, Topic] | None:
    """The namespace, and what is said of it, by a topic's full name and type; None where nothing is."""
    for end, topic in TOPICS.items():
        if name.endswith(f"/{end}") and len(name) > len(end) + 1 and kind in topic.kinds:
            return name[1 : -len(end) - 1], topic
    return None


def shown_topics(there: Mapping[str, str]) -> dict[str, tuple[str, Topic]]:
    """The namespace of a robot, and what is said of it, by full names of topics.

    Args:
        there: types by full names.
    """
    found = {name: of for name, kind in there.items() if (of := topic_of(name, kind)) is not None}
    robots = {namespace for namespace, topic in found.values() if topic.draws}
    return {name: (namespace, topic) for name, (namespace, topic) in found.items() if namespace in robots}
