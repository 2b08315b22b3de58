"""A tube around the sections of a slender body: the surface that is learned of twins that know sections alone."""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.mesh.triangles import grid_triangles

AROUND = 72  # points of a section: a multiple of the turns that bodies may be symmetric under


def circle(radius: float) -> np.ndarray:
    """(AROUND, 3) points around z, counter-clockwise seen from above."""
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    return radius * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(AROUND)])


def tube_triangles(sections: int) -> np.ndarray:
    """(t, 3) outward, between so many sections, one after the other from below."""
    wide = grid_triangles(sections, AROUND + 1)
    row, place = np.divmod(wide, AROUND + 1)
    return (row * AROUND + place % AROUND)[:, ::-1]


def tube_points(middles: np.ndarray, turns: Rotation, radius: float) -> np.ndarray:
    """(s AROUND, 3) points [m] of sections with middles (s, 3) [m] that are turned so."""
    around = np.einsum("sij,aj->sai", turns.as_matrix(), circle(radius))
    return (middles[:, None] + around).reshape(-1, 3)
