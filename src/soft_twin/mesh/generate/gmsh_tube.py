"""Tetrahedral meshes of tubes by Gmsh (optional: `pip install soft_twin[mesh]`)."""

import ctypes
import signal

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.mesh.elements import element_named
from soft_twin.mesh.mesh import Mesh, check_mesh, make_mesh
from soft_twin.mesh.selection import surfaces_around_z
from soft_twin.mesh.straighten import straightened


def tube_tetrahedra(inner: float, outer: float, length: float, size: float, order: int = 1) -> Mesh:
    """A tube around +z from z = 0 in tetrahedra of edge length about `size` [m], 4-node or (order 2) 10-node.

    Quadratic ones that fold at the lumen are straightened. Surfaces are "base", "tip", "outside" and "lumen".

    Raises:
        UsageError: Gmsh is not installed or cannot be loaded.
    """
    gmsh = initialised_gmsh()
    try:
        gmsh.option.setNumber("General.NumThreads", 1)
        gmsh.option.setNumber("Mesh.MeshSizeMin", size)
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        shell = gmsh.model.occ.addCylinder(0, 0, 0, 0, 0, length, outer)
        if inner > 0.0:
            lumen = gmsh.model.occ.addCylinder(0, 0, 0, 0, 0, length, inner)
            gmsh.model.occ.cut([(3, shell)], [(3, lumen)])
        gmsh.model.occ.synchronize()
        gmsh.model.mesh.generate(3)
        gmsh.model.mesh.setOrder(order)
        tags, coordinates, _ = gmsh.model.mesh.getNodes()
        _, cells = gmsh.model.mesh.getElementsByType(4 if order == 1 else 11)
    finally:
        gmsh.finalize()
    index = np.zeros(int(tags.max()) + 1, dtype=np.int64)
    index[tags.astype(int)] = np.arange(len(tags))
    element = element_named("tet4" if order == 1 else "tet10")
    cells = index[np.asarray(cells, dtype=int)].reshape(-1, len(element.nodes))
    if order == 2:
        cells = cells[:, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]]  # Gmsh swaps the last two mid-side nodes
    mesh = make_mesh(coordinates.reshape(-1, 3), cells, element, "Gmsh tube", check=order == 1)
    if order == 2:
        mesh = straightened(mesh)
        check_mesh(mesh, "Gmsh tube")
    return Mesh(mesh.nodes, mesh.cells, element, surfaces=surfaces_around_z(mesh))


def initialised_gmsh():
    """The module gmsh, ready, with nothing printed and the process's signals as they were.

    Gmsh undoes that Python ignores SIGPIPE, and a write to a closed pipe would end the process. The handler is put back
    by C's own address, since `signal.signal` refuses threads other than the main one.

    Raises:
        UsageError: Gmsh is not installed or cannot be loaded.
    """
    handler = _get_handler(signal.SIGPIPE)
    try:
        import gmsh

        gmsh.initialize(interruptible=False)
    except (ImportError, OSError, AttributeError) as error:  # the last where its library is another one
        raise UsageError(
            f"Gmsh is needed for tetrahedral meshes and cannot be loaded ({error}): pip install gmsh"
        ) from error
    finally:
        _set_handler(signal.SIGPIPE, handler)
    gmsh.option.setNumber("General.Terminal", 0)
    return gmsh


_get_handler = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int)(("PyOS_getsig", ctypes.pythonapi))
_set_handler = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(("PyOS_setsig", ctypes.pythonapi))
