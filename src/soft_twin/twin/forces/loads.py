"""Loads that do not follow the body: its weight, and forces on nodes."""

from collections.abc import Sequence

import numpy as np

from soft_twin.errors import InputError
from soft_twin.twin.base import checked_vector
from soft_twin.twin.body import Body, nodes_of
from soft_twin.twin.forces.base import Force


class Gravity(Force):
    """The weight of all nodes. `vector` (3,) [m/s²] may be set at any time, at no cost."""

    def __init__(self, vector: Sequence[float] = (0.0, 0.0, -9.81)):
        self.vector = checked_vector(vector, 3, "gravity")

    def attach(self, body: Body) -> None:
        self._body = body

    def force(self, x: np.ndarray) -> np.ndarray:
        return self._body.weight(np.asarray(self.vector, dtype=float))

    def energy(self, x: np.ndarray) -> float:
        return -float((self.force(x) * x).sum())


class NodalLoad(Force):
    """Forces on nodes, constant in direction. `value` may be set at any time.

    Args:
        nodes: name of one of the mesh's groups or surfaces, (k,) indices, or a mask (n,).
        value: (3,) [N] shared evenly by the nodes, or (k, 3) [N] for each.
    """

    def __init__(self, nodes: str | np.ndarray, value: Sequence):
        self.nodes, self.value = nodes, np.asarray(value, dtype=float)

    def attach(self, body: Body) -> None:
        self._nodes = nodes_of(body, self.nodes, "nodal load")
        self._count = len(body.mesh.nodes)
        if not np.isfinite(self.value).all():
            raise InputError(f"nodal load: {self.value} N is not finite")
        if self.value.shape not in ((3,), (len(self._nodes), 3)):
            raise InputError(f"nodal load: expected (3,) or ({len(self._nodes)}, 3) numbers, found {self.value.shape}")

    def force(self, x: np.ndarray) -> np.ndarray:
        force = np.zeros((self._count, 3))
        share = self.value if self.value.ndim == 2 else self.value / len(self._nodes)
        np.add.at(force, self._nodes, share)
        return force

    def energy(self, x: np.ndarray) -> float:
        return -float((self.force(x) * x).sum())
