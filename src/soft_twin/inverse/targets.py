"""Where a named frame of a body shall be: what users and messages ask for, turned into goals of the inverse."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.errors import InputError
from soft_twin.inverse.goals import ALIGNED, REACHED, Goal, OrientationGoal, PositionGoal
from soft_twin.inverse.inverse import Inverse
from soft_twin.twins.base import Twin
from soft_twin.twins.frames import Frame

TIP = "tip"  # the frame that is aimed at where nothing else is said


@dataclass(frozen=True)
class PoseTarget:
    """A frame's position, and where `rotation` is given its orientation, in base_link.

    Attributes:
        position: (3,) [m].
        frame: its name.
        rotation: (3, 3) from the undeformed body; None: it may turn as it likes.
    """

    position: np.ndarray
    frame: str = TIP
    rotation: np.ndarray | None = None

    def error(self, twin: Twin) -> float:
        """Distance of the frame from its target [m]."""
        return float(np.linalg.norm(twin.frames[self.frame].position(twin) - self.position))

    def orientation_error(self, twin: Twin) -> float:
        """Angle of the frame's orientation to its target [rad]; NaN where it does not count."""
        if self.rotation is None:
            return float("nan")
        now = twin.frames[self.frame].rotation(twin)
        return float(Rotation.from_matrix(self.rotation @ now.T).magnitude())


def pose_target(
    inverse: Inverse, position: Sequence[float], frame: str = TIP, rotation: np.ndarray | None = None
) -> PoseTarget:
    """A target that an inverse can aim at.

    Raises:
        InputError: there is no such frame, a position of the wrong size, not finite, or out of all reach, or the
            orientation of a frame that has none.
    """
    frames = inverse.twin.frames
    if frame not in frames:
        raise InputError(f"target: there is no frame '{frame}': there are {', '.join(frames)}")
    if rotation is not None:
        frames[frame].rotation(inverse.twin)  # which says why there is none
    return PoseTarget(inverse.checked_target(position), frame, rotation)


def goals_of(inverse: Inverse, target: PoseTarget) -> list[Goal]:
    """What the inverse shall reach for a target; the tip's position comes with the body's posture, if it has one."""
    frame = inverse.twin.frames[target.frame]
    if target.rotation is not None:
        alike = REACHED / ALIGNED  # so that what is called reached weighs alike in both [m/rad]
        return [PositionGoal(frame, target.position), OrientationGoal(frame, target.rotation, alike)]
    return inverse.goals(target.position) if target.frame == TIP else [PositionGoal(frame, target.position)]


def rotation_of(frame: Frame, twin: Twin) -> np.ndarray | None:
    """(3, 3) how a frame is turned from the undeformed body; None where it is a point."""
    try:
        return frame.rotation(twin)
    except InputError:
        return None
