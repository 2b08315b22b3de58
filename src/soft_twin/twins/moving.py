"""A body that moves in time with its base and its actuators, whatever computes it: one interface for motions.

`DynamicTwin` is of finite elements, `RodDynamicTwin` a rod, `SofaDynamicTwin` SOFA's. Steps are implicit and are always
taken. Arrays of actuators are in the robot's order: cables first, chambers behind them; cables are wound by their
winches, and slack where they would have to push.
"""

from abc import ABC, abstractmethod

import numpy as np

from soft_twin.mechanics.moving_base import MovingBase


class MovingBody(ABC):
    """See the module's docstring.

    Attributes:
        dt: its own step [s].
    """

    dt: float

    @property
    @abstractmethod
    def actuator_count(self) -> int:
        """a, of its actuators."""

    @abstractmethod
    def settle(self, gravity: np.ndarray) -> None:
        """Rest under gravity (3,) in base_link [m/s²] with no actuator doing anything, whatever was before."""

    @abstractmethod
    def straighten(self) -> None:
        """As a hand that holds it: undeformed, at rest."""

    @abstractmethod
    def drive(self, coordinates: np.ndarray, base: MovingBase, dt: float | None = None) -> None:
        """Advance by `dt` [s], or its own step; it is always taken.

        Args:
            coordinates: (a,) of the actuators at the end of the step: cable that each winch has wound in [m].
            base: how the base moves.
            dt: step [s].

        Raises:
            InputError: not finite or of another size, or a step that is not positive.
        """

    @property
    @abstractmethod
    def efforts(self) -> np.ndarray:
        """(a,) cable tensions at the winches [N], gauge pressures of the chambers [Pa]."""

    @property
    @abstractmethod
    def coordinates(self) -> np.ndarray:
        """(a,) at which each actuator is without effort: winch displacements [m]; what the volumes have grown [m³]."""

    @property
    @abstractmethod
    def tip(self) -> np.ndarray:
        """(3,) where the frame "tip" is in base_link [m]."""

    @property
    @abstractmethod
    def tip_direction(self) -> np.ndarray:
        """(3,) axis of the frame "tip", +z undeformed."""

    @property
    @abstractmethod
    def centre_line(self) -> np.ndarray:
        """(s, 3) centres of cross sections at equal distances from base to tip [m]."""
