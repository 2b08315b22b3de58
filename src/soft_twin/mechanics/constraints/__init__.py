"""Constraints on bodies. A new one is a module with a class derived from Constraint; some are of `contact`."""

from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.driven import Driven
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.prescribed import Prescribed
from soft_twin.mechanics.constraints.rigid_plate import RigidPlate
from soft_twin.mechanics.constraints.rows import Rows

__all__ = ["Constraint", "Driven", "Multipliers", "Prescribed", "RigidPlate", "Rows"]
