"""Bodies against obstacles and themselves: gaps, edges, friction. A new shape is a class derived from Obstacle."""

from soft_twin.mechanics.contact.contact import Contact
from soft_twin.mechanics.contact.lumen import Lumen
from soft_twin.mechanics.contact.obstacles import Box, Cylinder, Obstacle, Plane, Sphere
from soft_twin.mechanics.contact.self_contact import SelfContact

__all__ = ["Box", "Contact", "Cylinder", "Lumen", "Obstacle", "Plane", "SelfContact", "Sphere"]
