"""Parts of a mesh chosen by place: faces by centre and normal, nodes by position, closed shells of the surface."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from soft_twin.errors import MeshError
from soft_twin.mesh.mesh import Mesh, boundary_faces, split_faces


def surface_of(mesh: Mesh, chosen: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """The outer faces (f, k_face) that `chosen(centres (b, 3) [m], outward unit normals (b, 3)) -> (b,) bool` takes.

    Raises:
        MeshError: it takes none.
    """
    faces = boundary_faces(mesh)
    taken = np.asarray(chosen(*centres_and_normals(mesh, faces)), dtype=bool)
    if not taken.any():
        raise MeshError(f"none of the {len(faces)} outer faces is chosen: the mesh spans {_span(mesh)}")
    return faces[taken]


def nodes_where(mesh: Mesh, chosen: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Indices (g,) of the nodes that `chosen(positions (n, 3) [m]) -> (n,) bool` takes.

    Raises:
        MeshError: it takes none.
    """
    taken = np.flatnonzero(chosen(mesh.nodes))
    if not len(taken):
        raise MeshError(f"none of the {len(mesh.nodes)} nodes is chosen: the mesh spans {_span(mesh)}")
    return taken


def centres_and_normals(mesh: Mesh, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the corners (f, 3) [m] and outward unit normals (f, 3) of faces (f, k_face)."""
    corners = mesh.nodes[faces[:, : mesh.element.corners_per_face]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if corners.shape[1] == 4:
        normals = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    return corners.mean(axis=1), normals / np.linalg.norm(normals, axis=1)[:, None]


def shells(mesh: Mesh) -> list[np.ndarray]:
    """The faces (f, k_face) of each closed part of the surface: the outside first, then closed chambers, by size."""
    faces = boundary_faces(mesh)
    corners = faces[:, : mesh.element.corners_per_face]
    first = np.repeat(corners[:, 0], corners.shape[1] - 1)
    links = coo_matrix((np.ones(len(first)), (first, corners[:, 1:].ravel())), shape=(len(mesh.nodes),) * 2)
    _, labels = connected_components(links.tocsr(), directed=False)
    parts = [faces[labels[corners[:, 0]] == label] for label in np.unique(labels[corners[:, 0]])]
    return sorted(parts, key=lambda part: -abs(enclosed_volume(mesh.nodes, part)))


def surfaces_around_z(mesh: Mesh) -> dict[str, np.ndarray]:
    """The outer faces of a body of revolution around z, by name: "base" and "tip" (at the ends of z), "outside" (what
    looks away from the axis), "lumen" (what looks to it) and "steps" (what is level between); those that there are."""
    faces = boundary_faces(mesh)
    centres, normals = centres_and_normals(mesh, faces)
    z = centres[:, 2]
    margin = 1e-6 * np.ptp(z)
    low, high = z < z.min() + margin, z > z.max() - margin
    outward = np.einsum("fi,fi->f", centres[:, :2], normals[:, :2])
    level = np.abs(normals[:, 2]) > 0.9
    parts = {
        "base": low,
        "tip": high,
        "outside": ~level & (outward > 0.0),
        "lumen": ~level & (outward < 0.0),
        "steps": level & ~low & ~high,
    }
    return {name: faces[chosen] for name, chosen in parts.items() if chosen.any()}


def enclosed_volume(nodes: np.ndarray, faces: np.ndarray) -> float:
    """Volume [m³] enclosed by outward faces (f, k_face) of a closed surface; negative of a chamber's, outward of the
    body."""
    a, b, c = np.moveaxis(nodes[split_faces(faces)] - nodes[faces[0, 0]], 1, 0)
    return float(np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0)


def _span(mesh: Mesh) -> str:
    low, high = 1e3 * mesh.nodes.min(axis=0), 1e3 * mesh.nodes.max(axis=0)
    return ", ".join(f"{axis} {a:.4g}…{b:.4g}" for axis, a, b in zip("xyz", low, high, strict=True)) + " mm"
