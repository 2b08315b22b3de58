"""Actuators that are driven by their coordinates, as winches and syringes do it."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.checks import checked_number
from soft_twin.errors import InputError
from soft_twin.mechanics.actuators.base import Actuators
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.unknowns import Coupling, Pose


class Driven(Constraint):
    """Actuators whose coordinates d (a,) are given, None for one that is let go; they may be set at any time.

    The row of an actuator is g = c(x) − d with its effort as the multiplier and its softness s as the compliance, so
    that e = (d − c)/s, and c = d where s is 0; or e is the least effort, as that of a slack cable, which never pushes.
    Rows are in units of their gradients' norm at rest: volumes and lengths, pascals and newtons then weigh alike.

    Attributes:
        share: 0…1, of the way from rest to the coordinates.
    """

    reaches_far = True
    share = 1.0

    def __init__(self, actuators: Actuators, coordinates: Sequence[float | None] | None = None):
        self.actuators = actuators
        self.coordinates = [None] * actuators.count if coordinates is None else coordinates

    @property
    def coordinates(self) -> list[float | None]:
        return self._coordinates

    @coordinates.setter
    def coordinates(self, values: Sequence[float | None]) -> None:
        given = list(np.atleast_1d(np.asarray(values, dtype=object)))
        if len(given) != self.actuators.count:
            raise InputError(f"driven: {self.actuators.count} coordinates are needed, not {len(given)}")
        if not all(value is None or np.isfinite(checked_number(value, "driven coordinate")) for value in given):
            raise InputError(f"driven: coordinates {given} are not finite")
        self._coordinates = given
        self._driven = np.array([i for i, value in enumerate(given) if value is not None], dtype=np.int64)

    def attach(self, body: Body) -> None:
        self.actuators.attach(body)
        norms = np.linalg.norm(self.actuators.gradients(body.mesh.nodes), axis=(0, 1))
        self._scales = 1.0 / np.maximum(norms, 1e-300)
        self._penalty = body.modulus * float(np.linalg.norm(body.mesh.size))  # [N/m]

    def efforts(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        """(a,) of the actuators at positions (n, 3), 0 of those that are let go; the least one, and not the round-off
        that a solver has left above it, where a row is open."""
        efforts, rows = self._unscaled(multipliers), self.rows(x, multipliers)
        if rows is not None:
            own = rows.keys[rows.pushing(multipliers, self._penalty) <= rows.lower]
            efforts[own] = self.actuators.least_effort[own]
        return efforts

    def _unscaled(self, multipliers: dict[int, float]) -> np.ndarray:
        """(a,) efforts, by multipliers of the rows."""
        return self._scales * np.array([multipliers.get(i, 0.0) for i in range(self.actuators.count)])

    def rows(self, x: np.ndarray, multipliers: dict[int, float]) -> Rows | None:
        driven = self._driven
        if not len(driven):
            return None
        scales, wanted = self._scales[driven], np.array([self._coordinates[i] for i in driven], dtype=float)
        gradients = self.actuators.gradients(x).reshape(x.size, -1)[:, driven]
        lower = self.actuators.least_effort[driven] / scales
        compliance = scales**2 * self.actuators.softness[driven]
        values = scales * (self.actuators.coordinates(x)[driven] - self.share * wanted)
        return Rows(driven, values, csr_matrix((scales * gradients).T), lower, np.full(len(driven), np.inf), compliance)

    @property
    def groups(self) -> np.ndarray:
        return self.actuators.groups

    def add_to(self, coupling: Coupling, pose: Pose, multipliers: dict[int, float]) -> None:
        self.actuators.add_to(coupling, pose, self._unscaled(multipliers))
