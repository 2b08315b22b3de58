"""Stiff caps across a body that cables end at: what moves with the whole of a cross section, not with one point of it.

A force at a point of an elastic body sinks in without bounds: the displacement beside it grows as 1/r (Kelvin), so that
a cable anchored at a point is the softer, the finer the mesh is. A cap spreads its pull T over the section. With the
section's area A, centre c and second moments J = ∫ (X − c)(X − c)ᵀ dA, the tractions

    t(X) = T (1/A + (X − c)·J⁻¹ (p − c))

have T's resultant and its moment about c when it pulls at p: those of bending by Euler and Bernoulli, the smoothest
there are. What they work on, ∫ t·u dA / T, is where the cap holds the cable: exact for every affine motion of the
section, and a mean where it warps. There is no new unknown, and the cap's own stiffness across is left out.
"""

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.mesh.faces import face_rule
from soft_twin.mesh.mesh import Mesh

FLAT = 1e-6  # of the body's size that nodes may lie off the plane of a section


def cap_weights(mesh: Mesh, point: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (k,), and their weights (k,) with which they carry a point (3,) [m] of the cap across `axis` (3,) there.

    Raises:
        MeshError: no faces of cells lie in that plane.
    """
    faces = _across(mesh, point, axis / np.linalg.norm(axis))
    rule, corners = face_rule(faces.shape[1]), mesh.nodes[faces]
    places = np.einsum("qk,fki->fqi", rule.values, corners)
    sides = np.einsum("qkj,fki->jfqi", rule.gradients, corners)
    areas = np.linalg.norm(np.cross(*sides), axis=2) * rule.weights
    centre = np.einsum("fq,fqi->i", areas, places) / areas.sum()
    arms = places - centre
    moments = np.einsum("fq,fqi,fqj->ij", areas, arms, arms)
    slope = np.linalg.pinv(moments, rcond=FLAT) @ (point - centre)
    shares = np.einsum("fq,qk->fk", areas * (1.0 / areas.sum() + arms @ slope), rule.values)
    weights = np.bincount(faces.ravel(), shares.ravel(), len(mesh.nodes))
    nodes = np.unique(faces)
    return nodes, weights[nodes]


def _across(mesh: Mesh, point: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """(f, k) nodes of the faces in the plane through a point, of cells on its near side, against the axis."""
    height = (mesh.nodes - point) @ axis
    faces = mesh.cells[:, np.array(mesh.element.faces)]
    flat = (np.abs(height[faces]) < FLAT * mesh.size.max()).all(axis=2)
    near = height[mesh.cells].mean(axis=1) < 0.0
    chosen = faces[flat & near[:, None]]
    if not len(chosen):
        where = ", ".join(f"{1e3 * value:.4g}" for value in point)
        raise MeshError(f"a cap at ({where}) mm: no cells end in the plane across the cable there")
    return chosen
