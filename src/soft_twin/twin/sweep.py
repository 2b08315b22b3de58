"""Swept meshes of tubes with quadratic hexahedra: curved around the axis, straight along it."""

import numpy as np

from soft_twin.twin.elements import element_named
from soft_twin.twin.mesh import Mesh, make_mesh


def sweep_tube(
    inner: float, outer: float, length: float, divisions: tuple[int, int, int], element: str = "hex20r"
) -> Mesh:
    """A tube around +z from z = 0, of radii `inner` and `outer` [m], in `divisions` cells radial, around, along.

    Mid-side nodes lie on the arcs, so that the volume converges with the fourth power of the angle.
    """
    radial, around, along = divisions
    hexahedron = element_named(element)
    cell = np.stack(np.meshgrid(*(np.arange(d) for d in divisions), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    grid = 2 * cell + np.round(hexahedron.nodes + 1.0).astype(int)  # (m, k, 3) on the grid of half cells
    grid[..., 1] %= 2 * around
    half_cells, cells = np.unique(grid.reshape(-1, 3), axis=0, return_inverse=True)
    r = inner + (outer - inner) * half_cells[:, 0] / (2 * radial)
    angle = np.pi * half_cells[:, 1] / around
    z = length * half_cells[:, 2] / (2 * along)
    nodes = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
    return make_mesh(nodes, cells.reshape(grid.shape[:2]), hexahedron, "swept tube")
