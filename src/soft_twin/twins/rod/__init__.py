"""Rods: slender bodies with cables in closed form, at rest and in motion."""

from soft_twin.twins.rod.dynamics import RodDynamics
from soft_twin.twins.rod.moving import RodDynamicTwin
from soft_twin.twins.rod.twin import RodLinearisation, RodTwin, Section

__all__ = ["RodDynamicTwin", "RodDynamics", "RodLinearisation", "RodTwin", "Section"]
