"""An emulated 3-D scanner: points with normals where its eyes see a surface, with noise and without correspondences.

Points are drawn evenly over the surface. One is seen by an eye that looks at it not too steeply, and if no triangle of
the surface is between the two. What nobody sees is a hole.
"""

from typing import TYPE_CHECKING

import numpy as np

from soft_twin.mesh.triangles import drawn

if TYPE_CHECKING:
    from soft_twin.descriptions.learning import Scanner

NEAR = 1e-6  # of the line of sight, by which a triangle has to be in front of a point to hide it


def scan(
    points: np.ndarray, triangles: np.ndarray, scanner: "Scanner", random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Points (k, 3) [m] and normals (k, 3) that are seen of a surface.

    Args:
        points, triangles: of the surface, (p, 3) [m] and (t, 3), outward.
        scanner: what it is like.
        random: its noise.
    """
    corners = points[triangles]
    x, normals = drawn(points, triangles, scanner.points, random)
    seen = np.zeros(len(x), bool)
    for eye in np.array(scanner.eyes):
        seen |= sees(eye, x, normals, corners, np.cos(np.radians(scanner.steepest_deg)))
    noisy = x + random.normal(0.0, scanner.noise, x.shape)
    return noisy[seen], normals[seen]


def sees(eye: np.ndarray, x: np.ndarray, normals: np.ndarray, corners: np.ndarray, least: float) -> np.ndarray:
    """(k,) which points an eye sees: Möller and Trumbore's intersection of every line of sight and triangle."""
    sight = x - eye
    facing = -(sight * normals).sum(axis=1) > least * np.linalg.norm(sight, axis=1)
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    away = eye - corners[:, 0]
    turned = np.cross(away, one)
    seen = facing.copy()
    for i in np.flatnonzero(facing):
        across = np.cross(sight[i], other)
        flat = np.abs(along := (one * across).sum(axis=1)) < 1e-15
        inverse = 1.0 / np.where(flat, 1.0, along)
        u, v = (away * across).sum(axis=1) * inverse, turned @ sight[i] * inverse
        distance = (other * turned).sum(axis=1) * inverse
        hit = ~flat & (u > 0.0) & (v > 0.0) & (u + v < 1.0) & (distance > NEAR) & (distance < 1.0 - 1e-4)
        seen[i] = not hit.any()
    return seen
