"""Gmsh (optional: `pip install soft_twin[mesh]`) in a process of its own.

Its work cannot be interrupted, ends for no reason on some surfaces, and changes how its process takes signals.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from soft_twin.errors import MeshError, UsageError
from soft_twin.mesh.elements import element_named
from soft_twin.mesh.mesh import Mesh, check_mesh, make_mesh
from soft_twin.mesh.straighten import straightened
from soft_twin.reading_apart import ApartError, call_apart

GMSH_TYPES = {1: 4, 2: 11}  # tetrahedra by their order
SWAPPED = [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]  # Gmsh's order of the last two mid-side nodes is another one


def tetrahedra_apart(function: str, arguments: list, order: int, source: str) -> Mesh:
    """Tetrahedra that a function makes in a process of its own; quadratic ones that fold are straightened.

    Args:
        function: "module:name", which returns what `tetrahedra_here` does.
        arguments: of it, such as JSON can tell.
        order: 1 for 4-node tetrahedra, 2 for 10-node ones.
        source: of the mesh, for messages.

    Raises:
        UsageError: Gmsh is not installed or cannot be loaded.
        MeshError: Gmsh has failed, in its own words; or what it made is no mesh.
    """
    try:
        is_loaded, made = call_apart(function, arguments)
    except ApartError as error:
        raise MeshError(str(error)) from None
    if not is_loaded:
        raise UsageError(f"Gmsh is needed for tetrahedral meshes and cannot be loaded ({made}): pip install gmsh")
    element = element_named("tet4" if order == 1 else "tet10")
    nodes, cells = made
    mesh = make_mesh(nodes, cells.reshape(-1, len(element.nodes)), element, source, check=order == 1)
    if order == 2:
        mesh = straightened(mesh)
        check_mesh(mesh, source)
    return mesh


def tetrahedra_here(describe: Callable[[Any], None], size: float, order: int) -> tuple[bool, Any]:
    """Fill what is described; this process is not what it was afterwards.

    Args:
        describe: makes volumes in the module gmsh that it is given.
        size: edge length.
        order: 1 for 4-node tetrahedra, 2 for 10-node ones.

    Returns:
        Whether Gmsh is there; and nodes (n, 3) and the cells' nodes (m k,), or why it cannot be loaded.

    Raises:
        MeshError: Gmsh has failed.
    """
    try:
        import gmsh

        gmsh.initialize(interruptible=False)
    except (ImportError, OSError, AttributeError) as error:  # the last where its library is another one
        return False, str(error)
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("General.NumThreads", 1)
    gmsh.option.setNumber("Mesh.MeshSizeMin", size)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    try:
        describe(gmsh)
        gmsh.model.mesh.generate(3)
        gmsh.model.mesh.setOrder(order)
        tags, coordinates, _ = gmsh.model.mesh.getNodes()
        _, cells = gmsh.model.mesh.getElementsByType(GMSH_TYPES[order])
    except Exception as error:  # Gmsh raises nothing else
        raise MeshError(str(error)) from error
    index = np.zeros(int(max(tags, default=0)) + 1, dtype=np.int64)
    index[np.asarray(tags, dtype=int)] = np.arange(len(tags))
    cells = index[np.asarray(cells, dtype=int)]
    if order == 2:
        cells = cells.reshape(-1, len(SWAPPED))[:, SWAPPED].ravel()
    return True, (coordinates.reshape(-1, 3), cells)
