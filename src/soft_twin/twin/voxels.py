"""Meshes of voxels: equal hexahedra where a grid is occupied."""

from collections.abc import Mapping

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.twin.elements import element_named
from soft_twin.twin.mesh import Mesh, boundary_faces, make_mesh
from soft_twin.twin.selection import centres_and_normals, shells


def voxel_mesh(
    occupied: np.ndarray, size: float | np.ndarray, element: str = "hex8", labels: Mapping[int, str] | None = None
) -> Mesh:
    """The occupied voxels of a grid, the grid's corner (0, 0, 0) at the origin.

    Its surfaces are "base" and "tip" (the outer faces at the lowest and highest z), "outside" (the other outer ones)
    and "chamber 1", … (closed hollows, the largest first).

    Args:
        occupied: (nx, ny, nz), bool, or integers that are 0 where there is nothing.
        size: edge length of a voxel [m], or three of them.
        element: "hex8", "hex20", "hex20r", …
        labels: name of the volume of each integer that has one.

    Raises:
        MeshError: nothing is occupied, parts hang together with nothing, or a label is not in the grid.
    """
    occupied, hexahedron = np.asarray(occupied), element_named(element)
    if occupied.ndim != 3 or not occupied.any() or hexahedron.corners_per_face != 4:
        raise MeshError(
            f"voxels: expected a grid (nx, ny, nz) with some occupied and hexahedra, found {occupied.shape}"
        )
    places = np.argwhere(occupied)
    half_cells = 2 * places[:, None] + np.round(hexahedron.nodes + 1.0).astype(int)
    keys = np.ravel_multi_index(np.moveaxis(half_cells, -1, 0), [2 * n + 1 for n in occupied.shape])
    unique, cells = np.unique(keys, return_inverse=True)
    grid = np.column_stack(np.unravel_index(unique, [2 * n + 1 for n in occupied.shape]))
    volumes = _volumes(occupied[tuple(places.T)], labels or {})
    mesh = make_mesh(0.5 * grid * size, cells.reshape(keys.shape), hexahedron, "voxels", volumes)
    return Mesh(mesh.nodes, mesh.cells, hexahedron, mesh.volumes, _surfaces(mesh))


def _volumes(values: np.ndarray, labels: Mapping[int, str]) -> dict[str, np.ndarray]:
    missing = [f"{number} ('{name}')" for number, name in labels.items() if number not in values]
    if missing:
        there = ", ".join(str(int(value)) for value in np.unique(values))
        raise MeshError(f"voxels: no voxel has label {', '.join(missing)}: there are {there}")
    return {name: values == number for number, name in labels.items()}


def _surfaces(mesh: Mesh) -> dict[str, np.ndarray]:
    faces = boundary_faces(mesh)
    chambers = shells(mesh)[1:]
    inner = (
        np.isin(faces[:, 0], np.concatenate([c.ravel() for c in chambers])) if chambers else np.zeros(len(faces), bool)
    )
    centres, normals = centres_and_normals(mesh, faces)
    z, low, high = centres[:, 2], mesh.nodes[:, 2].min(), mesh.nodes[:, 2].max()
    margin = 1e-6 * (high - low)
    base, tip = z < low + margin, z > high - margin
    parts = {"base": faces[base], "tip": faces[tip], "outside": faces[~(base | tip | inner)]}
    return parts | {f"chamber {i + 1}": chamber for i, chamber in enumerate(chambers)}
