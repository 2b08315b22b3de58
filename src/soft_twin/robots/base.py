"""What every robot is to the rest of the package, whatever its kind."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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
