"""By which shares the nodes of a surface carry a plate of even thickness that lies on it.

Shares w ≥ 0 of nodes at x, as equal as they can be, that for the surface's area A with its centroid c have

    Σ w = 1,    Σ w (x − c) = 0,    Σ w (x − c)(x − c)ᵀ = ∫ (x − c)(x − c)ᵀ dA / A,

so that a mass which hangs on them has the plate's centre and rotary inertia. Where no shares have the latter, as where
all nodes are on the rim, they have the former alone. ∫ N dA/A of the shape functions has the centre, too, but is
negative in the corners of faces with 8 nodes.
"""

import numpy as np

from soft_twin.mesh.faces import face_rule
from soft_twin.mesh.mesh import Mesh

RANK = 1e-12  # of the largest singular value: what is less is none
STEPS, LEAST_STEP, GAIN = 100, 1e-6, 1e-4  # of Newton's method, and the share of what its slope promises
MISSED = 1e-9  # of the surface's size, by which shares may miss its centre, and likewise of its second moments


def surface_shares(mesh: Mesh, faces: np.ndarray) -> np.ndarray:
    """(k,) of the nodes of faces (f, k_face), in ascending order; equal ones where even the centroid has none."""
    nodes = np.unique(faces)
    places, areas = _samples(mesh, faces)
    shares = areas / areas.sum()
    centre = shares @ places
    size = float(np.abs(places - centre).max())
    places, arms = (places - centre) / size, (mesh.nodes[nodes] - centre) / size
    first = np.vstack([np.ones(len(nodes)), arms.T])
    second = np.vstack([first, _products(arms)])
    for rows, wanted in ((second, _products(places) @ shares), (first, np.zeros(0))):
        found = _nearest_to_equal(rows, np.concatenate([[1.0, 0.0, 0.0, 0.0], wanted]))
        if found is not None:
            return found
    return np.full(len(nodes), 1.0 / len(nodes))


def _samples(mesh: Mesh, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (p, 3) of a quadrature over faces, and the area of each (p,)."""
    rule, corners = face_rule(faces.shape[1]), mesh.nodes[faces]
    along, across = np.moveaxis(np.einsum("qkd,fki->fqdi", rule.gradients, corners), 2, 0)
    areas = rule.weights * np.linalg.norm(np.cross(along, across), axis=2)
    return (rule.values @ corners).reshape(-1, 3), areas.ravel()


def _products(arms: np.ndarray) -> np.ndarray:
    """(6, k) of the coordinates of (k, 3), each two."""
    first, second = np.triu_indices(3)
    return (arms[:, first] * arms[:, second]).T


def _nearest_to_equal(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Shares w (k,), 0 or more, with rows (r, k) w = wanted (r,); None where there are none.

    They are w = max(1/k + rowsᵀ y, 0), and y (r,) maximise the concave wantedᵀ y − ½ |w|²: by Newton's method on its
    piecewise linear gradient, with steps that are halved until they gain. Where there are no shares it has no end.
    """
    equal, y = 1.0 / rows.shape[1], np.zeros(len(rows))
    for _ in range(STEPS):
        shares = np.maximum(equal + rows.T @ y, 0.0)
        missed = wanted - rows @ shares
        if np.abs(missed).max() <= MISSED:
            return shares
        own = rows[:, shares > 0.0]
        way, value = np.linalg.pinv(own @ own.T, rcond=RANK, hermitian=True) @ missed, _dual(rows, wanted, y)
        step = 1.0
        while not _dual(rows, wanted, y + step * way) > value + GAIN * step * (missed @ way):
            step *= 0.5
            if step < LEAST_STEP:
                return None
        y = y + step * way
    return None


def _dual(rows: np.ndarray, wanted: np.ndarray, y: np.ndarray) -> float:
    shares = np.maximum(1.0 / rows.shape[1] + rows.T @ y, 0.0)
    return float(wanted @ y - 0.5 * shares @ shares)
