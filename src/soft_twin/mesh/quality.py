"""How good a mesh is: shapes of its cells, its pieces and names, as a table. Works on broken meshes too."""

from dataclasses import dataclass

import numpy as np

from soft_twin.mesh.mesh import SLIVER, Mesh, bonded_pieces, jacobians, pieces

BINS = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True)
class Quality:
    """What a mesh is like.

    Attributes:
        cells, nodes: how many.
        element: name of the element.
        size: edge lengths (3,) of the bounding box [m].
        volume: [m³].
        scaled_jacobian: (m,) of each cell: 1 for a cube or regular tetrahedron, ≤ 0 where it is inverted; at the worst
            of its nodes, quadrature points and middle.
        slivers: how many cells are flat (volume^(1/3) below 1e-3 of the size).
        pieces: number of nodes of each part that hangs together, largest first.
        hinges: how many parts more there are where cells hang together by edges or corners only.
        names: of volumes, surfaces and groups, with their sizes.
    """

    cells: int
    nodes: int
    element: str
    size: np.ndarray
    volume: float
    scaled_jacobian: np.ndarray
    slivers: int
    pieces: tuple[int, ...]
    hinges: int
    names: dict[str, str]

    @property
    def worst(self) -> float:
        return float(self.scaled_jacobian.min())

    @property
    def worst_cell(self) -> int:
        return int(self.scaled_jacobian.argmin())

    @property
    def inverted(self) -> int:
        """How many cells are inverted somewhere."""
        return int(np.count_nonzero(self.scaled_jacobian <= 0.0))

    @property
    def histogram(self) -> np.ndarray:
        """How many cells (10,) have scaled Jacobians of 0…0.1, 0.1…0.2, …, 0.9…1; inverted ones are in none."""
        return np.histogram(np.minimum(self.scaled_jacobian, 1.0), BINS)[0]

    def table(self) -> str:
        """Lines to read."""
        size = " x ".join(f"{1e3 * edge:.4g}" for edge in self.size)
        lines = [
            f"cells            {self.cells} {self.element}, {self.nodes} nodes",
            f"size             {size} mm, volume {1e6 * self.volume:.5g} cm³",
            f"pieces           {len(self.pieces)}: of {', '.join(str(count) for count in self.pieces[:8])} nodes",
            f"scaled Jacobian  worst {self.worst:.3f} at cell {self.worst_cell}, median "
            f"{np.median(self.scaled_jacobian):.3f}; {self.inverted} inverted, {self.slivers} slivers",
        ]
        if self.hinges:
            lines[2] += f"; {self.hinges} more where cells share an edge or corner but no face: hinges"
        scale = 40.0 / max(1, self.histogram.max())
        for low, count in zip(BINS, self.histogram, strict=False):
            lines.append(f"  {low:.1f}…{low + 0.1:.1f}      {count:8d} {'#' * int(np.ceil(scale * count))}")
        return "\n".join(lines + [f"{kind:<16} {names}" for kind, names in self.names.items() if names])


def quality(mesh: Mesh) -> Quality:
    """The quality of a mesh, whether or not it would pass `check_mesh`."""
    determinants = jacobians(mesh)[1]
    sizes = np.ptp(mesh.nodes[mesh.cells], axis=1).max(axis=1)
    parts = pieces(mesh)
    names = {
        kind: ", ".join(f"{name} ({len(named[name])})" for name in named)
        for kind, named in (("volumes", mesh.volumes), ("surfaces", mesh.surfaces), ("groups", mesh.groups))
    }
    return Quality(
        len(mesh.cells),
        len(mesh.nodes),
        mesh.element.name,
        mesh.size,
        float((determinants * mesh.element.weights).sum()),
        scaled_jacobians(mesh),
        int(np.count_nonzero(np.cbrt(determinants.min(axis=1)) < SLIVER * sizes)),
        tuple(len(part) for part in parts),
        bonded_pieces(mesh) - len(parts),
        names,
    )


def scaled_jacobians(mesh: Mesh) -> np.ndarray:
    """The smallest scaled Jacobian (m,) of each cell, over its nodes, quadrature points and middle.

    det of the edges that leave a corner, through the product of their lengths: in hexahedra of ∂X/∂ξ's columns, in
    tetrahedra of the corner that is worst, times √2 (Knupp 2000).
    """
    element = mesh.element
    points = np.vstack([element.nodes, element.points, element.nodes.mean(axis=0)])
    if element.name == "tet4":
        points = element.points  # the Jacobian is the same everywhere
    worst = np.full(len(mesh.cells), np.inf)
    for point in points:  # one at a time: all at once do not fit into memory for large meshes
        matrices, determinants = (values[:, 0] for values in jacobians(mesh, point[None]))
        worst = np.minimum(worst, _scaled(matrices, determinants, element.corners_per_face == 3))
    return worst


def _scaled(matrices: np.ndarray, determinants: np.ndarray, tetrahedral: bool) -> np.ndarray:
    """Scaled Jacobians (m,) of matrices (m, 3, 3) with determinants (m,)."""
    if not tetrahedral:
        return _ratio(determinants, np.linalg.norm(matrices, axis=1).prod(axis=1))
    lengths = np.linalg.norm(matrices @ _EDGES.T, axis=1)
    return np.sqrt(2.0) * _ratio(determinants, lengths[:, _EDGES_OF_CORNER].prod(axis=2).max(axis=1))


_EDGES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 1, 0], [-1, 0, 1], [0, -1, 1]], float)  # in reference units
_EDGES_OF_CORNER = [[0, 1, 2], [0, 3, 4], [1, 3, 5], [2, 4, 5]]


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)
