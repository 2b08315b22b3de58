"""Rigid obstacles: signed distances and outward normals of planes, spheres, cylinders and boxes that may move.

An obstacle has a position (3,) [m] and a rotation (3, 3), both of which may be set at any time: a moving one is moved
before each step. Distances are positive outside.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from soft_twin.errors import InputError
from soft_twin.twin.base import checked_vector

DIFFERENCE = 1e-6  # [m]


class Obstacle(ABC):
    """A rigid shape.

    Attributes:
        position: (3,) of its origin [m].
        rotation: (3, 3) from its own frame.
    """

    def __init__(self, position: Sequence[float], rotation: np.ndarray | None = None):
        self.position = checked_vector(position, 3, "obstacle's position")
        self.rotation = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)

    def distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signed distances (p,) [m] of points (p, 3), and unit normals (p, 3) along which they grow."""
        own = (points - self.position) @ self.rotation
        distances, normals = self._distance(own)
        return distances, normals @ self.rotation.T

    def curvature(self, points: np.ndarray) -> np.ndarray:
        """∂²d/∂x² (p, 3, 3) [1/m] of the distances of points (p, 3), by central differences of the normals."""
        result = np.empty((len(points), 3, 3))
        for axis, shift in enumerate(DIFFERENCE * np.eye(3)):
            result[:, :, axis] = self.distance(points + shift)[1] - self.distance(points - shift)[1]
        return (result + result.swapaxes(1, 2)) / (4.0 * DIFFERENCE)

    @abstractmethod
    def _distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same in the obstacle's own frame."""


class Plane(Obstacle):
    """The half space below a plane through `position` with an outward `normal` (3,)."""

    def __init__(self, position: Sequence[float], normal: Sequence[float]):
        super().__init__(position)
        normal = checked_vector(normal, 3, "plane's normal")
        length = float(np.linalg.norm(normal))
        if length == 0.0:
            raise InputError("plane's normal: is zero")
        self.normal = normal / length

    def _distance(self, points):
        return points @ self.normal, np.tile(self.normal, (len(points), 1))


class Sphere(Obstacle):
    """A ball of some radius [m] around `position`."""

    def __init__(self, position: Sequence[float], radius: float):
        super().__init__(position)
        self.radius = _positive(radius, "sphere's radius")

    def _distance(self, points):
        length = np.linalg.norm(points, axis=1)
        return length - self.radius, points / np.maximum(length, 1e-12)[:, None]


class Cylinder(Obstacle):
    """A flat-ended cylinder: its own z is the axis, `position` its middle; radius and half length [m]."""

    def __init__(
        self, position: Sequence[float], radius: float, half_length: float, rotation: np.ndarray | None = None
    ):
        super().__init__(position, rotation)
        self.radius, self.half_length = _positive(radius, "radius"), _positive(half_length, "half length")

    def _distance(self, points):
        radial = np.linalg.norm(points[:, :2], axis=1)
        outward = np.zeros_like(points)
        outward[:, :2] = points[:, :2] / np.maximum(radial, 1e-12)[:, None]
        along = np.zeros_like(points)
        along[:, 2] = np.where(points[:, 2] < 0.0, -1.0, 1.0)
        depths = np.column_stack([radial - self.radius, np.abs(points[:, 2]) - self.half_length])
        return _from_depths(depths, np.stack([outward, along], axis=1))


class Box(Obstacle):
    """A box around `position` with half edge lengths (3,) [m] along its own axes."""

    def __init__(self, position: Sequence[float], half_size: Sequence[float], rotation: np.ndarray | None = None):
        super().__init__(position, rotation)
        self.half_size = checked_vector(half_size, 3, "box's half size")
        if not (self.half_size > 0.0).all():
            raise InputError(f"box's half size: {self.half_size.tolist()} m is not positive")

    def _distance(self, points):
        signs = np.where(points < 0.0, -1.0, 1.0)
        return _from_depths(np.abs(points) - self.half_size, signs[:, :, None] * np.eye(3))


def _from_depths(depths: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance and normal of a convex shape from how far (p, s) points lie outside each of its orthogonal slabs, with
    the slabs' outward directions (p, s, 3): beyond an edge to the edge, else to the nearest face."""
    outside = np.maximum(depths, 0.0)
    far = np.linalg.norm(outside, axis=1)
    inside = far == 0.0
    nearest = depths.argmax(axis=1)
    face = directions[np.arange(len(depths)), nearest]
    edge = np.einsum("ps,psi->pi", outside, directions) / np.maximum(far, 1e-300)[:, None]
    return np.where(inside, depths.max(axis=1), far), np.where(inside[:, None], face, edge)


def _positive(value: float, what: str) -> float:
    if not value > 0.0:
        raise InputError(f"{what}: {value:g} m is not positive")
    return float(value)
