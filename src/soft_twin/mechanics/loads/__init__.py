"""Forces on bodies. A new one is a module with a class derived from Force."""

from soft_twin.mechanics.loads.base import Force
from soft_twin.mechanics.loads.efforts import Effort
from soft_twin.mechanics.loads.loads import Gravity, NodalLoad
from soft_twin.mechanics.loads.pressure import Pressure

__all__ = ["Effort", "Force", "Gravity", "NodalLoad", "Pressure"]
