"""Meshes: nodes and cells of one element type, read and written through meshio, checked before they are used."""

from dataclasses import dataclass
from pathlib import Path

import meshio
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from soft_twin.errors import MeshError
from soft_twin.twin.elements import Element

MAX_FILE_SIZE = 500_000_000  # [bytes]


@dataclass(frozen=True)
class Mesh:
    """Nodes (n, 3) [m] and cells (m, k) of one element."""

    nodes: np.ndarray
    cells: np.ndarray
    element: Element

    @property
    def size(self) -> np.ndarray:
        """Edge lengths (3,) of the bounding box [m]."""
        return np.ptp(self.nodes, axis=0)


def read_mesh(path: str | Path, element: Element) -> Mesh:
    """The cells of `element`'s type in a mesh file (.msh, .vtk, .vtu, …), checked.

    Raises:
        MeshError: missing, unreadable, without such cells, or broken (see `check_mesh`).
    """
    path = Path(path)
    if not path.is_file():
        raise MeshError(f"no mesh at '{path}': make the robot's meshes by `soft-twin mesh ROBOT`")
    if path.stat().st_size > MAX_FILE_SIZE:
        raise MeshError(f"mesh '{path}' is larger than {MAX_FILE_SIZE} bytes")
    try:
        content = meshio.read(path)
    except (Exception, SystemExit) as error:  # meshio's readers raise anything on a broken file, and exit on some
        raise MeshError(
            f"mesh '{path}' is not readable: {' '.join(str(error).split()) or type(error).__name__}"
        ) from error
    blocks = [block.data for block in content.cells if block.type == element.cell_type]
    if not blocks:
        found = ", ".join(sorted({block.type for block in content.cells})) or "nothing"
        raise MeshError(f"mesh '{path}' has no {element.cell_type} cells for element {element.name}: it has {found}")
    return make_mesh(content.points, np.vstack(blocks), element, str(path))


def make_mesh(nodes: np.ndarray, cells: np.ndarray, element: Element, name: str = "mesh") -> Mesh:
    """A checked mesh from arrays; nodes that no cell uses are dropped.

    Raises:
        MeshError: wrong shapes, or broken (see `check_mesh`).
    """
    nodes, cells = np.asarray(nodes, dtype=float), np.asarray(cells, dtype=np.int64)
    k = len(element.nodes)
    if nodes.ndim != 2 or nodes.shape[1] != 3 or cells.ndim != 2 or cells.shape[1] != k or not len(cells):
        raise MeshError(
            f"{name}: expected nodes (n, 3) and cells (m, {k}) for {element.name}, found {nodes.shape}, {cells.shape}"
        )
    if cells.min() < 0 or cells.max() >= len(nodes):
        raise MeshError(f"{name}: cells name nodes {cells.min()}…{cells.max()}, there are {len(nodes)}")
    used, renumbered = np.unique(cells, return_inverse=True)
    mesh = Mesh(np.ascontiguousarray(nodes[used]), renumbered.reshape(cells.shape), element)
    check_mesh(mesh, name)
    return mesh


def write_mesh(mesh: Mesh, path: str | Path) -> None:
    """Write the mesh in the format of the path's suffix."""
    file_format = "gmsh" if Path(path).suffix == ".msh" else None
    meshio.Mesh(mesh.nodes, [(mesh.element.cell_type, mesh.cells)]).write(path, file_format=file_format)


def check_mesh(mesh: Mesh, name: str) -> None:
    """Refuse a mesh with nodes that are not finite, inverted or sliver cells, or parts that do not hang together.

    Raises:
        MeshError: with the numbers.
    """
    if not np.isfinite(mesh.nodes).all():
        raise MeshError(f"{name}: node {int(np.argmin(np.isfinite(mesh.nodes).all(axis=1)))} is not finite")
    determinants = jacobians(mesh)[1]
    inverted = np.flatnonzero((determinants <= 0.0).any(axis=1))
    if len(inverted):
        raise MeshError(
            f"{name}: {len(inverted)} of {len(mesh.cells)} cells are inverted or flat, the first is {inverted[0]}"
        )
    quality = determinants.min(axis=1) ** (1 / 3) / np.ptp(mesh.nodes[mesh.cells], axis=1).max(axis=1)
    if quality.min() < 1e-3:
        raise MeshError(
            f"{name}: cell {int(quality.argmin())} is a sliver (volume^(1/3) is {quality.min():.1e} of its size)"
        )
    parts, labels = connected_components(_adjacency(mesh), directed=False)
    if parts > 1:
        raise MeshError(
            f"{name}: {parts} parts hang together with nothing; the smallest has {np.bincount(labels).min()} nodes"
        )


def check_unit(mesh: Mesh, expected: np.ndarray, name: str) -> None:
    """Refuse a mesh whose bounding box is far from (3,) `expected` [m]: most likely another unit.

    Raises:
        MeshError: with both sizes and, where it fits, the unit that the file seems to be in.
    """
    ratio = np.linalg.norm(mesh.size) / np.linalg.norm(expected)
    if 0.8 < ratio < 1.25:
        return
    unit = {1000.0: "millimetres", 100.0: "centimetres", 39.37: "inches"}
    guess = next(
        (f": the file seems to be in {name}, scale it to metres" for s, name in unit.items() if 0.8 < ratio / s < 1.25),
        "",
    )
    size, right = (" x ".join(f"{v:.4g}" for v in values) for values in (mesh.size, expected))
    raise MeshError(f"{name}: measures {size} m, the description says {right} m{guess}")


def jacobians(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """∂X/∂ξ (m, q, 3, 3) at the quadrature points and its determinants (m, q)."""
    gradients = mesh.element.gradients(mesh.element.points)
    matrices = np.einsum("mki,qkj->mqij", mesh.nodes[mesh.cells], gradients)
    return matrices, np.linalg.det(matrices)


def surface_triangles(mesh: Mesh) -> np.ndarray:
    """Triangles (t, 3) of the outer surface, outward, with quadratic faces split at their mid-side nodes."""
    corners = mesh.element.corners_per_face
    faces = np.vstack([mesh.cells[:, list(face)] for face in mesh.element.faces])
    _, first, count = np.unique(np.sort(faces[:, :corners], axis=1), axis=0, return_index=True, return_counts=True)
    outer = faces[np.sort(first[count == 1])]
    pattern = _FACE_TRIANGLES[outer.shape[1]]
    return outer[:, pattern].reshape(-1, 3)


_FACE_TRIANGLES = {
    3: [[0, 1, 2]],
    4: [[0, 1, 2], [0, 2, 3]],
    6: [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]],
    8: [[0, 4, 7], [4, 1, 5], [5, 2, 6], [6, 3, 7], [4, 5, 7], [5, 6, 7]],
}


def _adjacency(mesh: Mesh):
    n, k = len(mesh.nodes), mesh.cells.shape[1]
    first = np.repeat(mesh.cells[:, :1], k - 1, axis=1).ravel()
    return coo_matrix((np.ones(len(first)), (first, mesh.cells[:, 1:].ravel())), shape=(n, n)).tocsr()
