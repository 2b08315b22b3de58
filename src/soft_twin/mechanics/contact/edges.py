"""Points of an obstacle before the faces of a body, or in them: what the faces' nodes do not feel.

Each point of the obstacle's edges or round sides has a line along the direction out of the obstacle there, and a gap
where that meets a face of the body (lines.py), negative where the point is in the body.
"""

import numpy as np
from scipy.spatial import cKDTree

from soft_twin.mechanics.contact.lines import Faces, Met
from soft_twin.mechanics.contact.obstacles import Obstacle


class EdgeContacts:
    """Points of an obstacle's edges and round sides before some faces.

    Args:
        obstacle: whose they are.
        faces: (f, k) nodes of the faces, outward.
        spacing: largest distance [m] between neighbours; infinite: there are none.
        reach: how far [m] from the faces points are looked for, on either side.

    Attributes:
        faces: (f, k), those given; none where there are no points.
        count: number of pairs of a point and a face.
    """

    def __init__(self, obstacle: Obstacle, faces: np.ndarray, spacing: float, reach: float):
        self.obstacle, self.spacing = obstacle, spacing
        self._points, self._directions = obstacle.edge_points(spacing) if np.isfinite(spacing) else np.zeros((2, 0, 3))
        self.faces = faces if len(self._points) else faces[:0]
        self.count = len(self._points) * len(self.faces)
        self._lines, self._tree = Faces(self.faces, reach), cKDTree(self._points)
        self._last: tuple[np.ndarray, np.ndarray, Met] | None = None

    def meet(self, x: np.ndarray) -> Met:
        """Where the points' lines meet the faces of nodes at x (n, 3)."""
        corners, pose = x[self.faces], np.vstack([self.obstacle.position, self.obstacle.rotation])
        if self._last is None or not all(map(np.array_equal, self._last[:2], (corners, pose))):
            self._last = corners, pose, self._meet(corners)
        return self._last[2]

    def _meet(self, corners: np.ndarray) -> Met:
        position, rotation = self.obstacle.position, self.obstacle.rotation
        points, faces = self._lines.near((corners - position) @ rotation, self._tree)
        starts, directions = position + self._points[points] @ rotation.T, self._directions[points] @ rotation.T
        return self._lines.first(*self._lines.meet(corners, points, faces, starts, directions))

    def keys(self, met: Met) -> np.ndarray:
        """(m,) numbers of the pairs, below `count`."""
        return met.points * len(self.faces) + met.faces

    def face_of(self, keys: np.ndarray) -> np.ndarray:
        """(m,) faces of pairs with some numbers (m,)."""
        return keys % max(len(self.faces), 1)

    def curvature(self, met: Met, x: np.ndarray) -> np.ndarray:
        """∂²g/∂x² (m, k, k, 3, 3) by the nodes of the faces."""
        return self._lines.curvature(met, x)
