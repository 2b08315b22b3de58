"""Nodes that move as one: their unknowns are six."""

import numpy as np

from soft_twin.mechanics.body import Body, nodes_of
from soft_twin.mechanics.constraints.base import Constraint


class RigidPlate(Constraint):
    """Nodes that move together as a rigid body with six degrees of freedom."""

    def __init__(self, nodes):
        """`nodes`: name of a group or of a surface, indices (k,), or a mask (n,)."""
        self.nodes = nodes

    def attach(self, body: Body) -> None:
        self._nodes = nodes_of(body, self.nodes, "rigid plate")

    @property
    def plate(self) -> np.ndarray:
        return self._nodes
