"""Meshes of other elements cut into linear tetrahedra, for simulators that know no other."""

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.mesh.elements import Element, element_named
from soft_twin.mesh.mesh import Mesh, boundary_faces, make_mesh

NOTHING = 1e-9  # of a shape function
# Four corners, and the octahedron between them around the diagonal from the middle of edge 01 to that of 23.
_OF_TET10 = np.array(
    [[0, 4, 6, 7], [4, 1, 5, 8], [6, 5, 2, 9], [7, 8, 9, 3], [4, 9, 7, 8], [4, 9, 8, 5], [4, 9, 5, 6], [4, 9, 6, 7]]
)


def linear_tetrahedra(mesh: Mesh, pieces: int = 2) -> Mesh:
    """The same body in 4-node tetrahedra; names of volumes, surfaces and groups stay.

    A hexahedron becomes `pieces`³ smaller ones, on its own curves, and each of those twelve tetrahedra around its
    middle; each side is cut along the diagonal from its lowest node, so that neighbours agree. A 10-node tetrahedron
    becomes eight.

    Args:
        mesh: of any element; one of linear tetrahedra is returned as it is.
        pieces: into which each edge of a hexahedron is cut.

    Raises:
        MeshError: no piece, or what becomes of a cell that bends much is inverted: another mesh is needed.
    """
    if pieces < 1:
        raise MeshError(f"tetrahedra: an edge is cut into 1 piece or more, not {pieces}")
    corners = mesh.element.corners_per_face
    if corners == 3 and mesh.cells.shape[1] == 4:
        return mesh
    places = mesh.element.nodes if corners == 3 else _lattice(pieces)
    nodes, numbers, members = _placed(mesh, places)
    cells = numbers[:, _OF_TET10].reshape(-1, 4) if corners == 3 else _around_middles(numbers, pieces)
    each = len(cells) // len(mesh.cells)
    volumes = {name: (each * own[:, None] + np.arange(each)).ravel() for name, own in mesh.volumes.items()}
    groups = {name: members(own) for name, own in mesh.groups.items()}
    sides = boundary_faces(Mesh(nodes, cells, element_named("tet4")))
    surfaces = {name: sides[members(np.unique(own))[sides].all(axis=1)] for name, own in mesh.surfaces.items()}
    return make_mesh(nodes, cells, element_named("tet4"), "tetrahedra", volumes, surfaces, groups)


def _lattice(pieces: int) -> np.ndarray:
    """Reference coordinates of a hexahedron's lattice ((pieces + 1)³, 3), and behind them of its pieces' middles."""
    ends = np.linspace(-1.0, 1.0, pieces + 1)
    grids = [np.stack(np.meshgrid(*[each] * 3, indexing="ij"), axis=-1) for each in (ends, ends[:-1] + 1.0 / pieces)]
    return np.concatenate([grid.reshape(-1, 3) for grid in grids])


def _placed(mesh: Mesh, places: np.ndarray):
    """Nodes (n, 3), the number (m, p) of each of the cells' `places` (p, 3) among them, and what tells which of them
    lie where only given nodes of the mesh have a say, as on a face: (n,) bool."""
    values = mesh.element.values(places)
    values[np.abs(values) < NOTHING] = 0.0
    marks = np.random.default_rng(0).normal(size=(len(mesh.nodes), 2))  # places are one where the same nodes make them
    keys = np.einsum("pk,mkc->mpc", values, marks[mesh.cells]).reshape(-1, 2)
    _, first, numbers = np.unique(np.round(keys, 8), axis=0, return_index=True, return_inverse=True)
    points = np.einsum("pk,mki->mpi", values, mesh.nodes[mesh.cells]).reshape(-1, 3)
    cell, place = np.divmod(first, len(places))
    makers, counts = mesh.cells[cell], values[place] != 0.0

    def members(own: np.ndarray) -> np.ndarray:
        within = np.zeros(len(mesh.nodes), dtype=bool)
        within[own] = True
        return (within[makers] | ~counts).all(axis=1)

    return points[first], numbers.reshape(len(mesh.cells), len(places)), members


def _around_middles(numbers: np.ndarray, pieces: int) -> np.ndarray:
    """Tetrahedra (t, 4) of the lattices (m, p) of hexahedra, cell by cell."""
    side = pieces + 1
    ends, middles = numbers[:, : side**3].reshape(-1, side, side, side), numbers[:, side**3 :]
    hexahedron: Element = element_named("hex8")
    low = ((hexahedron.nodes + 1.0) / 2.0).astype(int)
    small = np.stack([ends[:, a : a + pieces, b : b + pieces, c : c + pieces] for a, b, c in low], axis=-1)
    small = small.reshape(len(numbers), -1, 8)
    faces = small[:, :, np.array(hexahedron.faces)]  # (m, pieces³, 6, 4)
    start = faces.argmin(axis=-1)[..., None]
    turned = np.take_along_axis(faces, (start + np.arange(4)) % 4, axis=-1)
    triangles = turned[..., [[0, 1, 2], [0, 2, 3]]].reshape(len(numbers), -1, 3)
    tops = np.repeat(middles, 12, axis=1)
    return np.concatenate([triangles[..., ::-1], tops[:, :, None]], axis=2).reshape(-1, 4)
