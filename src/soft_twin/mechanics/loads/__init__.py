"""Forces on bodies. A new one is a module with a class derived from Force."""

from soft_twin.mechanics.loads.base import Force
from soft_twin.mechanics.loads.cables import CableTension
from soft_twin.mechanics.loads.loads import Gravity, NodalLoad
from soft_twin.mechanics.loads.pressure import Pressure

__all__ = ["CableTension", "Force", "Gravity", "NodalLoad", "Pressure"]
