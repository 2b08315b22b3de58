"""What the inverse should reach. Each goal is a weighted least-squares term in the cables' tensions T.

A goal answers with a residual r and a Jacobian J such that the value after the step misses the goal by r + J T;
it costs ½ w² ‖r + J T‖².
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from soft_twin.twin.base import Linearisation, Twin


class Goal(ABC):
    """A term of the least-squares problem."""

    weight: float

    @abstractmethod
    def residual_and_jacobian(self, twin: Twin, step: Linearisation) -> tuple[np.ndarray, np.ndarray]:
        """r (k,) and J (k, c) of this goal, for one Newton step of the twin."""


@dataclass(frozen=True)
class SectionGoal(Goal):
    """The centre of the cross section at `z` [m] shall be at `target` (3,) in base_link [m]."""

    z: float
    target: np.ndarray
    weight: float = 1.0

    def residual_and_jacobian(self, twin, step):
        centre = twin.section(self.z, twin.points) + twin.section(self.z, step.free_step)
        return centre - self.target, twin.section(self.z, step.step_per_effort)


@dataclass(frozen=True)
class ProximalGoal(Goal):
    """The tensions shall stay near those of the last step: this alone keeps redundant cables from wandering and
    Gauss–Newton from cycling. The weight is relative to the compliance of the tip."""

    weight: float = 0.1

    def residual_and_jacobian(self, twin, step):
        scale = np.linalg.norm(twin.section(twin.length, step.step_per_effort)) / np.sqrt(twin.actuator_count)
        return -scale * twin.efforts, scale * np.eye(twin.actuator_count)


def arc_through(tip: np.ndarray, fraction: float) -> np.ndarray:
    """The point (3,) at `fraction` of the circular arc that leaves the origin along +z and ends at `tip` (3,).

    With the polar angle θ/2 = atan2(ρ, z) of the tip, the arc turns by θ, and its point at the fraction s has the
    chord |tip| sin(s θ/2)/sin(θ/2) under the polar angle s θ/2.
    """
    rho = float(np.hypot(tip[0], tip[1]))
    half = float(np.arctan2(rho, tip[2]))
    if half < 1e-9:
        return fraction * np.asarray(tip, dtype=float)
    chord = float(np.linalg.norm(tip)) * np.sin(fraction * half) / np.sin(half)
    sideways = np.array([tip[0], tip[1], 0.0]) / rho
    return chord * (np.sin(fraction * half) * sideways + np.array([0.0, 0.0, np.cos(fraction * half)]))
