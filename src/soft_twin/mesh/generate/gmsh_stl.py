"""Tetrahedral meshes of what closed surfaces enclose, by Gmsh (optional: `pip install soft_twin[mesh]`)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.files import checked_file
from soft_twin.mesh.closed_surface import check_closed
from soft_twin.mesh.files import LEAST_TIME, MAX_MEMORY, TIME_PER_BYTE
from soft_twin.mesh.generate.gmsh_apart import tetrahedra_apart, tetrahedra_here
from soft_twin.mesh.generate.hollows import surfaces_of_block
from soft_twin.mesh.mesh import Mesh
from soft_twin.reading_apart import read_apart

LARGEST_FILE = 100_000_000  # [bytes]


def fill_stl(
    path: Path,
    size: float,
    edge_deg: float = 40.0,
    order: int = 1,
    check_extent: Callable[[np.ndarray], None] | None = None,
) -> Mesh:
    """Tetrahedra of edge length about `size` between the closed surfaces of an STL file, in its unit.

    The largest surface is the outside, the others are hollows. Surfaces are "base" and "tip" (lowest and highest z),
    "outside", and "chamber 1", … (the largest first).

    Args:
        path: of the file.
        size: edge length.
        edge_deg: faces that turn by more than this meet at an edge that is kept [°].
        order: 1 for 4-node tetrahedra, 2 for 10-node ones.
        check_extent: called with the edge lengths (3,) of the surfaces' box before Gmsh begins, which fills a body
            that is a thousand times as large as was meant until it is stopped; raises what is wrong with them.

    Raises:
        UsageError: Gmsh is not installed or cannot be loaded.
        MeshError: no such file, or its surfaces do not enclose one body.
    """
    path = checked_file(path, "surface", LARGEST_FILE, MeshError)
    seconds = LEAST_TIME + TIME_PER_BYTE * path.stat().st_size
    content = read_apart("meshio:read", path, "surface", MeshError, seconds, MAX_MEMORY)
    try:
        check_closed(content.points, content.get_cells_type("triangle"))
    except MeshError as error:
        raise MeshError(f"{path}: {error}") from None
    if check_extent is not None:
        check_extent(np.ptp(content.points, axis=0))
    try:
        arguments = [str(path.absolute()), float(size), float(np.radians(edge_deg)), order]
        mesh = tetrahedra_apart(f"{__name__}:fill_here", arguments, order, str(path))
    except MeshError as error:
        raise MeshError(f"{path}: Gmsh cannot fill its surfaces ({error}): are they closed, without cuts?") from None
    return Mesh(mesh.nodes, mesh.cells, mesh.element, surfaces=surfaces_of_block(mesh))


def fill_here(path: str, size: float, edge: float, order: int) -> tuple[bool, Any]:
    """As `fill_stl`, of what is known to be closed, in this process: see `tetrahedra_here`. `edge`: in rad."""

    def describe(gmsh: Any) -> None:
        gmsh.merge(path)
        gmsh.model.mesh.classifySurfaces(edge, True, True, np.pi)
        gmsh.model.mesh.createGeometry()
        loops = [gmsh.model.geo.addSurfaceLoop(shell) for shell in _shells(gmsh)]
        gmsh.model.geo.addVolume(loops)
        gmsh.model.geo.synchronize()

    return tetrahedra_here(describe, size, order)


def _shells(gmsh) -> list[list[int]]:
    """The surfaces that hang together by their curves, the largest box first."""
    left = {
        tag: {abs(curve) for _, curve in gmsh.model.getBoundary([(2, tag)])} for _, tag in gmsh.model.getEntities(2)
    }
    shells = []
    while left:
        tag, curves = left.popitem()
        shell = [tag]
        while joined := [other for other, own in left.items() if own & curves]:
            for other in joined:
                curves |= left.pop(other)
                shell.append(other)
        shells.append(shell)
    return sorted(shells, key=lambda shell: -_extent(gmsh, shell))


def _extent(gmsh, shell: list[int]) -> float:
    boxes = np.array([gmsh.model.getBoundingBox(2, tag) for tag in shell])
    return float(np.linalg.norm(boxes[:, 3:].max(axis=0) - boxes[:, :3].min(axis=0)))
