"""Cables whose lengths are given by their winches."""

from collections.abc import Sequence

import numpy as np

from soft_twin.errors import InputError
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.rows import Rows


class CableLength(Constraint):
    """Cables with some length wound in: unilateral, and elastic where a stiffness is given.

    The row is g = ℓ₀ − d − ℓ(x) ≥ 0 with the tension as its multiplier: T = k (ℓ − ℓ₀ + d)₊.

    Args:
        cables: inside the body, or outside it.
        displacements: (c,) cable wound in [m], None for a cable that is let go; may be set at any time.
        stiffness: of a cable between winch and anchor [N/m]; None: it does not stretch.
    """

    def __init__(self, cables: Cables, displacements: Sequence[float | None] | None = None, stiffness=None):
        self.cables = cables
        self.displacements = [0.0] * cables.count if displacements is None else displacements
        if stiffness is not None and not stiffness > 0.0:
            raise InputError(f"cables: stiffness {stiffness:g} N/m is not positive")
        self._compliance = 0.0 if stiffness is None else 1.0 / stiffness

    @property
    def displacements(self) -> list[float | None]:
        return self._displacements

    @displacements.setter
    def displacements(self, values: Sequence[float | None]) -> None:
        given = list(np.atleast_1d(np.asarray(values, dtype=object)))
        if len(given) != self.cables.count:
            raise InputError(f"cables: {self.cables.count} displacements are needed, not {len(given)}")
        if not all(value is None or np.isfinite(value) for value in given):
            raise InputError(f"cables: displacements {given} are not finite")
        self._displacements = given

    def attach(self, body: Body) -> None:
        if self.cables.nodes.max() >= len(body.mesh.nodes):
            raise InputError("cables: they were threaded through another mesh, which has more nodes")

    def rows(self, x: np.ndarray, multipliers: dict[int, float]) -> Rows:
        driven = self._driven()
        m = len(driven)
        values = self._slack(x)[driven]
        jacobian = -self.cables.jacobian(x)[driven]
        return Rows(driven, values, jacobian, np.zeros(m), np.full(m, np.inf), np.full(m, self._compliance))

    @property
    def groups(self) -> np.ndarray:
        return self.cables.nodes

    def stiffness(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        tensions = np.array([multipliers.get(cable, 0.0) for cable in range(self.cables.count)])
        return self.cables.blocks(x, tensions[self.cables.owners])

    def _driven(self) -> np.ndarray:
        return np.array([i for i, given in enumerate(self.displacements) if given is not None], dtype=np.int64)

    def _slack(self, x: np.ndarray) -> np.ndarray:
        wound = np.array([0.0 if given is None else given for given in self.displacements])
        return self.cables.rest_lengths - wound - self.cables.lengths(x)
