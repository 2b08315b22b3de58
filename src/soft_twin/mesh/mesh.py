"""Meshes: nodes and cells of one element type with names for their parts, checked before they are used."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from soft_twin.errors import MeshError
from soft_twin.mesh.elements import Element

SLIVER = 1e-3  # smallest (determinant)^(1/3) of a cell, in its own sizes
SAME_EDGE = 0.25  # share by which an edge of a body's box may differ from what its description says
UNITS = {1.0: "metres", 0.001: "millimetres", 0.01: "centimetres", 0.0254: "inches"}  # by their length [m]


@dataclass(frozen=True)
class Mesh:
    """Nodes (n, 3) [m] and cells (m, k) of one element, and names for parts of them.

    Attributes:
        volumes: indices (c,) of the cells of each named part.
        surfaces: faces (f, k_face) of each named surface: nodes in the order of `Element.faces`, outward.
        groups: indices (g,) of the nodes of each named group.
    """

    nodes: np.ndarray
    cells: np.ndarray
    element: Element
    volumes: Mapping[str, np.ndarray] = field(default_factory=dict)
    surfaces: Mapping[str, np.ndarray] = field(default_factory=dict)
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def body_nodes(self) -> np.ndarray:
        """Indices (u,) of the nodes that cells have; others are places that something rigid carries."""
        return np.unique(self.cells)

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner (3,) of the bounding box [m]."""
        nodes = self.nodes[self.body_nodes]
        return nodes.min(axis=0), nodes.max(axis=0)

    @cached_property
    def size(self) -> np.ndarray:
        """Edge lengths (3,) of the bounding box [m]."""
        low, high = self.bounds
        return high - low

    def volume(self, name: str) -> np.ndarray:
        """Indices (c,) of the cells of that name.

        Raises:
            MeshError: there is none; the message lists those there are.
        """
        return _named(self.volumes, name, "volume")

    def surface(self, name: str) -> np.ndarray:
        """Faces (f, k_face) of the surface of that name, outward.

        Raises:
            MeshError: there is none; the message lists those there are.
        """
        return _named(self.surfaces, name, "surface")

    def group(self, name: str) -> np.ndarray:
        """Indices (g,) of the nodes of that name: of a group, else of a surface, else of a volume.

        Raises:
            MeshError: there is none; the message lists those there are.
        """
        if name not in self.groups and name in self.surfaces:
            return np.unique(self.surfaces[name])
        if name not in self.groups and name in self.volumes:
            return np.unique(self.cells[self.volumes[name]])
        return _named({**self.volumes, **self.surfaces, **self.groups}, name, "node group")


def make_mesh(
    nodes: np.ndarray,
    cells: np.ndarray,
    element: Element,
    name: str = "mesh",
    volumes: Mapping[str, np.ndarray] | None = None,
    surfaces: Mapping[str, np.ndarray] | None = None,
    groups: Mapping[str, np.ndarray] | None = None,
    check: bool = True,
) -> Mesh:
    """A checked mesh from arrays; nodes that no cell uses are dropped, names that nothing is left of too.

    Args:
        nodes, cells: (n, 3) [m], (m, k).
        element: of the cells.
        name: what errors call the mesh.
        volumes: indices of cells, or masks (m,), by name.
        surfaces: faces by name, rows of at least their corners' nodes, in any order around the face.
        groups: indices of nodes, or masks (n,), by name.
        check: whether the cells' quality is checked (see `check_mesh`).

    Raises:
        MeshError: wrong shapes, nodes that are not finite, names that are no good, or broken (see `check_mesh`).
    """
    nodes, cells = np.asarray(nodes, dtype=float), np.asarray(cells, dtype=np.int64)
    _check_arrays(nodes, cells, element, name)
    used, renumbered = np.unique(cells, return_inverse=True)
    finite = np.isfinite(nodes[used]).all(axis=1)
    if not finite.all():
        raise MeshError(f"{name}: node {used[np.argmin(finite)]} is not finite")
    place = np.full(len(nodes), -1)
    place[used] = np.arange(len(used))
    cells = renumbered.reshape(cells.shape)
    volumes, surfaces, groups = volumes or {}, surfaces or {}, groups or {}
    _check_names([*volumes, *surfaces, *groups], name)
    chosen_cells = {
        key: checked_indices(value, len(cells), f"{name}: volume '{key}'") for key, value in volumes.items()
    }
    chosen_nodes = {key: checked_indices(value, len(nodes), f"{name}: group '{key}'") for key, value in groups.items()}
    faces = {
        key: _own_faces(value, place, cells, element, f"{name}: surface '{key}'") for key, value in surfaces.items()
    }
    chosen_nodes = {key: place[value][place[value] >= 0] for key, value in chosen_nodes.items()}
    parts = (_filled(each) for each in (chosen_cells, faces, chosen_nodes))
    mesh = Mesh(np.ascontiguousarray(nodes[used]), cells, element, *parts)
    if check:
        check_mesh(mesh, name)
    return mesh


