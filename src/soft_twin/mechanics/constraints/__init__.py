"""Constraints on bodies. A new one is a module with a class derived from Constraint, a new shape from Obstacle."""

from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.driven import Driven
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.prescribed import Prescribed
from soft_twin.mechanics.constraints.rigid_plate import RigidPlate
from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.contact.contact import Contact
from soft_twin.mechanics.contact.lumen import Lumen
from soft_twin.mechanics.contact.obstacles import Box, Cylinder, Obstacle, Plane, Sphere
from soft_twin.mechanics.contact.self_contact import SelfContact

__all__ = [
    "Box", "Constraint", "Contact", "Cylinder", "Driven", "Lumen", "Multipliers", "Obstacle", "Plane", "Prescribed",
    "RigidPlate", "Rows", "SelfContact", "Sphere",
]  # fmt: skip
