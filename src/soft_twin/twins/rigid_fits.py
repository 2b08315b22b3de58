"""Frames on a deforming body as rigid transforms, all of them at once.

A frame is some nodes with weights: its place is their weighted mean, its rotation the orthogonal factor of the polar
decomposition of Σ x Rᵀ, where R are arms of nodes in the undeformed body, from their plain mean: the rotation that fits
them best (Kabsch 1976). One sparse product gives all places and all sums, one batch of singular value
decompositions all rotations.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix, vstack


class RigidFits:
    """Frames on the nodes of one body."""

    def __init__(self, rest: np.ndarray, weights: Sequence[np.ndarray], around: Sequence[np.ndarray] | None = None):
        """`rest`: (n, 3) undeformed [m]. `weights`: (n,) of each frame, whatever they sum up to. `around`: numbers of
        the nodes that each turns with; without, those that have a weight."""
        around = [np.flatnonzero(each) for each in weights] if around is None else around
        arms = [_arms(rest, nodes) for nodes in around]
        means = np.array(weights).reshape(-1, len(rest))
        self._count = len(arms)
        self._sums = vstack([csr_matrix(means / means.sum(axis=1, keepdims=True)), *arms], format="csr")

    def transforms(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places (m, 3) [m] and rotations (m, 3, 3) from the undeformed body, of nodes at points (n, 3)."""
        places, sums = np.split(self._sums @ points, [self._count])
        u, _, vt = np.linalg.svd(sums.reshape(-1, 3, 3).transpose(0, 2, 1))
        u[:, :, 2] *= np.linalg.det(u @ vt)[:, None]  # right-handed also where nodes are flat or mirrored
        return places, u @ vt


def _arms(rest: np.ndarray, nodes: np.ndarray) -> csr_matrix:
    """(3, n) the nodes' arms; they sum up to zero, so that the body's place does not count."""
    arms = rest[nodes] - rest[nodes].mean(axis=0)
    rows = np.repeat(np.arange(3), len(nodes))
    return csr_matrix((arms.T.ravel(), (rows, np.tile(nodes, 3))), shape=(3, len(rest)))
