"""Surfaces of triangles: normals, and points drawn evenly over them."""

import numpy as np


def drawn(
    points: np.ndarray, triangles: np.ndarray, count: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(count, 3) points [m] drawn evenly over a surface (p, 3), (t, 3), and its normals there."""
    chosen, shares = drawn_places(points, triangles, count, random)
    x = np.einsum("ks,ksd->kd", shares, points[triangles[chosen]])
    normals = np.einsum("ks,ksd->kd", shares, vertex_normals(points, triangles)[triangles[chosen]])
    return x, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def drawn_places(
    points: np.ndarray, triangles: np.ndarray, count: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of triangles (count,) and shares of their corners (count, 3), evenly over a surface."""
    doubled = np.linalg.norm(_across(points, triangles), axis=1)
    return random.choice(len(triangles), count, p=doubled / doubled.sum()), random.dirichlet(np.ones(3), count)


def vertex_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(p, 3) of length 1: means of the triangles' around each point, by their areas; 0 of a point without any."""
    across = _across(points, triangles)
    total = np.zeros_like(points)
    for i in range(3):
        np.add.at(total, triangles[:, i], across)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)


def face_normals(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(t, 3) of length 1, 0 of a triangle without area; and the areas (t,) [m²]."""
    across = _across(points, triangles)
    doubled = np.linalg.norm(across, axis=1)
    return across / np.maximum(doubled, 1e-300)[:, None], 0.5 * doubled


def grid_triangles(rows: int, columns: int) -> np.ndarray:
    """(t, 3) between points on so many rows and columns, row by row; two of each cell."""
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    a, b, c, d = corner, corner + columns, corner + columns + 1, corner + 1
    return np.vstack([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def _across(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(t, 3) normals, as long as twice the triangles' areas."""
    corners = points[triangles]
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
