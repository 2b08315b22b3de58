"""Constant curvature: kinematics in closed form of bodies that bend in circular arcs."""

from soft_twin.twins.constant_curvature.kinematics import ConstantCurvature
from soft_twin.twins.plate_orientation import axis_of, pitch_roll_of

__all__ = ["ConstantCurvature", "axis_of", "pitch_roll_of"]