def check_mesh(mesh: Mesh, name: str) -> None:
    """Refuse a mesh with inverted or sliver cells, or parts that do not hang together.

    Raises:
        MeshError: with the numbers.
    """
    determinants = jacobians(mesh)[1]
    inverted = np.flatnonzero((determinants <= 0.0).any(axis=1))
    if len(inverted):
        raise MeshError(
            f"{name}: {len(inverted)} of {len(mesh.cells)} cells are inverted or flat, the first is {inverted[0]} "
            f"around {_millimetres(mesh.nodes[mesh.cells[inverted[0]]])}"
        )
    slimness = determinants.min(axis=1) ** (1 / 3) / np.ptp(mesh.nodes[mesh.cells], axis=1).max(axis=1)
    if slimness.min() < SLIVER:
        raise MeshError(
            f"{name}: cell {int(slimness.argmin())} is a sliver (volume^(1/3) is {slimness.min():.1e} of its size)"
        )
    parts = pieces(mesh)
    if len(parts) > 1:
        raise MeshError(
            f"{name}: {len(parts)} parts hang together with nothing; the smallest has {len(parts[-1])} of "
            f"{len(mesh.nodes)} nodes, around {_millimetres(mesh.nodes[parts[-1]])}"
        )


def check_unit(mesh: Mesh, expected: np.ndarray, name: str) -> None:
    """Refuse a mesh whose bounding box is far from (3,) `expected` [m]: most likely in another unit, or turned.

    Raises:
        MeshError: with both sizes and, where it fits, the unit that the file seems to be in, or that it is turned.
    """
    if not _is_as_large(mesh.size, expected):
        seems = _unit_of(mesh.size, expected)
        guess = f": the file seems to be in {seems[1]}, scale it to metres" if seems else ""
        raise MeshError(f"{name}: measures {_extent(mesh.size)}, the description says {_extent(expected)}{guess}")
    _check_axes(mesh.size, expected, name)


def check_extent(size: np.ndarray, unit: float, expected: np.ndarray, name: str) -> None:
    """Refuse a surface of edge lengths (3,) `size` in a unit [m] whose box is far from (3,) `expected` [m], or turned.

    Raises:
        MeshError: with both sizes and, where one fits, the unit that the description should say, or that it is turned.
    """
    if not _is_as_large(unit * size, expected):
        seems = _unit_of(size, expected)
        guess = f": the file seems to be in {seems[1]}, unit: {seems[0]:g}" if seems else ""
        sizes = f"measures {_extent(unit * size)} with unit {unit:g}, the description says {_extent(expected)}"
        raise MeshError(f"{name}: {sizes}{guess}")
    _check_axes(unit * size, expected, name)


def _check_axes(size: np.ndarray, expected: np.ndarray, name: str) -> None:
    """Refuse a box of edge lengths (3,) `size` that are those expected [m], but along other axes."""
    alike = partial(np.allclose, rtol=SAME_EDGE, atol=0.0)
    if alike(np.sort(size), np.sort(expected)) and not alike(size, expected):
        sizes = f"measures {_extent(size)} along x, y and z, the description says {_extent(expected)}"
        raise MeshError(f"{name}: {sizes}: it lies along other axes: turn it, so that its base is its lowest face")


