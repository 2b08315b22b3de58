"""Meshes of voxels: equal hexahedra, or six tetrahedra each, where a grid is occupied."""

from collections.abc import Mapping
from itertools import permutations

import numpy as np

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError, MeshError
from soft_twin.mesh.elements import Element, element_named
from soft_twin.mesh.generate.hollows import surfaces_of_block
from soft_twin.mesh.mesh import Mesh, make_mesh


def voxel_mesh(
    occupied: np.ndarray, size: float | np.ndarray, element: str = "hex8", labels: Mapping[int, str] | None = None
) -> Mesh:
    """The occupied voxels of a grid, the grid's corner (0, 0, 0) at the origin.

    Its surfaces are "base" and "tip" (the outer faces at the lowest and highest z), "outside" (the other outer ones)
    and "chamber 1", … (closed hollows, the largest first).

    Args:
        occupied: (nx, ny, nz), bool, or integers that are 0 where there is nothing.
        size: edge length of a voxel [m], or three of them.
        element: of hexahedra, or of tetrahedra, into which every voxel is cut alike around its diagonal (Kuhn 1960).
        labels: name of the volume of each integer that has one.

    Raises:
        InputError: other sizes than these.
        MeshError: nothing is occupied, parts hang together with nothing, or a label is not in the grid.
    """
    occupied, cell = np.asarray(occupied), element_named(element)
    edges = checked_numbers(size, "one edge length [m] or three", "voxels")
    if edges.shape not in ((), (3,)):
        raise InputError(f"voxels: expected one edge length [m] or three, found an array of shape {edges.shape}")
    if occupied.ndim != 3 or not occupied.any():
        raise MeshError(f"voxels: expected a grid (nx, ny, nz) with some occupied, found {occupied.shape}")
    places, pattern = np.argwhere(occupied), _pattern(cell)
    half_cells = 2 * places[:, None, None] + pattern
    keys = np.ravel_multi_index(np.moveaxis(half_cells, -1, 0), [2 * n + 1 for n in occupied.shape])
    unique, cells = np.unique(keys, return_inverse=True)
    grid = np.column_stack(np.unravel_index(unique, [2 * n + 1 for n in occupied.shape]))
    values = np.repeat(occupied[tuple(places.T)], len(pattern))
    cells = cells.reshape(-1, pattern.shape[1])
    mesh = make_mesh(0.5 * grid * edges, cells, cell, "voxels", _volumes(values, labels or {}))
    return Mesh(mesh.nodes, mesh.cells, cell, mesh.volumes, surfaces_of_block(mesh))


def _pattern(element: Element) -> np.ndarray:
    """The nodes (c, k, 3) of a voxel's cells, in half edges."""
    if element.corners_per_face == 4:
        return np.round(element.nodes + 1.0).astype(int)[None]
    ways = [np.cumsum([[0, 0, 0], *np.eye(3, dtype=int)[list(order)]], axis=0) for order in permutations(range(3))]
    positive = [way if np.linalg.det(way[1:]) > 0.0 else way[[0, 2, 1, 3]] for way in ways]
    shape = np.column_stack([1.0 - element.nodes.sum(axis=1), element.nodes])
    return np.round(2.0 * shape @ np.array(positive)).astype(int)


def _volumes(values: np.ndarray, labels: Mapping[int, str]) -> dict[str, np.ndarray]:
    missing = [f"{number} ('{name}')" for number, name in labels.items() if number not in values]
    if missing:
        there = ", ".join(str(int(value)) for value in np.unique(values))
        raise MeshError(f"voxels: no voxel has label {', '.join(missing)}: there are {there}")
    return {name: values == number for number, name in labels.items()}
