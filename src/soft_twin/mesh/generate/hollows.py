"""Hollows: cells that are left out of a mesh, and the surfaces around them."""

from collections.abc import Sequence

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.mesh.mesh import Mesh, boundary_faces, make_mesh
from soft_twin.mesh.selection import centres_and_normals, shells


def hollowed(mesh: Mesh, hollows: Sequence[tuple[str | None, np.ndarray]], name: str = "hollowed mesh") -> Mesh:
    """A mesh without the cells of its hollows.

    Its surfaces are what is left of the mesh's own, "chamber 1", … for closed hollows (the largest first), and one of
    each name that hollows have: all outer faces between nodes of the cells that they took. Those of one name are one.

    Args:
        mesh: the whole one.
        hollows: names, and masks (m,) of the cells that are taken.
        name: what errors call the result.

    Raises:
        MeshError: a hollow is called like a surface of the mesh's own, nothing is left, or parts of it do not hang
            together.
    """
    if known := next((key for key, _ in hollows if key in mesh.surfaces), None):
        own = ", ".join(mesh.surfaces)
        raise MeshError(f"{name}: '{known}' is a surface of its own, as are {own}: call the hollow otherwise")
    taken = np.zeros(len(mesh.cells), dtype=bool)
    for _, cells in hollows:
        taken |= cells
    if taken.all():
        raise MeshError(f"{name}: its hollows leave no cell")
    volumes = {key: np.isin(np.flatnonzero(~taken), cells) for key, cells in mesh.volumes.items()}
    rest = make_mesh(mesh.nodes, mesh.cells[~taken], mesh.element, name, volumes)
    faces = boundary_faces(rest)
    whole = np.unique(mesh.cells[~taken])[faces]  # the same faces in the numbers of the whole mesh's nodes
    parts = {key: faces[_are_among(whole, own, len(mesh.nodes))] for key, own in mesh.surfaces.items()}
    parts |= {f"chamber {i + 1}": chamber for i, chamber in enumerate(shells(rest)[1:])}
    for key in dict.fromkeys(key for key, _ in hollows if key is not None):
        nodes = np.unique(np.concatenate([mesh.cells[cells].ravel() for other, cells in hollows if other == key]))
        parts[key] = faces[np.isin(whole, nodes).all(axis=1)]
    filled = {key: part for key, part in parts.items() if len(part)}
    return Mesh(rest.nodes, rest.cells, rest.element, rest.volumes, filled)


def surfaces_of_block(mesh: Mesh) -> dict[str, np.ndarray]:
    """The outer faces of any body by name: "base" and "tip" at the lowest and highest z, "outside", and "chamber 1", …
    for closed hollows, the largest first."""
    faces = boundary_faces(mesh)
    chambers = shells(mesh)[1:]
    hollow = np.concatenate([np.zeros(0, np.int64), *(chamber.ravel() for chamber in chambers)])
    inner = np.isin(faces[:, 0], hollow)
    centres, normals = centres_and_normals(mesh, faces)
    z, low, high = centres[:, 2], mesh.nodes[:, 2].min(), mesh.nodes[:, 2].max()
    margin = 1e-6 * (high - low)
    base, tip = z < low + margin, z > high - margin
    parts = {"base": faces[base], "tip": faces[tip], "outside": faces[~(base | tip | inner)]}
    return parts | {f"chamber {i + 1}": chamber for i, chamber in enumerate(chambers)}


def _are_among(faces: np.ndarray, others: np.ndarray, count: int) -> np.ndarray:
    """(f,) which of the faces (f, k) are among others (g, k), whatever their order around; nodes are below `count`."""
    keys = [np.sort(each, axis=1)[:, :3] @ [count**2, count, 1] for each in (faces, others)]
    return np.isin(*keys)
