"""Bodies of lobes around a core: arms of one or more segments whose chambers, one in each lobe, are half cylinders.

A section's core is a regular polygon of n sides 2 R long; on each side stands a lobe, a half disc of radius R. What is
further than a wall's thickness w from the lobe's rim is its chamber, a half disc on the core's side. Segments may
taper: R is linear along them, w the same all over. Between segments, and at both ends, caps fill the section.

The core is cut into quadrilaterals from its middle to its corners, each into four at the chambers' corners, a wall into
four around, what a cap has in place of a chamber into three. Points that meet become one node, as in a sweep.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.mesh.elements import Element, element_named
from soft_twin.mesh.generate.hollows import hollowed, surfaces_of_block
from soft_twin.mesh.generate.sweep import lattice, merged
from soft_twin.mesh.mesh import Mesh, make_mesh

AROUND = 4  # cells of a wall around its chamber
MEETING = ((0.5, -0.22), (0.72, 0.0), (0.5, 0.22))  # in the chamber's radius: where those of a half disc meet
CORE, WALL, CHAMBER = range(3)
Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Segment:
    """A part of the body with chambers.

    Attributes:
        length: along z [m].
        radii: of its lobes, at its lower and upper end [m].
        divisions: cells along z.
    """

    length: float
    radii: tuple[float, float]
    divisions: int


def lobed_arm(
    lobes: int, wall: float, segments: Sequence[Segment], caps: Sequence[float], element: str = "hex20r"
) -> Mesh:
    """A body of lobes from z = 0 along +z, the first lobe around +x, the others on towards +y.

    Its surfaces are "base", "tip", "outside" and "chamber 1", …, from the base, in each segment from +x on; its volumes
    "core", "caps" and "wall 1", …, the walls around each chamber.

    Args:
        lobes: of each section, 3 or more.
        wall: thickness [m].
        segments: from the base.
        caps: heights [m] of what is full: below the first segment, between two, above the last; as wide as the segments
            beside them, which have to fit each other.
        element: of hexahedra.

    Raises:
        MeshError: numbers that make no body.
    """
    _check(lobes, wall, segments, caps)
    hexahedron = element_named(element)
    kinds, numbers = _kinds(lobes)
    cells, levels, z = [], [], 0.0
    for level, (length, radii, divisions) in enumerate(_levels(segments, caps)):
        ends = np.linspace(0.0, 1.0, 2 * divisions + 1)
        sections = [
            _placed(lobes, wall, radii[0] + share * (radii[1] - radii[0]), z + share * length) for share in ends
        ]
        cells += [np.stack(sections[i : i + 3], axis=3).reshape(-1, 27, 3) for i in range(0, 2 * divisions, 2)]
        levels += [level] * divisions
        z += length
    mesh = _joined(np.vstack(cells), hexahedron, 1e-7 * z)
    level, kind, lobe = np.repeat(levels, len(kinds)), np.tile(kinds, len(levels)), np.tile(numbers, len(levels))
    number, hollow = level // 2 * lobes + lobe, level % 2 == 1
    parts = {"core": hollow & (kind == CORE), "caps": ~hollow}
    count = lobes * len(segments)
    parts |= {f"wall {k + 1}": hollow & (kind == WALL) & (number == k) for k in range(count)}
    volumes = {name: np.flatnonzero(part) for name, part in parts.items()}
    whole = Mesh(mesh.nodes, mesh.cells, hexahedron, volumes, surfaces_of_block(mesh))
    taken = [(f"chamber {k + 1}", hollow & (kind == CHAMBER) & (number == k)) for k in range(count)]
    return hollowed(whole, taken, "lobes")


def _check(lobes: int, wall: float, segments: Sequence[Segment], caps: Sequence[float]) -> None:
    if lobes < 3 or not segments:
        raise MeshError(f"lobes: {lobes} lobes and {len(segments)} segments: expected 3 or more, and 1 or more")
    if len(caps) != len(segments) + 1 or not min(caps) > 0.0:
        raise MeshError(f"lobes: caps of {list(caps)} m: {len(segments)} segments have {len(segments) + 1}, above 0 m")
    for i, each in enumerate(segments):
        if not (each.length > 0.0 and each.divisions >= 1 and min(each.radii) > wall > 0.0):
            raise MeshError(
                f"lobes: segment {i + 1}, {each.length:g} m in {each.divisions} cells with radii {list(each.radii)} m "
                f"and walls of {wall:g} m, has no chambers"
            )
    for i, (below, above) in enumerate(pairwise(segments)):
        if below.radii[1] != above.radii[0]:
            raise MeshError(
                f"lobes: segment {i + 1} ends with {below.radii[1]:g} m, the next begins with {above.radii[0]:g} m"
            )


def _levels(segments: Sequence[Segment], caps: Sequence[float]) -> list[tuple[float, tuple[float, float], int]]:
    """Length, radii and cells of caps and segments by turns, from the base."""
    radii = [segments[0].radii[0], *(each.radii[1] for each in segments)]
    levels = [(cap, (radius, radius), 1) for cap, radius in zip(caps, radii, strict=True)]
    for i, each in enumerate(segments):
        levels.insert(2 * i + 1, (each.length, each.radii, each.divisions))
    return levels


def _kinds(lobes: int) -> tuple[np.ndarray, np.ndarray]:
    """What each quadrilateral of a section is part of, and of which lobe."""
    each = [CORE] * 4 + [WALL] * AROUND + [CHAMBER] * 5
    return np.tile(each, lobes), np.repeat(np.arange(lobes), len(each))


def _placed(lobes: int, wall: float, radius: float, z: float) -> np.ndarray:
    """The 3 × 3 points (c, 3, 3, 3) [m] of a section's quadrilaterals at a height."""
    apothem = radius / np.tan(np.pi / lobes)
    first = np.concatenate([_corner(lobes, apothem, radius, wall), *_lobe(apothem, radius, wall)])
    angles = 2.0 * np.pi * np.arange(lobes) / lobes
    turns = np.moveaxis(np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]), 2, 0)
    flat = np.einsum("lij,cpqj->lcpqi", turns, first).reshape(-1, 3, 3, 2)
    return np.concatenate([flat, np.full((*flat.shape[:3], 1), z)], axis=3)


