"""Obstacles from their descriptions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.mechanics.contact.lumen import Lumen
from soft_twin.mechanics.contact.obstacles import Box, Cylinder, Obstacle, Plane, Sphere
from soft_twin.robots.base import turned

if TYPE_CHECKING:
    from soft_twin.descriptions import obstacles as descriptions


def build_obstacle(description: "descriptions.Obstacle") -> Obstacle:
    """The rigid shape, where it stands."""
    return _SHAPES[description.kind](description)


def _cylinder(description: "descriptions.CylinderObstacle") -> Cylinder:
    axis = np.array(description.axis) / np.linalg.norm(description.axis)
    first = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    first /= np.linalg.norm(first)
    rotation = np.column_stack([first, np.cross(axis, first), axis])
    return Cylinder(description.point, description.radius, 0.5 * description.length, rotation)


_SHAPES: dict[str, Callable[..., Obstacle]] = {
    "plane": lambda plane: Plane(plane.point, plane.normal),
    "sphere": lambda sphere: Sphere(sphere.point, sphere.radius),
    "cylinder": _cylinder,
    "lumen": lambda lumen: Lumen(lumen.points, lumen.radii if len(lumen.radii) > 1 else lumen.radii[0], lumen.lip),
    "box": lambda box: Box(box.point, 0.5 * np.array(box.size), turned(box.rpy_deg)),
}
