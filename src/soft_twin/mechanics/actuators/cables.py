"""Cables as actuators: the tension [N] works on the length that is wound in [m]."""

from collections.abc import Sequence

import numpy as np

from soft_twin.errors import InputError
from soft_twin.mechanics.actuators.base import Actuators
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.cables import Cables

TOLERANCE = 1e-9  # [m]


class CableActuators(Actuators):
    """Cables inside a body, or outside it. With the length ℓ the coordinate is ℓ₀ − ℓ, and a cable never pushes.

    A cable between winch and anchor is a unilateral spring: when the winch has wound in d, T = k (ℓ − ℓ₀ + d)₊.
    """

    unit = "N"

    def __init__(self, cables: Cables, stiffness: float, names: Sequence[str] | None = None):
        """`stiffness`: of a cable between winch and anchor [N/m].

        Raises:
            InputError: a stiffness that is not positive, or another number of names.
        """
        if not 0.0 < stiffness < np.inf:
            raise InputError(f"cables: stiffness {stiffness:g} N/m is not positive and finite")
        self.cables = cables
        self.names = [f"cable_{i + 1}" for i in range(cables.count)] if names is None else list(names)
        if len(self.names) != cables.count:
            raise InputError(f"cables: {len(self.names)} names for {cables.count} cables")
        self.softness = np.full(cables.count, 1.0 / stiffness)
        self.least_effort = np.zeros(cables.count)
        self.tolerance = np.full(cables.count, TOLERANCE)

    def attach(self, body: Body) -> None:
        if self.cables.nodes.max() >= len(body.mesh.nodes):
            raise InputError("cables: they were threaded through another mesh, which has more nodes")

    @property
    def groups(self) -> np.ndarray:
        return self.cables.nodes

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        return self.cables.rest_lengths - self.cables.lengths(x)

    def gradients(self, x: np.ndarray) -> np.ndarray:
        return -self.cables.lengths_and_gradients(x)[1]

    def add_forces(self, x: np.ndarray, efforts: np.ndarray, force: np.ndarray) -> None:
        self.cables.add_pull(self.cables.lengths_and_directions(x)[1], efforts, force)

    def changes(self, x: np.ndarray, *movements: np.ndarray) -> list[np.ndarray]:
        directions = self.cables.lengths_and_directions(x)[1]
        return [-self.cables.changes(directions, each) for each in movements]

    def stiffness(self, x: np.ndarray, efforts: np.ndarray) -> np.ndarray:
        return self.cables.blocks(x, efforts[self.cables.owners])

    def add_stiffness(self, x: np.ndarray, efforts: np.ndarray, offsets, strides, data) -> bool:
        self.cables.add_stiffness(x, efforts, offsets, strides, data)
        return True
