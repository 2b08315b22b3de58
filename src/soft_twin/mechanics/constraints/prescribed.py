"""Nodes whose positions are given: they take unknowns away."""

from collections.abc import Callable

import numpy as np

from soft_twin.checks import checked_numbers, checked_vector, in_words
from soft_twin.errors import InputError
from soft_twin.mechanics.body import Body, nodes_of
from soft_twin.mechanics.constraints.base import Constraint


class Prescribed(Constraint):
    """Nodes whose positions are given: at rest, moving with a velocity, or along any motion.

    Args:
        nodes: name of a group or of a surface, indices (k,), or a mask (n,).
        velocity: (3,) [m/s] from the rest positions.
        motion: positions (k, 3) [m] as a function of time [s], instead of a velocity. Integrators take its slope, too,
            from up to 0.2 % of a step ahead.

    Raises:
        InputError: a motion that is no function, or a velocity that is not three finite numbers.
    """

    def __init__(self, nodes, velocity=(0.0, 0.0, 0.0), motion: Callable[[float], np.ndarray] | None = None):
        if motion is not None and not callable(motion):
            raise InputError(f"prescribed motion: expected a function of time [s], found {in_words(motion)}")
        self.nodes, self.motion = nodes, motion
        self.velocity = checked_vector(velocity, 3, "prescribed velocity")

    def attach(self, body: Body) -> None:
        self._nodes = nodes_of(body, self.nodes, "prescribed positions")
        self._rest = body.mesh.nodes[self._nodes]

    @property
    def prescribed(self) -> np.ndarray:
        return self._nodes

    def positions(self, time: float) -> np.ndarray:
        if self.motion is None:
            return self._rest + time * self.velocity
        positions = checked_numbers(self.motion(time), f"{self._rest.shape} finite numbers", "prescribed motion")
        if positions.shape != self._rest.shape or not np.isfinite(positions).all():
            raise InputError(f"prescribed motion: expected {self._rest.shape} finite numbers, found {positions.shape}")
        return positions
