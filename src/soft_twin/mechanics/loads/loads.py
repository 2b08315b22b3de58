"""Loads that do not follow the body: its weight, and forces on nodes."""

from collections.abc import Sequence

import numpy as np

from soft_twin.checks import checked_numbers, checked_vector
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import InputError
from soft_twin.mechanics.body import Body, nodes_of
from soft_twin.mechanics.loads.base import Force


class Gravity(Force):
    """The weight of all nodes. `vector` (3,) [m/s²] may be set at any time, at no cost."""

    def __init__(self, vector: Sequence[float] = UPRIGHT_GRAVITY):
        self.vector = vector

    @property
    def vector(self) -> np.ndarray:
        return self._vector

    @vector.setter
    def vector(self, value: Sequence[float]) -> None:
        self._vector = checked_vector(value, 3, "gravity")

    def attach(self, body: Body) -> None:
        self._body = body

    def force(self, x: np.ndarray) -> np.ndarray:
        return self._body.weight(self._vector)

    def energy(self, x: np.ndarray) -> float:
        return -float((self.force(x) * x).sum())


class NodalLoad(Force):
    """Forces on nodes, constant in direction. `value` may be set at any time.

    Args:
        nodes: name of one of the mesh's groups or surfaces, (k,) indices, or a mask (n,).
        value: (3,) [N] shared evenly by the nodes, or (k, 3) [N] for each.
    """

    def __init__(self, nodes: str | np.ndarray, value: Sequence):
        self.nodes, self._nodes = nodes, None
        self.value = value

    @property
    def value(self) -> np.ndarray:
        return self._value

    @value.setter
    def value(self, value: Sequence) -> None:
        value = np.array(checked_numbers(value, "(3,) or (k, 3) numbers", "nodal load"))
        if not np.isfinite(value).all():
            raise InputError(f"nodal load: {value} N is not finite")
        count = "k" if self._nodes is None else len(self._nodes)
        if value.shape != (3,) and (value.ndim != 2 or value.shape[1] != 3 or count not in ("k", len(value))):
            raise InputError(f"nodal load: expected (3,) or ({count}, 3) numbers, found {value.shape}")
        self._value = value

    def attach(self, body: Body) -> None:
        self._nodes = nodes_of(body, self.nodes, "nodal load")
        self._count = len(body.mesh.nodes)
        self.value = self._value

    def force(self, x: np.ndarray) -> np.ndarray:
        force = np.zeros((self._count, 3))
        force[self._nodes] = self._value if self._value.ndim == 2 else self._value / len(self._nodes)
        return force

    def energy(self, x: np.ndarray) -> float:
        return -float((self.force(x) * x).sum())
