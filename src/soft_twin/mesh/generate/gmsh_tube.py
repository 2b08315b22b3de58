"""Tetrahedral meshes of tubes by Gmsh (optional: `pip install soft_twin[mesh]`)."""

from typing import Any

from soft_twin.mesh.generate.gmsh_apart import tetrahedra_apart, tetrahedra_here
from soft_twin.mesh.mesh import Mesh
from soft_twin.mesh.selection import surfaces_around_z


def tube_tetrahedra(inner: float, outer: float, length: float, size: float, order: int = 1) -> Mesh:
    """A tube around +z from z = 0 in tetrahedra of edge length about `size` [m], 4-node or (order 2) 10-node.

    Quadratic ones that fold at the lumen are straightened. Surfaces are "base", "tip", "outside" and "lumen".

    Raises:
        UsageError: Gmsh is not installed or cannot be loaded.
        MeshError: Gmsh has failed.
    """
    measures = [float(each) for each in (inner, outer, length, size)]
    mesh = tetrahedra_apart(f"{__name__}:tube_here", [*measures, order], order, "Gmsh tube")
    return Mesh(mesh.nodes, mesh.cells, mesh.element, surfaces=surfaces_around_z(mesh))


def tube_here(inner: float, outer: float, length: float, size: float, order: int) -> tuple[bool, Any]:
    """As `tube_tetrahedra`, in this process: see `tetrahedra_here`."""

    def describe(gmsh: Any) -> None:
        shell = gmsh.model.occ.addCylinder(0, 0, 0, 0, 0, length, outer)
        if inner > 0.0:
            lumen = gmsh.model.occ.addCylinder(0, 0, 0, 0, 0, length, inner)
            gmsh.model.occ.cut([(3, shell)], [(3, lumen)])
        gmsh.model.occ.synchronize()

    return tetrahedra_here(describe, size, order)
