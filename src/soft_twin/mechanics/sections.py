"""Cross sections of a body as linear functions of its nodes: the points that goals, tips and shapes speak of."""

import math

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.mesh.mesh import Mesh


def section_weights(mesh: Mesh, z: float) -> np.ndarray:
    """Weights (n,) of the nodes whose weighted mean is the centre (0, 0, z) of a cross section.

    They are the least-norm weights of the nodes nearest to the plane that reproduce linear fields, so that the
    centre of any rigidly moved section is exact.

    Raises:
        MeshError: fewer than four nodes near the plane.
    """
    distance = np.full(len(mesh.nodes), np.inf)
    distance[mesh.body_nodes] = np.abs(mesh.nodes[mesh.body_nodes, 2] - z)
    width = np.sort(distance)[min(5, len(distance) - 1)] + 1e-9
    flat = distance <= max(width, 1e-9)
    if np.ptp(mesh.nodes[flat, 2]) > 1e-9 or flat.sum() < 6:
        flat = distance <= max(4.0 * width, 0.02 * mesh.size[2])
    near = np.flatnonzero(flat)
    if len(near) < 4:
        raise MeshError(f"only {len(near)} nodes near the section z = {z:g} m: the mesh is too coarse")
    conditions = np.column_stack([np.ones(len(near)), mesh.nodes[near, :2], mesh.nodes[near, 2] - z]).T
    weights = np.zeros(len(mesh.nodes))
    weights[near] = np.linalg.lstsq(conditions, np.array([1.0, 0.0, 0.0, 0.0]), rcond=None)[0]
    return weights


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
