"""Swept meshes of hexahedra: sections of rings and discs, drawn along +z. Curved around the axis, straight along it.

A section is cut into quadrilaterals, each given by its 3 × 3 points (r, θ and mid-sides); drawn out, it has the 27
points of a hexahedron, of which an element takes those that it has. Points that meet become one node.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.mesh.elements import Element, element_named
from soft_twin.mesh.mesh import Mesh, bonded_pieces, make_mesh
from soft_twin.mesh.selection import surfaces_around_z

CORE = 0.5  # half diagonal of the square in a disc's middle, in the disc's radius


@dataclass(frozen=True)
class Ring:
    """A ring of a section, a disc where `inner` is 0.

    Attributes:
        inner, outer: radii [m].
        name: of the volume.
        divisions: cells from inside to outside.
    """

    inner: float
    outer: float
    name: str
    divisions: int = 1


@dataclass(frozen=True)
class Layer:
    """A part of a stack along z.

    Attributes:
        length: along z [m].
        rings: what its section is made of.
        divisions: cells along z.
        grading: their ends are at the powers `grading` of equal parts: above 1, the first cells are the shortest.
    """

    length: float
    rings: Sequence[Ring]
    divisions: int
    grading: float = 1.0


def sweep_tube(
    inner: float,
    outer: float,
    length: float | Sequence[float],
    divisions: tuple[int, int, int],
    element: str = "hex20r",
    grading: float = 1.0,
) -> Mesh:
    """A tube around +z from z = 0, of radii `inner` and `outer` [m], in `divisions` cells radial, around, along.

    Mid-side nodes lie on the arcs, so that the volume converges with the fourth power of the angle. Its surfaces are
    "base", "tip", "outside" and "lumen". With `inner` 0 it is a rod, and `around` a multiple of four.

    Args:
        inner, outer: see above.
        length: [m], or those of its segments, which share the cells along; cells end where segments do.
        divisions: see above.
        element: its name.
        grading: above 1, the cells of the first segment become shorter towards the base, where a clamp keeps the
            section from shrinking: see Layer.

    Raises:
        MeshError: radii, divisions or a grading that make no tube.
    """
    radial, around, along = divisions
    lengths = np.atleast_1d(np.asarray(length, dtype=float))
    if not (lengths > 0.0).all() or along < len(lengths):
        raise MeshError(
            f"swept tube: segments of {lengths.tolist()} m are to be longer than 0 and have a cell each, "
            f"not {along} in all"
        )
    counts = np.diff(np.round(along * np.cumsum(lengths) / lengths.sum()).astype(int), prepend=0)
    rings = [Ring(inner, outer, "tube", radial)]
    layers = [
        Layer(float(each), rings, int(count), grading if index == 0 else 1.0)
        for index, (each, count) in enumerate(zip(lengths, counts, strict=True))
    ]
    tube = _sweep(layers, around, element, "swept tube")
    return Mesh(tube.nodes, tube.cells, tube.element, {}, tube.surfaces, tube.groups)


def sweep_stack(layers: Sequence[Layer], around: int, element: str = "hex20r") -> Mesh:
    """Layers on one another from z = 0 along +z, each of rings, in `around` cells around the axis.

    Each ring's name is a volume; surfaces are "base", "tip", "outside" (what looks away from the axis), "lumen" (what
    looks to it) and "steps" (what is level between). Where two layers meet, the rings are cut alike: a radius of one is
    one of the other too, or lies outside it.

    Raises:
        MeshError: radii or divisions that make no body, or layers that do not meet.
    """
    return _sweep(layers, around, element, "swept stack")


def _sweep(layers: Sequence[Layer], around: int, element: str, name: str) -> Mesh:
    hexahedron, cells, names, z = element_named(element), [], [], 0.0
    if not any(layer.rings for layer in layers):
        raise MeshError(f"{name}: no layers with rings")
    for layer in layers:
        for ring in layer.rings:
            _check(ring, layer, around)
            drawn = _drawn(_section(ring, around), z, layer)
            cells.append(drawn)
            names += [ring.name] * len(drawn)
        z += layer.length
    points = np.vstack(cells)[:, lattice(hexahedron)]
    nodes, numbers = merged(points.reshape(-1, 3), 1e-7 * z)
    volumes = {key: np.array(names) == key for key in dict.fromkeys(names)}
    mesh = make_mesh(nodes, numbers.reshape(points.shape[:2]), hexahedron, name, volumes)
    if bonded_pieces(mesh) > 1:
        raise MeshError(f"{name}: layers or rings that meet share edges but no faces: cut them at the same radii")
    return Mesh(mesh.nodes, mesh.cells, hexahedron, mesh.volumes, surfaces_around_z(mesh))


def merged(points: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n, 3) and each point's node (p,): points (p, 3) closer than `tolerance` [m] are one."""
    numbers = np.zeros(len(points), np.int64)
    for axis in range(3):  # values of one coordinate that differ by less than the tolerance are one level of it
        order = np.argsort(points[:, axis])
        level = np.empty(len(points), np.int64)
        level[order] = np.cumsum(np.diff(points[order, axis], prepend=points[order[0], axis]) > tolerance)
        numbers = np.unique(numbers * (level.max() + 1) + level, return_inverse=True)[1]
    _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
    return points[first], numbers


