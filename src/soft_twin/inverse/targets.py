"""Where a named frame of a body shall be: what users and messages ask for, turned into goals of the inverse."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError
from soft_twin.inverse.goals import (
    ALIGNED,
    REACHED,
    ActuationGoal,
    CurveGoal,
    Goal,
    OrientationGoal,
    PositionGoal,
    told_by_coordinate,
)
from soft_twin.inverse.inverse import Inverse, Solution
from soft_twin.twins.base import Twin
from soft_twin.twins.frames import Frame, SectionFrame

ON_LINE = (0.5, 0.75)  # of the body's length: sections that shall lie on a target's line; more of them go to and fro
TIP = "tip"  # the frame that is aimed at where nothing else is said


@dataclass(frozen=True)
class PoseTarget:
    """A frame's position, and where `rotation` is given its orientation, in base_link.

    Attributes:
        position: (3,) [m].
        frame: its name.
        rotation: (3, 3) from the undeformed body; None: it may turn as it likes.
        line: (m, 3) points of a line that the body shall lie on, as far as the frame's place leaves it free [m]; None:
            the robot's own posture, if it has one.
    """

    position: np.ndarray
    frame: str = TIP
    rotation: np.ndarray | None = None
    line: np.ndarray | None = None

    def command(self, solution: Solution, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and efforts (a,) that the actuators are told for it."""
        return solution.coordinates, solution.efforts

    def error(self, twin: Twin) -> float:
        """Distance of the frame from its target [m]."""
        return float(np.linalg.norm(twin.frames[self.frame].position(twin) - self.position))

    def orientation_error(self, twin: Twin) -> float:
        """Angle of the frame's orientation to its target [rad]; NaN where it does not count."""
        if self.rotation is None:
            return float("nan")
        now = twin.frames[self.frame].rotation(twin)
        return float(Rotation.from_matrix(self.rotation @ now.T).magnitude())


@dataclass(frozen=True)
class ActuationTarget:
    """What each actuator shall do, wherever the body goes: a target whose position nobody knows.

    Attributes:
        values: (a,) coordinates of cables [m], efforts of others [Pa].
    """

    values: np.ndarray
    position: np.ndarray = field(default_factory=lambda: np.full(3, np.nan))
    frame: str = TIP
    rotation: None = None

    def command(self, solution: Solution, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
        """As told; what is not told is the twin's."""
        cables = told_by_coordinate(twin)
        return np.where(cables, self.values, solution.coordinates), np.where(cables, solution.efforts, self.values)

    def error(self, twin: Twin) -> float:
        """Not known."""
        return float("nan")

    orientation_error = error


Target = PoseTarget | ActuationTarget


def actuation_target(inverse: Inverse, values: Sequence[float]) -> ActuationTarget:
    """Coordinates of cables [m] and efforts of others [Pa], (a,), within their limits.

    Raises:
        InputError: wrong size, not finite, or out of the limits.
    """
    values = checked_vector(values, len(inverse.names), "actuation")
    low, high = inverse.told_limits
    for name, value, lowest, highest in zip(inverse.names, values, low, high, strict=True):
        if not lowest <= value <= highest:
            raise InputError(f"actuation: {name} at {value:g}: expected {lowest:g} … {highest:g}")
    return ActuationTarget(values)


def pose_target(
    inverse: Inverse,
    position: Sequence[float],
    frame: str = TIP,
    rotation: np.ndarray | None = None,
    line: np.ndarray | None = None,
) -> PoseTarget:
    """A target that an inverse can aim at.

    Raises:
        InputError: there is no such frame, a position of the wrong size, not finite, out of all reach or behind the
            base (see `Inverse.checked_tip`), the orientation of a frame that has none, or a line of no two points.
    """
    frames = inverse.twin.frames
    if frame not in frames:
        raise InputError(f"target: there is no frame '{frame}': there are {', '.join(frames)}")
    if rotation is not None:
        frames[frame].rotation(inverse.twin)  # which says why there is none
    if line is not None:
        line = CurveGoal([], line).points
    checked = inverse.checked_tip if frame == TIP else inverse.checked_target
    return PoseTarget(checked(position), frame, rotation, line)


def goals_of(inverse: Inverse, target: Target) -> list[Goal]:
    """What the inverse shall reach for a target; the tip's position comes with the body's posture, if it has one, and a
    line with sections that shall lie on it."""
    if isinstance(target, ActuationTarget):
        return [ActuationGoal(target.values)]
    frame, length = inverse.twin.frames[target.frame], inverse.twin.length
    on_line = []
    if target.line is not None:
        on_line = [CurveGoal([SectionFrame(share * length) for share in ON_LINE], target.line, priority=2)]
    if target.rotation is not None:
        alike = REACHED / ALIGNED  # so that what is called reached weighs alike in both [m/rad]
        return [PositionGoal(frame, target.position), OrientationGoal(frame, target.rotation, alike), *on_line]
    if on_line:
        return [PositionGoal(frame, target.position), *on_line]
    return inverse.goals(target.position) if target.frame == TIP else [PositionGoal(frame, target.position)]


def rotation_of(frame: Frame, twin: Twin) -> np.ndarray | None:
    """(3, 3) how a frame is turned from the undeformed body; None where it is a point."""
    try:
        return frame.rotation(twin)
    except InputError:
        return None
