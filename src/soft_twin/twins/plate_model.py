"""What every model of a plate on a soft neck is to those that ask it, whatever physics is inside."""

from abc import ABC, abstractmethod

import numpy as np


class PlateModel(ABC):
    """Pitch and roll of the plate at a body's end, of `constant_curvature/orientation.py`, and its cables."""

    @abstractmethod
    def orientation(self, displacements: np.ndarray) -> tuple[float, float]:
        """Pitch and roll [rad] of the plate where cables are pulled in by displacements (c,) [m]."""

    @abstractmethod
    def displacements(self, pitch: float, roll: float) -> np.ndarray:
        """(c,) what the cables are pulled in [m] where the plate has this pitch and roll [rad]."""

    def step(self, pitch: float, roll: float) -> np.ndarray:
        """As `displacements`, for a target that moves little from call to call: what a control loop asks for."""
        return self.displacements(pitch, roll)

    @abstractmethod
    def bear(self, gravity: np.ndarray, payload: float = 0.0) -> None:
        """Say what pulls at body and plate: gravity (3,) in base_link [m/s²], and a mass [kg] hung on the plate."""
