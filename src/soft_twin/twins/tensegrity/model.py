"""A tensegrity arm as its forward model and its estimators share it: structure, members' laws, gravity, rest pose."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from soft_twin.checks import checked_numbers, checked_vector
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.twins.tensegrity import kernels
from soft_twin.twins.tensegrity.newton import Laws, Minimum, StrutPlacement
from soft_twin.twins.tensegrity.shape import Shape
from soft_twin.twins.tensegrity.structure import Structure


@dataclass(frozen=True)
class MemberLaws:
    """Tension of each member at length m: cords T = k (m − b)₊, cylinders T = (A p + k (m − r))₊.

    Both are one law, because a cylinder at pressure p is a cord of natural length r − A p/k. At the ends of its
    stroke a cylinder is held by stiff springs.

    Attributes:
        stiffness: (m,) k [N/m].
        rest_lengths: (m,) b of a cord, r of a cylinder [m].
        areas: (m,) A [m²], 0 for cords.
        stops: (m, 2) shortest and longest length of a cylinder; 0 and inf for cords, and where none are known [m].
        pressure_range: lowest and highest gauge pressure of the cylinders [Pa].
    """

    stiffness: np.ndarray
    rest_lengths: np.ndarray
    areas: np.ndarray
    stops: np.ndarray
    pressure_range: tuple[float, float]

    def at(self, pressures: np.ndarray) -> Laws:
        """Stiffness and natural lengths of all members at the gauge pressures (c,) of the cylinders [Pa]."""
        natural = self.rest_lengths.copy()
        active = self.areas > 0.0
        natural[active] -= self.areas[active] * pressures / self.stiffness[active]
        return Laws(self.stiffness, natural, self.stops)


@dataclass(frozen=True)
class ArmModel:
    """Everything that is known of an arm.

    Its numbers live in the level frame: base_link turned so that its z axis points up.

    Attributes:
        structure: struts, members, anchors (anchor points in the level frame).
        laws: of the members.
        level: (3, 3) rotation base_link → level frame.
        start: a pose near the straight one, in the level frame.
    """

    structure: Structure
    laws: MemberLaws
    level: np.ndarray = field(repr=False)
    start: StrutPlacement = field(repr=False)

    @property
    def cylinder_count(self) -> int:
        return int(self.structure.active.sum())

    def loads(self, tip_force: Sequence[float] = (0.0, 0.0, 0.0)) -> np.ndarray:
        """(2 s, 3) weights of the nodes and a force in base_link [N], spread over the tip's nodes."""
        loads = np.zeros((2 * self.structure.strut_count, 3))
        loads[:, 2] = -STANDARD_GRAVITY * self.structure.node_masses
        tip = self.structure.top_nodes
        loads[tip] += self.level @ checked_force(tip_force) / len(tip)
        return loads

    def checked_pressures(self, pressures: np.ndarray) -> np.ndarray:
        """The pressures as an array (c,).

        Raises:
            InputError: wrong size, not finite, or out of the cylinders' range by more than 10 % of it.
        """
        pressures = checked_numbers(pressures, f"{self.cylinder_count} values", "pressures")
        if pressures.shape != (self.cylinder_count,):
            raise InputError(f"pressures: expected {self.cylinder_count} values, found shape {pressures.shape}")
        low, high = self.laws.pressure_range
        margin = 0.1 * (high - low)
        bad = np.flatnonzero(~((pressures >= low - margin) & (pressures <= high + margin)))
        if len(bad):
            found = ", ".join(f"cylinder {k}: {pressures[k]:g}" for k in bad[:4])
            raise InputError(f"pressures [Pa] outside {low:g}…{high:g}: {found}")
        return pressures

    def shape_of(self, minimum: Minimum, laws: Laws, **more) -> Shape:
        """A minimum as a shape in base_link."""
        structure = self.structure
        nodes = minimum.pose.nodes(structure.strut_lengths)
        return Shape(
            nodes=nodes @ self.level,
            anchors=structure.anchors,
            top_nodes=structure.top_nodes,
            tensions=kernels.tensions(nodes, structure.members, laws.stiffness, laws.natural, laws.stops),
            energy=minimum.energy,
            residual=minimum.residual,
            iterations=more.pop("iterations", minimum.iterations),
            converged=minimum.converged,
            inclinations=np.arccos(np.clip(minimum.pose.directions[:, 2], -1.0, 1.0)),
            confidence=more.pop("confidence", 1.0),
            **more,
        )


def checked_force(force: Sequence[float]) -> np.ndarray:
    """A force as an array (3,).

    Raises:
        InputError: not three finite numbers.
    """
    return checked_vector(force, 3, "tip_force [N]")