def _check(ring: Ring, layer: Layer, around: int) -> None:
    if not 0.0 <= ring.inner < ring.outer or not layer.length > 0.0:
        raise MeshError(
            f"ring '{ring.name}' of radii {1e3 * ring.inner:g}…{1e3 * ring.outer:g} mm and length "
            f"{1e3 * layer.length:g} mm has no volume"
        )
    if min(ring.divisions, layer.divisions) < 1 or around < 3:
        raise MeshError(f"ring '{ring.name}': at least 1 cell radial and along and 3 around are needed")
    if not 0.2 <= layer.grading <= 5.0:
        raise MeshError(f"ring '{ring.name}': a grading of {layer.grading:g} is not between 0.2 and 5")
    if ring.inner == 0.0 and around % 4:
        raise MeshError(f"disc '{ring.name}' needs a multiple of 4 cells around, not {around}")


def _section(ring: Ring, around: int) -> np.ndarray:
    """The 3 × 3 points (c, 3, 3, 2) [m] of each quadrilateral of a ring or disc; axes: outward, around."""
    half_angle = np.pi * np.arange(2 * around + 1) / around
    circle = np.column_stack([np.cos(half_angle), np.sin(half_angle)])
    share = np.linspace(0.0, 1.0, 2 * ring.divisions + 1)[:, None, None]
    if ring.inner > 0.0:
        return _quadrilaterals((ring.inner + (ring.outer - ring.inner) * share) * circle)
    square, edge = _core(around)
    shell = _quadrilaterals(ring.outer * ((1.0 - share) * edge + share * circle))
    return np.concatenate([_quadrilaterals(ring.outer * square), shell])


def _core(around: int) -> tuple[np.ndarray, np.ndarray]:
    """The square in a disc's middle, and its outer points, the first of them nearest to +x: see the two below.

    With an odd number of cells a side, +x goes through the middle of a cell: the square is turned by half of one.
    """
    side = around // 4
    square, odd = _rounded_square(side), side % 2
    angle = odd * np.pi / around
    square = square @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return square, _perimeter(square, side - odd)


def _rounded_square(side: int) -> np.ndarray:
    """Points (2 s + 1, 2 s + 1, 2) of a square in the unit circle's middle, its sides bent outward halfway to arcs."""
    u, v = np.meshgrid(*2 * [np.linspace(-1.0, 1.0, 2 * side + 1)], indexing="ij")
    straight = np.stack([u, v], axis=-1) * np.sqrt(0.5)
    bend = np.stack([u * np.sqrt(1.0 - v**2 / 2.0), v * np.sqrt(1.0 - u**2 / 2.0)], axis=-1)
    return CORE * 0.5 * (straight + bend)


def _perimeter(square: np.ndarray, start: int) -> np.ndarray:
    """The square's outer points (8 s + 1, 2), counter-clockwise from that one of its +x side, closed."""
    ring = np.concatenate([square[-1, :-1], square[:0:-1, -1], square[0, :0:-1], square[:-1, 0]])
    ring = np.roll(ring, -start, axis=0)
    return np.concatenate([ring, ring[:1]])


def _quadrilaterals(grid: np.ndarray) -> np.ndarray:
    """The 3 × 3 points of each cell of a grid of half cells (2 a + 1, 2 b + 1, 2)."""
    a, b = (np.arange(0, n - 2, 2) for n in grid.shape[:2])
    i, j = a[:, None, None, None] + np.arange(3)[:, None], b[:, None, None] + np.arange(3)
    return grid[i, j].reshape(-1, 3, 3, 2)


def _drawn(section: np.ndarray, z: float, layer: Layer) -> np.ndarray:
    """The 27 points (m, 27, 3) of the cells that a section becomes between z and z + length."""
    ends = (np.arange(layer.divisions + 1) / layer.divisions) ** layer.grading
    heights = z + layer.length * (ends[:-1, None] + np.diff(ends)[:, None] * [0.0, 0.5, 1.0])
    shape = (layer.divisions, len(section), 3, 3, 3)
    flat = np.broadcast_to(section[None, :, :, :, None, :], (*shape, 2))
    height = np.broadcast_to(heights[:, None, None, None, :], shape)
    return np.concatenate([flat, height[..., None]], axis=-1).reshape(-1, 27, 3)


def lattice(hexahedron: Element) -> np.ndarray:
    """Which of the 27 points each node of a hexahedron is."""
    if hexahedron.corners_per_face != 4:
        raise MeshError(f"a sweep makes hexahedra, not {hexahedron.name}")
    return np.round(hexahedron.nodes + 1.0).astype(int) @ [9, 3, 1]
