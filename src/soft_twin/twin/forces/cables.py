"""Cables that are pulled with given tensions."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from soft_twin.errors import InputError
from soft_twin.twin.base import checked_vector
from soft_twin.twin.body import Body
from soft_twin.twin.cables import Cables
from soft_twin.twin.forces.base import Force

TURNING_STEP = 1e-5  # of the body's size
STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -8.0 / 12.0), (1.0, 8.0 / 12.0), (2.0, -1.0 / 12.0))


class CableTension(Force):
    """Cables whose tensions (c,) [N] at the base are given; they may be set at any time.

    Args:
        cables: inside the body, or outside it.
        tensions: (c,) [N] ≥ 0.
        friction: Coulomb coefficient μ: being pulled in, the tension falls by exp(−μ θ) with the angle θ that a cable
            has turned from where it enters along +z (capstan equation). Such a force has no potential.
    """

    def __init__(self, cables: Cables, tensions: Sequence[float] | None = None, friction: float = 0.0):
        self.cables = cables
        self.tensions = np.zeros(cables.count) if tensions is None else tensions
        if not friction >= 0.0:
            raise InputError(f"cables: friction {friction:g} must not be negative")
        self.friction = friction

    @property
    def tensions(self) -> np.ndarray:
        return self._tensions

    @tensions.setter
    def tensions(self, values: Sequence[float]) -> None:
        tensions = checked_vector(values, self.cables.count, "tensions")
        if (tensions < 0.0).any():
            raise InputError(f"cables: tensions {tensions.tolist()} must not be negative")
        self._tensions = tensions

    def attach(self, body: Body) -> None:
        if self.cables.nodes.max() >= len(body.mesh.nodes):
            raise InputError("cables: they were threaded through another mesh, which has more nodes")
        self._shape = body.mesh.nodes.shape

    def force(self, x: np.ndarray) -> np.ndarray:
        if self.friction > 0.0:
            return -self.cables.scaled_gradients(x, self._factors(x)) @ self.tensions
        return -(self.cables.jacobian(x).T @ self.tensions).reshape(self._shape)

    def energy(self, x: np.ndarray) -> float | None:
        return None if self.friction > 0.0 else float(self.tensions @ self.cables.lengths(x))

    @property
    def groups(self) -> np.ndarray:
        return self.cables.nodes

    def stiffness(self, x: np.ndarray) -> np.ndarray:
        return self.cables.blocks(x, self._factors(x) * self.tensions[self.cables.owners])

    def remainder(self, x: np.ndarray) -> csr_matrix | None:
        """How friction changes as the cables turn, by differences of fourth order."""
        if self.friction == 0.0:
            return None
        step = TURNING_STEP * float(np.linalg.norm(np.ptp(x, axis=0)))
        nodes = np.unique(self.cables.nodes)
        columns = []
        for node in nodes:
            for shift in step * np.eye(3):
                change = np.zeros(len(self.cables.owners))
                for way, weight in STENCIL:
                    moved = x.copy()
                    moved[node] += way * shift
                    change += weight / step * self._factors(moved)
                columns.append((self.cables.scaled_gradients(x, change) @ self.tensions).ravel())
        places = (3 * nodes[:, None] + np.arange(3)).ravel()
        spread = coo_matrix((np.ones(len(places)), (np.arange(len(places)), places)), shape=(len(places), x.size))
        return csr_matrix(np.array(columns).T) @ spread.tocsr()

    def _factors(self, x: np.ndarray) -> np.ndarray:
        """(s,) tension of each piece relative to the base."""
        if self.friction == 0.0:
            return np.ones(len(self.cables.owners))
        return np.exp(-self.friction * self.cables.turning(x))
