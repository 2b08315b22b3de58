"""Quadratic cells that curve too much, made valid: mid-side nodes go towards the middles of the straight edges."""

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.mesh.mesh import Mesh, jacobians

LEAST = 0.15  # of the straight cell's determinant, what is left everywhere
SHARES = (0.75, 0.5, 0.25, 0.0)  # of a mid-side node's curve that are tried


def straightened(mesh: Mesh, least: float = LEAST) -> Mesh:
    """The mesh with as little of its edges' curves taken away as makes every cell valid.

    A coarse mesh of quadratic tetrahedra folds where a curved surface bends more than its cells are thick, as around a
    narrow lumen. A cell is valid when det ∂X/∂ξ, at its nodes and quadrature points, is at least `least` of the
    smallest of the cell with straight edges. Corners stay where they are, and with them the shape to second order.

    Raises:
        MeshError: the element has no mid-side nodes.
    """
    element = mesh.element
    if not hasattr(element, "edges"):
        raise MeshError(f"{element.name} has no mid-side nodes to straighten")
    edges = np.array(element.edges)
    count = len(element.nodes) - len(edges)
    middles = mesh.cells[:, count:]
    straight = mesh.nodes.copy()
    straight[middles] = mesh.nodes[mesh.cells[:, edges]].mean(axis=2)
    points = np.vstack([element.nodes, element.points])
    allowed = least * jacobians(_moved(mesh, straight), points)[1].min(axis=1)
    share = np.ones(len(mesh.nodes))
    for target in SHARES:
        curved = _moved(mesh, straight + share[:, None] * (mesh.nodes - straight))
        folded = jacobians(curved, points)[1].min(axis=1) < allowed
        if not folded.any():
            return curved
        share[middles[folded]] = np.minimum(share[middles[folded]], target)
    return _settled(mesh, straight, share, points, allowed, middles)


def _settled(mesh: Mesh, straight: np.ndarray, share: np.ndarray, points, allowed, middles: np.ndarray) -> Mesh:
    """Straight where it is still folded: a straight cell is valid, so that this ends."""
    while True:
        curved = _moved(mesh, straight + share[:, None] * (mesh.nodes - straight))
        folded = jacobians(curved, points)[1].min(axis=1) < allowed
        if not (share[middles[folded]] > 0.0).any():
            return curved
        share[middles[folded]] = 0.0


def _moved(mesh: Mesh, nodes: np.ndarray) -> Mesh:
    return Mesh(nodes, mesh.cells, mesh.element, mesh.volumes, mesh.surfaces, mesh.groups)
