"""Actuators with given efforts, as a load."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError
from soft_twin.mechanics.actuators.base import Actuators
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.loads.base import Force
from soft_twin.mechanics.unknowns import Coupling, Pose


class Effort(Force):
    """Actuators whose efforts (a,) are given; they may be set at any time. Their potential is −e·c, with
    friction that of the effective coordinates."""

    def __init__(self, actuators: Actuators, efforts: Sequence[float] | None = None):
        self.actuators = actuators
        self.efforts = np.zeros(actuators.count) if efforts is None else efforts

    @property
    def efforts(self) -> np.ndarray:
        return self._efforts

    @efforts.setter
    def efforts(self, values: Sequence[float]) -> None:
        efforts = checked_vector(values, self.actuators.count, "efforts")
        if (efforts < self.actuators.least_effort).any():
            raise InputError(f"efforts: {efforts.tolist()} has a negative one, a cable never pushes")
        self._efforts = efforts

    def take(self, efforts: np.ndarray) -> None:
        """Efforts (a,) of a solver, which are not checked."""
        self._efforts = efforts

    def attach(self, body: Body) -> None:
        self.actuators.attach(body)

    def begin(self, x: np.ndarray) -> None:
        self.actuators.begin(x)

    def force(self, x: np.ndarray) -> np.ndarray:
        total = np.zeros_like(x)
        self.add_force(x, total)
        return total

    def add_force(self, x: np.ndarray, total: np.ndarray) -> None:
        if self.efforts.any():
            self.actuators.add_forces(x, self.efforts, total)

    def energy(self, x: np.ndarray) -> float | None:
        if not self.actuators.has_potential:
            return None
        return -float(self.efforts @ self.actuators.effective_coordinates(x)) if self.efforts.any() else 0.0

    @property
    def groups(self) -> np.ndarray:
        return self.actuators.groups

    def stiffness(self, x: np.ndarray) -> np.ndarray:
        return self.actuators.stiffness(x, self.efforts)

    def add_to(self, coupling: Coupling, pose: Pose, factor: float) -> None:
        if self.efforts.any():
            self.actuators.add_to(coupling, pose, factor * self.efforts)

    def remainder(self, x: np.ndarray) -> csr_matrix | None:
        return self.actuators.remainder(x, self.efforts)
