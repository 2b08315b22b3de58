"""What every model of a plate on a soft neck is to those that ask it, whatever physics is inside."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from soft_twin.errors import InputError
from soft_twin.twins.nearest_tilt import nearest_tilt
from soft_twin.twins.plate_orientation import axis_at, axis_of, pitch_roll_of

REACHED = 1e-3  # [rad] between axes that count as one
PROBE = 1e-4  # [rad] by which a bend is varied


@dataclass(frozen=True)
class PlateStep:
    """What a model has cables do in one tick.

    Attributes:
        displacements: (c,) cable to be pulled in [m].
        short: (2,) what of the bend that was asked for limits of the robot keep the model from [rad].
        active_limits: that bind, in words, such as "cable_3 displacement max".
        sure: whether the model's body has an equilibrium there, as far as could be seen.
        settled: whether it stands about where it was asked to.
    """

    displacements: np.ndarray
    short: np.ndarray = field(default_factory=lambda: np.zeros(2))
    active_limits: tuple[str, ...] = ()
    sure: bool = True
    settled: bool = True


class PlateModel(ABC):
    """Pitch and roll of the plate at a body's end, of `plate_orientation.py`, and its cables.

    Attributes:
        displacement_limits: lowest and highest displacement of cables, alike or (c,) each [m].
        moves: whether it has a state that each answer moves: two that ask need one each.
        knows_loads: whether gravity and payload mean anything to it.
        error_share: of a bend that it errs by, as necks that were measured differ from it.
        first_error: by which it errs where nothing of it was seen yet, be it straight [rad].
    """

    moves: bool = False
    knows_loads: bool = True
    error_share: float = 0.1
    first_error: float = 0.3
    displacement_limits: tuple[float | np.ndarray, float | np.ndarray] = (-np.inf, np.inf)

    @abstractmethod
    def orientation(self, displacements: np.ndarray) -> tuple[float, float]:
        """Pitch and roll [rad] of the plate where cables are pulled in by displacements (c,) [m]."""

    @abstractmethod
    def displacements(self, pitch: float, roll: float) -> np.ndarray:
        """(c,) what the cables are pulled in [m] where the plate has this pitch and roll [rad]."""

    def step(self, pitch: float, roll: float) -> PlateStep:
        """As `displacements`, for a target that moves little from call to call: what a control loop asks for."""
        return PlateStep(self.displacements(pitch, roll))

    def nearest(self, pitch: float, roll: float) -> tuple[float, float]:
        """The orientation [rad] whose axis is nearest to the one asked for, of those that the limits of the cables
        allow: itself, where they allow it.

        Raises:
            InputError: not finite, no orientation (pitch beyond ±π/2, roll beyond ±π), or the limits do not even allow
                a straight body.
            ConvergenceError: the model broke down.
        """
        return nearest_tilt(self._allows, pitch, roll)

    def slopes(self, bend: np.ndarray) -> np.ndarray:
        """(c, 2) what cables are pulled in by the bend (2,) θ (cos φ, sin φ) of the plate [m/rad], by differences."""
        here, *there = (
            self.displacements(*pitch_roll_of(axis_at(bend + change))) for change in PROBE * np.eye(3, 2, -1)
        )
        return (np.array(there) - here).T / PROBE

    @property
    def twist(self) -> float:
        """Turn [rad] of the plate about its own axis, as the model stands; kinematics know of none."""
        return 0.0

    @property
    def tensions(self) -> np.ndarray | None:
        """(c,) by which the cables pull [N], as the model stands; None: kinematics know of none."""
        return None

    @property
    def caveat(self) -> str:
        """What keeps the model from being as good as it is elsewhere, in words; "": nothing."""
        return ""

    def reset(self) -> None:  # noqa: B027
        """Begin anew from a straight body; what has no state has nothing to do."""

    @abstractmethod
    def bear(self, gravity: np.ndarray, payload: float = 0.0) -> None:
        """Say what pulls at body and plate: gravity (3,) in base_link [m/s²], and a mass [kg] hung on the plate."""

    def _allows(self, pitch: float, roll: float) -> bool:
        """Whether the model has an answer within the limits."""
        try:
            told = self.displacements(pitch, roll)
        except InputError:
            return False
        low, high = self.displacement_limits
        return bool(np.all(told >= low) and np.all(told <= high))


def apart(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Angle [rad] between the axes of two orientations."""
    return float(2.0 * np.arcsin(min(1.0, 0.5 * np.linalg.norm(axis_of(*one) - axis_of(*other)))))
