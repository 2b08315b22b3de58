"""Constant curvature with a radius: each segment of a manipulator is an arc that its chambers bend and stretch.

A segment k of length ℓ bends by b = g Σ pᵢ dᵢ towards where its chambers are not, dᵢ being their directions, and
stretches by s Σ pᵢ. The two constants of each segment are what finite elements say of it with its first chamber full,
without weight: a laboratory would measure them in one pose. Sections stay circles, and nothing hangs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.learning.shape_twins import ShapeTwin, plain_surface
from soft_twin.studies.learning.crude.tubes import tube_points, tube_triangles
from soft_twin.twins.finite_element import FemTwin

SPACING = 0.004  # [m] of sections, at the most


@dataclass(frozen=True)
class Segment:
    """Of a manipulator.

    Attributes:
        low, high: where it begins and ends [m].
        chambers: numbers of its chambers.
        directions: (c, 2) of these from the axis.
        bend: [rad/Pa] of one chamber.
        stretch: [1/Pa] of one chamber.
    """

    low: float
    high: float
    chambers: Sequence[int]
    directions: np.ndarray
    bend: float
    stretch: float


class ArcShapes(ShapeTwin):
    """See the module's docstring.

    Args:
        segments: from the base on; what is between them stays straight.
        length, radius: of the body [m].
        limits: (a, 2) of the pressures [Pa].
    """

    def __init__(self, segments: Sequence[Segment], length: float, radius: float, limits: np.ndarray):
        self._segments, self._radius, self.limits = tuple(segments), radius, np.asarray(limits, float)
        ends = np.unique([0.0, length, *(end for each in segments for end in (each.low, each.high))])
        counts = np.ceil(np.diff(ends) / SPACING).astype(int)
        pieces = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(ends[:-1], ends[1:], counts, strict=True)]
        self._heights = np.append(np.concatenate(pieces), length)
        rest = self._shape(np.zeros(len(self.limits)))
        self.surface = plain_surface(rest, tube_triangles(len(self._heights)))

    def shapes_of(self, pressures: np.ndarray) -> np.ndarray:
        """See ShapeTwin."""
        return np.array([self._shape(row) for row in np.asarray(pressures, float)])

    def _shape(self, pressures: np.ndarray) -> np.ndarray:
        middles, turns = [np.zeros(3)], [Rotation.identity()]
        for low, high in zip(self._heights, self._heights[1:], strict=False):
            bend, stretch = self._curvature(pressures, 0.5 * (low + high))
            length = (high - low) * (1.0 + stretch)
            turn = Rotation.from_rotvec((high - low) * np.array([-bend[1], bend[0], 0.0]))
            half = Rotation.from_rotvec(0.5 * turn.as_rotvec())  # the chord of a short arc
            middles.append(middles[-1] + (turns[-1] * half).apply([0.0, 0.0, length]))
            turns.append(turns[-1] * turn)
        return tube_points(np.array(middles), Rotation.concatenate(turns), self._radius)

    def _curvature(self, pressures: np.ndarray, height: float) -> tuple[np.ndarray, float]:
        """(2,) [rad/m] towards x and y, and stretch, at a height of the undeformed body [m]."""
        for own in self._segments:
            if own.low < height < own.high:
                p = pressures[list(own.chambers)]
                return -own.bend * (p @ own.directions) / (own.high - own.low), float(own.stretch * p.sum())
        return np.zeros(2), 0.0


def measured_segment(
    twin: FemTwin, chambers: Sequence[int], directions: np.ndarray, ends: tuple[float, float], pressure: float
) -> Segment:
    """A segment with the constants that finite elements say of it, its first chamber at a pressure [Pa]."""
    efforts = np.zeros(twin.actuator_count)
    efforts[chambers[0]] = pressure
    twin.equilibrium(np.zeros(3), efforts=efforts)
    low, high = (twin.section_normal(z) for z in ends)
    angle = float(np.arccos(np.clip(low @ high, -1.0, 1.0)))
    chord = float(np.linalg.norm(twin.section(ends[1], twin.points) - twin.section(ends[0], twin.points)))
    arc = chord * 0.5 * angle / np.sin(0.5 * angle)
    stretch = (arc / (ends[1] - ends[0]) - 1.0) / pressure
    return Segment(*ends, tuple(chambers), directions, angle / pressure, stretch)
