"""Rigid obstacles: signed distances and outward normals of planes, spheres, cylinders and boxes that may move.

An obstacle has a position (3,) [m] and a rotation (3, 3), both of which may be set at any time: a moving one is moved
before each step. Distances are positive outside.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from soft_twin.checks import check_positive, checked_numbers, checked_vector
from soft_twin.errors import InputError

DIFFERENCE = 1e-6  # [m]
ROUNDED = 2e-3  # by which the columns of a rotation may differ from unit vectors across each other
CUT = 1.0 / 60.0  # of the distance between points: what a flat face may cut off round sides
CUT_OF_RADIUS = 1.0 / 250.0
FLAT = 4.0  # times the distance between points: sides whose points may be as far apart are as good as flat


class Obstacle(ABC):
    """A rigid shape.

    Attributes:
        position: (3,) of its origin [m].
        rotation: (3, 3) from its own frame.

    Raises:
        InputError: when they are set, a position that is not three finite numbers, or no rotation.
    """

    def __init__(self, position: Sequence[float], rotation: np.ndarray | None = None):
        self.position, self.rotation = position, np.eye(3) if rotation is None else rotation

    @property
    def position(self) -> np.ndarray:
        return self._position

    @position.setter
    def position(self, value: Sequence[float]) -> None:
        self._position = checked_vector(value, 3, "obstacle's position")

    @property
    def rotation(self) -> np.ndarray:
        return self._rotation

    @rotation.setter
    def rotation(self, value: np.ndarray) -> None:
        turned = np.array(checked_numbers(value, "a rotation (3, 3)", "obstacle's rotation"))
        if turned.shape != (3, 3):
            raise InputError(f"obstacle's rotation: expected (3, 3) numbers, found an array of shape {turned.shape}")
        if not (np.abs(turned.T @ turned - np.eye(3)).max() < ROUNDED and np.linalg.det(turned) > 0.0):
            raise InputError(f"obstacle's rotation: {turned.tolist()} is no rotation")
        self._rotation = turned

    def distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signed distances (p,) [m] of points (p, 3), and unit normals (p, 3) along which they grow."""
        own = (points - self.position) @ self.rotation
        distances, normals = self._distance(own)
        return distances, normals @ self.rotation.T

    def gap(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What contact takes for the distance: the same on the shape, with the same sign, but beyond an edge from the
        planes and round sides that meet there, not from the edge. A point there has the normal of a side, and is free
        to slide back along it. As `distance`."""
        gaps, normals = self._gap((points - self.position) @ self.rotation)
        return gaps, normals @ self.rotation.T

    def curvature(self, points: np.ndarray) -> np.ndarray:
        """∂²g/∂x² (p, 3, 3) [1/m] of the gaps of points (p, 3)."""
        return self.rotation @ self._curvature((points - self.position) @ self.rotation) @ self.rotation.T

    def _gap(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`gap` in the obstacle's own frame."""
        return self._distance(points)

    def _curvature(self, points: np.ndarray) -> np.ndarray:
        """`curvature` in the obstacle's own frame, by central differences of the normals."""
        result = np.empty((len(points), 3, 3))
        for axis, shift in enumerate(DIFFERENCE * np.eye(3)):
            result[:, :, axis] = self._gap(points + shift)[1] - self._gap(points - shift)[1]
        return (result + result.swapaxes(1, 2)) / (4.0 * DIFFERENCE)

    def edge_points(self, spacing: float) -> tuple[np.ndarray, np.ndarray]:
        """Points (p, 3) [m] of the shape where it is not flat, and unit directions (p, 3) out of it there, both in the
        obstacle's own frame: on edges, no further from each other than `spacing`, and on round sides, where a flat face
        between points cuts off no more than a share of that."""
        return np.zeros((0, 3)), np.zeros((0, 3))

    @abstractmethod
    def _distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`distance` in the obstacle's own frame."""


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

    def _curvature(self, points):
        return np.zeros((len(points), 3, 3))


class Sphere(Obstacle):
    """A ball of some radius [m] around `position`."""

    def __init__(self, position: Sequence[float], radius: float):
        super().__init__(position)
        self.radius = _positive(radius, "sphere's radius")

    def _distance(self, points):
        length = np.linalg.norm(points, axis=1)
        return length - self.radius, points / np.maximum(length, 1e-12)[:, None]

    def edge_points(self, spacing):
        apart = np.sqrt(4.0 * self.radius * _sagitta(self.radius, spacing))  # of the corners of a square
        if apart > FLAT * spacing:
            return super().edge_points(spacing)
        rings = max(4, _pieces(np.pi * self.radius, apart))
        outward = []
        for angle in np.pi * (np.arange(rings) + 0.5) / rings:
            around = circle(self.radius * np.sin(angle), apart)
            outward.append(np.column_stack([np.sin(angle) * around, np.full(len(around), np.cos(angle))]))
        directions = np.concatenate(outward)
        return self.radius * directions, directions


class Cylinder(Obstacle):
    """A flat-ended cylinder: its own z is the axis, `position` its middle; radius and half length [m]."""

    def __init__(
        self, position: Sequence[float], radius: float, half_length: float, rotation: np.ndarray | None = None
    ):
        super().__init__(position, rotation)
        self.radius = _positive(radius, "cylinder's radius")
        self.half_length = _positive(half_length, "cylinder's half length")

    def _distance(self, points):
        return _from_depths(*self._depths(points))

    def _gap(self, points):
        return _deepest(*self._depths(points))

    def _curvature(self, points):
        depths, directions = self._depths(points)
        around = np.cross(directions[:, 0], [0.0, 0.0, 1.0])
        on_side = depths[:, 0] >= depths[:, 1]
        radial = np.maximum(np.linalg.norm(points[:, :2], axis=1), 1e-12)
        return (on_side / radial)[:, None, None] * around[:, :, None] * around[:, None, :]

    def _depths(self, points):
        radial = np.linalg.norm(points[:, :2], axis=1)
        outward = np.zeros_like(points)
        outward[:, :2] = points[:, :2] / np.maximum(radial, 1e-12)[:, None]
        along = np.zeros_like(points)
        along[:, 2] = np.where(points[:, 2] < 0.0, -1.0, 1.0)
        depths = np.column_stack([radial - self.radius, np.abs(points[:, 2]) - self.half_length])
        return depths, np.stack([outward, along], axis=1)

    def edge_points(self, spacing):
        apart = np.sqrt(8.0 * self.radius * _sagitta(self.radius, spacing))
        around = circle(self.radius, min(apart, spacing))
        between = 1 if apart > FLAT * spacing else _pieces(2.0 * self.half_length, spacing)
        heights = np.linspace(-self.half_length, self.half_length, between + 1)
        leaning = np.zeros(len(heights))
        leaning[[0, -1]] = -1.0, 1.0  # the rims' directions halve the angle between end and side
        places = [np.column_stack([self.radius * around, np.full(len(around), height)]) for height in heights]
        outward = [np.column_stack([around, np.full(len(around), lean)]) for lean in leaning]
        return np.concatenate(places), _unit(np.concatenate(outward))


class Box(Obstacle):
    """A box around `position` with half edge lengths (3,) [m] along its own axes."""

    def __init__(self, position: Sequence[float], half_size: Sequence[float], rotation: np.ndarray | None = None):
        super().__init__(position, rotation)
        self.half_size = checked_vector(half_size, 3, "box's half size")
        if not (self.half_size > 0.0).all():
            raise InputError(f"box's half size: {self.half_size.tolist()} m is not positive")

    def _distance(self, points):
        return _from_depths(*self._depths(points))

    def _gap(self, points):
        return _deepest(*self._depths(points))

    def _curvature(self, points):
        return np.zeros((len(points), 3, 3))

    def _depths(self, points):
        signs = np.where(points < 0.0, -1.0, 1.0)
        return np.abs(points) - self.half_size, signs[:, :, None] * np.eye(3)

    def edge_points(self, spacing):
        lines = [np.linspace(-1.0, 1.0, _pieces(2.0 * half, spacing) + 1) for half in self.half_size]
        shares = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
        at_end = np.abs(shares) == 1.0
        edges = at_end.sum(axis=1) >= 2
        return self.half_size * shares[edges], _unit(np.where(at_end, shares, 0.0)[edges])


def _deepest(depths: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest of the depths of `_from_depths`, and its direction."""
    nearest = depths.argmax(axis=1)
    every = np.arange(len(depths))
    return depths[every, nearest], directions[every, nearest]


def _from_depths(depths: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance and normal of a convex shape from how far (p, s) points lie outside each of its orthogonal slabs, with
    the slabs' outward directions (p, s, 3): beyond an edge to the edge, else to the nearest face."""
    outside = np.maximum(depths, 0.0)
    far = np.linalg.norm(outside, axis=1)
    inside = far == 0.0
    depth, face = _deepest(depths, directions)
    edge = np.einsum("ps,psi->pi", outside, directions) / np.maximum(far, 1e-300)[:, None]
    return np.where(inside, depth, far), np.where(inside[:, None], face, edge)


def _positive(value: float, what: str) -> float:
    check_positive(value, what, "m")
    return float(value)


def _sagitta(radius: float, spacing: float) -> float:
    """How much [m] of a round side a flat face may cut off."""
    return min(spacing * CUT, radius * CUT_OF_RADIUS)


def circle(radius: float, spacing: float) -> np.ndarray:
    """(p, 2) unit vectors to points around a circle of some radius, no further apart than `spacing`."""
    angles = np.linspace(0.0, 2.0 * np.pi, max(8, _pieces(2.0 * np.pi * radius, spacing)), endpoint=False)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _pieces(length: float, spacing: float) -> int:
    return max(1, int(np.ceil(length / spacing)))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]
