"""What every robot is to the rest of the package, whatever its kind."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soft_twin.mechanics.model import Model
    from soft_twin.solvers.time.integrators import BackwardEuler


@dataclass(frozen=True)
class Robot(ABC):
    """A robot read from its description.

    Attributes:
        name: the robot's name, also the default ROS namespace.
        path: the description's file.
        nodes: parameters of the robot's ROS nodes, by node name.
    """

    name: str
    path: Path
    nodes: dict[str, dict[str, Any]] = field(repr=False)

    @abstractmethod
    def build_twin(self, **choices: Any) -> Any:
        """The robot's physical twin."""


def build_dynamics(model: "Model", dt: float, mass_damping: float, stiffness_damping: float) -> "BackwardEuler":
    """A model in motion, implicit Euler in steps of `dt` [s] with Rayleigh damping [1/s], [s]."""
    from soft_twin.solvers.time.integrators import BackwardEuler

    return BackwardEuler(model, dt, mass_damping=mass_damping, stiffness_damping=stiffness_damping)
