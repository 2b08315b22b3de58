"""Actuators with given efforts, as a load."""

import numpy as np

from soft_twin.mechanics.actuators.base import Actuators
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.loads.base import Force
from soft_twin.mechanics.unknowns import Coupling, Pose


class Effort(Force):
    """Actuators whose efforts (a,) are given; they may be set at any time. Their potential is −e·c, with
    friction that of the effective coordinates."""

    def __init__(self, actuators: Actuators):
        self.actuators = actuators
        self.efforts = np.zeros(actuators.count)

    def attach(self, body: Body) -> None:
        self.actuators.attach(body)

    def force(self, x: np.ndarray) -> np.ndarray:
        total = np.zeros_like(x)
        self.add_force(x, total)
        return total

    def add_force(self, x: np.ndarray, total: np.ndarray) -> None:
        if self.efforts.any():
            self.actuators.add_forces(x, self.efforts, total)

    def energy(self, x: np.ndarray) -> float:
        return -float(self.efforts @ self.actuators.effective_coordinates(x)) if self.efforts.any() else 0.0

    @property
    def groups(self) -> np.ndarray:
        return self.actuators.groups

    def stiffness(self, x: np.ndarray) -> np.ndarray:
        return self.actuators.stiffness(x, self.efforts)

    def add_to(self, coupling: Coupling, pose: Pose, factor: float) -> None:
        if not self.efforts.any():
            return
        direct = coupling.direct
        if direct is None or not self.actuators.add_stiffness(pose.points, factor * self.efforts, *direct):
            super().add_to(coupling, pose, factor)