def _corner(lobes: int, apothem: float, radius: float, wall: float) -> np.ndarray:
    """The four (4, 3, 3, 2) between the core's middle and the corner beside the first lobe, towards +y."""
    turn = 2.0 * np.pi / lobes
    side, next_side = np.array([apothem, 0.0]), apothem * np.array([np.cos(turn), np.sin(turn)])
    corner, share = np.array([apothem, radius]), 1.0 - wall / radius
    at = np.array([0.0, 0.5 * share, share, 0.5 * (1.0 + share), 1.0])
    u, v = np.meshgrid(at, at, indexing="ij")
    grid = (u * (1.0 - v))[..., None] * side + (u * v)[..., None] * corner + ((1.0 - u) * v)[..., None] * next_side
    return np.array([grid[i : i + 3, j : j + 3] for i in (0, 2) for j in (0, 2)])


def _lobe(apothem: float, radius: float, wall: float) -> tuple[np.ndarray, np.ndarray]:
    """Those of the first lobe's wall (a, 3, 3, 2), and of the half disc within (5, 3, 3, 2)."""
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * AROUND + 1)
    circle, middle = np.column_stack([np.cos(angles), np.sin(angles)]), np.array([apothem, 0.0])
    inner = radius - wall
    rings = middle + np.array([inner, radius - 0.5 * wall, radius])[:, None, None] * circle
    walls = np.array([rings[:, i : i + 3] for i in range(0, 2 * AROUND, 2)])
    rim = [(low, high) for low, high in zip(rings[0, :-2:2], rings[0, 2::2], strict=True)]
    meet = [middle + inner * np.array(place) for place in MEETING]
    inside = [(middle, meet[0]), (meet[0], meet[1]), (meet[1], meet[2]), (meet[2], middle)]
    between = [_patch(*ends, rings[0, 2 * i + 1]) for i, ends in enumerate(zip(inside, rim, strict=True))]
    return walls, np.array([*between, _patch((middle, meet[2]), (meet[0], meet[1]))])


def _patch(first: Pair, second: Pair, arc: np.ndarray | None = None) -> np.ndarray:
    """The 3 × 3 points of a quadrilateral between two sides, given by their ends; `arc`: where the middle of the second
    is, if it is not straight."""
    sides = np.array([[start, 0.5 * (start + end), end] for start, end in (first, second)])
    if arc is not None:
        sides[1, 1] = arc
    return np.array([sides[0], sides.mean(axis=0), sides[1]])


def _joined(points: np.ndarray, hexahedron: Element, tolerance: float) -> Mesh:
    """A mesh of cells with 27 points each (m, 27, 3)."""
    own = points[:, lattice(hexahedron)]
    nodes, numbers = merged(own.reshape(-1, 3), tolerance)
    return make_mesh(nodes, numbers.reshape(own.shape[:2]), hexahedron, "lobes")
