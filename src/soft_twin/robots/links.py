"""Links of a robot: frames, and how they hang on each other."""

from dataclasses import dataclass, field

import numpy as np

BASE, TIP = "base_link", "tip_link"


@dataclass(frozen=True)
class Solid:
    """What a link looks like: a box, or a cylinder along z.

    Attributes:
        size: (3,) along the link's axes [m].
        centre: (3,) in the link's frame [m].
        round: it is a cylinder.
    """

    size: np.ndarray
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))
    round: bool = False


@dataclass(frozen=True)
class Link:
    """A link.

    Attributes:
        name, parent: of frames.
        place: (3,) at rest in its parent's frame [m].
        rotation: (3, 3) at rest, from its own frame to its parent's.
        moves: against its parent, as the twin deforms.
        solid: what is drawn of it; None: nothing.
    """

    name: str
    parent: str
    place: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    moves: bool = False
    solid: Solid | None = None


def plate_link(plate: str) -> str:
    """The link of a rigid plate, by its name."""
    return f"{plate}_plate"


def imu_link(imu: str) -> str:
    """The link of an IMU that is not the one in the base, by its name."""
    return f"{imu}_imu"
