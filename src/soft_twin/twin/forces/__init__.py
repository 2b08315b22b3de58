"""Forces on bodies. A new one is a module with a class derived from Force."""

from soft_twin.twin.forces.base import Force
from soft_twin.twin.forces.cables import CableTension
from soft_twin.twin.forces.loads import Gravity, NodalLoad
from soft_twin.twin.forces.pressure import Pressure

__all__ = ["CableTension", "Force", "Gravity", "NodalLoad", "Pressure"]
