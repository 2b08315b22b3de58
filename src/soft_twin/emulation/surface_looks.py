"""What an emulated scanner and emulated motion capture see of an emulated surface, one look after the other."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soft_twin.emulation.motion_capture import capture, spread_markers
from soft_twin.emulation.scanner import scan
from soft_twin.emulation.surface_reality import SurfaceReality
from soft_twin.robots.fem_robot import FemRobot

if TYPE_CHECKING:
    from soft_twin.descriptions.learning import Learning


class Look(NamedTuple):
    """Of one shape.

    Attributes:
        points, normals: (k, 3) that the scanner sees [m].
        markers: (m, 3) where cameras see them [m], NaN where they do not; None: the description has none.
    """

    points: np.ndarray
    normals: np.ndarray
    markers: np.ndarray | None


class SurfaceLooks:
    """The reality of a description, and who looks at it; markers sit where they are all the time."""

    def __init__(self, robot: FemRobot, learning: "Learning", seed: int = 0):
        """
        Raises:
            DescriptionError, MeshError, ConvergenceError: the reality cannot be built so.
        """
        self._reality, self._learning = SurfaceReality(robot, learning), learning
        self._random, self._places = np.random.default_rng(seed), None
        if learning.markers is not None:
            at_rest = self._reality.shape(np.zeros(len(self._reality.leaks)))
            self._places = spread_markers(at_rest, self._reality.triangles, learning.markers.count, self._random)

    def at(self, pressures: np.ndarray, seconds: float = 0.0) -> Look:
        """So many seconds after the chambers got pressures (a,) [Pa].

        Raises:
            InputError, ConvergenceError: as `SurfaceReality.shape`.
        """
        points, triangles = self._reality.shape(pressures, seconds), self._reality.triangles
        seen, normals = scan(points, triangles, self._learning.scanner, self._random)
        if self._places is None:
            return Look(seen, normals, None)
        markers = capture(points, triangles, self._places, self._learning.markers, self._random)
        return Look(seen, normals, markers)
