"""A winch: a drum that winds a cable in, turned by a motor through a gear."""

from dataclasses import dataclass

import numpy as np

from soft_twin.driving.c610 import COUNTS_PER_TURN, TORQUE_CONSTANT
from soft_twin.robots.cable_tube import WinchDescription


@dataclass(frozen=True)
class Winch:
    """Conversions between a cable's displacement and its motor; all of them take numbers or arrays.

    The cable leaves the drum at a radius r₀ + g φ, with φ the drum's angle from its zero and g the growth of the
    radius while cable layers build up (0 for a drum whose turns lie side by side). A displacement d > 0 is cable
    wound in: d = c (r₀ φ + ½ g φ²), with c a calibration factor near 1. The rotor turns by direction · gear · φ.

    Attributes:
        description: drum radius r₀ [m], gear ratio, winding direction, current limit [A].
        growth: g [m/rad].
        calibration: c, measured length of cable over computed length.
    """

    description: WinchDescription
    growth: float = 0.0
    calibration: float = 1.0

    def drum_angle(self, displacement):
        """Angle of the drum [rad] at which so much cable [m] is wound in."""
        length = np.asarray(displacement) / self.calibration
        radius = self.description.radius
        # the root of ½ g φ² + r₀ φ = length that stays finite for g → 0
        return 2.0 * length / (radius + np.sqrt(radius**2 + 2.0 * self.growth * length))

    def displacement(self, drum_angle):
        """Cable wound in [m] at the drum's angle [rad]."""
        return self.calibration * (self.description.radius + 0.5 * self.growth * drum_angle) * drum_angle

    def rotor_counts(self, displacement):
        """Counts of the rotor's encoder from zero at which so much cable [m] is wound in (not rounded)."""
        return self.drum_angle(displacement) / self._drum_angle_per_count

    def displacement_of_counts(self, counts):
        """Cable wound in [m] when the rotor's encoder stands at `counts` from zero."""
        return self.displacement(np.asarray(counts) * self._drum_angle_per_count)

    def rate(self, speed_rpm):
        """Speed of the cable [m/s] at a rotor speed [turns/min], at the drum's zero radius."""
        drum_speed = (
            np.asarray(speed_rpm) * (2.0 * np.pi / 60.0) * self.description.direction / self.description.gear_ratio
        )
        return self.calibration * self.description.radius * drum_speed

    def force(self, current):
        """Pull at the drum's rim [N] of a motor current [A] that is positive when it winds in; friction left out."""
        return np.asarray(current) * (TORQUE_CONSTANT / self.description.radius)

    @property
    def _drum_angle_per_count(self) -> float:
        return self.description.direction * 2.0 * np.pi / (self.description.gear_ratio * COUNTS_PER_TURN)
