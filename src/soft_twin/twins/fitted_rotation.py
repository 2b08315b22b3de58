"""The rotation that fits some nodes of a deforming body best, and how it turns when they move.

With arms a of the nodes in the undeformed body, which sum up to zero, R is the orthogonal factor of the polar
decomposition of A = Σ x aᵀ (Kabsch 1976), so that V = A Rᵀ is symmetric. It stays so when the nodes move by δx and R
turns by ω, δR = [ω]× R: (tr(V) I − V) ω = Σ (R a) × δx.
"""

import numpy as np

from soft_twin.mechanics.unknowns import cross_matrices


def fitted_rotation(arms: np.ndarray, points: np.ndarray) -> np.ndarray:
    """R (3, 3) for arms (k, 3) and where the nodes are, (k, 3) [m]."""
    u, _, vt = np.linalg.svd(points.T @ arms)
    found = u @ vt
    (a, b, c), (d, e, f), (g, h, i) = found.tolist()
    if a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g) < 0.0:  # as it may be of flat or mirrored nodes
        u[:, 2] *= -1.0
        found = u @ vt
    return found


def fitted_turn(arms: np.ndarray, points: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """ω (3, …) of R for steps (k, 3, …) of the nodes, to first order [rad]."""
    rotation = fitted_rotation(arms, points)
    turned = arms @ rotation.T
    stretch = points.T @ turned
    moments = np.einsum("kij,kj...->i...", cross_matrices(turned), steps)
    return np.linalg.solve(np.trace(stretch) * np.eye(3) - stretch, moments.reshape(3, -1)).reshape(moments.shape)