def _is_as_large(size: np.ndarray, expected: np.ndarray) -> bool:
    """Whether a box of edge lengths (3,) is about as large as expected [m]."""
    return 0.8 < np.linalg.norm(size) / np.linalg.norm(expected) < 1.25


def _unit_of(size: np.ndarray, expected: np.ndarray) -> tuple[float, str] | None:
    """The unit [m], with its name, in which edge lengths (3,) are about those expected [m]; None: no usual one."""
    return next(((unit, name) for unit, name in UNITS.items() if _is_as_large(unit * size, expected)), None)


def _extent(size: np.ndarray) -> str:
    return " x ".join(f"{value:.4g}" for value in size) + " m"


def jacobians(mesh: Mesh, points: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """∂X/∂ξ (m, q, 3, 3) and its determinants (m, q), at the quadrature points or at reference `points` (q, 3)."""
    gradients = mesh.element.gradients(mesh.element.points if points is None else points)
    matrices = np.einsum("mki,qkj->mqij", mesh.nodes[mesh.cells], gradients)
    return matrices, np.linalg.det(matrices)


def pieces(mesh: Mesh) -> list[np.ndarray]:
    """Indices of the nodes of each part that hangs together, largest first."""
    n, k = len(mesh.nodes), mesh.cells.shape[1]
    first = np.repeat(mesh.cells[:, :1], k - 1, axis=1).ravel()
    links = coo_matrix((np.ones(len(first)), (first, mesh.cells[:, 1:].ravel())), shape=(n, n))
    count, labels = connected_components(links.tocsr(), directed=False)
    parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    return sorted(parts, key=len, reverse=True) if count > 1 else parts


def bonded_pieces(mesh: Mesh) -> int:
    """How many parts the mesh falls into where cells hang together by edges or corners only: hinges hold no bending."""
    m, faces = len(mesh.cells), cell_faces(mesh.cells, mesh.element)
    keys = _face_keys(faces[:, : mesh.element.corners_per_face], len(mesh.nodes))
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    one, other = (order[same + i] // len(mesh.element.faces) for i in (0, 1))
    links = coo_matrix((np.ones(len(one)), (one, other)), shape=(m, m))
    return connected_components(links.tocsr(), directed=False)[0]


def cell_faces(cells: np.ndarray, element: Element) -> np.ndarray:
    """All faces (m · f, k_face) of cells (m, k), the faces of one cell after those of the other, outward."""
    faces = np.array(element.faces)
    return cells[:, faces].reshape(-1, faces.shape[1])


def boundary_faces(mesh: Mesh) -> np.ndarray:
    """The faces (f, k_face) that only one cell has, outward, in the order of the cells."""
    faces = cell_faces(mesh.cells, mesh.element)
    _, first, count = np.unique(
        _face_keys(faces[:, : mesh.element.corners_per_face], len(mesh.nodes)), return_index=True, return_counts=True
    )
    return faces[np.sort(first[count == 1])]


def face_places(mesh: Mesh, faces: np.ndarray) -> np.ndarray:
    """Index (f,) in `cell_faces` of each face (f, ≥ corners), −1 where no cell has it.

    Of a face between two cells, that of the cell whose outward order it is given in.
    """
    return _face_places(np.asarray(faces), mesh.cells, mesh.element, len(mesh.nodes))


def surface_triangles(mesh: Mesh) -> np.ndarray:
    """Triangles (t, 3) of the outer surface, outward, with quadratic faces split at their mid-side nodes."""
    return split_faces(boundary_faces(mesh))


def split_faces(faces: np.ndarray) -> np.ndarray:
    """Triangles (t, 3) of faces (f, k_face), quadratic ones split at their mid-side nodes."""
    return faces[:, _FACE_TRIANGLES[faces.shape[1]]].reshape(-1, 3)


_FACE_TRIANGLES = {
    3: [[0, 1, 2]],
    4: [[0, 1, 2], [0, 2, 3]],
    6: [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]],
    8: [[0, 4, 7], [4, 1, 5], [5, 2, 6], [6, 3, 7], [4, 5, 7], [5, 6, 7]],
}


def checked_indices(values: np.ndarray, count: int, what: str) -> np.ndarray:
    """Sorted indices without repetition, from indices or a mask.

    Raises:
        MeshError: neither, or indices that are not below `count`.
    """
    values = np.asarray(values)
    if values.dtype == bool and values.shape == (count,):
        return np.flatnonzero(values)
    if not values.size:
        return np.empty(0, np.int64)
    if values.dtype.kind not in "iu" or values.ndim != 1 or values.min() < 0 or values.max() >= count:
        found = f"{values.dtype} of shape {values.shape}"
        found += f", {values.min()}…{values.max()}" if values.dtype.kind in "iu" else ""
        raise MeshError(f"{what}: expected indices below {count} or a mask of that length, found {found}")
    return np.unique(values.astype(np.int64))


def _named(parts: Mapping[str, np.ndarray], name: str, what: str) -> np.ndarray:
    if name not in parts:
        raise MeshError(f"no {what} '{name}' in the mesh: there are {', '.join(sorted(parts)) or 'none'}")
    return parts[name]


def _millimetres(points: np.ndarray) -> str:
    x, y, z = 1e3 * points.mean(axis=0)
    return f"({x:.4g}, {y:.4g}, {z:.4g}) mm"


def _check_arrays(nodes: np.ndarray, cells: np.ndarray, element: Element, name: str) -> None:
    k = len(element.nodes)
    if nodes.ndim != 2 or nodes.shape[1] != 3 or cells.ndim != 2 or cells.shape[1] != k or not len(cells):
        raise MeshError(
            f"{name}: expected nodes (n, 3) and cells (m, {k}) for {element.name}, found {nodes.shape}, {cells.shape}"
        )
    if cells.min() < 0 or cells.max() >= len(nodes):
        raise MeshError(f"{name}: cells name nodes {cells.min()}…{cells.max()}, there are {len(nodes)}")


def _check_names(names: list[str], mesh: str) -> None:
    for name in names:
        if '"' in name or " + " in name or name != name.strip() or not name:
            raise MeshError(f"{mesh}: a name is without quotes, ' + ' and outer spaces, not '{name}'")


def _filled(parts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: values for name, values in parts.items() if len(values)}


def _own_faces(faces, place: np.ndarray, cells: np.ndarray, element: Element, what: str) -> np.ndarray:
    """Those faces of the cells that have the corners of `faces`, which are numbered before `place`."""
    faces, corners = np.asarray(faces, dtype=np.int64), element.corners_per_face
    if faces.ndim != 2 or faces.shape[1] < corners or not np.isin(faces, np.arange(len(place))).all():
        raise MeshError(
            f"{what}: expected faces (f, ≥ {corners}) of nodes below {len(place)}, found an array {faces.shape}"
        )
    found = _face_places(place[faces], cells, element, len(place))
    if (found < 0).any():
        raise MeshError(f"{what}: {np.count_nonzero(found < 0)} of {len(faces)} faces are no faces of the mesh's cells")
    return cell_faces(cells, element)[np.unique(found)]


def _face_places(faces: np.ndarray, cells: np.ndarray, element: Element, count: int) -> np.ndarray:
    if not len(faces):
        return np.empty(0, np.int64)
    given, own = (values[:, : element.corners_per_face] for values in (faces, cell_faces(cells, element)))
    keys = _face_keys(own, count)
    order = np.argsort(keys, kind="stable")
    wanted = np.where((given < 0).any(axis=1), -1, _face_keys(np.maximum(given, 0), count))
    at = np.searchsorted(keys, wanted, sorter=order)
    first, second = (order[np.minimum(at + i, len(order) - 1)] for i in (0, 1))
    turned = (keys[second] == wanted) & (_after_lowest(own[second]) == _after_lowest(given))
    best = np.where(turned, second, first)
    return np.where(keys[best] == wanted, best, -1)


def _face_keys(corners: np.ndarray, count: int) -> np.ndarray:
    """One number a face: three of its corners make it unique."""
    a, b, c = np.sort(corners, axis=1)[:, :3].T
    return (a * count + b) * count + c


def _after_lowest(corners: np.ndarray) -> np.ndarray:
    """The node that follows the lowest one around each face: tells its two orientations apart."""
    return corners[np.arange(len(corners)), (corners.argmin(axis=1) + 1) % corners.shape[1]]
