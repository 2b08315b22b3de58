"""Muscles: fibres in a solid that shorten when they are activated."""

import copy

import numpy as np

from soft_twin.errors import InputError, MaterialError
from soft_twin.mechanics.materials.base import Energy
from soft_twin.mechanics.materials.tensors import IDENTITY


class Muscle(Energy):
    """W = k/2 (‖F m‖ − (1 − a))²: fibres along m with stiffness k [Pa], which activation a makes shorter by a share a.

    It acts beside a solid: `solid + muscle`, or two materials of one volume. a = 0 is at rest where the solid is,
    a > 0 contracts, a < 0 expands.

    SORS, eq. 16, has W = k/2 ‖(1 − a) F m‖² instead. Its minimum is F m = 0 whatever a is; its stress
    k (1 − a)² F m ⊗ m pulls at rest too, and pulls less the more it is activated. Here the stress is
    k (‖F m‖ − (1 − a)) n ⊗ m with n = F m/‖F m‖: none at ‖F m‖ = 1 − a, and more of it with more a.

    Where fibres are longer than they want to be the tangent is positive; shorter ones buckle, which the solid prevents.

    Attributes:
        activation: a, one number or one of each cell of the mesh (m,); may be set at any time.
    """

    _name = "muscle"

    def __init__(self, stiffness: float, direction: np.ndarray, activation: float | np.ndarray = 0.0):
        """`direction`: m (3,), or (m, 3) one of each cell of the mesh; its length does not matter.

        Raises:
            MaterialError: k is not positive, or a direction has no length.
        """
        direction = np.asarray(direction, dtype=float)
        length = np.linalg.norm(direction, axis=-1, keepdims=True)
        if not stiffness > 0.0:
            raise MaterialError(f"{self._name}: stiffness {stiffness:g} Pa is not positive")
        if direction.shape[-1:] != (3,) or direction.ndim > 2 or not ((length > 0.0) & (length < np.inf)).all():
            raise MaterialError(
                f"{self._name}: expected directions (3,) or (cells, 3) that are not zero, found {direction}"
            )
        self.stiffness, self.direction = stiffness, direction / length
        self.activation = activation

    @property
    def activation(self) -> float | np.ndarray:
        return self._activation

    @activation.setter
    def activation(self, value: float | np.ndarray) -> None:
        if not np.isfinite(value).all():
            raise InputError(f"{self._name}: activation {value} is not finite")
        self._activation = value

    @property
    def modulus(self) -> float:
        """How stiff the fibres are [Pa], whatever their directions."""
        return self.stiffness

    def at(self, cells):
        if self.direction.ndim == 1 and np.ndim(self._activation) == 0:
            return self
        own = copy.copy(self)
        if self.direction.ndim == 2:
            own.direction = self._of_cells("directions", self.direction, cells)
        if np.ndim(self._activation) == 1:
            own.activation = self._of_cells("activations", np.asarray(self._activation), cells)
        return own

    def _of_cells(self, what: str, values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        if len(cells) and len(values) <= cells.max():
            raise InputError(f"{self._name}: {len(values)} {what} for a mesh with a cell {cells.max()}")
        return values[cells]

    def energy(self, F):
        return 0.5 * self.stiffness * self._fibres(F)[3] ** 2

    def stress(self, F):
        m, n, _, stretch = self._fibres(F)
        return self.stiffness * stretch[:, None, None] * n[:, :, None] * m[:, None, :]

    def tangent(self, F):
        m, n, length, stretch = self._fibres(F)
        along = n[:, :, None] * n[:, None, :]
        across = (stretch / length)[:, None, None] * (IDENTITY - along)
        return self.stiffness * np.einsum("pik,pj,pl->pijkl", along + across, m, m)

    def activation_stress(self, F: np.ndarray) -> np.ndarray:
        """∂P/∂a (p, 3, 3) [Pa]: k n ⊗ m."""
        m, n, _, _ = self._fibres(F)
        return self.stiffness * n[:, :, None] * m[:, None, :]

    def _fibres(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """m (p, 3), n (p, 3), ‖F m‖ (p,) and ‖F m‖ − (1 − a) (p,) at points F."""
        m = _at_points(self.direction, len(F), 2)
        fibre = np.einsum("pij,pj->pi", F, m)
        length = np.maximum(np.linalg.norm(fibre, axis=1), np.finfo(float).tiny)
        rest = 1.0 - _at_points(np.asarray(self._activation), len(F), 1)
        return m, fibre / length[:, None], length, length - rest


def _at_points(values: np.ndarray, count: int, ndim: int) -> np.ndarray:
    """Values of the law or of each cell at `count` points, those of a cell one after the other."""
    if values.ndim < ndim:
        return np.broadcast_to(values, (count, *values.shape))
    return np.repeat(values, count // len(values), axis=0)
