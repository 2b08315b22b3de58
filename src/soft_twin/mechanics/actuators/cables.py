"""Cables as actuators: the tension [N] works on the length that is wound in [m]."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix, diags

from soft_twin.checks import checked_kind, checked_number
from soft_twin.errors import InputError
from soft_twin.mechanics.actuators.base import Actuators, ActuatorState
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.cables import Cables

TOLERANCE = 1e-9  # [m]
PRESLIDING = 5e-5  # [m] of cable travel that turns the friction around


class CableActuators(Actuators):
    """Cables inside a body, or outside it. With the length ℓ the coordinate is ℓ₀ − ℓ, and a cable never pushes.

    A cable between winch and anchor is a unilateral spring: when the winch has wound in d, T = k (ℓ − ℓ₀ + d)₊. Where
    it rubs, the tension falls from base to tip by exp(−μ θ s), where θ is the angle turned so far and s in −1…1 says
    which way the cable last slid (Dahl's friction state with a presliding length): what a piece pulls at the body with
    is that factor φ of the tension. The factors are those of the start of a step, of which `begin` tells.

    Attributes:
        friction: μ; may be set at any time.
    """

    unit = "N"

    def __init__(self, cables: Cables, stiffness: float, names: Sequence[str] | None = None, friction: float = 0.0):
        """`stiffness`: of a cable between winch and anchor [N/m], infinite for one that does not stretch. `friction`:
        capstan coefficient μ.

        Raises:
            InputError: what is no number, a stiffness that is not positive, a friction that is negative, or another
                number of names.
        """
        checked_kind(cables, Cables, "Cables that are threaded through a mesh", "cables")
        stiffness = checked_number(stiffness, "cables' stiffness", "N/m")
        friction = checked_number(friction, "cables' friction")
        if not stiffness > 0.0:
            raise InputError(f"cables: stiffness {stiffness:g} N/m is not positive")
        if not friction >= 0.0:
            raise InputError(f"cables: friction {friction:g} must not be negative")
        self.cables, self.friction = cables, friction
        self.names = [f"cable_{i + 1}" for i in range(cables.count)] if names is None else list(names)
        if len(self.names) != cables.count:
            raise InputError(f"cables: {len(self.names)} names for {cables.count} cables")
        self.softness = np.full(cables.count, 1.0 / stiffness)
        self.least_effort = np.zeros(cables.count)
        self.tolerance = np.full(cables.count, TOLERANCE)
        self.forget()

    def attach(self, body: Body) -> None:
        if not self.cables.run_through(body.mesh):
            raise InputError("cables: they were threaded through another mesh than the body's")

    @property
    def groups(self) -> np.ndarray:
        return self.cables.nodes

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        return self.cables.rest_lengths - self.cables.lengths(x)

    def effective_coordinates(self, x: np.ndarray) -> np.ndarray:
        factors = self._factors_at(x)
        if factors is None:
            return self.coordinates(x)
        pieces = self.cables.pieces_and_directions(x)[0]
        return -np.bincount(self.cables.owners, factors * pieces, self.cables.count)

    def at(self, x: np.ndarray) -> ActuatorState:
        cables, factors = self.cables, self._factors_at(x)
        pieces, directions = cables.pieces_and_directions(x)
        coordinates = cables.rest_lengths - np.bincount(cables.owners, pieces, cables.count)
        if factors is None:
            return ActuatorState(coordinates, coordinates, -cables.gradients_along(directions))
        effective = -np.bincount(cables.owners, factors * pieces, cables.count)
        return ActuatorState(coordinates, effective, -cables.gradients_along(directions, factors))

    def begin(self, x: np.ndarray) -> None:
        if self.friction == 0.0:
            return
        lengths = self.cables.lengths(x)
        if self._lengths is not None:
            self._slid = np.clip(self._slid + (self._lengths - lengths) / PRESLIDING, -1.0, 1.0)
        self._lengths = lengths
        self._factors = np.exp(-self.friction * self._slid[self.cables.owners] * self.cables.turning(x))

    def forget(self) -> None:
        self._slid = np.zeros(self.cables.count)
        self._lengths: np.ndarray | None = None  # (c,) where the last step began
        self._factors: np.ndarray | None = None  # (s,) φ of each piece since then; None: 1

    def gradients(self, x: np.ndarray) -> np.ndarray:
        return -self.cables.gradients_along(self.cables.lengths_and_directions(x)[1], self._factors_at(x))

    def add_forces(self, x: np.ndarray, efforts: np.ndarray, force: np.ndarray) -> None:
        self.cables.add_pull(self.cables.lengths_and_directions(x)[1], self._piece_tensions(x, efforts), force)

    def changes(self, x: np.ndarray, *movements: np.ndarray) -> list[np.ndarray]:
        directions = self.cables.lengths_and_directions(x)[1]
        return [-self.cables.changes(directions, each) for each in movements]

    def stiffness(self, x: np.ndarray, efforts: np.ndarray, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        return self.cables.blocks(x, self._piece_tensions(x, efforts), which)

    def add_stiffness(self, x: np.ndarray, efforts: np.ndarray, offsets, strides, data) -> None:
        self.cables.add_stiffness(x, self._piece_tensions(x, efforts), offsets, strides, data)

    def _piece_tensions(self, x: np.ndarray, efforts: np.ndarray) -> np.ndarray:
        """(s,) what each piece of the cables pulls with at positions (n, 3) [N]."""
        tensions, factors = efforts[self.cables.owners], self._factors_at(x)
        return tensions if factors is None else factors * tensions

    def _factors_at(self, x: np.ndarray) -> np.ndarray | None:
        """(s,) φ of each piece; None: 1."""
        return self._factors


class PulledCables(CableActuators):
    """Cables that are being pulled in all the time: what reaches a piece is exp(−μ θ) of the tension, with the angle θ
    that the cable has turned to where the piece is now, from where it enters as it lies undeformed (capstan equation).
    Such a force has no potential."""

    has_potential = False

    def __init__(self, cables: Cables, friction: float, names: Sequence[str] | None = None):
        """`friction`: capstan coefficient μ."""
        super().__init__(cables, np.inf, names, friction)

    def begin(self, x: np.ndarray) -> None:
        """Friction knows no past."""

    def remainder(self, x: np.ndarray, efforts: np.ndarray) -> csr_matrix:
        """How friction changes as the cables turn: the sum of −μ T ∂ℓ/∂x ∂θ/∂x over the pieces."""
        falls = -self.friction * self._piece_tensions(x, efforts)
        return (self.cables.piece_jacobian(x).T @ diags(falls) @ self.cables.turning_jacobian(x)).tocsr()

    def _factors_at(self, x: np.ndarray) -> np.ndarray:
        return np.exp(-self.friction * self.cables.turning(x))
