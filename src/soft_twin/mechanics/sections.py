"""Cross sections of a body as linear functions of its nodes: the points that goals, tips and shapes speak of."""

import math

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.mesh.mesh import Mesh

PLANE = 1e-9  # [m] by which nodes of one plane may be apart
BESIDE = 0.01  # of a section's extent: nearer to its border, or outside, the z axis is not what a body is around


def section_weights(mesh: Mesh, z: float) -> np.ndarray:
    """Weights (n,) of the nodes whose weighted mean is the centre of a cross section: (0, 0, z), or, where the z axis
    passes beside it or along its border, the middle of its extent.

    They are the least-norm weights of the nodes nearest to the plane that reproduce linear fields, so that the
    centre of any rigidly moved section is exact.

    Raises:
        MeshError: fewer than four nodes near the plane.
    """
    near = _near(mesh, z)
    across = mesh.nodes[near, :2]
    low, high = across.min(axis=0), across.max(axis=0)
    if np.any(np.minimum(-low, high) <= BESIDE * (high - low)):
        across = across - 0.5 * (low + high)
    conditions = np.column_stack([np.ones(len(near)), across, mesh.nodes[near, 2] - z]).T
    weights = np.zeros(len(mesh.nodes))
    weights[near] = np.linalg.lstsq(conditions, np.array([1.0, 0.0, 0.0, 0.0]), rcond=None)[0]
    return weights


def _near(mesh: Mesh, z: float) -> np.ndarray:
    """Indices (k,) of the nodes in the plane at z [m], or on both sides of it.

    Raises:
        MeshError: fewer than four.
    """
    distance = np.full(len(mesh.nodes), np.inf)
    distance[mesh.body_nodes] = np.abs(mesh.nodes[mesh.body_nodes, 2] - z)
    width = np.sort(distance)[min(5, len(distance) - 1)] + PLANE
    near = np.flatnonzero(distance <= width)
    if distance[near].max() > PLANE or len(near) < 6:
        near = np.flatnonzero(distance <= max(4.0 * width, 0.02 * mesh.size[2], _other_side(mesh, z)))
    if len(near) < 4:
        raise MeshError(f"only {len(near)} nodes near the section z = {z:g} m: the mesh is too coarse")
    return near


def _other_side(mesh: Mesh, z: float) -> float:
    """How far from z [m] to look for nodes of either side: those of one alone do not say where it is. Beyond an end of
    the body, they are the nearest two planes of them."""
    heights = mesh.nodes[mesh.body_nodes, 2] - z
    below, above = heights[heights <= PLANE], heights[heights >= -PLANE]
    if len(below) and len(above):
        return max(-below.max(), above.min()) + PLANE
    away = np.sort(np.abs(heights))
    beyond = away[away > away[0] + PLANE]
    return beyond[0] + PLANE if len(beyond) else away[-1]


def section_normal(mesh: Mesh, x: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Unit normal (3,) of the section that `nodes` (indices) have become at positions (n, 3): +z undeformed."""
    return normal_of(across_section(mesh, nodes), x[nodes])


def across_section(mesh: Mesh, nodes: np.ndarray) -> np.ndarray:
    """(2, k) where nodes lie across the undeformed body, from their mean [m]."""
    return (mesh.nodes[nodes, :2] - mesh.nodes[nodes, :2].mean(axis=0)).T


def normal_of(across: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Unit normal (3,) of a section whose nodes, `across_section` (2, k), are at points (k, 3)."""
    u, v = (across @ points).tolist()  # as `across` sums up to zero, the mean of the points does not count
    normal = np.array([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
    return normal / math.sqrt(normal @ normal)
