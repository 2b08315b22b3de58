"""How far a predicted surface is from the true one."""

import numpy as np
from scipy.spatial import cKDTree

SUBDIVISION = 6  # of a triangle's sides, for samples of the true surface


def surface_distances(points: np.ndarray, surface: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(q,) distances of points (q, 3) to a surface: (p, 3), triangles (t, 3).

    To the nearest triangles' planes: those that the nearest samples of the surface lie on. A foot that falls beyond the
    sample's surroundings counts as far as the sample does.
    """
    corners = surface[triangles]
    samples = np.einsum("ks,tsd->tkd", _barycentric(SUBDIVISION), corners)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = across / np.linalg.norm(across, axis=1, keepdims=True)
    spacing = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max() / SUBDIVISION
    count = samples.shape[1]
    _, nearest = cKDTree(samples.reshape(-1, 3)).query(points)
    away = points - samples.reshape(-1, 3)[nearest]
    off = np.abs((away * normals[nearest // count]).sum(axis=1))
    beside = np.sqrt(np.maximum((away**2).sum(axis=1) - off**2, 0.0))
    return np.hypot(off, np.maximum(beside - spacing, 0.0))


def _barycentric(n: int) -> np.ndarray:
    """(k, 3) middles of the n² equal triangles that a triangle is cut into."""
    rows = []
    for i in range(n):
        for j in range(n - i):
            rows.append([i + 1 / 3, j + 1 / 3])
            if i + j < n - 1:
                rows.append([i + 2 / 3, j + 2 / 3])
    first = np.array(rows) / n
    return np.column_stack([1.0 - first.sum(axis=1), first])
