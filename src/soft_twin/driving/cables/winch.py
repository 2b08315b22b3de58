"""A winch: a drum that winds a cable in, turned by a motor through a gear."""

from dataclasses import dataclass

import numpy as np

from soft_twin.descriptions.drives import CableDrive, WinchDescription
from soft_twin.descriptions.m2006 import GEAR_RATIO, torque_constant
from soft_twin.driving.cables.c610 import COUNTS_PER_TURN

USUAL_RADIUS = 0.0065  # [m] of the drum, right behind an M2006's own gear, that gains and frictions are told for


@dataclass(frozen=True)
class Winch:
    """Conversions between a cable's displacement and its motor; all of them take numbers or arrays.

    A cable of diameter t that is wound onto itself on a drum of width w fills an area: with the length L it has filled
    L t² = π w (r² − r₀²), so that it leaves the drum at the radius r = √(r₀² + 2 g L), g = t² / (2 π w). Over the
    drum's angle φ from its zero that is r = r₀ + g φ and L = r₀ φ + ½ g φ²; g is 0 for turns that lie side by side. A
    displacement d > 0 is cable wound in: d = c L, with c a calibration factor near 1. The rotor turns by
    direction · gear · φ.

    Attributes:
        description: drum radius r₀ [m], gear ratio, winding direction, current limit [A], growth g [m/rad].
        calibration: c, measured length of cable over computed length; one, or one for each cable.
        directions: winding directions of the cables, where they are not the description's.
    """

    description: WinchDescription
    calibration: float | np.ndarray = 1.0
    directions: np.ndarray | None = None

    @property
    def direction(self):
        """+1 or −1: the sign of the rotor's turning that winds in."""
        return self.description.direction if self.directions is None else self.directions

    def drum_angle(self, displacement):
        """Angle of the drum [rad] at which so much cable [m] is wound in."""
        # the root of ½ g φ² + r₀ φ = length that stays finite for g → 0
        length = np.asarray(displacement) / self.calibration
        return 2.0 * length / (self.description.radius + self.radius(displacement))

    def radius(self, displacement=0.0):
        """Radius [m] at which the cable leaves the drum with so much cable [m] wound in."""
        length = np.asarray(displacement) / self.calibration
        return np.sqrt(self.description.radius**2 + 2.0 * self.description.growth * length)

    def displacement(self, drum_angle):
        """Cable wound in [m] at the drum's angle [rad]."""
        description = self.description
        return self.calibration * (description.radius + 0.5 * description.growth * drum_angle) * drum_angle

    def rotor_counts(self, displacement):
        """Counts of the rotor's encoder from zero at which so much cable [m] is wound in (not rounded)."""
        return self.drum_angle(displacement) / self._drum_angle_per_count

    def displacement_of_counts(self, counts):
        """Cable wound in [m] when the rotor's encoder stands at `counts` from zero."""
        return self.displacement(np.asarray(counts) * self._drum_angle_per_count)

    def rate(self, speed_rpm, displacement=0.0):
        """Speed of the cable [m/s] at a rotor speed [turns/min] with so much cable [m] wound in."""
        drum_speed = np.asarray(speed_rpm) * (2.0 * np.pi / 60.0) * self.direction / self.description.gear_ratio
        return self.calibration * self.radius(displacement) * drum_speed

    def force(self, current, displacement=0.0):
        """Pull of the cable [N] of a motor current [A] that is positive when it winds in; friction left out. A cable
        that moves by c times what its drum winds pulls by 1/c of what there is at the rim."""
        torque = torque_constant(self.description.gear_ratio)
        return np.asarray(current) * (torque / (self.calibration * self.radius(displacement)))

    @property
    def leverage(self) -> float:
        """Turns of the rotor for a length of cable, over those of the usual drum.

        A rotor that turns more often for it pulls by more with the same current, and its own inertia and friction ask
        for more current, seen from the cable: by this factor, all of them.
        """
        return self.description.gear_ratio / GEAR_RATIO * USUAL_RADIUS / self.description.radius

    @property
    def _drum_angle_per_count(self):
        return self.direction * 2.0 * np.pi / (self.description.gear_ratio * COUNTS_PER_TURN)


def winch_of(drive: CableDrive) -> Winch:
    """The winches of a robot's cables, in their order, each as it is calibrated."""
    return Winch(
        drive.winch,
        calibration=np.array([cable.scale for cable in drive.cables]),
        directions=np.array([drive.winch.direction * cable.direction for cable in drive.cables]),
    )
