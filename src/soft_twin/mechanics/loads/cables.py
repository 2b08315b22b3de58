"""Cables that are pulled with given tensions."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix, diags

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.loads.base import Force


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
        """How friction changes as the cables turn: the sum of −μ T ∂ℓ/∂x ∂θ/∂x over the pieces."""
        if self.friction == 0.0:
            return None
        falls = -self.friction * self._factors(x) * self.tensions[self.cables.owners]
        return (self.cables.piece_jacobian(x).T @ diags(falls) @ self.cables.turning_jacobian(x)).tocsr()

    def _factors(self, x: np.ndarray) -> np.ndarray:
        """(s,) tension of each piece relative to the base."""
        if self.friction == 0.0:
            return np.ones(len(self.cables.owners))
        return np.exp(-self.friction * self.cables.turning(x))
