"""Where a named frame of a body shall be: what users and messages ask for, turned into goals of the inverse."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
    checked_curve,
    told_by_coordinate,
)
from soft_twin.inverse.inverse import Inverse, Solution
from soft_twin.twins.base import Twin
from soft_twin.twins.frames import Frame, SectionFrame

ON_LINE = (0.5, 0.75)  # of the body's height: sections that shall lie on a target's line; more of them go to and fro
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

    def goals(self, inverse: Inverse) -> list[Goal]:
        """What the inverse shall reach for it; the tip's position comes with the body's posture, if it has one, and a
        line with sections that shall lie on it."""
        frame, (low, high) = inverse.twin.frames[self.frame], inverse.twin.span
        place, on_line = PositionGoal(frame, self.position), []
        if self.line is not None:
            on_line = [
                CurveGoal([SectionFrame(low + share * (high - low)) for share in ON_LINE], self.line, priority=2)
            ]
        if self.rotation is not None:
            alike = REACHED / ALIGNED  # so that what is called reached weighs alike in both [m/rad]
            return [place, OrientationGoal(frame, self.rotation, alike), *on_line]
        if on_line:
            return [place, *on_line]
        return inverse.goals(self.position) if self.frame == TIP else [place]

    def led_by(self, offset: np.ndarray) -> "PoseTarget":
        """With its position elsewhere by (3,) [m], if it is the tip's."""
        return replace(self, position=self.position + offset) if self.frame == TIP else self

    def is_of(self, frame: str, turned: bool) -> bool:
        """Whether it says where a frame shall be, and how it shall be `turned`, if that is asked for alone."""
        return self.frame == frame and (self.rotation is not None) == turned

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

    def goals(self, inverse: Inverse) -> list[Goal]:
        """What the inverse shall reach for it."""
        return [ActuationGoal(self.values)]

    def led_by(self, offset: np.ndarray) -> "ActuationTarget":
        """Itself: nothing is led anywhere."""
        return self

    def is_of(self, frame: str, turned: bool) -> bool:
        """It says of no frame where it shall be."""
        return False

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
    """A target that an inverse can aim at; arrays are copied.

    Raises:
        InputError: there is no such frame, a position of the wrong size, not finite, out of all reach or behind the
            base (see `Inverse.checked_tip`), the orientation of a frame that has none, or a line of no two points that
            are apart.
    """
    frames = inverse.twin.frames
    if frame not in frames:
        raise InputError(f"target: there is no frame '{frame}': there are {', '.join(frames)}")
    if rotation is not None:
        frames[frame].rotation(inverse.twin)  # which says why there is none
        rotation = np.array(rotation)
    if line is not None:
        line = checked_curve(line)
    checked = inverse.checked_tip if frame == TIP else inverse.checked_target
    return PoseTarget(checked(position), frame, rotation, line)


def rotation_of(frame: Frame, twin: Twin) -> np.ndarray | None:
    """(3, 3) how a frame is turned from the undeformed body; None where it is a point."""
    try:
        return frame.rotation(twin)
    except InputError:
        return None
